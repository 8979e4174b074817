/**
 * Serving in a measurement: the processes that serve HTTP beside the load, and the client that sends requests to them.
 *
 *     processes and client start -> load begins -> fill: each process returns a full page -> the load's window begins ->
 *     client: half a second of warm-up, its window, outstanding responses -> the load's window ends -> (clients that follow:
 *     do they have the newest versions?) -> all processes are stopped
 *
 *     reader   `npm start reader` with ordinary flags
 *     ask      a handler that reads a replica on each request            (handler.js, with what it leaves out)
 *     bare     a constant response, a copy of one of `ask`, or events of a constant size      (serve-process.js)
 *
 * Every measurement starts fresh processes, each with an event loop and a process group of its own. The delay of --rtt-ms is
 * between load and primary; it does not affect serving.
 *
 * @typedef {import('./plan.js').Serving} Serving
 * @typedef {import('./figures.js').ServingFigures} ServingFigures
 * @typedef {ReturnType<typeof startServing>} RunningServing
 *
 * @typedef {object} Place
 * @property {string} redisUrl
 * @property {string[]} replicaUrls
 * @property {string} keyPrefix
 * @property {string} feed
 * @property {string} layout of the feed
 * @property {import('./workload.js').Workload | null} workload null = values do not identify items
 * @property {number} [ratePerSecond] items of each writer
 * @property {boolean} [isSteady] whether items arrive steadily
 * @property {number} liveItems that the feed will have
 * @property {number} [writtenItems] at least, when the window begins; absent = all
 * @property {(settings: Record<string, any>) => string[]} readerCommand arguments of node for `npm start reader`
 * @property {Record<string, string | undefined>} env without settings
 */
import { fileURLToPath } from 'node:url'
import { RESPONSE_TIMEOUT_MS } from './request-loop.js'
import { FreshetError } from '../errors.js'
import { fetchEverything, untilReady } from './exports.js'
import { servingFigures } from './figures.js'
import { fill } from './fill.js'
import { createFollowing } from './following.js'
import { ASK_RANGE, FOLLOWS, LEAD_SECONDS, leastSecondsOf } from './plan.js'
import { startProcess } from './process.js'
import { requestOnce } from './request.js'
import { limitIn } from './responses.js'
import { startServers } from './servers.js'

const CLIENT_PROCESS = fileURLToPath(new URL('client-process.js', import.meta.url))
const FOLLOW_PROCESS = fileURLToPath(new URL('follow-process.js', import.meta.url))
const SPARE_MS = 20_000
/** A reader that is a second behind reports it; another second for a busy machine. */
const CURRENT_WITHIN_MS = 2000
/** Of all items, while they are rewritten: an id that moves to the front between two pages is on none of them. */
const LEAST_SHARE = 0.25
/** of all items, to check that the feed is filled */
const SAMPLE_ITEMS = 100

/**
 * @typedef {object} Parts of a running measurement
 * @property {Serving} serving
 * @property {Place} place
 * @property {import('./servers.js').Servers} servers
 * @property {import('./process.js').Process} client
 * @property {import('./following.js').Following | null} following
 * @property {import('./responses.js').Right} right what responses must have
 * @property {number | null} currentWithinMs maximum age of the newest item
 * @property {string} itemsPath without its query
 * @property {string[]} urls of the servers, once they are up
 * @property {boolean} isClosed
 * @property {<T>(work: Promise<T>) => Promise<T>} whileAlive rejects when a process ends first
 */

/**
 * @param {Serving} serving
 * @param {Place} place
 */
export function startServing (serving, place) {
  const servers = startServers(serving, place)
  const client = startProcess('the client', [FOLLOWS.includes(serving.asks) ? FOLLOW_PROCESS : CLIENT_PROCESS], place.env)
  const parts = partsOf(serving, place, servers, client)
  const { following, whileAlive } = parts
  const all = () => [...servers.running, client]
  const ready = whileAlive(Promise.all([servers.allUp(), client.receive('up')]).then(([urls]) => { parts.urls = urls }))
  ready.catch(() => {})

  return {
    /** Resolves when every process is up; throws SERVING_FAILED. */
    ready,
    /** Of the servers, then of the client. */
    get pids () { return all().map(({ pid }) => pid) },

    /**
     * Waits until each process returns a correct response. `bare` gets the response that it sends from then on.
     * @param {Promise<unknown>} begun the load's window, which should not begin earlier
     * @throws {FreshetError} SERVING_FAILED
     */
    fill: (begun) => whileAlive(fill(parts, begun)),

    /**
     * The window of the client.
     * @param {number} seconds left of the load's window
     * @returns {Promise<ServingFigures>}
     * @throws {FreshetError} SERVING_FAILED
     */
    async measure (seconds) {
      const least = leastSecondsOf(serving)
      if (seconds < least) {
        throw new FreshetError('SERVING_FAILED', `${seconds.toFixed(1)} s of the window are left for requests; expected at least ` +
          `${least}: use a longer window, or stop other programs`)
      }
      if (serving.asks === 'everything') return measureEverything(parts, seconds)
      return whileAlive(following ? following.measure(servers, seconds - LEAD_SECONDS) : measurePages(parts, seconds - LEAD_SECONDS))
    },

    /**
     * Adds what clients that follow the feed know after the load has ended.
     * @param {ServingFigures} figures @param {number[]} acknowledged items of each writer
     * @returns {Promise<ServingFigures>}
     */
    async settle (figures, acknowledged) {
      return following && figures.following
        ? { ...figures, following: { ...figures.following, ...await whileAlive(following.settle(acknowledged)) } }
        : figures
    },

    /** @returns {Promise<number>} processor time of all processes, client included, since they were started */
    cpuSeconds: () =>
      whileAlive(Promise.all([servers.cpuSeconds(), client.usage()]).then(([ofServers, ofClient]) => ofServers + ofClient.cpuSeconds)),

    /** Stops all processes. */
    async close () {
      parts.isClosed = true
      await Promise.all(all().map((process) => process.stop()))
    }
  }
}

