/**
 * Which primary has which slot: one map for each value of --redis-url in a process, so that all its connections learn from each other
 * and a cluster gets at most one request for the map a second.
 *
 *     the first link finds a node of a cluster ──▶ learn
 *     MOVED ──▶ this slot at once, the whole map soon          a link fails ──▶ its replicas are asked whether one took over
 *
 * Several nodes are asked; the answer of the highest epoch counts, because a node that was cut off knows less. Without a cluster
 * (or before one is found) every key is on the one primary of the address.
 *
 * @typedef {ReturnType<typeof createSlotMap>} SlotMap
 * @typedef {import('./connection.js').Connection} Connection
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openConnection } from './connection.js'
import { SLOTS, slotOf } from './slots.js'

/** between two requests of a process for the map */
const REFRESH_MS = 1000
const PERIOD_MS = 30_000
const NODES_ASKED = 3
const DEADLINE_MS = 1000
/** how often replicas of a primary that is away are asked whether one took over, and how long */
const LOOK_MS = 100
const LOOK_FOR_MS = 15_000

/** @type {Map<string, SlotMap>} */
const maps = new Map()

/** @param {string} redisUrl one address, or those of several nodes of a cluster, separated by commas @returns {SlotMap} */
export function slotMapOf (redisUrl) {
  const known = maps.get(redisUrl) ?? createSlotMap(addressesOf(redisUrl), () => maps.delete(redisUrl))
  maps.set(redisUrl, known)
  return known
}

/** The addresses in a value of --redis-url: a password may have a comma. @param {string} redisUrl */
export const addressesOf = (redisUrl) => redisUrl.split(/,(?=rediss?:)/i)

/** @param {string[]} seeds @param {() => void} onUnused */
function createSlotMap (seeds, onUnused) {
  let isCluster = false
  let epoch = 0
  /** URL of the primary by slot; undefined = no primary has it @type {(string | undefined)[]} */
  let owners = []
  /** URLs of replicas by URL of their primary @type {Map<string, string[]>} */
  let shards = new Map()
  let seed = 0
  /** @type {Set<() => void>} */
  const watchers = new Set()
  /** primaries that are away @type {Set<string>} */
  const lookedFor = new Set()
  let askedMs = -Infinity
  /** @type {NodeJS.Timeout | undefined} */
  let soon
  /** @type {NodeJS.Timeout | undefined} */
  let period

  const changed = () => { for (const watcher of [...watchers]) watcher() }

  const ofOthers = () => new FreshetError('SERVER_REFUSED',
    `${seeds.map(hostOf).join(' and ')} are nodes of different clusters; give nodes of one`)

  /** @param {Awaited<ReturnType<typeof readSlots>>} found */
  function apply (found) {
    if (found.epoch < epoch) return
    const before = JSON.stringify([owners, [...shards]])
    ;({ epoch, owners, shards } = found)
    isCluster = true
    if (JSON.stringify([owners, [...shards]]) !== before) changed()
  }

  async function refresh () {
    soon = undefined
    askedMs = performance.now()
    const known = [...shards].flat(2)
    const asked = new Set([...shuffled(known).slice(0, NODES_ASKED), seeds[seed++ % seeds.length]])
    await Promise.all([...asked].map(async (url) => {
      const connection = await openConnection(url, { name: 'freshet-slots', deadlineMs: DEADLINE_MS, map })
      await readSlots(connection, seeds[0]).then(apply).finally(() => connection.close())
    }).map((answer) => answer.catch(() => {})))
  }

  /**
   * Asks a replica of a primary that is away for its role: a failover shows at once, and costs no request for the map.
   * @param {string} replica @param {string} away
   */
  async function lookAt (replica, away) {
    const connection = await openConnection(replica, { name: 'freshet-slots', deadlineMs: DEADLINE_MS, map })
    const endMs = performance.now() + LOOK_FOR_MS
    try {
      while (shards.has(away) && watchers.size > 0 && performance.now() < endMs) {
        if (String((await connection.send('ROLE'))[0]) === 'master') return takeOver(away, replica)
        await sleep(LOOK_MS, undefined, { ref: false })
      }
    } finally {
      connection.close()
    }
  }

  /** @param {string} before @param {string} after URLs of primaries */
  function takeOver (before, after) {
    map.refreshSoon()
    if (!shards.has(before) || shards.has(after)) return
    owners = owners.map((url) => url === before ? after : url)
    shards.set(after, map.replicasOf(before).filter((url) => url !== after))
    shards.delete(before)
    changed()
  }

  const map = {
    seeds,
    get isCluster () { return isCluster },
    /** URLs of the primaries that have slots. */
    get primaries () { return [...shards.keys()] },
    /** How many slots each primary has, by URL. */
    get shares () {
      const shares = new Map(this.primaries.map((url) => [url, 0]))
      for (const url of owners) if (url !== undefined) shares.set(url, (shares.get(url) ?? 0) + 1)
      return shares
    },
    /** Whether a primary has a slot. @param {number} slot */
    has: (slot) => owners[slot] !== undefined,
    /** URLs of the replicas of a primary. @param {string} url */
    replicasOf: (url) => shards.get(url) ?? [],

    /**
     * The primary of a key, and before a cluster is found the address to try.
     * @param {string | Buffer} key or hash tag in braces @returns {string} URL
     * @throws {FreshetError} SERVER_UNREACHABLE when no primary has its slot
     */
    urlOf (key) {
      if (!isCluster) return seeds[seed % seeds.length]
      const slot = slotOf(key)
      if (owners[slot] !== undefined) return owners[slot]
      map.refreshSoon()
      throw new FreshetError('SERVER_UNREACHABLE', `no primary of the cluster has slot ${slot}; assign it to one (CLUSTER ADDSLOTS)`)
    },

    /**
     * Reads the map from the first node that was found; the other addresses must be of the same cluster.
     * @param {Connection} connection @throws {FreshetError} SERVER_REFUSED, SERVER_LOST
     */
    async learn (connection) {
      if (isCluster) return
      const first = await readSlots(connection, seeds[0])
      const others = seeds.filter((url) => hostOf(url) !== hostOf(connection.url))
      const found = await Promise.allSettled(others.map(async (url) => {
        const other = await openConnection(url, { name: 'freshet-slots', deadlineMs: DEADLINE_MS, map })
        return readSlots(other, seeds[0]).finally(() => other.close())
      }))
      for (const one of found) {
        if (one.status === 'fulfilled' && ![...one.value.ids].some((id) => first.ids.has(id))) throw ofOthers()
      }
      apply(first)
    },

    /** A node answered MOVED. @param {number} slot @param {string} address host:port @param {Connection} connection that it came on */
    moved (slot, address, connection) {
      const at = address.lastIndexOf(':')
      const url = urlAt(seeds[0], address.slice(0, at) || hostnameOf(connection.url), address.slice(at + 1))
      map.refreshSoon()
      if (owners[slot] === url) return
      owners[slot] = url
      if (!shards.has(url)) shards.set(url, [])
      changed()
    },

    /** An address failed: the next one is tried, or another node may have taken over. @param {string} url */
    failed (url) {
      if (!isCluster) seed++
      else if (!lookedFor.has(url) && shards.has(url)) {
        map.refreshSoon()
        lookedFor.add(url)
        Promise.all(map.replicasOf(url).map((replica) => lookAt(replica, url).catch(() => {}))).finally(() => lookedFor.delete(url))
      }
    },

    /** At most once a second, with jitter: many processes lose a node at the same time. */
    refreshSoon () {
      if (!isCluster || soon) return
      soon = setTimeout(refresh, Math.max(0, askedMs + REFRESH_MS - performance.now()) + Math.random() * REFRESH_MS / 10).unref()
    },

    /** @param {() => void} watcher is called after a change @returns {() => void} ends that */
    watch (watcher) {
      watchers.add(watcher)
      period ??= setInterval(map.refreshSoon, PERIOD_MS * (0.9 + Math.random() / 5)).unref()
      return () => {
        watchers.delete(watcher)
        if (watchers.size > 0) return
        clearInterval(period)
        clearTimeout(soon)
        period = undefined
        onUnused()
      }
    }
  }
  return map
}

