/**
 * A primary and its replicas: their state, and which of them may answer (choice.js). Each node is asked for its ROLE every 100 ms while
 * there is use of the servers, else twice a second (servers.js). A node that has not answered yet is not asked again, and does not keep
 * others from being asked.
 *
 * A demoted primary keeps its connections. It is left at once, and its address is connected to again once a second until it
 * leads to a primary.
 *
 * The primary names its replicas: without a cluster by ROLE, in a cluster the map does, which has the addresses that they announce
 * (nodes.js). When ROLE changes, the map is read again until it has as many.
 *
 * A replica of another primary is left: its offsets may seem near, but it has other data. Its replication id shows it
 * (nodes.js), also after a failover and behind another replica.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { publicReason } from '../errors.js'
import { untilTick } from '../ticks.js'
import { createChoice, createSeparateChoice } from './choice.js'
import {
  absence, compareHistory, createLagClock, createNode, createPrimaryContact, FOREIGN, NOT_PRIMARY, NOT_REPLICA, shownState
} from './node.js'
import { createLookups } from './lookups.js'
import { replicaUrlsIn } from './nodes.js'

/** of a round, for slow nodes */
const ROUND_MS = 300
const LOOK_AGAIN_MS = 1000
/** a replica further behind is left */
const LEAVE_AT_MS = 1000
/** until it is this near */
const RETURN_AT_MS = 200
/** after a change of replicas, all nodes of a cluster know of it within this */
const SPREAD_MS = 30_000

/** @typedef {ReturnType<typeof createShard>} Shard */
/** @typedef {ReturnType<typeof createTopology>} Topology */
/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./node.js').Node} Node */

/**
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, readFrom: 'replica' | 'primary' | null, isReading: boolean, name: string,
 *   primaryName: string, deadlineMs: number, log: import('pino').Logger, map: import('./slot-map.js').SlotMap,
 *   pace: import('./servers.js').Pace | null, lookups: import('./lookups.js').LookupCounts, onChange: () => void }} options
 *   `replicaUrls` null = those that the primary names; `readFrom` null = see choice.js; `isReading`: false = no reads, and replicas are
 *   connected to after `addReplicas` only; `primaryName`: of the connection to the primary, behind `name`; `pace` null = nodes are asked by
 *   `look` only; `onChange` is called when other nodes may answer than before
 */
