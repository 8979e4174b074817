/**
 * The servers of a URL: its primaries, their replicas and their state, one shard (shard.js) for each primary, and which of them has a key.
 * Without a cluster there is one. It follows failovers, slots and promotions. After one, the shard before answers until the next one has
 * looked at its nodes.
 *
 *     commands     router, primary(key)               to the primary of a key, on the connection that its state is asked on
 *                  primaries({ name })                the same, on connections of their own: beside others, or while WAIT blocks
 *     reads        createReads(servers), pick()       by replicas that are near their primary, or as `readFrom` says
 *                  openOwn(purpose)                   on a connection of the caller's own, for reads that block
 *     streams      streams.open(key)                  many keys of a node on one connection (stream-follower.js)
 *                  primaryStreams.open(key)           the same at the primary
 *     their state  nodes(), figures(), problems(), confirmedAt(), watch()
 */
import { createLookupCounts } from './lookups.js'
import { figuresOf } from './nodes.js'
import { createPrimaries, createRouter, retryWhileMoved } from './primaries.js'
import { createShard } from './shard.js'
import { slotMapOf } from './slot-map.js'
import { slotOf } from './slots.js'
import { createStreamFollower, streamsAt } from './stream-follower.js'

/**
 * How often nodes are asked for their state: every 100 ms while the servers are used, so that lag and loss are known by then, else twice a
 * second. Requests, batches and open streams are use. A process that only writes has no use for lag.
 */

const BUSY_MS = 100
const IDLE_MS = 500
const USED_FOR_MS = 10_000

/** @typedef {ReturnType<typeof createPace>} Pace */

/** @param {() => number} [now] performance.now() @param {{ isReading?: boolean }} [options] */
export function createPace (now = () => performance.now(), { isReading = true } = {}) {
  let usedMs = now()
  let holds = 0
  /** @type {Set<() => void>} */
  const wakers = new Set()
  const isBusy = () => holds > 0 || now() - usedMs < USED_FOR_MS

  function use () {
    const wasBusy = isBusy()
    usedMs = now()
    if (!wasBusy) for (const wake of wakers) wake()
  }

  return {
    use,
    /** As use, until the returned function is called. @returns {() => void} */
    hold () {
      use()
      holds++
      let isHeld = true
      return () => {
        if (isHeld) holds--
        isHeld = false
      }
    },
    get ms () { return isReading && isBusy() ? BUSY_MS : IDLE_MS },
    /** @param {() => void} wake is called when use begins again @returns {() => void} ends that */
    onBusy (wake) {
      wakers.add(wake)
      return () => { wakers.delete(wake) }
    }
  }
}

/** @typedef {import('./shard.js').Shard} Shard */
/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {ReturnType<typeof createServers>} Servers */

/**
 * @param {{ redisUrl: string, replicaUrls?: string[] | null, readFrom?: 'replica' | 'primary' | null, isReading?: boolean,
 *   isAsked?: boolean, name: string, primaryName?: string, deadlineMs: number, pauseMs?: number, log: import('pino').Logger }} options as
 *   createShard; those of a cluster are found; `isAsked`: false = nodes are asked for their state when it is wanted only; `pauseMs` between
 *   reads of streams of primaries
 */
