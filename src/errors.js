/**
 * The closed list of what can go wrong in the core. Callers test `code`, never the message.
 *
 * A message names what was received, what is expected and what to change. `retryable` says whether the
 * same call may succeed later without anybody changing anything. `exitStatus` is what a command ends with.
 * The list is printed for users in docs/errors.md; a test holds the two together.
 *
 * @typedef {{ retryable: boolean, exitStatus: 1 | 2, meaning: string }} ErrorKind
 */

/** @type {Record<string, ErrorKind>} */
export const ERRORS = Object.freeze({
  FEED_NAME_INVALID: { retryable: false, exitStatus: 2, meaning: 'a feed name outside the pattern' },
  FEED_UNKNOWN: { retryable: false, exitStatus: 1, meaning: 'no definition is stored under that feed name' },
  FEED_LAYOUT_UNKNOWN: { retryable: false, exitStatus: 2, meaning: 'a layout that this version does not have' },
  FEED_DEFINITION_DIFFERS: { retryable: false, exitStatus: 2, meaning: 'the stored definition disagrees with the settings' },
  FEED_IN_USE: { retryable: true, exitStatus: 1, meaning: 'a feed that is being written cannot be dropped' },
  ITEM_ID_INVALID: { retryable: false, exitStatus: 1, meaning: 'an id that is not 1-128 bytes of UTF-8 without control characters' },
  ITEM_TS_INVALID: { retryable: false, exitStatus: 1, meaning: 'a ts that is not an integer of milliseconds, 0 <= ts < 2^41' },
  ITEM_VALUE_INVALID: { retryable: false, exitStatus: 1, meaning: 'a value that is neither text nor bytes' },
  ITEM_VALUE_TOO_LARGE: { retryable: false, exitStatus: 1, meaning: 'a value above 1 MiB' },
  ITEM_TOO_OLD: { retryable: false, exitStatus: 1, meaning: 'a ts older than the window of the feed' },
  ITEM_FROM_FUTURE: { retryable: false, exitStatus: 1, meaning: 'a ts further ahead of the clock than maxFutureMs' },
  CURSOR_INVALID: { retryable: false, exitStatus: 1, meaning: 'a cursor that this feed did not hand out' },
  KEY_HOLDS_OTHER: { retryable: false, exitStatus: 1, meaning: 'a key of the feed holds another type' },
  SERVER_UNREACHABLE: { retryable: true, exitStatus: 1, meaning: 'nothing answers at that address within the deadline' },
  SERVER_REFUSED: { retryable: false, exitStatus: 1, meaning: 'the server answers and refuses: password, user or permission' },
  SERVER_UNTRUSTED: { retryable: false, exitStatus: 1, meaning: 'the certificate of the server, or the one it asks for, cannot be used' },
  SERVER_LOST: { retryable: true, exitStatus: 1, meaning: 'the connection ended before the reply; the outcome is unknown' },
  SERVER_FULL: { retryable: true, exitStatus: 1, meaning: 'the server takes no writes now: maxmemory is reached, replicas are missing or its disk fails' },
  REPLICAS_GONE: { retryable: true, exitStatus: 1, meaning: 'no replica can answer now' },
  VIEW_NEEDED: { retryable: false, exitStatus: 1, meaning: 'the layout would have to be read too deep for one answer' },
  VIEW_BEHIND: { retryable: true, exitStatus: 1, meaning: 'the view of the feed is being made, or has not heard of the feed for more than a second' },
  VIEW_OVER_BOUND: { retryable: true, exitStatus: 1, meaning: 'more items are live than a view may hold; the newest are answered, not all of them' },
  ENGINE_MISSING: { retryable: false, exitStatus: 1, meaning: 'no server program was found and none could be fetched' },
  SERVERS_FAILED: { retryable: false, exitStatus: 1, meaning: 'the embedded servers could not be started or ended on their own' },
  PORT_IN_USE: { retryable: false, exitStatus: 1, meaning: 'another program listens on the port' },
  PIPELINE_CLOSED: { retryable: false, exitStatus: 1, meaning: 'an append or a question after close' },
  PIPELINE_FULL: { retryable: true, exitStatus: 1, meaning: 'an append far above the in-flight bound, made without waiting for room' },
  DEADLINE_PASSED: { retryable: true, exitStatus: 1, meaning: 'not done within the time given; what was appended is still held and sent, until the feed is closed' },
  SEGMENT_INVALID: { retryable: false, exitStatus: 1, meaning: 'an entry of a log that is cut, corrupt or no writing of Freshet' },
  SEGMENT_VERSION: { retryable: false, exitStatus: 1, meaning: 'an entry of a log in a format or compression that this version does not read' },
  POSITION_EXPIRED: { retryable: false, exitStatus: 1, meaning: 'what followed a position may be trimmed away, so going on there could miss something' },
  POSITION_INVALID: { retryable: false, exitStatus: 1, meaning: 'a position that this feed did not hand out' },
  TOKENS_INVALID: { retryable: false, exitStatus: 2, meaning: 'a file of tokens that cannot be read, or has a line that is none' },
  PLAN_INVALID: { retryable: false, exitStatus: 2, meaning: 'a plan of an experiment that cannot be run as it is' },
  EXPERIMENT_UNKNOWN: { retryable: false, exitStatus: 2, meaning: 'no experiment has that number or name' },
  RESULT_INVALID: { retryable: false, exitStatus: 1, meaning: 'a file that is no result of the lab, or one of another format' },
  RESULT_UNWRITABLE: { retryable: true, exitStatus: 1, meaning: 'a result of the lab cannot be written; the last whole one is still there' },
  LAB_BUSY: { retryable: true, exitStatus: 1, meaning: 'another experiment runs in this checkout' },
  LAB_SOURCE_CHANGED: { retryable: true, exitStatus: 1, meaning: 'the code was edited while it was measured' },
  LAB_STOPPED: { retryable: true, exitStatus: 1, meaning: 'an experiment was stopped; what was measured is kept' },
  LAB_TARGET_REFUSED: { retryable: false, exitStatus: 1, meaning: 'servers that the lab cannot measure on, or could not clean up on' },
  LAB_NOT_EMPTY: { retryable: false, exitStatus: 1, meaning: 'servers hold keys of a measurement before it begins, or after it was cleaned up' },
  LAB_SERVERS_CHANGED: { retryable: true, exitStatus: 1, meaning: 'a node restarted, changed its role or lost its counters while it was measured' },
  LAB_REPLICAS_BEHIND: { retryable: true, exitStatus: 1, meaning: 'replicas did not reach the offset of their primary within the deadline' },
  LOAD_FAILED: { retryable: true, exitStatus: 1, meaning: 'the process that makes the load of a measurement ended without a summary' },
  SERVING_FAILED: { retryable: true, exitStatus: 1, meaning: 'a process of a measurement that answers HTTP, or the one that asks, ended or did not do so' },
  INPUT_INVALID: { retryable: false, exitStatus: 1, meaning: 'the input as a whole cannot be read in the format given' }
})

/**
 * An error in a line that anybody may read, such as of /readyz: its code, and what of its cause names no address, user,
 * file or password. Messages may name those.
 * @param {Error & { code?: string, publicWhy?: string }} error `publicWhy`: words for such a line, where there are better ones
 *   than the meaning of the code
 * @returns {string}
 */
export const publicReason = ({ code, publicWhy }) => code !== undefined && Object.hasOwn(ERRORS, code) ? `${code}: ${publicWhy ?? ERRORS[code].meaning}` : 'INTERNAL: something failed here that should not'

/** An error of the core: `code` from ERRORS, facts as properties. */
export class FreshetError extends Error {
  /**
   * @param {string} code a key of ERRORS
   * @param {string} message what was received, what is expected, what to change
   * @param {Record<string, unknown> & { cause?: unknown }} [facts] become properties of the error
   */
  constructor (code, message, facts = {}) {
    const { cause, ...rest } = facts
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'FreshetError'
    this.code = code
    const kind = ERRORS[code]
    if (!kind) throw new TypeError(`${code} is not in ERRORS`)
    this.retryable = kind.retryable
    this.exitStatus = kind.exitStatus
    Object.assign(this, rest)
  }
}
