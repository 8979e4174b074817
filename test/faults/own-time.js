/**
 * A pause measured in time that this process ran. On a busy machine a process may stand still for a second. So the pause is made
 * of short steps, and after each step pending events are handled first; a stall of any length counts as one step. The timers of
 * the product run in the same event loop and are late by the same stalls.
 */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'

const STEP_MS = 50
/** enough from a timer that ends a connection to the code that awaits the reply */
const TURNS = 10

/**
 * @param {number} ms @param {{ signal?: AbortSignal, beat?: () => Promise<unknown> }} [options] `beat`: awaited in each step,
 *   such as a reply of a server
 */
export async function ownTime (ms, { signal, beat = async () => {} } = {}) {
  for (let left = ms; left > 0 && !signal?.aborted; left -= STEP_MS) {
    await Promise.all([pause(Math.min(left, STEP_MS)), beat()])
    for (let i = 0; i < TURNS; i++) await turn()
  }
}
