/**
 * The nodes of a deployment and their state. Every 100 ms the primary and each replica are asked for their ROLE. A node that has not
 * answered yet is not asked again, and does not keep others from being asked.
 *
 * A demoted primary keeps its connections. It is left at once, and its address is connected to again once a second until it
 * leads to a primary.
 *
 * The primary names its replicas: without a cluster by ROLE, in a cluster the map does, which has the addresses that they announce
 * (nodes.js). When ROLE changes, the map is read again until it has as many.
 *
 * A replica of another primary is left: its offsets may seem near, but it has other data. Its replication id shows it
 * (history.js), also after a failover and behind another replica.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FOREIGN, NOT_PRIMARY, NOT_REPLICA, absence, compareHistory, createNode } from './deployment-node.js'
import { createLagClock } from './lag.js'
import { replicaUrlsIn } from './nodes.js'
import { createPrimaryContact } from './primary-contact.js'

const POLL_MS = 100
/** of a round, for slow nodes */
const ROUND_MS = 300
const LOOK_AGAIN_MS = 1000
/** a replica further behind is left */
const LEAVE_AT_MS = 1000
/** until it is this near */
const RETURN_AT_MS = 200
/** after a change of replicas, all nodes of a cluster know of it within this */
const SPREAD_MS = 30_000

/** @typedef {import('./deployment-node.js').Node} Node */
/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {ReturnType<typeof createTopology>} Topology */

/**
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, name: string, deadlineMs: number, log: import('pino').Logger,
 *   map?: import('./slot-map.js').SlotMap, onPolled: () => void }} options `replicaUrls` null = those that the primary names; in a
 *   cluster always those
 */
export function createTopology ({ primaryUrl, replicaUrls, name, deadlineMs, log, map, onPolled }) {
  const nodeAt = (/** @type {Node['role']} */ role, /** @type {string} */ url) => createNode(role, url, { name, deadlineMs, log, map })
  const primary = nodeAt('primary', primaryUrl)
  /** @type {Map<string, Node>} */
  const replicas = new Map((replicaUrls ?? []).map((url) => [url, nodeAt('replica', url)]))
  const clock = createLagClock()
  const contact = createPrimaryContact(log)
  const ask = createAsking()
  /** when the address of the demoted primary was last connected to; null = it leads to a primary */
  let lookedMs = /** @type {number | null} */ (null)
  let isListed = replicaUrls !== null
  const listing = createListing()
  let closed = false
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  async function pollPrimary () {
    const { connection } = primary.link
    if (!connection) {
      primary.state = absence(primary)
      return
    }
    const askedMs = performance.now()
    const reply = await connection.send('ROLE')
    const [role, offset] = reply
    const atMs = performance.now()
    if (String(role) !== 'master') return lookElsewhere(connection)
    contact.answered(askedMs)
    await primary.history.look(connection, primary.state)
    primary.state = 'up'
    if (lookedMs !== null) log.warn({ node: connection.address }, 'the primary is found')
    lookedMs = null
    clock.add(askedMs, atMs, Number(offset))
    if (replicaUrls === null) follow(replicas, listing.urlsIn(reply, connection), nodeAt)
    isListed = true
  }

  /** @param {Connection} connection to a demoted primary: its address may lead to another node now */
  function lookElsewhere (connection) {
    primary.state = NOT_PRIMARY
    map?.failed(connection.url)
    if (lookedMs === null) log.warn({ node: connection.address }, 'the address of the primary leads to a replica, looking for the primary')
    else if (performance.now() - lookedMs < LOOK_AGAIN_MS) return
    lookedMs = performance.now()
    connection.close('it is a replica')
  }

  async function round () {
    await ask(primary, pollPrimary)
    await Promise.all([...replicas.values()].map((node) => ask(node, () => pollReplica(node, { primary, clock, contact, log }))))
  }

  async function poll () {
    await Promise.race([round(), sleep(ROUND_MS, undefined, { ref: false })])
    if (closed) return
    contact.judge()
    onPolled()
    timer = setTimeout(poll, POLL_MS)
  }

  const nodes = () => [primary, ...replicas.values()]

  return {
    primary,
    nodes,
    replicas: () => [...replicas.values()],
    /** How long ago the last contact with the primary was (primary-contact.js), ms; 0 = it is confirmed. */
    get unconfirmedMs () { return contact.unconfirmedMs },
    /** Whether the replicas are known: they were given, or the primary has named them. */
    get isListed () { return isListed },
    /** Whether the address of the primary leads to a replica, and the primary is looked for. */
    get isLooking () { return lookedMs !== null },

    /**
     * Starts polling. Resolves after the first round, which waits for the first connection of each node.
     * @param {{ awaitsReplicas: boolean }} options
     * @throws {import('../errors.js').FreshetError} what the first connection to the primary met; polling goes on
     */
    async start ({ awaitsReplicas }) {
      try {
        await primary.link.opened
      } catch (error) {
        // with given replicas, the primary may be down
        if (!replicaUrls?.length || error.code !== 'SERVER_UNREACHABLE') {
          poll()
          throw error
        }
      }
      await pollPrimary().catch(() => {})
      if (awaitsReplicas) await Promise.allSettled([...replicas.values()].map((node) => node.link.opened))
      await round()
      await poll()
    },

    async close () {
      closed = true
      clearTimeout(timer)
      await Promise.all(nodes().map((node) => node.link.close()))
    }
  }
}