/**
 * @param {Serving} serving @param {Place} place @param {Parts['servers']} servers @param {Parts['client']} client
 * @returns {Parts}
 */
function partsOf (serving, place, servers, client) {
  const { by, asks, path } = serving
  const { feed, workload, ratePerSecond = 0, isSteady = false, liveItems } = place
  const limit = limitIn(path)
  const items = limit === null ? null : Math.min(limit, liveItems, asks === 'everything' ? SAMPLE_ITEMS : Infinity)
  return {
    serving,
    place,
    servers,
    client,
    following: FOLLOWS.includes(asks) && workload
      ? createFollowing(serving, { client, feed, workload, ratePerSecond: ratePerSecond * workload.writers })
      : null,
    right: {
      items,
      ...(items === liveItems && { leastItems: Math.floor(LEAST_SHARE * liveItems) }),
      bytes: null,
      workload: by === 'bare' || (by === ASK_RANGE && place.layout === 'ids') ? null : workload
    },
    currentWithinMs: isSteady && items !== null && by !== 'bare' ? CURRENT_WITHIN_MS : null,
    itemsPath: path.replace(/\?.*$/, ''),
    urls: [],
    isClosed: false,
    whileAlive (work) {
      work.catch(() => {})
      const ended = Promise.race([...servers.running, client].map((process) => process.ended))
      ended.catch(() => {})
      return Promise.race([work, ended])
    }
  }
}

/** @param {Parts} parts @param {number} seconds of the client's window */
async function measurePages ({ serving, place, servers, client, right, currentWithinMs, urls }, seconds) {
  const { asks, path, connections, everyMs } = serving
  const freshness = asks === 'freshness' ? { ratePerSecond: place.ratePerSecond ?? 0 } : null
  client.send({ event: 'request', urls: urls.map((url) => url + path), connections, everyMs, seconds, right, freshness, currentWithinMs })
  await client.receive('window')
  const before = await servers.usages()
  await client.receive('window over', seconds * 1000 + SPARE_MS)
  const after = await servers.usages()
  return servingFigures(serving, await client.receive('requested', RESPONSE_TIMEOUT_MS + SPARE_MS), before, after)
}

/** @param {Parts} parts @param {number} seconds of the client's window */
async function measureEverything (parts, seconds) {
  const {
    serving, place: { workload, liveItems, writtenItems = liveItems }, servers, client, right, currentWithinMs, itemsPath, whileAlive
  } = parts
  const { by, path } = serving
  const isReader = by === 'reader'
  const dueItems = Math.min(liveItems, writtenItems)
  const untilMs = performance.now() + seconds * 1000
  await servers.stopFirst()
  if (parts.isClosed) throw new FreshetError('SERVING_FAILED', 'the measurement was stopped')
  const startedMs = performance.now()
  const up = servers.startFresh()
  return whileAlive((async () => {
    const url = await up
    const [process] = servers.running
    await untilReady(url + (isReader ? '/readyz' : `${itemsPath}?limit=1`))
    const startUpMs = performance.now() - startedMs
    const there = isReader ? JSON.parse((await requestOnce(`${url}${itemsPath.replace(/items$/, 'count')}`)).body).count : dueItems
    if (by === 'bare') right.bytes = await servers.sendConstant({ workload })
    const before = await servers.usages()
    const { outcomes, everything } = await fetchEverything({
      url,
      process,
      client,
      path,
      bytes: right.bytes,
      dueItems,
      currentWithinMs,
      workload: /** @type {import('./workload.js').Workload} */ (workload)
    }, () => (untilMs - performance.now()) / 1000)
    return {
      ...servingFigures(serving, outcomes, before, await servers.usages()),
      everything: { startUpMs, dueItems, mostItems: liveItems, liveItems: there, ...everything }
    }
  })())
}
