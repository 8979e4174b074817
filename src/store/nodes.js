/**
 * What one node reports: engine, role, offsets, processor time, from INFO and ROLE; and which commands its user may run. Nothing
 * is guessed from a version.
 *
 * @typedef {{ address: string, runId: string, engine: string, role: 'primary' | 'replica', cpuSeconds: number, timeMs: number,
 *   usedMemoryBytes: number, offset: number, linkUp: boolean, loading: boolean, fullSyncs: number }} NodeFigures
 *   `timeMs`: by its own clock
 */
import { FreshetError } from '../errors.js'
import { namedAddress } from './named-address.js'
import { countRefused } from './refused-answers.js'
import { clusterUnsupported, sentinelUnsupported } from './replies.js'
import { urlAt } from './tls.js'

/** Whether primaries have the replicas that an acknowledgement level needs. */

/** Replicas that a level needs: 1 for `replica`, n for a number, otherwise 0. @param {string} level */
export const replicasOf = (level) => level === 'replica' ? 1 : Number(/^\d+$/.test(level) && level)

/** @param {Connection} connection to the primary */
export const attachedReplicas = async (connection) =>
  Number(readInfo(await connection.send('INFO', 'replication'), connection.address).connected_slaves ?? 0)

/**
 * Rejects a number of replicas that a primary does not have. One replica may come later, as with `replica`.
 * @param {Connection[]} primaries @param {string} level @param {string} setting its name
 * @throws {FreshetError} REPLICAS_TOO_FEW
 */
export async function expectReplicas (primaries, level, setting) {
  const needed = replicasOf(level)
  if (needed < 2) return
  const counts = await Promise.all(primaries.map(attachedReplicas))
  const at = counts.findIndex((count) => count < needed)
  if (at < 0) return
  throw new FreshetError('REPLICAS_TOO_FEW', `the primary at ${primaries[at].address} has ${counts[at]} attached ` +
    `${counts[at] === 1 ? 'replica' : 'replicas'}, and --${setting} ${needed} needs ${needed}: attach more, or use a lower number`)
}

/**
 * The history of writes that a node has: its replication id, from INFO. A replica in sync has the id of its primary, also when it
 * follows another replica; after a failover all nodes behind the new primary have a new id. So it shows whether a replica belongs
 * to this primary: offsets of different histories cannot be compared. A promoted replica starts a new history, and names the one that it
 * continues.
 */

/** the id may change without notice: the first replica of a primary starts a new history */
const ASK_AGAIN_MS = 1000

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {ReturnType<typeof createHistory>} History */

/**
 * Whether a node has a history that is known, or continues it. One that left it before `offset` has lost what others have.
 * @param {ReplicationFacts} node @param {{ id: string | null, offset: number }} known
 */
export const continues = (node, known) => known.id !== null &&
  (node.id === known.id || (node.idBefore === known.id && node.endOffset >= known.offset))

export function createHistory () {
  /** @type {string | null} */
  let id = null
  let askedAbout = ''
  let askedMs = -Infinity
  /** @type {Connection | null} */
  let askedOf = null

  /** @param {Connection} connection */
  async function ask (connection) {
    askedMs = performance.now()
    id = await replicationId(connection)
  }

  return {
    /** null = not known. */
    get id () { return id },
    ask,
    /**
     * Asks after a second, on another connection, or when `about` changes.
     * @param {Connection} connection
     * @param {string} about what else is known about the node
     */
    async look (connection, about) {
      if (about === askedAbout && connection === askedOf && performance.now() - askedMs < ASK_AGAIN_MS) return
      await ask(connection)
      askedAbout = about
      askedOf = connection
    }
  }
}

const ALL = /^([^:\r\n]+):(.*)\r?$/gm
/** The names of some 200 would cost more than all else that a process does at rest. */
const OF_FIGURES = new RegExp(`^(${[
  'cluster_enabled', 'server_mode', 'redis_mode', 'run_id', 'valkey_version', 'redis_version', 'role', 'used_cpu_user', 'used_cpu_sys',
  'server_time_usec', 'used_memory', 'master_repl_offset', 'slave_repl_offset', 'master_link_status', 'loading', 'sync_full'
].join('|')}):(.*)\\r?$`, 'gm')

/**
 * @param {unknown} bytes the reply to INFO
 * @param {string} address
 * @param {RegExp} [wanted] name and value of a line
 * @returns {Record<string, string>}
 * @throws {FreshetError} SERVER_REFUSED
 */
