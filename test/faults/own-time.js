/**
 * Time as a process has it that does not always run: on a busy machine a second may pass in which it did nothing. What
 * has to be done within a second is given a second in steps, and behind each step what came meanwhile is looked at first;
 * a stop of the process, however long, counts as one step at most. The timers of the product run in the same loop and
 * are late by the same stops.
 */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'

const STEP_MS = 50
/** from a timer that ends a connection to whoever awaits the answer */
const TURNS = 10

/**
 * @param {number} ms @param {{ signal?: AbortSignal, beat?: () => Promise<unknown> }} [options] `beat`: awaited in each step,
 *   such as the answer of a server that has to be there, too
 */
export async function ownTime (ms, { signal, beat = async () => {} } = {}) {
  for (let left = ms; left > 0 && !signal?.aborted; left -= STEP_MS) {
    await Promise.all([pause(Math.min(left, STEP_MS)), beat()])
    for (let i = 0; i < TURNS; i++) await turn()
  }
}
