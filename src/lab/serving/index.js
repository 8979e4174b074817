/**
 * Serving in a measurement: the processes that answer HTTP beside the load, and the client that asks them.
 *
 *     processes and client start -> load begins -> fill: each is ready and answers a whole page -> the load's window begins ->
 *     client: half a second of warm-up, its window, answers of it awaited -> the load's window ends -> (clients that follow:
 *     have they got everything?) -> all are stopped
 *
 *     reader   `npm start reader` with ordinary flags
 *     ask      a handler that reads a replica on each request            (handler.js, with what it leaves out)
 *     bare     a constant Buffer: an answer of `ask`, byte for byte      (serve-process.js); or events of a constant size
 *
 * Processes are fresh for every measurement, each has a session and an event loop of its own, and none outlives it. A delay
 * that is asked for (--rtt-ms) stands between load and primary; who serves is as near to the replicas as they are.
 *
 * @typedef {import('./plan.js').Serving} Serving
 * @typedef {import('./figures.js').ServingFigures} ServingFigures
 * @typedef {ReturnType<typeof startServing>} RunningServing
 */
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../../errors.js'
import { faultOf, limitIn } from './answers.js'
import { askOnce } from './ask-once.js'
import { ANSWER_WITHIN_MS } from './asking.js'
import { fetchEverything, untilReady } from './exports.js'
import { servingFigures } from './figures.js'
import { createFollowing } from './following.js'
import { FOLLOWS, LEAD_SECONDS, leastSecondsOf } from './plan.js'
import { startProcess } from './process.js'
import { createChecker } from './workload.js'

const SERVE_PROCESS = fileURLToPath(new URL('serve-process.js', import.meta.url))
const CLIENT_PROCESS = fileURLToPath(new URL('client-process.js', import.meta.url))
const FOLLOW_PROCESS = fileURLToPath(new URL('follow-process.js', import.meta.url))
const POLL_MS = 50
const SPARE_MS = 20_000
/** The window of the load has begun, and the feed may still lack something for so long. */
const FILL_MS = 2000

/** A reader that is a second behind says so; another for a machine that is busy. */
const CURRENT_WITHIN_MS = 2000

/** of everything, in words that the feed is filled */
const SAMPLE_ITEMS = 100

/**
 * @param {Serving} serving
 * @param {object} place
 * @param {string} place.redisUrl
 * @param {string[]} place.replicaUrls
 * @param {string} place.keyPrefix
 * @param {string} place.feed
 * @param {string} place.layout of the feed
 * @param {import('./workload.js').Workload | null} place.workload null = values do not tell what they are
 * @param {number} [place.ratePerSecond] items of each writer
 * @param {boolean} [place.isSteady] whether they come all the time
 * @param {number} place.liveItems how many the feed will have
 * @param {number} [place.writtenItems] at least, when the window begins; without it all of them
 * @param {(settings: Record<string, any>) => string[]} place.readerCommand arguments of node for `npm start reader`
 * @param {Record<string, string | undefined>} place.env without settings
 */
