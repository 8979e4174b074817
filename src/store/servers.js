/**
 * All servers as a reader sees them: one deployment (deployment.js) for each primary, and which of them has a key. After a failover or
 * when a slot has moved, the deployment before answers until the next one has looked at its nodes.
 */
import { createDeployment } from './deployment.js'
import { createLookupCounts } from './lookups.js'
import { createRouter, insist } from './router.js'
import { slotMapOf } from './slot-map.js'
import { slotOf } from './slots.js'

/** @typedef {import('./deployment.js').Deployment} Deployment */
/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {ReturnType<typeof createServers>} Servers */
/** @typedef {Deployment & Partial<Pick<Servers, 'shard' | 'isSpread'>>} Readable one deployment, or those of all primaries */

/**
 * @param {{ redisUrl: string, replicaUrls: string[] | null, readFrom: 'replica' | 'primary' | null, name: string, deadlineMs: number,
 *   log: import('pino').Logger }} options `replicaUrls`: as those of createDeployment; those of a cluster are found
 */
export function createServers ({ redisUrl, replicaUrls, ...given }) {
  const lookups = createLookupCounts()
  const options = { ...given, lookups }
  const map = slotMapOf(redisUrl, options.log)
  const first = createDeployment({ ...options, map, primaryUrl: map.seeds[0], replicaUrls })
  /** by URL of the primary @type {Map<string, { deployment: Deployment, isReady: boolean }>} */
  const shards = new Map()
  /** that answered last, by slot @type {Map<number, Deployment>} */
  const lastOf = new Map()
  let isClosed = false

  /** @param {string} url */
  function open (url) {
    const deployment = createDeployment({ ...options, map, primaryUrl: url, replicaUrls: null })
    const shard = { deployment, isReady: false }
    shards.set(url, shard)
    deployment.ready.then(() => {
      shard.isReady = true
      drop()
    }, () => {})
  }

  function follow () {
    if (!map.isCluster || isClosed) return
    for (const url of map.primaries) if (!shards.has(url)) open(url)
    drop()
  }

  /** Closes what is no primary any more, when all that took over are ready. */
  function drop () {
    const urls = map.primaries
    if (!urls.every((url) => shards.get(url)?.isReady)) return
    first.close()
    for (const [url, { deployment }] of shards) {
      if (urls.includes(url)) continue
      shards.delete(url)
      for (const [slot, last] of lastOf) if (last === deployment) lastOf.delete(slot)
      deployment.close()
    }
  }
  const unwatch = map.watch(follow)
  follow()

  async function start () {
    await first.ready.catch((error) => { if (!map.isCluster) throw error })
    if (map.isCluster) await Promise.all([...shards.values()].map(({ deployment }) => deployment.ready))
  }
  const ready = start()
  ready.catch(() => {})

  const all = () => map.isCluster ? [...shards.values()].map(({ deployment }) => deployment) : [first]

  /** The deployment that has a key now. @param {string | Buffer} key or hash tag in braces @returns {Deployment} */
  function shard (key) {
    if (!map.isCluster) return first
    const slot = slotOf(key)
    const last = lastOf.get(slot)
    // while no primary has the slot, replicas of the last one may answer
    const next = last && !map.has(slot) ? undefined : shards.get(map.urlOf(key))
    if (next?.isReady) lastOf.set(slot, next.deployment)
    return lastOf.get(slot) ?? next?.deployment ?? first
  }

  return {
    ready,
    deadlineMs: options.deadlineMs,
    shard,

    /**
     * As Deployment.pick, of each deployment: the first answer, or why one of them cannot answer.
     * @type {Deployment['pick']}
     */
    pick: (among) => all().map((deployment) => deployment.pick(among))[0],
    /** As Deployment.openOwn, of the first. @type {Deployment['openOwn']} */
    openOwn: (purpose, of) => all()[0].openOwn(purpose, of),
    /** As Deployment.chooseOwn, of the first. @type {Deployment['chooseOwn']} */
    chooseOwn: () => all()[0].chooseOwn(),
    /** Whether a blocking read can have the keys of one slot only. */
    isSpread: () => map.isCluster,
    /** As Deployment.lookUp, of the primary that has the key. @type {Deployment['lookUp']} */
    lookUp: (words) => insist(() => shard(words[1]).lookUp(words)),
    lookups,
    nodes: () => all().flatMap((deployment) => deployment.nodes()),
    unused: () => all().flatMap((deployment) => deployment.unused()),
    /** The longest of all primaries. */
    get unconfirmedMs () { return Math.max(...all().map((deployment) => deployment.unconfirmedMs)) },
    /** @param {number} nowMs */
    confirmedAt: (nowMs) => Math.min(...all().map((deployment) => deployment.confirmedAt(nowMs))),
    figures: async () => (await Promise.all(all().map((deployment) => deployment.figures()))).flat(),
    async close () {
      isClosed = true
      unwatch()
      await Promise.all([first, ...all()].map((deployment) => deployment.close()))
    }
  }
}

/**
 * The deployment that has a key, of servers or of one.
 * @param {Pick<Deployment, 'pick'> & { shard?: Servers['shard'] }} servers @param {string | Buffer} key
 */
export const shardOf = (servers, key) => /** @type {Deployment} */ (servers.shard?.(key) ?? servers)

/**
 * Reads by one node of each deployment, for a query or the pages of a listing.
 * @param {Pick<Deployment, 'pick'> & { shard?: Servers['shard'] }} servers
 * @param {{ prefer?: Reads, but?: Reads }} [before] `prefer`: of the previous page; `but`: that lost a node
 * @typedef {ReturnType<typeof createReads>} Reads
 */
export function createReads (servers, { prefer, but } = {}) {
  /** @type {Map<unknown, { connection: Connection, lagMs: number | null }>} by deployment */
  const picked = new Map()
  /** @type {Connection | undefined} */
  let lost

  /** @param {string | Buffer} key */
  function connectionOf (key) {
    const shard = shardOf(servers, key)
    const known = picked.get(shard)
    if (known) return known.connection
    const one = shard.pick({ prefer: prefer?.of(shard), but: but?.lost })
    picked.set(shard, one)
    return one.connection
  }

  return {
    router: createRouter(connectionOf, (connection) => { lost = connection }),
    /** The connection that a deployment was read by. @param {unknown} shard */
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
