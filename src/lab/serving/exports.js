/**
 * Everything of a feed out of one process: it is started while the load writes, and asked as soon as it is ready, then over
 * and over to the end of the window, one answer after the other.
 *
 *     the process that proved the feed filled ends -> a fresh one starts ... ready -> everything | everything | ...
 *
 *     ready        `GET /readyz` says 200 for the first time: a reader has its views by then, and its count is held against what
 *                  there is; of the lab's own, which have nothing to get ready, the first answer
 *     delay        how long its event loop was held up at most while it answered, of a clock of 1 ms
 *
 * @typedef {object} Everything
 * @property {number} startUpMs from starting the process until it was ready
 * @property {number} dueItems that the feed has at least
 * @property {number} mostItems and at most
 * @property {number} liveItems that were there when it was ready, by its own count
 * @property {number[]} firstMs of each answer: from asking to the first byte of its body
 * @property {number[]} lastMs to the last byte
 * @property {number[]} delayMs of the event loop meanwhile
 * @property {number[]} items
 */
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../../errors.js'
import { askOnce } from './ask-once.js'

/** A process that is not ready then will not be. */
const READY_WITHIN_MS = 30_000
const LOOK_MS = 2
const FETCH_WITHIN_MS = 70_000
/** Another answer is begun while the window has room for so many like the last. */
const ROOM = 2

/**
 * @typedef {object} Parts
 * @property {string} url of the process, without a path
 * @property {import('./process.js').Process} process
 * @property {import('./process.js').Process} client
 * @property {string} path of everything
 * @property {number | null} bytes of an answer, where they alone are looked at
 * @property {number} dueItems
 * @property {number | null} currentWithinMs so old the newest item may be
 * @property {import('./workload.js').Workload} workload
 */

/**
 * @param {Parts} parts
 * @param {() => number} leftSeconds of the window; one answer is fetched whatever it says
 * @returns {Promise<{ asked: any, everything: Pick<Everything, 'firstMs' | 'lastMs' | 'delayMs' | 'items'> }>} `asked`: as the client tells of pages
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
  /** @type {Record<string, number>} */
  const byStatus = {}
  for (const { status } of answered) byStatus[status] = (byStatus[status] ?? 0) + 1
  const errors = all.length - answered.length
  return {
    asked: {
      requests: { planned: null, sent: all.length, answered: answered.length, missing: errors, errors, timeouts: 0, byStatus },
      latencyMs: percentilesOfAll(each('lastMs')),
      bytes: sum('bytes'),
      answers: { looked: all.length, wrong: wrong.length, detail: wrong[0]?.fault ?? null, ...(bytes === null && { newest: [Math.max(...all.map(({ newest }) => newest))] }) },
      seconds: (performance.now() - sinceMs) / 1000,
      cpuSeconds: sum('cpuSeconds'),
      loopUse: Math.max(...all.map(({ loopUse }) => loopUse)),
      connectionsLost: errors
    },
    everything: { firstMs: each('firstMs'), lastMs: each('lastMs'), delayMs: each('delayMs'), items: bytes === null ? each('items') : answered.map(() => dueItems) }
  }
}

/** @param {Parts} parts */
async function fetchOne ({ url, process, client, path, bytes, workload, currentWithinMs }) {
  process.tell({ event: 'watch loop' })
  await process.heard('watch loop')
  client.tell({ event: 'fetch', url: url + path })
  const { event: _, ...fetched } = await client.heard('fetched', FETCH_WITHIN_MS)
  process.tell({ event: 'loop' })
  const { delayMsMax: delayMs } = await process.heard('loop')
  if (fetched.status !== 200) return { ...fetched, delayMs, items: 0, newest: 0, fault: `status ${fetched.status}` }
  client.tell({ event: 'check', newestUrl: `${url}${path.replace(/\?.*$/, '')}?limit=1`, bytes, workload, currentWithinMs })
  const { items, newest, fault } = await client.heard('checked', FETCH_WITHIN_MS)
  return { ...fetched, delayMs, items, newest, fault }
}

/** By nearest rank: they are few. @param {number[]} times */
function percentilesOfAll (times) {
  if (times.length === 0) return null
  const sorted = times.toSorted((a, b) => a - b)
  const at = (/** @type {number} */ share) => sorted[Math.ceil(share * sorted.length) - 1]
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}

/**
 * Until an answer is 200.
 * @param {string} url
 * @throws {FreshetError} SERVING_FAILED
 */
export async function untilReady (url) {
  const giveUpMs = performance.now() + READY_WITHIN_MS
  for (;; await pause(LOOK_MS)) {
    const { status, body } = await askOnce(url)
    if (status === 200) return
    if (performance.now() > giveUpMs) throw new FreshetError('SERVING_FAILED', `a process that was started in the window was not ready within ${READY_WITHIN_MS / 1000} s: status ${status}: ${body.slice(0, 200)}`)
  }
}
