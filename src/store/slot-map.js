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
 * @typedef {ReturnType<typeof createSlotMap> | import('./sentinels.js').SentinelMap} SlotMap
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./slots.js').Moved} Moved
 */
import { FreshetError } from '../errors.js'
import { addressesIn } from '../redis-url.js'
import { openConnection } from './connection.js'
import { namedAddress } from './named-address.js'
import { firstPromoted } from './promoted.js'
import { createRefusals } from './refused-answers.js'
import { createSentinelMap, isOfSentinels, shownSentinels } from './sentinels.js'
import { hostnameOf, hostOf, readSlots, slotOf } from './slots.js'
import { urlAt } from './tls.js'
import { createWatchers } from './watchers.js'

/** between two requests of a process for the map */
const REFRESH_MS = 1000
const PERIOD_MS = 30_000
const NODES_ASKED = 3
const DEADLINE_MS = 1000

/** @type {Map<string, SlotMap>} */
const maps = new Map()

/**
 * @param {string} redisUrl one address, those of several nodes of a cluster, separated by commas, or of Sentinels
 * @param {Pick<import('pino').Logger, 'warn'>} [log] gets answers that are refused; the first that is given is used
 * @returns {SlotMap}
 */
export function slotMapOf (redisUrl, log) {
  const forget = () => maps.delete(redisUrl)
  const known = maps.get(redisUrl) ??
    (isOfSentinels(redisUrl) ? createSentinelMap(redisUrl, forget) : createSlotMap(addressesIn(redisUrl), forget))
  maps.set(redisUrl, known)
  known.refusals.logTo(log)
  return known
}

/** For people. @param {string} redisUrl @returns {string[]} */
export const hostsOf = (redisUrl) => isOfSentinels(redisUrl)
  ? [shownSentinels(redisUrl)]
  : addressesIn(redisUrl).map((url) => `primary ${hostOf(url)}`)

/** The primary that Sentinels name now, or the first address. @param {string} redisUrl @returns {Promise<string>} URL */
export async function firstAddressOf (redisUrl) {
  const map = slotMapOf(redisUrl)
  await map.locate()
  return map.seeds[0]
}

/** @param {string[]} seeds @param {() => void} onUnused */
function createSlotMap (seeds, onUnused) {
  let isCluster = false
  let seed = 0
  const { watch, changed, watched } = createWatchers(() => map.refreshSoon(), () => {
    refreshing.cancel()
    onUnused()
  }, PERIOD_MS)
  const table = createSlotTable(changed)
  const refusals = createRefusals()
  /** primaries that are away @type {Set<string>} */
  const away = new Set()
  /** @param {Connection} connection */
  const read = (connection) => readSlots(connection, seeds[0]).catch((error) => {
    if (error.isMalformed) refusals.add('map', error)
    throw error
  })
  /** @param {string} url */
  const ask = async (url) => {
    const connection = await openConnection(url, { name: 'freshet-slots', deadlineMs: DEADLINE_MS, map })
    return read(connection).finally(() => connection.close())
  }
  const refreshing = createRefreshing(() => Promise.all([...new Set([
    ...shuffled(table.nodes).slice(0, NODES_ASKED), seeds[seed++ % seeds.length]
  ])].map((url) => ask(url).then(table.apply, () => {}))))

  const map = {
    seeds,
    refusals,
    get isCluster () { return isCluster },
    async locate () {},
    /** Whether an address has not been tried yet. */
    get hasUntried () { return !isCluster && seed > 0 && seed < seeds.length },
    /** URLs of the primaries that have slots. */
    get primaries () { return table.primaries },
    /** Whether a primary has a slot. @param {number} slot */
    has: (slot) => table.ownerOf(slot) !== undefined,
    /** URLs of the replicas of a primary, at the addresses that they announce. @param {string} url */
    replicasOf: (url) => table.replicasOf(url),

    /**
     * The primary of a key, and before a cluster is found the address to try.
     * @param {string | Buffer} key or hash tag in braces @returns {string} URL
     * @throws {FreshetError} SERVER_UNREACHABLE when no primary has its slot
     */
    urlOf (key) {
      if (!isCluster) return seeds[seed % seeds.length]
      const slot = slotOf(key)
      const owner = table.ownerOf(slot)
      if (owner !== undefined) return owner
      map.refreshSoon()
      throw new FreshetError('SERVER_UNREACHABLE', `no primary of the cluster has slot ${slot}; assign it to one (CLUSTER ADDSLOTS)`)
    },

    /**
     * Reads the map from the first node that was found; the other addresses must be of the same cluster.
     * @param {Connection} connection @throws {FreshetError} SERVER_REFUSED, SERVER_LOST
     */
    async learn (connection) {
      if (isCluster) return
      const first = await read(connection)
      const found = await Promise.allSettled(seeds.filter((url) => hostOf(url) !== hostOf(connection.url)).map(ask))
      for (const one of found) {
        if (one.status === 'rejected' || [...one.value.ids].some((id) => first.ids.has(id))) continue
        throw new FreshetError('SERVER_REFUSED', `${seeds.map(hostOf).join(' and ')} are nodes of different clusters; give nodes of one`)
      }
      isCluster = true
      table.apply(first)
    },

    /** Several addresses are those of a cluster. @param {Connection} connection that is prepared @throws {FreshetError} SERVER_REFUSED */
    expectCluster ({ address }) {
      if (isCluster || seeds.length === 1) return
      throw new FreshetError('SERVER_REFUSED', `the server at ${address} is not a node of a cluster; several addresses are those of one ` +
        'cluster, so give one address')
    },

    /** A node answered MOVED. @param {Moved} to @param {Connection} connection that it came on */
    moved ({ slot, host, port }, connection) {
      const named = namedAddress(host, port, hostnameOf(connection.url))
      const isTaken = named !== null && table.move(slot, urlAt(seeds[0], named.host, named.port))
      map.refreshSoon()
      if (isTaken) return
      const reason = `redirections named too many new nodes since the map was read, so that of slot ${slot} is not used`
      refusals.add('redirect', new FreshetError('SERVER_LOST', reason))
    },

    /** An address failed: the next one is tried, or another node may have taken over. @param {string} url */
    failed (url) {
      if (!isCluster && url === seeds[seed % seeds.length]) seed++
      if (away.has(url) || !table.has(url)) return
      map.refreshSoon()
      away.add(url)
      firstPromoted(table.replicasOf(url), { map, isAway: () => table.has(url) && watched() }).then((next) => {
        away.delete(url)
        if (next !== null) table.takeOver(url, next)
      })
    },

    refreshSoon () { if (isCluster) refreshing.soon() },
    watch
  }
  return map
}

