/** What --help prints. */
import t from 'tap'
import { SETTINGS, envOf, flagOf, help, resolve } from '../../settings.js'
import { layoutNames } from '../../src/layouts/index.js'
import { ackNames } from '../../src/pipeline/index.js'

const COMMANDS = ['start', 'demo', 'writer', 'reader', 'servers', 'doctor', 'feed', 'gateway', 'experiment', 'exchanges']
const KNOWN = { layouts: layoutNames(), acks: ackNames() }
/** Process files of commands that are not in bin/. */
const FILES = { writer: 'writers/feed.js', reader: 'readers/server.js', gateway: 'writers/gateway.js' }

t.test('every flag is in the help of the commands that use it, with meaning, default and unit', async (t) => {
  for (const command of COMMANDS) {
    const lines = await help({ ...KNOWN, command }, 'Usage: x', ['--help', 'all'])
    const text = lines.replace(/\s+/g, ' ')
    t.ok(text.startsWith('Usage: x'))
    for (const row of SETTINGS) {
      const title = `${command} --${flagOf(row.name)}`
      t.equal(new RegExp(`^ {2}--${flagOf(row.name)}( |$)`, 'm').test(lines), row.uses.includes(command), title)
      if (row.uses.includes(command)) t.ok(text.includes(`--${flagOf(row.name)} ${row.meaning}`), title)
      const variable = envOf(row)
      const isRegular = variable === `FRESHET_${flagOf(row.name).toUpperCase().replaceAll('-', '_')}`
      if (row.uses.includes(command) && !isRegular) {
        t.ok(text.includes(`--${flagOf(row.name)} ${variable ? `is ${variable}` : 'has none'}`), title)
      }
    }
    t.match(text, /Each flag has an environment variable: --([a-z-]+) is FRESHET_/, command)
    t.ok(lines.split('\n').every((line) => line.length <= 100), `${command}: at most 100 columns`)
  }
  const writer = (await help({ ...KNOWN, command: 'writer' }, 'Usage: x', ['--help', 'all'])).replace(/\s+/g, ' ')
  const layouts = '[ids | values | stream | segments; default: ids]'
  for (const end of ['[default: 10000 items/s]', 'stops [s]', layouts, '[default: 5 ms]']) {
    t.ok(writer.includes(end), end)
  }
})

t.test('of many flags, --help explains those that are used often, and names the others', async (t) => {
  for (const command of COMMANDS) {
    const lines = await help({ ...KNOWN, command }, 'Usage: x', ['--help'])
    t.ok(lines.split('\n').length <= 60 && lines.split('\n').every((line) => line.length <= 100), command)
    const named = (/** @type {string} */ name) => new RegExp(`^ .*--${flagOf(name)}( |$)`, 'm').test(lines)
    t.same(SETTINGS.filter(({ name, uses }) => uses.includes(command) && !named(name)), [], command)
  }
  const writer = await help({ ...KNOWN, command: 'writer' }, 'Usage: x', ['--help'])
  t.match(writer, /^ {2}--id-field +Field that holds the id \[default: id\]$/m)
  t.match(writer, /\n\nFurther flags, which --help all explains:\n {2}Servers: --replica-url --redis-auth --key-prefix /)
})

t.test('the help has room in a narrow terminal', async (t) => {
  const { columns } = process.stdout
  t.teardown(() => { process.stdout.columns = columns })
  process.stdout.columns = 60
  const lines = (await help({ ...KNOWN, command: 'writer' }, 'Usage: x', ['--help', 'all'])).split('\n')
  t.same(lines.filter((line) => line.length > 60 && !line.includes('SORTED_SET')), [])
})

t.test('the examples in the help of each command are valid command lines', async (t) => {
  for (const command of ['start', 'writer', 'reader', 'gateway', 'doctor', 'servers', 'feed']) {
    const { main } = await import(`../../${FILES[command] ?? `bin/${command}.js`}`)
    const { write } = process.stdout
    let stdout = ''
    process.stdout.write = /** @type {any} */ (/** @type {string} */ text) => {
      stdout += text
      return true
    }
    try {
      t.equal(await main({ argv: ['--help'], env: {} }), 0)
    } finally {
      process.stdout.write = write
    }
    const examples = stdout.match(/^( +|Usage: )npm start .*/gm) ?? []
    t.ok(examples.length >= (command === 'writer' ? 4 : command === 'servers' ? 1 : 2), `${command}: ${examples.length}`)
    for (const example of examples) {
      const [, named = 'start', flags = ''] = /^npm start ?([a-z]+)?(?: -- ([^<[]*))?/.exec(example.replace(/^ +|Usage: /, '')) ?? []
      t.equal(named, command, example)
      t.ok(resolve(flags.trim().split(' ').filter(Boolean), {}, { ...KNOWN, command, positionals: command === 'feed' ? 2 : 0 }), example)
    }
  }
})
