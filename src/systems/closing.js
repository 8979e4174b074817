/** A system closes within a deadline, whatever its handlers and servers do. */
import { FreshetError } from '../errors.js'

/** of handlers */
const CLOSE_WITHIN_MS = 10_000
/** longer, of what handlers may wait for: commands on their way */
export const GRACE_MS = 2000
const LATE = Symbol('late')

/**
 * @param {Promise<unknown>} closing @param {string} what is waited for @param {number} [graceMs] added to the deadline
 * @throws {FreshetError} DEADLINE_PASSED
 */
export async function closeInTime (closing, what, graceMs = 0) {
  const ms = CLOSE_WITHIN_MS + graceMs
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(resolve, ms, LATE) })
  const first = await Promise.race([closing, late]).finally(() => clearTimeout(timer))
  if (first !== LATE) return
  throw new FreshetError('DEADLINE_PASSED', `closed, but ${what} did not end within ${ms / 1000} s; handlers must end when their signal ` +
    'is aborted', { retryable: false })
}
