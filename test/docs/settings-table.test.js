import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { SETTINGS, envOf, flagOf } from '../../settings.js'
import { layoutNames } from '../../src/layouts/index.js'
import { ackNames } from '../../src/pipeline/acks.js'

const README = new URL('../../README.md', import.meta.url)
const BEGIN = /(<!-- settings:[^\n]*-->\n)[\s\S]*?(<!-- \/settings -->)/

function table () {
  const rows = SETTINGS.map((row) => {
    const expects = typeof row.check.expects === 'string' ? row.check.expects : row.check.expects({ command: '', layouts: layoutNames(), acks: ackNames() })
    const unit = row.unit ? ` (${row.unit})` : ''
    const others = Object.entries(row.defaults ?? {}).map(([command, value]) => ` (${command}: ${value ?? 'none'})`).join('')
    const shown = (row.default === null ? '' : String(row.default)) + others
    return `| \`--${flagOf(row.name)}\` | ${envOf(row) ? `\`${envOf(row)}\`` : ''} | ${shown} | ${row.meaning}${unit} | ${expects.replaceAll('|', '\\|')} | ${row.uses.join(' ')} |`
  })
  return ['| flag | environment | default | meaning | expects | used by |', '|---|---|---|---|---|---|', ...rows].join('\n') + '\n'
}

t.test('the README shows every setting as the table has it', async (t) => {
  const text = await readFile(README, 'utf8')
  const wanted = text.replace(BEGIN, (_, begin, end) => begin + table() + end)
  if (process.env.UPDATE_DOCS) await writeFile(README, wanted)
  else t.equal(text, wanted, 'run npm test with UPDATE_DOCS=1 to write the table')
})

t.test('every setting has its own flag and variable', async (t) => {
  for (const of of [(row) => flagOf(row.name), envOf]) {
    const byCommand = SETTINGS.filter(of).flatMap((row) => row.uses.map((command) => `${command} ${of(row)}`))
    t.equal(new Set(byCommand).size, byCommand.length)
  }
})
