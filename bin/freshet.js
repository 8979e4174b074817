#!/usr/bin/env node
/**
 * `npm start <command> -- <flags>`, or `npx freshet <command> <flags>`: runs the process file and reports its errors as messages and
 * exit statuses.
 */
import { readFileSync } from 'node:fs'
import { unknownName } from '../src/settings/index.js'
import { SYSTEM_NAMES } from '../src/systems/list.js'
import { npmAdvice } from './npm-flags.js'

const COMMANDS = /** @type {Record<string, { file: string, meaning: string }>} */ ({
  start: { file: './start.js', meaning: 'run servers, one writer, one reader and one gateway until Ctrl-C' },
  demo: { file: './demo.js', meaning: `run a system with a page and a crowd until Ctrl-C: ${SYSTEM_NAMES.join(' | ')}` },
  writer: { file: '../writers/feed.js', meaning: 'write items to a feed: synthetic, from a file or from standard input' },
  reader: { file: '../readers/server.js', meaning: 'serve feeds over HTTP' },
  gateway: { file: '../writers/gateway.js', meaning: 'write items to feeds over HTTP' },
  consumers: {
    file: '../writers/consumers.js', meaning: `process the outbox of systems (rows, history, tasks): ${SYSTEM_NAMES.join(', ')}`
  },
  'dead-letters': { file: './dead-letters.js', meaning: 'manage entries that failed permanently: list | replay ID | discard ID' },
  exchanges: { file: '../demo/exchanges.js', meaning: 'run three local exchanges, sources of prices' },
  payments: { file: '../demo/payments.js', meaning: 'run a local payment provider with a ledger' },
  orders: { file: './orders.js', meaning: 'rebuild the views of orders from their events: rebuild' },
  servers: { file: './servers.js', meaning: 'run the embedded servers in the foreground' },
  doctor: { file: './doctor.js', meaning: 'show versions, capabilities and permissions' },
  feed: { file: './feed.js', meaning: 'manage feeds: list | show NAME | create NAME | set NAME | drop NAME' },
  bench: { file: './bench.js', meaning: 'measure servers and this machine for 20 s, in one line' },
  plan: { file: './plan.js', meaning: 'say which servers a feed needs, what is left of them, and what they cost' },
  experiment: { file: './experiment.js', meaning: 'compare settings: list | NUMBER | ad-hoc --a .. --b ..' }
})

const [first, ...rest] = process.argv.slice(2)
// npm start --rate 50000 arrives as 50000; the settings of start then report the corrected line
const swallowed = Object.keys(process.env).some((name) => name.startsWith('npm_config_')) && /^\d/.test(first)
const named = first !== undefined && !first.startsWith('-') && !swallowed
const command = named ? first : 'start'

if (first === '--help' || command === 'help') process.stdout.write(usage())
else if (first === '--version') process.stdout.write(`${version()}\n`)
else if (Object.hasOwn(COMMANDS, command)) await run(COMMANDS[command].file, named ? rest : process.argv.slice(2))
else {
  process.stderr.write(`freshet: ${unknownName(command, Object.keys(COMMANDS), `the commands are:\n\n${commands()}`)}\n`)
  process.exitCode = 2
}

/** @param {string} file @param {string[]} argv */
async function run (file, argv) {
  // the reader of a pipe may exit first
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  try {
    const { main } = await import(file)
    process.exitCode = await main({ argv, env: process.env })
  } catch (error) {
    if (error?.exitStatus === undefined) throw error
    const { visibleLines } = await import('../src/runtime/index.js')
    process.stderr.write(visibleLines(`freshet ${command}: ${error.message}${npmAdvice(error.lost, argv)}\n`))
    process.exitCode = error.exitStatus
  }
}

/** @returns {string} */
function version () {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

function usage () {
  return `Freshet keeps the newest items of a fast feed and serves them.\n\n${commands()}\n\n` +
    'Flags follow --, as in: npm start writer -- --rate 50000. Each command has --help, and --help all.\n' +
    'Outside of a checkout: npx freshet writer --rate 50000.\n'
}

function commands () {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length))
  const lines = Object.entries(COMMANDS)
    .map(([name, { meaning }]) => `  npm start ${(name === 'start' ? '' : name).padEnd(width)}  ${meaning}`)
  return lines.join('\n')
}