export function createShard ({ readFrom, lookups, isReading, ...options }) {
  const { name, primaryName, deadlineMs, log, map, pace, onChange } = options
  const nodeAt = (/** @type {Node['role']} */ role, /** @type {string} */ url) => createNode(role, url, {
    name: `${name}:${role === 'primary' ? primaryName : role}`,
    deadlineMs,
    log,
    map,
    onChange,
    mustBePrimary: !isReading && role === 'primary'
  })
  let isReady = false
  const topology = createTopology({
    ...options,
    nodeAt,
    onPolled () {
      isReady ||= topology.nodes().every(({ role, state }) => role === 'primary' ? state === 'up' : state !== 'connecting')
      if (isReading) settle()
      onChange()
    }
  })
  const { choose, expectPrimary, mayAnswer, settle, unusedReplicas } = createChoice({ topology, readFrom, log })
  const { lookUp } = createLookups(() => /** @type {Connection} */ (expectPrimary().link.connection), lookups)
  if (isReading) topology.addReplicas()
  const ready = topology.start({ awaitsReplicas: isReading && readFrom !== 'primary' })
  ready.catch(() => {})

  /** @param {Node} node */
  function lagNow (node) {
    if (node.role === 'replica') return node.lagMs
    return node.link.connection !== null && node.state !== NOT_PRIMARY ? 0 : null
  }

  const chooseSeparate = createSeparateChoice({ ...options, topology, choose, mayAnswer, lagNow })

  return {
    /** Resolves when every node was polled once. Rejects with what the first connection to the primary met. */
    ready,
    /** Whether every node was polled since the primary could first be used, also after `ready` was rejected. */
    get isReady () { return isReady },
    /** Reply timeout; the connection is then closed. */
    deadlineMs,

    /**
     * A node that may answer now.
     * @param {{ but?: Connection, prefer?: Connection, isBackground?: boolean }} [among] `but`: one that has just failed; `prefer`: the one
     *   that answered the previous page; `isBackground`: no use of the servers (servers.js)
     * @returns {{ connection: Connection, lagMs: number | null }}
     * @throws {import('../errors.js').FreshetError} REPLICAS_GONE, SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
     */
    pick (among) {
      if (!among?.isBackground) pace?.use()
      const node = choose(among)
      return { connection: /** @type {Connection} */ (node.link.connection), lagMs: lagNow(node) }
    },

    /** What the primary has of a key that a replica does not have (lookups.js). */
    lookUp,
    /** @throws {import('../errors.js').FreshetError} as `pick` */
    expectNode: () => { choose() },
    /** The connection to the primary. @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED */
    primary: () => /** @type {Connection} */ (expectPrimary().link.connection),
    /** Why the primary cannot be used; null = it can. @returns {string | null} without messages of the server */
    primaryProblem: () => problemOf(topology.primary),
    /** Connects to replicas from now on; resolves when they have connected or failed. */
    addReplicas: topology.addReplicas,
    /** Asks all nodes for their state. */
    look: topology.look,

    /**
     * Opens a connection of the caller's own to a node that may answer now, for reads that block. A node that refused such a
     * connection is avoided while there is another one, and asked at most once a second. The caller ends it.
     * @param {string} purpose shown by CLIENT LIST behind the name
     * @param {{ isForLog: boolean, isHeld?: () => boolean, signal: AbortSignal }} options as openConnection
     * @returns {ReturnType<ReturnType<ReturnType<typeof createSeparateChoice>>['open']>}
     * @throws {import('../errors.js').FreshetError} as `pick`; SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
     */
    openSeparate: async (purpose, options) => chooseSeparate().open(purpose, options),
    /** As openSeparate, in two steps, so that several can share a connection to the node. */
    chooseSeparate,

    /** @returns {{ role: string, address: string, connected: boolean, engine: string | null, state: string, lagMs: number | null }[]} */
    nodes: () => topology.nodes().map((node) => ({
      role: node.role,
      address: new URL(node.url).host,
      connected: node.link.connection !== null,
      engine: node.engine,
      state: shownState(node),
      lagMs: lagNow(node)
    })),

    /** Why the primary is read although it has replicas. @returns {import('../errors.js').FreshetError[]} */
    unused: () => [unusedReplicas()].filter((error) => error !== null),

    /** How long ago the last contact with the primary was, ms; 0 = it is confirmed (node.js). */
    get unconfirmedMs () { return topology.unconfirmedMs },
    /** Until when answers of now are known to be complete. @param {number} nowMs by the caller's clock */
    confirmedAt (nowMs) {
      const { unconfirmedMs } = topology
      return unconfirmedMs === 0 ? nowMs : Math.floor(nowMs - unconfirmedMs)
    },

    /** @returns {Connection | null} to the primary */
    primaryConnection: () => topology.primary.state === NOT_PRIMARY ? null : topology.primary.link.connection,
    /** Connections that are open now. */
    connections: () => topology.nodes().flatMap(({ link }) => link.connection ?? []),

    close: () => topology.close()
  }
}

/**
 * The nodes, and questions for their state.
 * @param {Pick<Parameters<typeof createShard>[0], 'primaryUrl' | 'replicaUrls' | 'log' | 'map' | 'pace'> & { onPolled: () => void,
 *   nodeAt: (role: Node['role'], url: string) => Node }} options as createShard; in a cluster the replicas are always those that it names
 */
