/**
 * What a server is and which commands its user may run, for `npm start doctor`. It writes nothing.
 *
 * Permissions are tested inside MULTI ... DISCARD: a server checks them when it queues a command, with its real arguments, and a
 * discarded command has no effect. For a user that may not queue, only the commands of a reader are tested, because they change
 * nothing. Users are not replicated, so replicas are tested too, for the commands of a reader.
 */
import { commandName, COMMANDS, ROLES, rowsOf } from './commands.js'
import { openConnection } from './connection.js'
import { capabilities, nodeFigures, replicationId, replicaUrls } from './nodes.js'
import { openPrimaries } from './primaries.js'
import { firstAddressOf, slotMapOf } from './slot-map.js'

const NAME = 'freshet-doctor'

/**
 * @typedef {import('./commands.js').CommandRow} CommandRow
 * @typedef {import('./commands.js').Role} Role
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {{ address: string, error: string, code: string } | { address: string, error: null, engine: string,
 *   role: 'primary' | 'replica', linkUp: boolean, history: string | null }} NodeFacts `history`: its replication id
 * @typedef {NodeFacts & { isForeign: boolean, reader: RoleFacts | null }} ReplicaFacts `isForeign`: not of this primary;
 *   `reader`: what the user may read there, null = not known
 * @typedef {{ role: Role, missing: string[], without: string[] }} RoleFacts `missing`: commands that
 *   the role needs and the user may not run; `without`: consequences of missing commands that the role can do without
 * @typedef {{ primary: NodeFacts, hasMsetex: boolean | null, evicts: string | null, roles: RoleFacts[],
 *   replicas: ReplicaFacts[] }} ServerFacts `hasMsetex` null = not permitted; `evicts`: its maxmemory-policy if not noeviction
 */

/**
 * @param {string} url
 * @param {{ replicas: string[] | null, keyPrefix: string, deadlineMs: number, map?: import('./slot-map.js').SlotMap }} options `replicas`
 *   null = ask the primary; `map` of a cluster
 * @returns {Promise<ServerFacts>}
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED, SERVER_LOST, CLUSTER_UNSUPPORTED,
 *   SENTINEL_UNSUPPORTED
 */
async function probeServer (url, { replicas, keyPrefix, deadlineMs, map }) {
  const connection = await openConnection(url, { name: NAME, deadlineMs, map })
  try {
    const primary = await nodeFacts(connection)
    const { msetex } = await unlessRefused(capabilities(connection), { msetex: null })
    const memory = String(await unlessRefused(connection.send('INFO', 'memory'), ''))
    const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1]
    const addresses = replicas ?? await unlessRefused(replicaUrls(connection), [])
    return {
      primary,
      hasMsetex: msetex,
      evicts: policy && policy !== 'noeviction' ? policy : null,
      roles: await roleFacts(connection, probeKey(keyPrefix), msetex === true && !map),
      replicas: await Promise.all(addresses.map((address) => replicaFacts(address, { primary, keyPrefix, deadlineMs, map })))
    }
  } finally {
    connection.close()
  }
}

/**
 * Facts of the primary of an address, or of all primaries of a cluster.
 * @param {string} redisUrl @param {{ replicas: string[] | null, keyPrefix: string, deadlineMs: number }} options as probeServer
 * @returns {Promise<ServerFacts[]>} @throws {import('../errors.js').FreshetError} as probeServer
 */
export async function probeServers (redisUrl, options) {
  try {
    return [await probeServer(await firstAddressOf(redisUrl), options)]
  } catch (error) {
    if (error.code !== 'CLUSTER_UNSUPPORTED') throw error
  }
  const map = slotMapOf(redisUrl)
  const primaries = await openPrimaries(redisUrl, { name: NAME, deadlineMs: options.deadlineMs })
  try {
    return await Promise.all(map.primaries.map((url) => probeServer(url, { ...options, replicas: null, map })))
  } finally {
    await primaries.close()
  }
}

const UNSUPPORTED = Object.freeze(['CLUSTER_UNSUPPORTED', 'SENTINEL_UNSUPPORTED'])
const probeKey = (/** @type {string} */ keyPrefix) => `${keyPrefix}{doctor}`

/** @param {any} error */
const isRefused = (error) => error.reply === 'NOPERM'

