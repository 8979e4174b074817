/** `npm start doctor`: versions, capabilities and permissions. Starts, downloads and writes nothing. */
import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { printable, settingsOf } from '../settings.js'
import {
  createServices, defaultCacheDir, findPip, hasPostgres, installAdvice, installedEngines, lookAtEmbeddedServers, namedEngine, newest,
  PINNED_VERSION, POSTGRES_VERSION, ROOT, runningPart
} from '../src/embedded/index.js'
import { visibleLines } from '../src/runtime/index.js'
import { addressOf, openDatabase } from '../src/sql/index.js'
import { openConnection, probeServers } from '../src/store/index.js'
import { loadSystems, settingsOfModules } from '../src/systems/list.js'

/** The server program that embedded servers would use, and the embedded servers that run. */

const EMBEDDED_DEADLINE_MS = 1000

/** @typedef {Record<string, string | undefined>} Env */

/** @param {any} settings @param {Env} env @returns {Promise<Findings>} */
async function embeddedFindings ({ server: named, cacheDir }, env) {
  /** @type {string[]} */
  const skipped = []
  const installed = await installedEngines({ env, cacheDir: cacheDir ?? defaultCacheDir(ROOT), report: (line) => skipped.push(line) })
  const pip = await findPip(env)
  const choice = await choiceOf(named, env, installed, pip)
  const running = await lookAtEmbeddedServers({ root: ROOT })
  const runningRows = /** @type {string[][]} */ (running === null
    ? [['not running']]
    : running === 'starting'
      ? [['starting or stopping']]
      : running.servers === null
        ? [['not running']]
        : await nodeRows(running.servers))
  return {
    rows: [
      ...labelled('engines', [...installed.map(engineCells), ...skipped.map((line) => [line])]),
      ['pip', pip ? pip.join(' ') : 'not found'],
      ['would use', choice.text],
      ...labelled('servers', runningRows)
    ],
    problems: choice.problem ? [choice.problem] : []
  }
}

/**
 * Nodes of a cluster may have other roles than at the start.
 * @param {{ primaries: string[], replicas: string[], engine: { name: string, version: string } }} servers @returns {Promise<string[][]>}
 */
export async function nodeRows ({ primaries, replicas, engine: { name, version } }) {
  const rows = await Promise.all([...primaries, ...replicas].map(async (url) => [await roleOf(url), url]))
  const text = `${name} ${version}${primaries.length > 1 ? ', a cluster' : ''}`
  return ROLES.flatMap((role) => rows.filter(([its]) => its === role)).map((row, i) => i === 0 ? [...row, text] : row)
}

const ROLES = ['primary', 'replica', 'away']

/** @param {string} url */
async function roleOf (url) {
  try {
    const connection = await openConnection(url, { name: 'freshet-doctor', deadlineMs: EMBEDDED_DEADLINE_MS })
    const [role] = await connection.send('ROLE').finally(() => connection.close())
    return String(role) === 'master' ? 'primary' : 'replica'
  } catch {
    return 'away'
  }
}

/**
 * The choice of chooseEngine, without a download.
 * @param {string | null} named @param {Env} env
 * @param {import('../src/embedded/index.js').Engine[]} installed @param {string[] | null} pip
 * @returns {Promise<{ text: string, problem?: string }>}
 */
async function choiceOf (named, env, installed, pip) {
  if (named) {
    return namedEngine(named, env).then(
      ({ name, version, program }) => ({ text: `${name} ${version} (${program}), as configured` }),
      (error) => ({ text: 'none', problem: error.message + '.' }))
  }
  const able = newest(installed.filter((engine) => engine.hasMsetex))
  if (able) {
    return { text: `${able.name} ${able.version} (${able.origin === 'pinned' ? 'the pinned copy' : able.program}), the newest with MSETEX` }
  }
  if (pip) return { text: `valkey ${PINNED_VERSION}, downloaded with ${pip.join(' ')}: no installed server has MSETEX` }
  const older = newest(installed)
  if (older) {
    return {
      text: `${older.name} ${older.version} (${older.program}), without MSETEX: there is no pip to download valkey ${PINNED_VERSION}`
    }
  }
  return { text: 'none', problem: `There is no server program, and no pip to download one. ${await installAdvice()}.` }
}

/** @param {import('../src/embedded/index.js').Engine} engine */
const engineCells = ({ name, version, hasMsetex, program, origin }) => [
  `${name} ${version}`, `MSETEX ${hasMsetex ? 'yes' : 'no'}`, program + (origin === 'pinned' ? ' (the pinned copy)' : '')
]