function createTopology ({ primaryUrl, replicaUrls, nodeAt, log, map, pace, onPolled }) {
  const primary = nodeAt('primary', primaryUrl)
  /** @type {Map<string, Node>} */
  const replicas = new Map()
  let isWithReplicas = false
  const clock = createLagClock()
  const contact = createPrimaryContact(log)
  const ask = createAsking()
  /** when the address of the demoted primary was last connected to; null = it leads to a primary */
  let lookedMs = /** @type {number | null} */ (null)
  let isListed = replicaUrls !== null
  const listing = createListing()

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
    clock.add(atMs, Number(offset))
    if (isWithReplicas && replicaUrls === null) follow(replicas, listing.urlsIn(reply, connection), nodeAt)
    isListed = true
  }

  /** @param {Connection} connection to a demoted primary: its address may lead to another node now */
  function lookElsewhere (connection) {
    primary.state = NOT_PRIMARY
    map.failed(connection.url)
    if (lookedMs === null) log.warn({ node: connection.address }, 'the address of the primary leads to a replica, looking for the primary')
    else if (performance.now() - lookedMs < LOOK_AGAIN_MS) return
    lookedMs = performance.now()
    connection.close('it is a replica')
  }

  async function round () {
    await ask(primary, pollPrimary)
    await Promise.all([...replicas.values()].map((node) => ask(node, () => pollReplica(node, { primary, clock, contact, log }))))
  }

  const rounds = createRounds(round, pace, () => {
    contact.judge()
    onPolled()
  })
  const nodes = () => [primary, ...replicas.values()]

  /** Resolves when they have connected or failed. */
  async function addReplicas () {
    if (isWithReplicas) return
    isWithReplicas = true
    for (const url of replicaUrls ?? []) replicas.set(url, nodeAt('replica', url))
    if (primary.link.connection) await ask(primary, pollPrimary)
    await Promise.allSettled([...replicas.values()].map(({ link }) => link.opened))
  }

  return {
    primary,
    nodes,
    addReplicas,
    /** Asks all nodes. */
    look: rounds.next,
    replicas: () => [...replicas.values()],
    /** How long ago the last contact with the primary was (node.js), ms; 0 = it is confirmed. */
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
      const failure = await primary.link.opened.then(() => null, (error) => error)
      // with given replicas, the primary may be down
      if (failure && !(replicaUrls?.length && failure.code === 'SERVER_UNREACHABLE')) {
        rounds.next()
        throw failure
      }
      await pollPrimary().catch(() => {})
      if (awaitsReplicas) await Promise.allSettled([...replicas.values()].map((node) => node.link.opened))
      await round()
      await rounds.next()
    },

    async close () {
      rounds.end()
      await Promise.all(nodes().map((node) => node.link.close()))
    }
  }
}

/**
 * Rounds of questions, one after the other.
 * @param {() => Promise<void>} round @param {import('./servers.js').Pace | null} pace @param {() => void} onAsked
 */
function createRounds (round, pace, onAsked) {
  let isOver = false
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  async function next () {
    timer = undefined
    await Promise.race([round(), sleep(ROUND_MS, undefined, { ref: false })])
    if (isOver) return
    onAsked()
    if (pace) timer = setTimeout(next, untilTick(pace.ms))
  }
  const unwatch = pace?.onBusy(() => {
    if (timer === undefined) return
    clearTimeout(timer)
    timer = setTimeout(next, 0)
  })

  return {
    next,
    end () {
      isOver = true
      unwatch?.()
      clearTimeout(timer)
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
 * @param {{ primary: Node, clock: ReturnType<typeof createLagClock>, contact: import('./node.js').PrimaryContact,
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
  leaveOrReturn(node, log)
  node.isConfirmed = contact.isDirect || (String(role) === 'slave' && !node.isForeign && await contact.ask(connection))
}

/** @param {Node} node @param {import('pino').Logger} log */
function leaveOrReturn (node, log) {
  const { lagMs } = node
  const isFar = lagMs !== null && lagMs > (node.left ? RETURN_AT_MS : LEAVE_AT_MS)
  if (isFar !== node.left && lagMs !== null) {
    log.warn({ node: new URL(node.url).host, lagMs }, isFar ? 'replica lags, no longer used' : 'replica caught up')
  }
  node.left = isFar
}

/** @param {Node} primary */
function problemOf ({ link, state, url }) {
  const isReplica = link.connection !== null && state === NOT_PRIMARY
  if (link.connection !== null && !isReplica) return null
  const reason = isReplica
    ? 'SERVER_REFUSED: the address leads to a replica, not to a primary'
    : link.lastError ? publicReason(link.lastError) : 'SERVER_LOST: the connection is being opened again'
  return `${reason} (the primary, ${new URL(url).host})`
}
