/**
 * One measurement of a feed whose servers are replaced, or whose slots move: a writer and a subscriber in this process, and the ledger.
 *
 *     feed -> warm-up -> | window: the lab looks at all nodes -> disturbance -> until its end, and `seconds` have passed | -> all is
 *     read and compared
 */
import { setTimeout as pause } from 'node:timers/promises'
import { percentilesOf } from '../analysis/percentiles.js'
import { holds } from '../systems/invariants.js'
import { openWindow, requestSummary } from '../systems/window.js'
import { partitionKey } from '../../src/feeds/index.js'
import { slotOf } from '../../src/store/index.js'
import { disturb } from './disturbances.js'
import { disturbedOf } from './figures.js'
import { openRun } from './run.js'
import { startWrites } from './writes.js'

const FEED = 'lab'
const EVERY_MS = 10
/** in which the lab takes the figures of nodes that are about to be killed */
const LOOK_MS = 500
/** what is missing then is lost; a busy machine may need the longer one, where nothing may be */
const SETTLED_WITHIN_MS = { mayLose: 3000, whole: 60_000 }

/** @typedef {Awaited<ReturnType<Awaited<ReturnType<typeof openRun>>['end']>>} End */

/** @param {import('../systems/plan.js').Contention} load @param {import('../systems/load-process.js').How} how */
async function runDisturbed ({ technique, rate: writesPerSecond }, {
  redisUrl, keyPrefix, rate, settings, warmUpSeconds, seconds, signal, onMeasuring, onMeasured
}) {
  const { layout = 'ids', partitions = 1, ack = 'primary', windowMs, batchMs } = settings
  // what only a killed primary had
  const mayLose = technique === 'kill' && ack === 'primary'
  const run = await openRun({
    redisUrl,
    name: FEED,
    keyPrefix,
    layout,
    partitions,
    ack,
    windowMs,
    batchMs,
    everyMs: EVERY_MS,
    chunkItems: Math.round(rate * EVERY_MS / 1000),
    settledWithinMs: SETTLED_WITHIN_MS[mayLose ? 'mayLose' : 'whole']
  })
  /** @type {Awaited<ReturnType<typeof startWrites>> | null} */
  let writes = null
  try {
    const stored = { feed: FEED, partitions }
    const keys = Array.from({ length: partitions }, (_, partition) => partitionKey(keyPrefix, stored, partition))
    if (writesPerSecond) writes = await startWrites({ redisUrl, keys, rate: writesPerSecond })
    await pause(warmUpSeconds * 1000, undefined, { signal })
    await onMeasuring()
    const [beganMs, offered, window] = [performance.now(), run.next, openWindow()]
    const { retried, batches } = run.feed.account
    await pause(LOOK_MS, undefined, { signal })
    const [fromMs, writesBefore] = [performance.now(), writes?.done ?? 0]
    const tags = keys.map((key) => key(''))
    const happened = await disturb(technique, { redisUrl, key: tags[0], slots: tags.map(slotOf) })
    if (technique === 'noop') await pause(seconds * 1000, undefined, { signal })
    const [untilMs, written] = [performance.now(), (writes?.done ?? 0) - writesBefore]
    await pause(Math.max(0, beganMs + seconds * 1000 - performance.now()), undefined, { signal })
    const endMs = performance.now()
    const use = window()
    const chunks = run.chunks.filter(({ atMs }) => atMs >= beganMs && atMs <= endMs)
    const answered = chunks.reduce((sum, { items }) => sum + items, 0)
    const figures = {
      ...disturbedOf(run, { fromMs, untilMs, endMs, written }),
      ...happened,
      // those of the plain writes would count
      ...(writes?.missed && { redirects: null }),
      retried: run.feed.account.retried - retried
    }
    const sent = run.next - offered
    const sentBatches = run.feed.account.batches - batches
    await onMeasured()
    await writes?.stop()
    const end = await run.end()
    return {
      disturbed: { ...figures, lost: end.lost.length },
      answered,
      sent,
      batches: sentBatches,
      latencyMs: percentilesOf(chunks.map(({ ms }) => ms)),
      ...use,
      history: { lost: end.lost },
      invariants: invariantsOf(end, { mayLose, answered })
    }
  } finally {
    await writes?.stop()
    await run.close()
  }
}

/**
 * Lost items are counted where some may be.
 * @param {End} end @param {{ mayLose: boolean, answered: number }} run
 */
function invariantsOf ({ failure, lost, twice, disordered, account }, { mayLose, answered }) {
  const { dropped, failed, refused } = account
  return [
    holds('the subscriber and the writer did not fail', failure === null, failure?.message ?? 'no error'),
    holds('items acknowledged are present', mayLose || lost.length === 0, `${lost.length} missing`),
    holds('no item is there twice', twice === 0, `${twice} twice`),
    holds('versions of an id are delivered in order', disordered === 0, `${disordered} out of order`),
    holds('no item was refused or dropped', dropped + failed + Object.keys(refused).length === 0, JSON.stringify(account)),
    holds('items were acknowledged', answered > 0, `${answered} items`)
  ]
}

/** @type {import('../systems/load-process.js').System} */
export const SYSTEM = Object.freeze({
  run: runDisturbed,
  historyText: (history) => JSON.stringify(history) + '\n',
  summaryOf (result) {
    const { disturbed, answered, sent, batches, latencyMs } = result
    return {
      disturbed,
      ...requestSummary(result, { answered, sent, failed: 0, latencyMs, calls: batches, cpuSeconds: 0 }),
      batches,
      retried: disturbed.retried
    }
  }
})