/** The servers of --redis-url: versions, replicas, and what the user may do. */

/** @type {Record<string, string>} */
const REPLICA_ADVICE = {
  SERVER_REFUSED: 'users are not replicated; create the same user on each server',
  SERVER_UNTRUSTED: 'its certificate must contain the address that the primary reports; otherwise set --replica-url'
}

/**
 * @typedef {import('../src/store/index.js').ServerFacts} ServerFacts
 * @typedef {import('../src/store/index.js').ReplicaFacts} ReplicaFacts
 */

/**
 * @param {Record<string, any>} settings
 * @param {string} shown the URL without its password
 * @param {number} deadlineMs
 * @returns {Promise<Findings>}
 */
async function serverFindings (settings, shown, deadlineMs) {
  try {
    const { redisUrl, replicaUrl: replicas, keyPrefix } = settings
    const all = await probeServers(redisUrl, { replicas, keyPrefix, deadlineMs })
    const findings = all.map((facts) => findingsOf(all.length > 1 ? facts.primary.address : shown, facts))
    const once = (/** @type {string[]} */ texts) => [...new Set(texts)]
    return {
      rows: findings.flatMap(({ rows }) => rows),
      problems: once(findings.flatMap(({ problems }) => problems)),
      notes: once(findings.flatMap(({ notes = [] }) => notes))
    }
  } catch (error) {
    if (!error.exitStatus) throw error
    if (error.code === 'CLUSTER_UNSUPPORTED') {
      const notes = [`${error.message}. What the user may do there was not looked at.`]
      return { rows: [['server', shown, 'a node of a cluster']], problems: [], notes }
    }
    return { rows: [['server', shown, 'unusable']], problems: [error.message] }
  }
}

/** @param {string} url @param {ServerFacts} facts @returns {Findings} */
function findingsOf (url, facts) {
  const { primary, evicts, roles, replicas } = facts
  const lacking = roles.filter(({ missing }) => missing.length)
  const able = roles.filter(({ missing }) => missing.length === 0)
  const mayRead = able.some(({ role }) => role === 'reader')
  const problems = []
  if (primary.error === null && primary.role === 'replica') problems.push('This server is a replica; set --redis-url to the primary.')
  if (able.length === 0) {
    const commands = roles.map(({ role, missing }) => `${role}: ${missing.join(' ')}`).join('; ')
    problems.push(
      `The user lacks permissions for every command of Freshet (${commands}); grant commands and keys as described in docs/acl.`
    )
  }
  const notes = []
  if (evicts) {
    notes.push(`maxmemory-policy is ${evicts}: a full server deletes items without notice. Set noeviction, so that it refuses writes.`)
  }
  if (lacking.length && able.length) {
    const others = `${namesOf(lacking)} ${lacking.length === 1 ? 'needs' : 'need'}`
    notes.push(`The user is sufficient for ${namesOf(able)} only; ${others} another user, or the missing permissions (docs/acl).`)
  }
  return { rows: rowsOf(url, facts, mayRead), problems: [...problems, ...replicas.flatMap((node) => problemsOf(node, mayRead))], notes }
}

/** @param {ReplicaFacts} node @param {boolean} mayRead whether the user may read from the primary @returns {string[]} */
function problemsOf (node, mayRead) {
  const { address, reader } = node
  const problems = []
  if (node.error !== null) {
    const advice = REPLICA_ADVICE[node.code] ?? 'set --replica-url to addresses that this machine can reach'
    problems.push(`The replica ${address} cannot be used (${node.error}): ${advice}.`)
  } else if (node.isForeign) {
    problems.push(
      `The node ${address} does not belong to this primary, so readers do not use it; set --replica-url to its replicas, or omit it.`
    )
  }
  if (mayRead && reader?.missing.length) {
    problems.push(`The user may not run ${reader.missing.join(' ')} on the replica ${address}, unlike on the primary: ` +
      `${REPLICA_ADVICE.SERVER_REFUSED}.`)
  }
  return problems
}

