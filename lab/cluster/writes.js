/**
 * Plain writes beside a feed, in the slots of its partitions: many commands a second at little cost. SETs in small pipelines to one slot
 * each. What a node does not execute, because the slot is moving, is not sent again.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { openPrimaries } from '../../src/store/index.js'

const PIPELINE = 20
const EVERY_MS = 10
const DEADLINE_MS = 10_000
const VALUE = 'x'.repeat(32)

/** @param {(part: string) => string} key @returns {{ key: string, encoded: { bytes: Buffer, replies: number } }} */
function pipelineOf (key) {
  const sets = Array.from({ length: PIPELINE }, (_, n) => ['SET', key(`write:${n}`), VALUE])
  const text = sets.map((words) => `*3\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`).join('')
  return { key: key(''), encoded: { bytes: Buffer.from(text), replies: PIPELINE } }
}

/**
 * @param {{ redisUrl: string, keys: ((part: string) => string)[], rate: number }} options `keys` of each partition; `rate` of all, 1/s
 * @returns {Promise<{ done: number, stop: () => Promise<void> }>} `done`: SETs that were executed until now
 */
export async function startWrites ({ redisUrl, keys, rate }) {
  // two addresses have a map of slots of their own, so that the feed does not learn from these writes where its slots are
  const primaries = await openPrimaries(`${redisUrl},${redisUrl}`, { name: 'lab-writes', deadlineMs: DEADLINE_MS })
  const pipelines = keys.map(pipelineOf)
  const writes = { done: 0, stop }
  const over = new AbortController()
  let unanswered = 0

  /** @param {ReturnType<typeof pipelineOf>} pipeline */
  async function send ({ key, encoded }) {
    unanswered += PIPELINE
    try {
      await primaries.connectionOf(key).sendEncoded(encoded)
      writes.done += PIPELINE
    } catch {} finally {
      unanswered -= PIPELINE
    }
  }

  const sending = (async () => {
    const fromMs = performance.now()
    for (let sent = 0, turn = 0; !over.signal.aborted; await pause(EVERY_MS)) {
      const due = (performance.now() - fromMs) * rate / 1000
      // at most those of a second wait for their replies
      for (; sent < due; sent += PIPELINE) if (unanswered < rate) send(pipelines[turn++ % pipelines.length])
    }
  })()

  async function stop () {
    over.abort()
    await sending
    await primaries.close()
  }
  return writes
}
