/**
 * Fetching all items of a feed from a process that starts while the load writes. The client fetches as soon as the process is
 * ready, and again until the end of the window, one response after the other.
 *
 *     the process that proved the feed filled ends -> a fresh one starts ... ready -> all items | all items | ...
 *
 *     ready        the first 200 of `GET /readyz`: a reader has its views by then, and its count is checked; for the lab's own
 *                  servers, which load nothing, the first response
 *     delay        the longest delay of the event loop during a response, measured with a timer of 1 ms
 *
 * @typedef {object} Everything
 * @property {number} startUpMs from starting the process until it was ready
 * @property {number} dueItems lower bound of the items in the feed
 * @property {number} mostItems upper bound
 * @property {number} liveItems by the process's own count when it was ready
 * @property {number[]} firstMs of each response: from the request to the first byte of the body
 * @property {number[]} lastMs to the last byte
 * @property {number[]} delayMs of the event loop in that time
 * @property {number[]} items
 */
import { setTimeout as pause } from 'node:timers/promises'
import { countEach } from '../analysis/counts.js'
import { percentilesOf } from '../analysis/percentiles.js'
import { FreshetError } from '../errors.js'
import { requestOnce } from './request.js'

const READY_WITHIN_MS = 30_000
const POLL_MS = 2
const FETCH_WITHIN_MS = 70_000
/** Another response is requested while the window has room for this many like the last. */
const ROOM = 2

/**
 * @typedef {object} Parts
 * @property {string} url of the process, without a path
 * @property {import('./process.js').Process} process
 * @property {import('./process.js').Process} client
 * @property {string} path of all items
 * @property {number | null} bytes of a response, where only they are checked
 * @property {number} dueItems
 * @property {number | null} currentWithinMs maximum age of the newest item
 * @property {import('./workload.js').Workload} workload
 */

/**
 * @param {Parts} parts
 * @param {() => number} leftSeconds of the window; at least one response is fetched
 * @returns {Promise<{ outcomes: any, everything: Pick<Everything, 'firstMs' | 'lastMs' | 'delayMs' | 'items'> }>}
 *   `outcomes`: in the form of
 *   the client's for pages
 */
export async function fetchEverything (parts, leftSeconds) {
  const { dueItems, bytes } = parts
  const sinceMs = performance.now()
  /** @type {Awaited<ReturnType<typeof fetchOne>>[]} */
  const all = []
  do all.push(await fetchOne(parts))
  while (all[all.length - 1].lastMs * ROOM < leftSeconds() * 1000)
  const answered = all.filter(({ status }) => status > 0)
  const wrong = all.filter(({ fault }) => fault !== null)
  const sum = (/** @type {'bytes' | 'cpuSeconds'} */ name) => all.reduce((total, one) => total + one[name], 0)
  const each = (/** @type {'firstMs' | 'lastMs' | 'delayMs' | 'items'} */ name) => answered.map((one) => one[name])
  const byStatus = countEach(answered.map(({ status }) => status))
  const errors = all.length - answered.length
  return {
    outcomes: {
      requests: { planned: null, sent: all.length, answered: answered.length, missing: errors, errors, timeouts: 0, byStatus },
      latencyMs: answered.length > 0 ? percentilesOf(each('lastMs')) : null,
      bytes: sum('bytes'),
      answers: {
        looked: all.length,
        wrong: wrong.length,
        detail: wrong[0]?.fault ?? null,
        ...(bytes === null && { newest: [Math.max(...all.map(({ newest }) => newest))] })
      },
      seconds: (performance.now() - sinceMs) / 1000,
      cpuSeconds: sum('cpuSeconds'),
      loopUse: Math.max(...all.map(({ loopUse }) => loopUse)),
      connectionsLost: errors
    },
    everything: {
      firstMs: each('firstMs'),
      lastMs: each('lastMs'),
      delayMs: each('delayMs'),
      items: bytes === null ? each('items') : answered.map(() => dueItems)
    }
  }
}

/** @param {Parts} parts */
async function fetchOne ({ url, process, client, path, bytes, workload, currentWithinMs }) {
  process.send({ event: 'watch loop' })
  await process.receive('watch loop')
  client.send({ event: 'fetch', url: url + path })
  const { event: _, ...fetched } = await client.receive('fetched', FETCH_WITHIN_MS)
  process.send({ event: 'loop' })
  const { delayMsMax: delayMs } = await process.receive('loop')
  if (fetched.status !== 200) return { ...fetched, delayMs, items: 0, newest: 0, fault: `status ${fetched.status}` }
  client.send({ event: 'check', newestUrl: `${url}${path.replace(/\?.*$/, '')}?limit=1`, bytes, workload, currentWithinMs })
  const { items, newest, fault } = await client.receive('checked', FETCH_WITHIN_MS)
  return { ...fetched, delayMs, items, newest, fault }
}

/**
 * Resolves at the first response with status 200.
 * @param {string} url
 * @throws {FreshetError} SERVING_FAILED
 */
export async function untilReady (url) {
  const giveUpMs = performance.now() + READY_WITHIN_MS
  for (;; await pause(POLL_MS)) {
    const { status, body } = await requestOnce(url)
    if (status === 200) return
    if (performance.now() > giveUpMs) {
      throw new FreshetError('SERVING_FAILED',
        `a process started in the window was not ready within ${READY_WITHIN_MS / 1000} s: status ${status}: ${body.slice(0, 200)}`)
    }
  }
}
