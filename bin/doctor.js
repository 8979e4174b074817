/** `npm start doctor`: versions, capabilities and permissions. Starts, downloads and writes nothing. */
import { readFileSync } from 'node:fs'
import { printable, settingsOf } from '../settings.js'
import { createServices } from '../src/embedded/index.js'
import { visibleLines } from '../src/runtime/index.js'
import { loadSystems, settingsOfModules } from '../src/systems/list.js'
import { databaseFindings } from './doctor/database.js'
import { embeddedFindings } from './doctor/embedded.js'
import { table } from './doctor/rows.js'
import { serverFindings } from './doctor/server.js'

const USAGE = `Usage: npm start doctor -- [flags]

Shows versions and capabilities, and what the other commands would use; with --redis-url, the facts of that server
and the permissions of its user. Starts nothing. Exit status 1 if there are problems; warnings do not count.

Examples:
  npm start doctor
  npm start doctor -- --redis-url redis://127.0.0.1:6379`

const DEADLINE_MS = 5_000

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} the exit status: 0, or 1 with problems
 * @throws {import('../settings.js').SettingsInvalid}
 */
export async function main (from) {
  const settings = await settingsOf(from, { command: 'doctor', layouts: ['ids'], acks: ['primary'], settingsOfModules }, USAGE)
  if (settings === null) return 0
  const program = programFindings()
  const servers = settings.redisUrl
    ? await serverFindings(settings, printable(settings).redisUrl, DEADLINE_MS)
    : await embeddedFindings(settings, from.env)
  const database = await databaseFindings(settings, DEADLINE_MS)
  const services = createServices(settings)
  const own = await Promise.all((await loadSystems(settings.systems)).flatMap(({ findings }) =>
    findings?.(settings, DEADLINE_MS, services) ?? []))
  const all = [program, servers, database, ...own]
  const problems = all.flatMap((one) => one.problems)
  const { notes = [] } = servers
  process.stdout.write(visibleLines(table(all.flatMap(({ rows }) => /** @type {import('./doctor/rows.js').Row[]} */ (rows)))))
  process.stdout.write(visibleLines(listed('Problems', problems) + listed('Warnings', notes)))
  if (problems.length === 0) process.stdout.write(`\nNo problems${notes.length ? ' besides the warnings' : ''} found.\n`)
  return problems.length ? 1 : 0
}

/** @param {string} title @param {string[]} sentences */
const listed = (title, sentences) => sentences.length ? `\n${title}:\n${sentences.map((one) => `  ${one}\n`).join('')}` : ''

/** @returns {import('./doctor/rows.js').Findings} */
function programFindings () {
  const { version, engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const [major, minor] = engines.node.match(/\d+/g).map(Number)
  const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number)
  const isOld = ownMajor < major || (ownMajor === major && ownMinor < minor)
  return {
    rows: [['freshet', version], ['node', process.version]],
    problems: isOld ? [`Node ${process.version} is too old; install ${engines.node}.`] : []
  }
}