export function readInfo (bytes, address, wanted = ALL) {
  if (!Buffer.isBuffer(bytes)) throw unlike(address, 'INFO')
  return Object.fromEntries(Array.from(bytes.toString().matchAll(wanted), ([, name, value]) => [name, value]))
}

/** of one primary; a process keeps a connection to each */
const MAX_REPLICAS = 100

/**
 * The first request of every process to a node, before any other command, which refuses what is no node of a deployment: so a server that
 * a cluster wrongly names as the owner of slots gets no write.
 * @param {import('./connection.js').Connection} connection
 * @param {RegExp} [wanted] as readInfo
 * @returns {Promise<Record<string, string>>}
 * @throws {FreshetError} CLUSTER_UNSUPPORTED, SENTINEL_UNSUPPORTED, SERVER_REFUSED, SERVER_LOST
 */
export async function nodeInfo (connection, wanted) {
  const info = readInfo(await connection.send('INFO'), connection.address, wanted)
  if (info.cluster_enabled === '1' && !connection.isOfCluster) throw clusterUnsupported(connection.address)
  if (info.cluster_enabled !== '1' && connection.isOfCluster) throw outsider(connection.address)
  if ((info.server_mode ?? info.redis_mode) === 'sentinel') throw sentinelUnsupported(connection.address)
  return info
}

/**
 * @param {import('./connection.js').Connection} connection
 * @returns {Promise<NodeFigures>}
 * @throws {FreshetError} as nodeInfo
 */
export const nodeFigures = async (connection) => figuresIn(await nodeInfo(connection, OF_FIGURES), connection.address)

/**
 * Figures of nodes that answer, primaries first.
 * @param {import('./connection.js').Connection[]} connections @returns {Promise<NodeFigures[]>}
 */
export async function figuresOf (connections) {
  const answers = await Promise.allSettled(connections.map(nodeFigures))
  const figures = answers.flatMap((one) => one.status === 'fulfilled' ? [one.value] : [])
  // a replica that became a primary answers at both addresses
  return figures.filter(({ runId }, i) => !runId || figures.findIndex((one) => one.runId === runId) === i)
    .sort((a, b) => Number(b.role === 'primary') - Number(a.role === 'primary'))
}

/** @param {Record<string, string>} info @param {string} address @returns {NodeFigures} */
export function figuresIn (info, address) {
  const primary = info.role === 'master'
  return {
    address,
    runId: info.run_id,
    engine: info.valkey_version ? `valkey ${info.valkey_version}` : `redis ${info.redis_version}`,
    role: primary ? 'primary' : 'replica',
    cpuSeconds: Number(info.used_cpu_user) + Number(info.used_cpu_sys),
    timeMs: Number(info.server_time_usec) / 1000,
    usedMemoryBytes: Number(info.used_memory),
    offset: Number(primary ? info.master_repl_offset : info.slave_repl_offset),
    linkUp: primary || info.master_link_status === 'up',
    loading: info.loading === '1',
    fullSyncs: Number(info.sync_full ?? 0)
  }
}

/** @param {import('./connection.js').Connection} connection @returns {Promise<string | null>} of its history of writes; null = unknown */
export const replicationId = async (connection) => (await replicationFacts(connection)).id

/**
 * The history of writes that a node has.
 * @typedef {{ isPrimary: boolean, id: string | null, offset: number, idBefore: string | null, endOffset: number }} ReplicationFacts
 *   `id` null = unknown; `offset` up to which it has the history; `idBefore`: of the history that it continues, up to `endOffset`
 *
 * @param {import('./connection.js').Connection} connection
 * @returns {Promise<ReplicationFacts>} @throws {FreshetError} SERVER_REFUSED, SERVER_LOST
 */
export async function replicationFacts (connection) {
  const info = readInfo(await connection.send('INFO', 'replication'), connection.address)
  return {
    isPrimary: info.role === 'master',
    id: info.master_replid ?? null,
    offset: Number(info.master_repl_offset ?? 0),
    idBefore: info.master_replid2 ?? null,
    endOffset: Number(info.second_repl_offset ?? 0)
  }
}

/**
 * Tests MSETEX inside MULTI ... DISCARD: a server checks whether a queued command exists and is permitted before it checks memory
 * and role. The test names no key, so key permissions do not matter.
 * @param {import('./connection.js').Connection} connection
 * @returns {Promise<{ msetex: boolean | null }>} null = the server has it, and this user may not run it
 * @throws {import('../errors.js').FreshetError} SERVER_LOST, SERVER_REFUSED
 */
