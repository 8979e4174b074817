/**
 * Feed writers in a process of their own, whose ledger the parent keeps: `node writing.js <options as JSON>`.
 *
 * Before items are appended their numbers are sent as a range, `{ intent: [from, to] }`, and when the pipeline has
 * acknowledged them, `{ acknowledged: [from, to] }`. Writer w takes the numbers from w * SPAN on. At `'stop'` they append no
 * more and flush; the last message is `{ ended: <account>[] }`. An error ends the process and is sent as `{ error }`.
 *
 * `{ look: id, afterMs }` is answered by `{ look: id, accounts, isReady }`, after all messages that were sent before. Of a process
 * that did not run for a while a look comes later, so it says what was done in `afterMs` of its own.
 */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { openWriterFor } from '../../servers.js'
import { BROKEN_ACKS } from './broken-acks.js'
import { SPAN } from './ledger.js'

const VALUE_BYTES = 64
const FLUSH_MS = 200_000

/**
 * @typedef {object} Run
 * @property {string} redisUrl
 * @property {number} [writers]
 * @property {number} [itemsPerRound] of each writer, then it waits `roundMs`
 * @property {number} [roundMs]
 * @property {number} [items] of each writer; then it stops by itself
 * @property {number} [aheadMs] of the event times, before the clock
 * @property {number} [ids] distinct ids, 0 = every item has its own; only with one writer
 * @property {string} [ack] of acks.js, or of broken-acks.js
 * @property {object} [options] of openFeedWriter
 */

const tell = (/** @type {object} */ message) => /** @type {Promise<void>} */ (new Promise((resolve, reject) => {
  process.send?.(message, undefined, {}, (/** @type {Error | null} */ error) => error ? reject(error) : resolve())
}))

/** @param {number} n the value begins with the number; the rest is padding */
const valueOf = (n) => Buffer.from(`${n} `.padEnd(VALUE_BYTES, 'x'))

/**
 * @param {import('../../../src/pipeline/pipeline.js').Pipeline} pipeline
 * @param {number} first
 * @param {Run} run
 * @param {() => boolean} isOver
 */
async function write (pipeline, first, { itemsPerRound = 40, roundMs = 20, items = SPAN, ids = 0, aheadMs = 0 }, isOver) {
  /** @type {Promise<void>[]} */
  const reported = []
  for (let from = first; from < first + items && !isOver();) {
    const to = Math.min(from + itemsPerRound, first + items)
    await tell({ intent: [from, to] })
    for (let n = from; n < to; n++) {
      if (!pipeline.append(Buffer.from(String(ids ? n % ids : n)), Date.now() + aheadMs, valueOf(n))) await pipeline.ready()
    }
    const range = [from, to]
    reported.push(pipeline.acknowledged().then(() => tell({ acknowledged: range })))
    reported.at(-1)?.catch(() => {}) // looked at below
    from = to
    if (roundMs) await pause(roundMs)
  }
  return reported
}

/** A server may be slow on a busy machine: the process that started these writers decides how long to wait. @param {Run} run */
async function openPatiently ({ redisUrl, ack = 'primary', options }) {
  for (;;) {
    try {
      return await openWriterFor(/** @type {any} */ ({ teardown () {} }),
        { redisUrl, windowMs: 86_400_000, maxItems: 0, ...options, ack: BROKEN_ACKS[ack] ?? ack })
    } catch (error) {
      if (!error.retryable) throw error
    }
  }
}

/** @param {import('../../../src/pipeline/feed-writer.js').FeedWriter} writer */
const accountOf = ({ pipeline, sessions }) => ({ ...pipeline.account, sessions })

/** @param {Run} run */
async function main (run) {
  let over = false
  /** @type {import('../../../src/pipeline/feed-writer.js').FeedWriter[]} */
  let writers = []
  async function look (/** @type {{ look: number, afterMs: number }} */ { look: id, afterMs }) {
    await pause(afterMs)
    // what arrived during the pause is read first
    await turn()
    await tell({ look: id, accounts: writers.map(accountOf), isReady: writers.every((writer) => writer.status().ready) })
  }
  process.on('message', (/** @type {any} */ message) => {
    if (message === 'stop') over = true
    else look(message).catch(() => {})
  })
  process.on('disconnect', () => process.exit())
  // the test may have been killed before this line
  if (!process.connected) process.exit()
  writers = await Promise.all(Array.from({ length: run.writers ?? 1 }, () => openPatiently(run)))
  await tell({ open: writers.length })
  const accounts = await Promise.all(writers.map(async (writer, w) => {
    const { pipeline } = writer
    const reported = await write(pipeline, w * SPAN, run, () => over)
    await pipeline.flush({ deadlineMs: FLUSH_MS })
    await Promise.all(reported)
    await writer.close({ drainMs: 0 })
    return accountOf(writer)
  }))
  await tell({ ended: accounts })
  process.disconnect()
}

main(JSON.parse(process.argv[2])).catch(async (error) => {
  await tell({ error: `${error.code ?? ''} ${error.stack}` }).catch(() => {})
  process.exit(1)
})
