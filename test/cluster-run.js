/** A run over servers (lab/cluster/run.js) that ends with its test. */
import { openRun } from '../lab/cluster/run.js'

export { WHOLE } from '../lab/cluster/run.js'

let runs = 0

/** @param {import('tap').Test} t @param {Parameters<typeof openRun>[0]} options */
export async function startRun (t, options) {
  const run = await openRun({ name: `run-${++runs}-${options.layout}`, ...options })
  t.teardown(run.close)
  return run
}