/** @param {Connection} connection to any node @param {string} like an address with the credentials and TLS files of all nodes */
async function readSlots (connection, like) {
  const [rows, info] = await Promise.all([connection.send('CLUSTER', 'SLOTS'), connection.send('CLUSTER', 'INFO')])
  if (rows.length === 0) {
    throw new FreshetError('SERVER_UNREACHABLE', `the node at ${connection.address} knows no primary with slots; form the cluster first`)
  }
  /** @type {Set<string>} */
  const ids = new Set()
  /** @type {(string | undefined)[]} */
  const owners = new Array(SLOTS)
  /** @type {Map<string, string[]>} */
  const shards = new Map()
  for (const [first, last, ...nodes] of rows) {
    const [primary, ...replicas] = nodes.map((/** @type {any[]} */ [host, port, id]) => {
      ids.add(String(id))
      // empty or ? = the address that it was asked at
      return urlAt(like, /^\??$/.test(String(host ?? '')) ? hostnameOf(connection.url) : String(host), String(port))
    })
    owners.fill(primary, first, last + 1)
    shards.set(primary, replicas)
  }
  return { ids, owners, shards, epoch: Number(/cluster_current_epoch:(\d+)/.exec(String(info))?.[1] ?? 0) }
}

/** @param {string} like @param {string} host @param {string} port */
function urlAt (like, host, port) {
  const url = new URL(like)
  url.hostname = host.includes(':') ? `[${host}]` : host
  url.port = port
  return url.href
}

/** @param {string} url */
const hostOf = (url) => new URL(url).host
/** @param {string} url */
const hostnameOf = (url) => new URL(url).hostname

/** @template T @param {T[]} list */
const shuffled = (list) => list.map((one) => ({ one, at: Math.random() })).sort((a, b) => a.at - b.at).map(({ one }) => one)