/** At most once a second, with jitter: many processes lose a node at the same time. @param {() => Promise<unknown>} refresh */
function createRefreshing (refresh) {
  let askedMs = -Infinity
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  return {
    soon () {
      timer ??= setTimeout(() => {
        timer = undefined
        askedMs = performance.now()
        refresh()
      }, Math.max(0, askedMs + REFRESH_MS - performance.now()) + Math.random() * REFRESH_MS / 10).unref()
    },
    cancel () {
      clearTimeout(timer)
      timer = undefined
    }
  }
}

/** @template T @param {T[]} list */
const shuffled = (list) => list.map((one) => ({ one, at: Math.random() })).sort((a, b) => a.at - b.at).map(({ one }) => one)

/** @typedef {import('./slots.js').SlotAnswer} Answer */

/** A process keeps a connection to each primary, so redirections between two whole maps add no more. */
const MAX_ADDED = 100

/** Which primary has which slot, as far as is known. @param {() => void} onChanged */
function createSlotTable (onChanged) {
  let epoch = 0
  /** of nodes @type {Set<string>} */
  let ids = new Set()
  /** URL of the primary by slot; undefined = no primary has it @type {(string | undefined)[]} */
  let owners = []
  /** URLs of replicas by URL of their primary @type {Map<string, string[]>} */
  let shards = new Map()
  /** primaries that only redirections named */
  let added = 0

  return {
    /** URLs of the primaries that have slots. */
    get primaries () { return [...shards.keys()] },
    /** URLs of all nodes. */
    get nodes () { return [...shards].flat(2) },
    /** @param {string} url of a primary */
    has: (url) => shards.has(url),
    /** @param {number} slot @returns {string | undefined} URL; undefined = no primary has it */
    ownerOf: (slot) => owners[slot],
    /** URLs of the replicas of a primary. @param {string} url */
    replicasOf: (url) => shards.get(url) ?? [],

    /**
     * An answer of a lower epoch is of a node that knows less, unless it is of another cluster at the same addresses.
     * @param {Answer} found
     */
    apply (found) {
      if (found.epoch < epoch && [...found.ids].some((id) => ids.has(id))) return
      const before = JSON.stringify([owners, [...shards]])
      ;({ epoch, ids, owners, shards } = found)
      added = 0
      if (JSON.stringify([owners, [...shards]]) !== before) onChanged()
    },

    /**
     * @param {number} slot @param {string} url of a primary @returns {boolean} whether it has the slot now
     */
    move (slot, url) {
      if (owners[slot] === url) return true
      if (!shards.has(url)) {
        if (added >= MAX_ADDED) return false
        added++
        shards.set(url, [])
      }
      owners[slot] = url
      onChanged()
      return true
    },

    /** A replica took over. @param {string} before URL of its primary @param {string} after its URL */
    takeOver (before, after) {
      if (!shards.has(before) || shards.has(after)) return
      owners = owners.map((url) => url === before ? after : url)
      const replicas = /** @type {string[]} */ (shards.get(before)).filter((url) => url !== after)
      shards.delete(before)
      shards.set(after, replicas)
      onChanged()
    }
  }
}