export async function capabilities (connection) {
  // the connection must not stay in a transaction, so whether the user may end one is tried first; it has another error for all others
  await connection.send('DISCARD').catch((error) => { if (error.reply !== 'ERR') throw error })
  const [multi, msetex, discard] = await Promise.allSettled([
    connection.send('MULTI'), connection.send('MSETEX', 0, 'none', 'none'), connection.send('DISCARD')
  ])
  for (const one of [multi, discard]) if (one.status === 'rejected') throw one.reason
  if (msetex.status === 'fulfilled') return { msetex: true }
  const { outcome, message, reply } = msetex.reason
  if (reply === undefined) throw msetex.reason
  return { msetex: outcome === 'forbidden' ? null : !/unknown command/i.test(message) }
}

/**
 * The map of a cluster has the addresses that its nodes announce. ROLE has those that their replication links come from, which behind
 * Docker or NAT lead nowhere, or elsewhere; without a cluster, `replica-announce-ip` changes them.
 * @param {import('./connection.js').Connection} primary
 * @returns {Promise<string[]>} addresses of its replicas, with the credentials and scheme of the primary's own
 */
export const replicaUrls = async (primary) =>
  primary.map ? primary.map.replicasOf(primary.url) : replicaUrlsIn(await primary.send('ROLE'), primary)

/**
 * @param {unknown} reply to ROLE @param {{ address: string, url: string }} node that gave it
 * @returns {string[]} as replicaUrls, those with an address @throws {FreshetError} SERVER_REFUSED
 */
export function replicaUrlsIn (reply, { address, url }) {
  if (!Array.isArray(reply)) throw unlike(address, 'ROLE')
  const [role, , replicas] = reply
  if (String(role) !== 'master') return []
  if (!Array.isArray(replicas)) throw unlike(address, 'ROLE')
  return usableRows(replicas, (row) => {
    const named = Array.isArray(row) ? namedAddress(row[0], row[1]) : null
    return named && urlAt(url, named.host, named.port)
  })
}

/**
 * Rows about replicas. Any client that synchronizes is listed, also one that names no port (`redis-cli --replica`): such a row is counted,
 * and the others count.
 * @template T @param {unknown[]} rows @param {(row: unknown) => T | null} read null: it names no usable address @returns {T[]}
 */
export function usableRows (rows, read) {
  const found = rows.slice(0, MAX_REPLICAS).flatMap((row) => read(row) ?? [])
  if (found.length < rows.length) countRefused('replicas')
  return found
}

/**
 * A demoted primary keeps its connections and answers reads, so a connection that only reads does not notice.
 * @param {import('./connection.js').Connection} connection to a node that was a primary
 * @throws {FreshetError} SERVER_LOST, outcome over, when it is a replica now
 */
export async function expectStillPrimary (connection) {
  const reply = await connection.send('ROLE').catch((error) => {
    // a server without ROLE has no roles; without the permission, the next write gets READONLY
    if (error.outcome !== 'refused' && error.outcome !== 'forbidden') throw error
    return ['master']
  })
  if (!Array.isArray(reply)) throw unlike(connection.address, 'ROLE')
  if (String(reply[0]) === 'master') return
  throw new FreshetError('SERVER_LOST', `the server at ${connection.address} is a replica now`, { outcome: 'over' })
}

/**
 * @param {import('./connection.js').Connection} connection @returns {Promise<NodeFigures>}
 * @throws {FreshetError} SERVER_LOST while it loads, and in a cluster; SERVER_REFUSED, that it is a replica; as nodeInfo
 */
export async function expectPrimary (connection) {
  const figures = await nodeFigures(connection)
  if (figures.loading) throw new FreshetError('SERVER_LOST', `the server at ${connection.address} is loading its data`)
  if (figures.role === 'primary') return figures
  // a failover is under way
  if (connection.isOfCluster) throw new FreshetError('SERVER_LOST', `the server at ${connection.address} is a replica now`)
  throw new FreshetError('SERVER_REFUSED', `the server at ${connection.address} is a replica; give the address of its primary`,
    { publicWhy: 'the address leads to a replica, not to a primary' })
}

/** @param {string} address */
function outsider (address) {
  countRefused('owner')
  return new FreshetError('SERVER_REFUSED', `the cluster names the server at ${address} as one of its nodes, but it is none ` +
    '(cluster_enabled is not 1); see CLUSTER SLOTS and cluster-announce-ip of the nodes')
}

/** @param {string} address @param {string} command */
const unlike = (address, command) =>
  new FreshetError('SERVER_REFUSED', `the server at ${address} is not Valkey or Redis: unexpected reply to ${command}`)