/** @param {string} url @param {ServerFacts} facts @param {boolean} mayRead @returns {Row[]} */
function rowsOf (url, { primary, hasMsetex, evicts, roles, replicas }, mayRead) {
  const describe = (/** @type {import('../src/store/index.js').NodeFacts} */ node) =>
    node.error === null ? `${node.engine}, ${node.role}${node.linkUp ? '' : ', not in sync'}` : node.error
  const onPrimary = roles.find(({ role }) => role === 'reader')?.without ?? []
  /** @param {ReplicaFacts} node what it lacks compared with the primary */
  const lacks = ({ isForeign, reader }) => [
    ...(isForeign ? ['of another primary'] : []),
    ...(mayRead && reader?.missing.length ? [`may not run ${reader.missing.join(' ')}`] : []),
    ...(reader?.without.filter((lack) => !onPrimary.includes(lack)) ?? [])
  ]
  return [
    ['server', url, describe(primary), `MSETEX ${hasMsetex === null ? 'unknown' : hasMsetex ? 'yes' : 'no'}`],
    ...(evicts ? labelled('memory', [[`maxmemory-policy is ${evicts}`]]) : []),
    ...labelled('user', roles.map(({ role, missing, without }) => [
      role, missing.length ? `may not run ${missing.join(' ')}` : ['has all permissions', ...without].join('; ')
    ])),
    ...labelled('replicas', replicas.length
      ? replicas.map((node) => [node.address, [describe(node), ...lacks(node)].join('; ')])
      : [['none; readers read from the primary']])
  ]
}

/** @param {import('../src/store/index.js').RoleFacts[]} roles */
const namesOf = (roles) => roles.map(({ role }) => role).join(' and ')

/** The database of sales and bids. */

/** the problems list says what it would log */
const SILENT = pino({ level: 'silent' })

/**
 * Its version, or the state of the embedded one.
 * @param {Record<string, any>} settings @param {number} deadlineMs @returns {Promise<Findings>}
 */
async function databaseFindings ({ databaseUrl, cacheDir }, deadlineMs) {
  if (databaseUrl === null) {
    const isFetched = await hasPostgres(cacheDir ?? defaultCacheDir(ROOT))
    const state = isFetched ? 'the pinned copy' : 'downloaded when consumers first need it, 24 MB'
    const running = await runningPart('database')
    return { rows: [['database', `postgres ${POSTGRES_VERSION} (${state})`, running ? addressOf(running) : 'not running']], problems: [] }
  }
  const address = addressOf(databaseUrl)
  const database = openDatabase({ url: databaseUrl, name: 'freshet-doctor', max: 1, deadlineMs, log: SILENT })
  try {
    const { rows: [{ version }] } = await database.query("SELECT current_setting('server_version') AS version")
    return { rows: [['database', address, `postgres ${version}`]], problems: [] }
  } catch (error) {
    return { rows: [['database', address, 'unusable']], problems: [`${error.message}.`] }
  } finally {
    await database.close()
  }
}

/**
 * What doctor finds, and the rows that it prints.
 *
 * @typedef {[label: string, ...cells: string[]]} Row an empty label continues the row above
 * @typedef {{ rows: Row[], problems: string[], notes?: string[] }} Findings sentences; `problems` must be solved first
 */

/** @param {string} label @param {string[][]} lines @returns {Row[]} */
const labelled = (label, lines) => (lines.length ? lines : [['none']]).map((cells, i) => [i === 0 ? label : '', ...cells])

/** Pads columns within a label. @param {Row[]} rows @returns {string} */
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
  const systemFindings = await Promise.all((await loadSystems(settings.systems)).flatMap(({ findings }) =>
    findings?.(settings, DEADLINE_MS, services) ?? []))
  const all = [program, servers, database, ...systemFindings]
  const problems = all.flatMap((findings) => findings.problems)
  const { notes = [] } = servers
  process.stdout.write(visibleLines(table(all.flatMap(({ rows }) => /** @type {Row[]} */ (rows)))))
  process.stdout.write(visibleLines(listed('Problems', problems) + listed('Warnings', notes)))
  if (problems.length === 0) process.stdout.write(`\nNo problems${notes.length ? ' besides the warnings' : ''} found.\n`)
  return problems.length ? 1 : 0
}

/** @param {string} title @param {string[]} sentences */
const listed = (title, sentences) => sentences.length ? `\n${title}:\n${sentences.map((sentence) => `  ${sentence}\n`).join('')}` : ''

/** @returns {Findings} */
function programFindings () {
  const { version, engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const [major, minor] = engines.node.match(/\d+/g).map(Number)
  const [nodeMajor, nodeMinor] = process.versions.node.split('.').map(Number)
  const isOld = nodeMajor < major || (nodeMajor === major && nodeMinor < minor)
  return {
    rows: [['freshet', version], ['node', process.version]],
    problems: isOld ? [`Node ${process.version} is too old; install ${engines.node}.`] : []
  }
}