/** @template T, N @param {Promise<T>} answer @param {N} instead @returns {Promise<T | N>} */
const unlessRefused = (answer, instead) => answer.catch((error) => {
  if (isRefused(error)) return instead
  throw error
})

/**
 * The last use of a connection, as refusedRows.
 * @param {Connection} connection @param {string} key @param {boolean} hasMsetex whether it is used
 * @returns {Promise<RoleFacts[]>}
 */
async function roleFacts (connection, key, hasMsetex) {
  const rows = COMMANDS.filter(({ isOfCluster }) => !isOfCluster || connection.isOfCluster)
  const refused = await refusedRows(connection, rows, key)
  return ROLES.map((role) => {
    const rows = rowsOf(role).filter((row) => refused.includes(row))
    return {
      role,
      missing: rows.filter((row) => row.without === undefined && (hasMsetex || !row.isWithMsetex)).map(commandName),
      without: [...new Set(rows.flatMap((row) => row.without ?? []))]
    }
  })
}

/**
 * Commands that the user of a connection may not run with a key. For a user that may not queue, all commands that change something
 * count as refused. The last use of a connection, because it may be left inside MULTI.
 * @param {Connection} connection @param {readonly CommandRow[]} rows @param {string} key
 * @returns {Promise<CommandRow[]>}
 */
export async function refusedRows (connection, rows, key) {
  const isNamed = (/** @type {string[]} */ names) => (/** @type {CommandRow} */ row) => names.includes(commandName(row))
  // these are not queued; outside MULTI they change nothing
  const apart = rows.filter(isNamed(['EXEC', 'DISCARD', 'WATCH']))
  const refused = await refusedOf(connection, apart, key)
  const mayQueue = await unlessRefused(connection.send('MULTI'), null) !== null
  const reading = rowsOf('reader')
  const asked = rows.filter((row) => !apart.includes(row) && (mayQueue ? !isNamed(['MULTI'])(row) : reading.includes(row)))
  const untested = rows.filter((row) => !mayQueue && !asked.includes(row) && !apart.includes(row))
  return [...refused, ...await refusedOf(connection, asked, key), ...untested]
}

/** @param {Connection} connection @param {readonly CommandRow[]} rows @param {string} key */
async function refusedOf (connection, rows, key) {
  const outcomes = await Promise.allSettled(rows.map(({ words }) => {
    const [name, ...args] = words(key)
    return connection.send(name, ...args)
  }))
  return rows.filter((_, i) => outcomes[i].status === 'rejected' && isRefused(/** @type {PromiseRejectedResult} */ (outcomes[i]).reason))
}

/** @param {Connection} connection @returns {Promise<NodeFacts>} @throws {import('../errors.js').FreshetError} UNSUPPORTED */
async function nodeFacts (connection) {
  const { address } = connection
  try {
    const { engine, role, linkUp } = await nodeFigures(connection)
    return { address, error: null, engine, role, linkUp, history: await replicationId(connection) }
  } catch (error) {
    if (UNSUPPORTED.includes(error.code)) throw error
    return { address, error: error.message, code: error.code }
  }
}

/** @param {string} url @param {any} options @returns {Promise<ReplicaFacts>} */
async function replicaFacts (url, { primary, keyPrefix, deadlineMs, map }) {
  try {
    const connection = await openConnection(url, { name: NAME, deadlineMs, map })
    try {
      const facts = await nodeFacts(connection)
      const roles = facts.error === null ? await roleFacts(connection, probeKey(keyPrefix), false) : []
      return { ...facts, reader: roles.find(({ role }) => role === 'reader') ?? null, isForeign: isForeign(facts, primary) }
    } finally {
      connection.close()
    }
  } catch (error) {
    return { address: new URL(url).host, error: error.message, code: error.code, reader: null, isForeign: false }
  }
}

/**
 * A replica that is not in sync has no history to compare. A given replica may be the primary itself, after a switchover.
 * @param {NodeFacts} node @param {NodeFacts} primary
 */
function isForeign (node, primary) {
  if (node.error !== null || primary.error !== null || primary.role !== 'primary' || !node.linkUp) return false
  return node.history !== null && primary.history !== null && node.history !== primary.history
}
