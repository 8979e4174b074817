/**
 * Serving in a measurement: the processes that answer HTTP beside the load, and the client that asks them.
 *
 *     processes and client start -> load begins -> fill: each process answers a whole page -> the load's window begins ->
 *     client: half a second of warm-up, its window, answers of it awaited -> the load's window ends -> all are stopped
 *
 *     reader   `npm start reader` with ordinary flags
 *     ask      a handler that reads a replica on each request            (handler.js, with what it leaves out)
 *     bare     a constant Buffer: an answer of `ask`, byte for byte      (serve-process.js)
 *
 * Processes are fresh for every measurement, each has a session and an event loop of its own, and none outlives it. A delay
 * that is asked for (--rtt-ms) stands between load and primary; who serves is as near to the replicas as they are.
 *
 * @typedef {import('./plan.js').Serving} Serving
 * @typedef {import('./figures.js').ServingFigures} ServingFigures
 * @typedef {ReturnType<typeof startServing>} RunningServing
 */
import { get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../../errors.js'
import { faultOf, limitIn } from './answers.js'
import { ANSWER_WITHIN_MS } from './asking.js'
import { servingFigures } from './figures.js'
import { LEAD_SECONDS, LEAST_SECONDS } from './plan.js'
import { startProcess } from './process.js'

const SERVE_PROCESS = fileURLToPath(new URL('serve-process.js', import.meta.url))
const CLIENT_PROCESS = fileURLToPath(new URL('client-process.js', import.meta.url))
const POLL_MS = 50
const SPARE_MS = 20_000
/** The window of the load has begun, and the feed may still lack something for so long. */
const FILL_MS = 2000

/**
 * @param {Serving} serving
 * @param {object} place
 * @param {string} place.redisUrl
 * @param {string[]} place.replicaUrls
 * @param {string} place.keyPrefix
 * @param {string} place.feed
 * @param {number} place.liveItems how many the feed will have, at least
 * @param {(settings: Record<string, any>) => string[]} place.readerCommand arguments of node for `npm start reader`
 * @param {Record<string, string | undefined>} place.env without settings
 */
export function startServing (serving, { redisUrl, replicaUrls, keyPrefix, feed, liveItems, readerCommand, env }) {
  const { by, processes, connections, everyMs, path, settings } = serving
  const servers = Array.from({ length: processes }, () => by === 'reader'
    ? startProcess('the reader', readerCommand({ ...settings, keyPrefix, port: 0 }), { ...env, FRESHET_REDIS_URL: redisUrl, FRESHET_REPLICA_URL: replicaUrls.join(',') })
    : startProcess(`the server ${by}`, [SERVE_PROCESS], env))
  const client = startProcess('the client', [CLIENT_PROCESS], env)
  const all = [...servers, client]
  const limit = limitIn(path)
  const right = { items: limit === null ? null : Math.min(limit, liveItems), bytes: /** @type {number | null} */ (null) }
  let isClosed = false
  /** @type {string[]} */
  let urls = []

  async function start () {
    urls = await Promise.all(servers.map(async (server) => {
      if (by !== 'reader') {
        await server.heard('loaded')
        server.tell({ event: 'start', urls: settings.readFrom === 'primary' ? [redisUrl] : replicaUrls, keyPrefix, feed })
      }
      return (await server.heard('up')).url + path
    }))
    await client.heard('up')
  }
  const ended = Promise.race(all.map((process) => process.ended))
  ended.catch(() => {})
  /** @template T @param {Promise<T>} work @returns {Promise<T>} */
  const whileAlive = (work) => {
    work.catch(() => {})
    return Promise.race([work, ended])
  }

  const ready = whileAlive(start())
  ready.catch(() => {})

  /** @param {Promise<unknown>} begun */
  async function untilFilled (begun) {
    let untilMs = Infinity
    begun.then(() => { untilMs = performance.now() + FILL_MS }, () => { untilMs = 0 })
    for (;; await pause(POLL_MS)) {
      const answers = await Promise.all(urls.map(ask))
      const fault = answers.map(({ status, body }) => faultOf(status, body, right)).find((one) => one !== null)
      if (!fault) return answers[0].body
      if (isClosed || performance.now() > untilMs) throw new FreshetError('SERVING_FAILED', `${by} did not answer rightly when the window began: ${fault}; expected a longer warm-up, or a smaller limit`)
    }
  }

  return {
    /** Every process is up; throws SERVING_FAILED. */
    ready,
    /** Of the servers, then of the client. */
    pids: all.map(({ pid }) => pid),

    /**
     * Until each process gives a right answer. Bare gets the one it will give from then on.
     * @param {Promise<unknown>} begun of the load's window: it should not be later than that
     * @throws {FreshetError} SERVING_FAILED
     */
    fill: (begun) => whileAlive(untilFilled(begun).then(async (body) => {
      if (by !== 'bare') return
      for (const server of servers) server.tell({ event: 'constant', body })
      await Promise.all(servers.map((server) => server.heard('constant')))
      right.bytes = body.length
    })),

    /**
     * The window of the client.
     * @param {number} seconds left of the load's window
     * @returns {Promise<ServingFigures>}
     * @throws {FreshetError} SERVING_FAILED
     */
    async measure (seconds) {
      const own = seconds - LEAD_SECONDS
      if (own < LEAST_SECONDS) throw new FreshetError('SERVING_FAILED', `${seconds.toFixed(1)} s of the window are left for asking; expected at least ${LEAD_SECONDS + LEAST_SECONDS}: a longer window, or a machine that does less beside it`)
      return whileAlive((async () => {
        client.tell({ event: 'ask', urls, connections, everyMs, seconds: own, right })
        await client.heard('window')
        const before = await Promise.all(servers.map((server) => server.usage()))
        await client.heard('window over', seconds * 1000 + SPARE_MS)
        const after = await Promise.all(servers.map((server) => server.usage()))
        return servingFigures(serving, await client.heard('asked', ANSWER_WITHIN_MS + SPARE_MS), before, after)
      })())
    },

    /** @returns {Promise<number>} processor time of everything here, client included, since it was started */
    cpuSeconds: () => whileAlive(Promise.all(all.map((process) => process.usage())).then((usages) => usages.reduce((sum, usage) => sum + usage.cpuSeconds, 0))),

    /** Ends all of it whatever it does; resolves when it is gone. */
    async close () {
      isClosed = true
      await Promise.all(all.map((process) => process.stop()))
    }
  }
}

/** One question over a connection of its own. @param {string} url @returns {Promise<{ status: number, body: string }>} status 0 when there was no answer */
const ask = (url) => new Promise((resolve) => {
  const request = get(url, { agent: false, timeout: ANSWER_WITHIN_MS }, (response) => {
    let body = ''
    response.setEncoding('utf8').on('data', (chunk) => { body += chunk }).once('end', () => resolve({ status: response.statusCode ?? 0, body }))
    response.once('error', (error) => resolve({ status: 0, body: error.message }))
  })
  request.once('timeout', () => request.destroy(new Error('no answer'))).once('error', (error) => resolve({ status: 0, body: error.message }))
})
