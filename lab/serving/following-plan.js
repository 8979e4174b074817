/**
 * What is wrong with the serving of a plan whose clients follow a feed.
 */
import { leastValueBytes } from '../loads/source.js'
import { unfit } from '../plan/shape.js'
import { readEvery } from './followers.js'

/** of the first event of a stream, or of a response */
const MOST_OF_FEED = 10_000
/** The load writes for this long after the window; a client that was not read before knows nothing yet. */
const AGAIN_WITHIN_SECONDS = 0.1

/**
 * @param {string} place of the serving in the plan
 * @param {import('./plan.js').Serving} serving
 * @param {Record<string, any>} load settings
 * @returns {string[]}
 */
export function faultsOfFollowing (place, { by, asks, connections, idsEach, maxRate, everyMs },
  { ids, rate, writers, valueBytes, valueChange }) {
  const least = leastValueBytes(writers)
  const isPush = asks === 'push'
  /** @type {string[]} */
  const faults = []
  if (valueBytes < least || valueChange === 'never') {
    faults.push(`${place}: asks ${asks} reads the numbers in values; expected valueBytes ${least} or more, and values that change`)
  }
  if (!(rate > 0)) faults.push(`${place}: asks ${asks} needs a rate; expected one above 0`)
  if (by === 'ask' || (by !== 'reader' && !isPush)) {
    faults.push(`${place}: asks ${asks} of ${by}, which is not supported; expected by reader${isPush ? ' or bare' : ''}`)
  }
  if (isPush && everyMs > 0) faults.push(unfit(`${place}.everyMs`, everyMs, '0: asks push sends one request; maxRate bounds the events'))
  if (!isPush && !(everyMs > 0)) faults.push(unfit(`${place}.everyMs`, everyMs, 'at least 1: asks poll needs an interval'))
  if (!isPush && maxRate !== undefined) faults.push(`${place}.maxRate: asks ${asks} uses everyMs; leave it out`)
  if (idsEach !== undefined && connections * idsEach > ids) {
    faults.push(unfit(`${place}.idsEach`, idsEach, `at most ${Math.floor(ids / connections)}: the ids of the load for each connection`))
  }
  if (idsEach === undefined && ids > MOST_OF_FEED) {
    faults.push(`${place}.idsEach is missing; expected it, or a feed of at most ${MOST_OF_FEED} ids, not ${ids}`)
  }
  if (faults.length > 0) return faults
  const every = readEvery({
    asks: isPush ? 'push' : 'poll',
    connections,
    idsEach,
    maxRate,
    everyMs,
    ratePerSecond: rate * writers,
    workload: { ids, writers, valueBytes, isWhole: false },
    isConstant: false
  })
  if (isPush && every > 1 && ids / (rate * writers) > AGAIN_WITHIN_SECONDS) {
    faults.push(`${place}: the volume is so high that only one client of ${every} is read in the window, and the others cannot be ` +
      `checked; expected ids that are all rewritten within ${AGAIN_WITHIN_SECONDS} s, a maxRate, or fewer connections`)
  }
  return faults
}
