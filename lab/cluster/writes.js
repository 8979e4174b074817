/**
 * Plain writes beside a feed, in the slots of its partitions: many commands a second at little cost. SETs in small pipelines to one slot
 * each, over the same keys again and again. What a node does not execute, because the slot is moving, is not sent again.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { openPrimaries } from '../../src/store/index.js'

const PIPELINE = 20
/** of each slot: with little data a snapshot of it is too short to meet writes (valkey#4545) */
const KEYS = 1000
const EVERY_MS = 10
const DEADLINE_MS = 10_000
const VALUE = 'x'.repeat(128)

/** @typedef {{ key: string, encoded: { bytes: Buffer, replies: number } }} Pipeline */

/** @param {(part: string) => string} key @param {number} first of its keys @returns {Pipeline} */
function pipelineOf (key, first) {
  const sets = Array.from({ length: PIPELINE }, (_, n) => ['SET', key(`write:${first + n}`), VALUE])
  const text = sets.map((words) => `*3\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`).join('')
  return { key: key(''), encoded: { bytes: Buffer.from(text), replies: PIPELINE } }
}

/**
 * @param {{ redisUrl: string, keys: ((part: string) => string)[], rate: number }} options `keys` of each partition; `rate` of all, 1/s
 * @returns {Promise<{ done: number, missed: number, stop: () => Promise<void> }>} when each key was written once; `done`: SETs that were
 *   executed since then, `missed`: those that were not
 */
export async function startWrites ({ redisUrl, keys, rate }) {
  // two addresses have a map of slots of their own, so that the feed does not learn from these writes where its slots are
  const primaries = await openPrimaries(`${redisUrl},${redisUrl}`, { name: 'lab-writes', deadlineMs: DEADLINE_MS })
  const rounds = Array.from({ length: KEYS / PIPELINE }, (_, n) => keys.map((key) => pipelineOf(key, n * PIPELINE)))
  const pipelines = rounds.flat()
  const send = async (/** @type {Pipeline} */ { key, encoded }) => primaries.connectionOf(key).sendEncoded(encoded)
  for (const round of rounds) await Promise.all(round.map(send))

  const over = new AbortController()
  const writes = { done: 0, missed: 0, stop }
  let unanswered = 0

  /** @param {Pipeline} pipeline */
  async function write (pipeline) {
    unanswered += PIPELINE
    const isDone = await send(pipeline).then(() => true, () => false)
    writes[isDone ? 'done' : 'missed'] += PIPELINE
    unanswered -= PIPELINE
  }

  const sending = (async () => {
    const fromMs = performance.now()
    for (let sent = 0, turn = 0; !over.signal.aborted; await pause(EVERY_MS)) {
      const due = (performance.now() - fromMs) * rate / 1000
      // at most those of a second wait for their replies
      for (; sent < due; sent += PIPELINE) if (unanswered < Math.max(rate, PIPELINE)) write(pipelines[turn++ % pipelines.length])
    }
  })()

  async function stop () {
    over.abort()
    await sending
    await primaries.close()
  }
  return writes
}
