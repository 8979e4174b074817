/**
 * Feed writers in a process of their own, whose ledger the parent keeps: `node writing.js <options as JSON>`.
 *
 * Before items are appended their numbers are sent as a range, `{ intent: [from, to] }`, and when the pipeline has
 * acknowledged them, `{ acknowledged: [from, to] }`. Writer w takes the numbers from w * SPAN on. At `'stop'` they append no
 * more and flush; the last message is `{ ended: <account>[] }`. An error ends the process and is sent as `{ error }`.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { openWriterFor } from '../../servers.js'
import { BROKEN_ACKS } from './broken-acks.js'

export const SPAN = 2_000_000
const VALUE_BYTES = 64

/**
 * @typedef {object} Run
 * @property {string} redisUrl
 * @property {number} [writers]
 * @property {number} [itemsPerRound] of each writer, then it waits `roundMs`
 * @property {number} [roundMs]
 * @property {number} [items] of each writer; then it stops by itself
 * @property {number} [ids] distinct ids, 0 = every item has its own; only with one writer
 * @property {string} [ack] of acks.js, or of broken-acks.js
 * @property {number} [flushMs] the wait for the last acknowledgement
 * @property {object} [options] of openFeedWriter
 */

const tell = (/** @type {object} */ message) => /** @type {Promise<void>} */ (new Promise((resolve, reject) => {
  process.send?.(message, undefined, {}, (/** @type {Error | null} */ error) => error ? reject(error) : resolve())
}))

/** @param {number} n the value tells the number; the rest is there to be long */
const valueOf = (n) => Buffer.from(`${n} `.padEnd(VALUE_BYTES, 'x'))

/** @param {import('../../../src/pipeline/pipeline.js').Pipeline} pipeline @param {number} first @param {Run} run @param {() => boolean} isOver */
async function write (pipeline, first, { itemsPerRound = 20, roundMs = 10, items = SPAN, ids = 0 }, isOver) {
  /** @type {Promise<void>[]} */
  const told = []
  for (let from = first; from < first + items && !isOver();) {
    const to = Math.min(from + itemsPerRound, first + items)
    await tell({ intent: [from, to] })
    for (let n = from; n < to; n++) {
      if (!pipeline.append(Buffer.from(String(ids ? n % ids : n)), Date.now(), valueOf(n))) await pipeline.ready()
    }
    const range = [from, to]
    told.push(pipeline.acknowledged().then(() => tell({ acknowledged: range })))
    told.at(-1)?.catch(() => {}) // looked at below
    from = to
    if (roundMs) await pause(roundMs)
  }
  return told
}

/** @param {Run} run */
async function main (run) {
  let over = false
  process.on('message', () => { over = true })
  process.on('disconnect', () => process.exit())
  const ack = run.ack ?? 'primary'
  const writers = await Promise.all(Array.from({ length: run.writers ?? 1 }, () => openWriterFor(/** @type {any} */ ({ teardown () {} }), {
    redisUrl: run.redisUrl,
    windowMs: 86_400_000,
    maxItems: 0,
    ...run.options,
    ack: BROKEN_ACKS[ack] ?? ack
  })))
  await tell({ open: writers.length })
  const accounts = await Promise.all(writers.map(async (writer, w) => {
    const { pipeline } = writer
    const told = await write(pipeline, w * SPAN, run, () => over)
    await pipeline.flush({ deadlineMs: run.flushMs ?? 60_000 })
    await Promise.all(told)
    const { account } = pipeline
    await writer.close({ drainMs: 0 })
    return { ...account, epochs: writer.epochs }
  }))
  await tell({ ended: accounts })
  process.disconnect()
}

main(JSON.parse(process.argv[2])).catch(async (error) => {
  await tell({ error: `${error.code ?? ''} ${error.stack}` }).catch(() => {})
  process.exit(1)
})