export function createServers ({ redisUrl, replicaUrls = null, isAsked = true, pauseMs, ...given }) {
  const lookups = createLookupCounts()
  const { isReading = true } = given
  const pace = isAsked ? createPace(undefined, { isReading }) : null
  const options = { readFrom: null, primaryName: 'primary', ...given, isReading, lookups, pace }
  const map = slotMapOf(redisUrl, options.log)
  let isWithReplicas = options.isReading
  /** @type {Set<() => void>} */
  const watchers = new Set()
  const onChange = () => { for (const watcher of [...watchers]) watcher() }
  const shards = createShards(map, onChange, (primaryUrl, isFirst, onShard) => {
    const shard = createShard({ ...options, map, onChange: onShard, primaryUrl, replicaUrls: isFirst ? replicaUrls : null })
    if (isWithReplicas) shard.addReplicas()
    return shard
  })
  const { all } = shards

  /** @param {() => void} watcher is called when other nodes may answer than before @returns {() => void} ends that */
  function watch (watcher) {
    watchers.add(watcher)
    return () => { watchers.delete(watcher) }
  }

  /** @param {string | Buffer} key @returns {Connection} to its primary @throws {import('../errors.js').FreshetError} as Shard.primary */
  function primary (key) {
    pace?.use()
    return shards.now(key).primary()
  }

  return {
    /** Resolves when every node was asked once. Rejects with what the first connection to the primary met. */
    ready: shards.ready,
    /** Reply timeout; the connection is then closed. */
    deadlineMs: options.deadlineMs,
    shard: shards.of,
    primary,
    /** Sends commands to the primaries of their keys. */
    router: createRouter(primary),

    /**
     * Connections to all primaries for one purpose. What is sent there is no use of the servers: much of it is in the background.
     * @param {Omit<Parameters<typeof createPrimaries>[1], 'log'>} of
     */
    primaries: (of) => createPrimaries(redisUrl, { ...of, log: options.log }),

    /** Follows streams on the primaries of their keys. */
    primaryStreams: streamsAt(redisUrl, { name: `${options.name}:streams`, deadlineMs: options.deadlineMs, pauseMs }),

    /**
     * As Shard.pick, of each shard: the first answer, or why one of them cannot answer.
     * @type {Shard['pick']}
     */
    pick: (among) => all().map((shard) => shard.pick(among))[0],
    /** Whether each shard has a node that may answer. @throws {import('../errors.js').FreshetError} as Shard.pick */
    expectNodes () { for (const shard of all()) shard.expectNode() },
    /** As Shard.openOwn, of the first. @type {Shard['openOwn']} */
    openOwn: (purpose, of) => all()[0].openOwn(purpose, of),
    /** Follows streams on nodes that may answer. */
    streams: createStreamFollower({
      isSpread: () => map.isCluster,
      deadlineMs: options.deadlineMs,
      nodeOf (key) {
        const shard = shards.of(key)
        const { id, open, refuse } = shard.chooseOwn()
        return {
          id,
          refuse,
          async open ({ purpose, isHeld, isSecond, signal }) {
            const opened = await open(purpose, { isForLog: !isSecond, isHeld, signal })
            return { ...opened, watch, isLeft: () => opened.isLeft() || shards.of(key) !== shard }
          }
        }
      }
    }),
    /** As Shard.lookUp, of the primary that has the key. @type {Shard['lookUp']} */
    lookUp: (words) => retryWhileMoved(() => shards.of(words[1]).lookUp(words)),
    lookups,
    /** A request that needs no node is use of the servers, too (createPace). */
    use: () => pace?.use(),
    /** Nodes are asked more often until the returned function is called: a stream is open. @returns {() => void} */
    hold: () => pace?.hold() ?? (() => {}),
    watch,
    nodes: () => all().flatMap((shard) => shard.nodes()),
    unused: () => all().flatMap((shard) => shard.unused()),
    /** Connections to primaries that are open. */
    primaryConnections: () => all().flatMap((shard) => shard.primaryConnection() ?? []),
    /** Why primaries cannot be used, without messages of the server, which may name users and files. @returns {string[]} */
    problems: () => all().flatMap((shard) => shard.primaryProblem() ?? []),
    /** The longest of all primaries. */
    get unconfirmedMs () { return Math.max(...all().map((shard) => shard.unconfirmedMs)) },
    /** @param {number} nowMs */
    confirmedAt: (nowMs) => Math.min(...all().map((shard) => shard.confirmedAt(nowMs))),

    /**
     * Figures of all nodes that answer, primaries first. From the first call on, replicas are connected to, unless the primary is read.
     * @returns {Promise<import('./nodes.js').NodeFigures[]>}
     */
    async figures () {
      if (!isWithReplicas && options.readFrom !== 'primary') {
        isWithReplicas = true
        await Promise.all(all().map((shard) => shard.addReplicas()))
      }
      if (!isAsked) await Promise.all(all().map((shard) => shard.look()))
      return figuresOf(all().flatMap((shard) => shard.connections()))
    },

    close: shards.close
  }
}

