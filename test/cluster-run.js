/** A run over servers (lab/cluster/run.js) that ends with its test. */
import { openRun } from '../lab/cluster/run.js'
import { nightly } from './scope.js'

export { WHOLE } from '../lab/cluster/run.js'

let runs = 0
/** 5,000 items/s at night, 800 by day: what is in flight at a fault is what counts */
export const EVERY_MS = nightly(10, 25)
const CHUNK_ITEMS = nightly(50, 20)
/** Layouts without a log are asked for the last 300 ms each time. */
const POLL_MS = nightly(20, 100)

/** @param {import('tap').Test} t @param {Parameters<typeof openRun>[0]} options */
export async function startRun (t, options) {
  // at full rate a subscriber in the same process falls behind: the log keeps what it has not got yet
  const pace = { everyMs: EVERY_MS, chunkItems: CHUNK_ITEMS, pollMs: POLL_MS, maxItems: 0 }
  const run = await openRun({ name: `run-${++runs}-${options.layout}`, ...pace, ...options })
  t.teardown(run.close)
  return run
}