/** Which replicas a primary has. */
function createListing () {
  let listed = ''
  let changedMs = -Infinity

  return {
    /** @param {any[]} reply to ROLE @param {Connection} connection that it came on @returns {string[]} */
    urlsIn (reply, connection) {
      const ofRole = replicaUrlsIn(reply, connection)
      const { map, url } = connection
      if (!map) return ofRole
      if (String(ofRole) !== listed) changedMs = performance.now()
      listed = String(ofRole)
      const urls = map.replicasOf(url)
      if (urls.length !== ofRole.length && performance.now() - changedMs < SPREAD_MS) map.refreshSoon()
      return urls
    }
  }
}

/**
 * @param {Map<string, Node>} replicas
 * @param {string[]} urls of those that the primary names now
 * @param {(role: Node['role'], url: string) => Node} nodeAt
 */
function follow (replicas, urls, nodeAt) {
  for (const url of urls) if (!replicas.has(url)) replicas.set(url, nodeAt('replica', url))
  for (const [url, node] of replicas) {
    // a replica that still answers may be changing its primary
    if (urls.includes(url) || (node.link.connection && node.state !== NOT_REPLICA)) continue
    replicas.delete(url)
    node.link.close()
  }
}

/** Of nodes that have not answered yet nothing is asked. */
function createAsking () {
  /** @type {Set<Node>} */
  const asked = new Set()
  return async (/** @type {Node} */ node, /** @type {() => Promise<unknown>} */ look) => {
    if (asked.has(node)) return
    asked.add(node)
    await look().catch(() => {})
    asked.delete(node)
  }
}

/**
 * @param {Node} node
 * @param {{ primary: Node, clock: ReturnType<typeof createLagClock>, contact: import('./primary-contact.js').PrimaryContact,
 *   log: import('pino').Logger }} parts
 */
async function pollReplica (node, { primary, clock, contact, log }) {
  const { connection } = node.link
  if (!connection) {
    node.state = absence(node)
    node.lagMs = null
    return
  }
  const askedMs = performance.now()
  const [role, ...facts] = await connection.send('ROLE')
  const [, , state, offset] = facts
  const isUp = primary.state === 'up'
  if (String(state) === 'connected' && isUp) await compareHistory(node, primary, { about: String(facts.slice(0, 3)), log })
  // without a primary, its history no longer keeps replicas from answering
  const isForeign = node.isForeign && isUp
  node.state = String(role) !== 'slave' ? NOT_REPLICA : isForeign ? FOREIGN : String(state)
  node.offset = Number(offset)
  node.lagMs = isForeign ? null : clock.lagMs(node.offset, askedMs)
  if (node.lagMs !== null) node.reachedMs = clock.reachedMs(node.offset)
  leaveOrReturn(node, log)
  node.isConfirmed = contact.isDirect || (String(role) === 'slave' && !node.isForeign && await contact.ask(connection))
}

/** @param {Node} node @param {import('pino').Logger} log */
function leaveOrReturn (node, log) {
  const { lagMs } = node
  const isFar = lagMs !== null && lagMs > (node.left ? RETURN_AT_MS : LEAVE_AT_MS)
  if (isFar !== node.left && lagMs !== null) {
    log.warn({ node: new URL(node.url).host, lagMs }, isFar ? 'replica lags, left' : 'replica caught up')
  }
  node.left = isFar
}