/**
 * The shards of the primaries that have slots now. Without a cluster there is one.
 * @param {import('./slot-map.js').SlotMap} map @param {() => void} onChange is called after a change of the map or of a shard
 * @param {(url: string, isFirst: boolean, onChange: () => void) => Shard} open `isFirst`: the given address, before the primaries are known
 */
function createShards (map, onChange, open) {
  const first = open(map.seeds[0], true, onChange)
  /** by URL of the primary @type {Map<string, Shard>} */
  const shards = new Map()
  /** that answered last, by slot @type {Map<number, Shard>} */
  const lastOf = new Map()
  let [isClosed, isFirstOpen] = [false, true]

  function changed () {
    drop()
    onChange()
  }

  function follow () {
    if (!map.isCluster || isClosed) return
    for (const url of map.primaries) if (!shards.has(url)) shards.set(url, open(url, false, changed))
    drop()
  }

  /** Closes what is no primary any more, when all that took over are ready. */
  function drop () {
    const urls = map.primaries
    if (!urls.every((url) => shards.get(url)?.isReady)) return
    if (isFirstOpen) first.close()
    isFirstOpen = false
    for (const [url, shard] of shards) {
      if (urls.includes(url)) continue
      shards.delete(url)
      for (const [slot, last] of lastOf) if (last === shard) lastOf.delete(slot)
      shard.close()
    }
  }
  const unwatch = map.watch(() => {
    follow()
    onChange()
  })
  follow()

  async function start () {
    await first.ready.catch((error) => { if (!map.isCluster) throw error })
    if (map.isCluster) await Promise.all([...shards.values()].map((shard) => shard.ready))
  }
  const ready = start()
  ready.catch(() => {})

  const all = () => map.isCluster ? [...shards.values()] : [first]

  return {
    ready,
    all,

    /** That of the primary of a key. @param {string | Buffer} key @returns {Shard} @throws {import('../errors.js').FreshetError} */
    now: (key) => map.isCluster ? shards.get(map.urlOf(key)) ?? first : first,

    /** The shard that answers for a key. @param {string | Buffer} key or hash tag in braces @returns {Shard} */
    of (key) {
      if (!map.isCluster) return first
      const slot = slotOf(key)
      const last = lastOf.get(slot)
      // while no primary has the slot, replicas of the last one may answer
      const next = last && !map.has(slot) ? undefined : shards.get(map.urlOf(key))
      if (next?.isReady) lastOf.set(slot, next)
      return lastOf.get(slot) ?? next ?? first
    },

    async close () {
      isClosed = true
      unwatch()
      await Promise.all([first, ...all()].map((shard) => shard.close()))
    }
  }
}

/**
 * Reads by one node of each shard, for a query or the pages of a listing.
 * @param {Pick<Servers, 'shard'>} servers
 * @param {{ prefer?: Reads, but?: Reads, isBackground?: boolean }} [before] `prefer`: of the previous page; `but`: that lost a node;
 *   `isBackground`: no use of the servers (createPace)
 * @typedef {ReturnType<typeof createReads>} Reads
 */
export function createReads (servers, { prefer, but, isBackground } = {}) {
  /** @type {Map<unknown, { connection: Connection, lagMs: number | null }>} by shard */
  const picked = new Map()
  /** @type {Connection | undefined} */
  let lost

  /** @param {string | Buffer} key */
  function connectionOf (key) {
    const shard = servers.shard(key)
    const known = picked.get(shard)
    if (known) return known.connection
    const one = shard.pick({ prefer: prefer?.of(shard), but: but?.lost, isBackground })
    picked.set(shard, one)
    return one.connection
  }

  return {
    router: createRouter(connectionOf, (connection) => { lost = connection }),
    /** The connection that a shard was read by. @param {unknown} shard */
    of: (shard) => picked.get(shard)?.connection,
    get lost () { return lost },
    /** The greatest of the nodes; null = one is not known. */
    get lagMs () {
      const lags = [...picked.values()].map(({ lagMs }) => lagMs)
      const known = lags.filter((lagMs) => lagMs !== null)
      return known.length < lags.length ? null : Math.max(0, ...known)
    }
  }
}