export function startServing (serving, { redisUrl, replicaUrls, keyPrefix, feed, layout, workload, ratePerSecond = 0, isSteady = false, liveItems, writtenItems = liveItems, readerCommand, env }) {
  const { by, asks, processes, connections, everyMs, path, settings } = serving
  const isReader = by === 'reader'
  const ofEverything = asks === 'everything'
  const start = () => isReader
    ? startProcess('the reader', readerCommand({ ...settings, keyPrefix, port: 0 }), { ...env, FRESHET_REDIS_URL: redisUrl, FRESHET_REPLICA_URL: replicaUrls.join(',') })
    : startProcess(`the server ${by}`, [SERVE_PROCESS], env)
  let servers = Array.from({ length: processes }, start)
  const isFollowed = FOLLOWS.includes(asks)
  const client = startProcess('the client', [isFollowed ? FOLLOW_PROCESS : CLIENT_PROCESS], env)
  const following = isFollowed ? createFollowing(serving, { client, feed, workload: /** @type {import('./workload.js').Workload} */ (workload), ratePerSecond: ratePerSecond * Number(workload?.writers) }) : null
  const limit = limitIn(path)
  const items = limit === null ? null : Math.min(limit, liveItems, ofEverything ? SAMPLE_ITEMS : Infinity)
  const dueItems = Math.min(liveItems, writtenItems)
  const right = { items, bytes: /** @type {number | null} */ (null), workload: by === 'bare' ? null : workload }
  const currentWithinMs = isSteady && items !== null && by !== 'bare' ? CURRENT_WITHIN_MS : null
  const itemsPath = path.replace(/\?.*$/, '')
  let isClosed = false
  /** @type {{ body: string } | { workload: import('./workload.js').Workload | null } | { stream: object } | null} what bare is told to send */
  let constant = null
  /** of servers that have ended */
  let goneCpuSeconds = 0
  /** @type {string[]} */
  let urls = []

  /** @param {import('./process.js').Process} server @returns {Promise<string>} its address, when it is up */
  async function upOf (server) {
    if (!isReader) {
      await server.heard('loaded')
      server.tell({ event: 'start', urls: settings.readFrom === 'primary' ? [redisUrl] : replicaUrls, keyPrefix, feed, layout })
    }
    return (await server.heard('up')).url
  }

  async function startAll () {
    urls = await Promise.all(servers.map(upOf))
    await client.heard('up')
  }
  /** @template T @param {Promise<T>} work @returns {Promise<T>} */
  const whileAlive = (work) => {
    work.catch(() => {})
    const ended = Promise.race([...servers, client].map((process) => process.ended))
    ended.catch(() => {})
    return Promise.race([work, ended])
  }

  const ready = whileAlive(startAll())
  ready.catch(() => {})

  /** Why a reader is not ready yet: it may answer before its views are in. @returns {Promise<string | null>} */
  async function notReady () {
    const answers = isReader ? await Promise.all(urls.map((url) => askOnce(`${url}/readyz`))) : []
    const not = answers.find(({ status }) => status !== 200)
    return not ? `not ready: ${not.body.slice(0, 200)}` : null
  }

  /** @param {Promise<unknown>} begun */
  async function untilFilled (begun) {
    let untilMs = Infinity
    begun.then(() => { untilMs = performance.now() + FILL_MS }, () => { untilMs = 0 })
    const question = ofEverything ? `${itemsPath}?limit=${items}` : path
    for (;; await pause(POLL_MS)) {
      const answers = await Promise.all(urls.map((url) => askOnce(url + question)))
      const faultOfItems = right.workload ? createChecker(right.workload).faultOf : undefined
      const fault = answers.map(({ status, body }) => faultOf(status, body, right, faultOfItems)).find((one) => one !== null) ?? await notReady()
      if (!fault) return answers[0].body
      if (isClosed || performance.now() > untilMs) throw new FreshetError('SERVING_FAILED', `${by} did not answer rightly when the window began: ${fault}; expected a longer warm-up, or a smaller limit`)
    }
  }

  /** @param {import('./process.js').Process[]} those that send the constant from now on */
  async function giveConstant (those) {
    for (const server of those) server.tell({ event: 'constant', ...constant })
    const [{ bytes }] = await Promise.all(those.map((server) => server.heard('constant')))
    right.bytes = bytes
  }

  /** @param {number} seconds of its own */
  async function measurePages (seconds) {
    client.tell({ event: 'ask', urls: urls.map((url) => url + path), connections, everyMs, seconds, right, freshness: asks === 'freshness' ? { ratePerSecond } : null, currentWithinMs })
    await client.heard('window')
    const before = await Promise.all(servers.map((server) => server.usage()))
    await client.heard('window over', seconds * 1000 + SPARE_MS)
    const after = await Promise.all(servers.map((server) => server.usage()))
    return servingFigures(serving, await client.heard('asked', ANSWER_WITHIN_MS + SPARE_MS), before, after)
  }

  /** @param {number} seconds of its own */
  async function measureEverything (seconds) {
    const untilMs = performance.now() + seconds * 1000
    goneCpuSeconds += (await servers[0].usage()).cpuSeconds
    await servers[0].stop()
    if (isClosed) throw new FreshetError('SERVING_FAILED', 'the measurement was ended')
    const startedMs = performance.now()
    const process = start()
    servers = [process]
    return whileAlive((async () => {
      const url = await upOf(process)
      await untilReady(url + (isReader ? '/readyz' : `${itemsPath}?limit=1`))
      const startUpMs = performance.now() - startedMs
      const there = isReader ? JSON.parse((await askOnce(`${url}${itemsPath.replace(/items$/, 'count')}`)).body).count : dueItems
      if (by === 'bare') await giveConstant(servers)
      const before = await process.usage()
      const { asked, everything } = await fetchEverything({ url, process, client, path, bytes: right.bytes, dueItems, currentWithinMs, workload: /** @type {import('./workload.js').Workload} */ (workload) }, () => (untilMs - performance.now()) / 1000)
      return { ...servingFigures(serving, asked, [before], [await process.usage()]), everything: { startUpMs, dueItems, mostItems: liveItems, liveItems: there, ...everything } }
    })())
  }

  return {
    /** Every process is up; throws SERVING_FAILED. */
    ready,
    /** Of the servers, then of the client. */
    get pids () { return [...servers, client].map(({ pid }) => pid) },

    /**
     * Until each process gives a right answer. Bare gets the one it will give from then on.
     * @param {Promise<unknown>} begun of the load's window: it should not be later than that
     * @throws {FreshetError} SERVING_FAILED
     */
    fill: (begun) => whileAlive(untilFilled(begun).then(async (body) => {
      if (by === 'bare') {
        // of everything the one that is measured makes it itself: nobody needs to be asked what it looks like
        constant = ofEverything ? { workload } : following?.constant() ?? { body }
        if (!ofEverything) await giveConstant(servers)
      }
      await following?.open(urls, right.bytes)
    })),

    /**
     * The window of the client.
     * @param {number} seconds left of the load's window
     * @returns {Promise<ServingFigures>}
     * @throws {FreshetError} SERVING_FAILED
     */
    async measure (seconds) {
      const least = leastSecondsOf(serving)
      if (seconds < least) throw new FreshetError('SERVING_FAILED', `${seconds.toFixed(1)} s of the window are left for asking; expected at least ${least}: a longer window, or a machine that does less beside it`)
      if (ofEverything) return measureEverything(seconds)
      return whileAlive(following ? following.measure(servers, seconds - LEAD_SECONDS) : measurePages(seconds - LEAD_SECONDS))
    },

    /**
     * What clients that follow the feed know, when the load has ended.
     * @param {ServingFigures} figures @param {number[]} acknowledged items of each writer
     * @returns {Promise<ServingFigures>}
     */
    async settle (figures, acknowledged) {
      return following && figures.following
        ? { ...figures, following: { ...figures.following, ...await whileAlive(following.settle(acknowledged)) } }
        : figures
    },

    /** @returns {Promise<number>} processor time of everything here, client included, since it was started */
    cpuSeconds: () => whileAlive(Promise.all([...servers, client].map((process) => process.usage())).then((usages) => usages.reduce((sum, usage) => sum + usage.cpuSeconds, goneCpuSeconds))),

    /** Ends all of it whatever it does; resolves when it is gone. */
    async close () {
      isClosed = true
      await Promise.all([...servers, client].map((process) => process.stop()))
    }
  }
}
