/** A run over servers (lab/cluster/run.js) that ends with its test. */
import { openRun } from '../lab/cluster/run.js'
import { nightly } from './scope.js'

export { WHOLE } from '../lab/cluster/run.js'

let runs = 0
/** 5,000 items/s at night, 2,000 by day: what is in flight at a fault is what counts */
const EVERY_MS = nightly(10, 25)

/** @param {import('tap').Test} t @param {Parameters<typeof openRun>[0]} options */
export async function startRun (t, options) {
  const run = await openRun({ name: `run-${++runs}-${options.layout}`, everyMs: EVERY_MS, ...options })
  t.teardown(run.close)
  return run
}
