/**
 * One error class, and the registry of its codes.
 *
 * Each folder defines the codes of its own domain (core below, HTTP in src/http/errors.js, and so on). Callers test `code`,
 * never the message: a message names what was received, what is expected and how to fix it, and may improve.
 * docs/errors.md lists all codes; a test compares it with this registry.
 *
 * @typedef {object} ErrorKind
 * @property {string} domain
 * @property {string} meaning one line, without addresses, users or other secrets
 * @property {boolean} retryable the same call may succeed later although no one changed anything
 * @property {1 | 2} exitStatus of a command that ends with this error; 2 = its settings must change
 * @property {number | null} status HTTP status where the message is for the caller of the API; null = 503 if retryable, else 500,
 *   and the message goes to the log only
 *
 * @typedef {{ meaning: string, retryable?: boolean, exitStatus?: 1 | 2, status?: number }} ErrorRow
 */

/** @type {Map<string, Readonly<ErrorKind>>} */
const kinds = new Map()

/**
 * Registers the error codes of a domain.
 * @param {string} domain
 * @param {Record<string, ErrorRow>} table by code; defaults: not retryable, exit status 1, no HTTP status
 * @returns {Readonly<Record<string, Readonly<ErrorKind>>>}
 * @throws {TypeError} a code that is registered already
 */
export function define (domain, table) {
  const added = Object.entries(table).map(([code, { meaning, retryable = false, exitStatus = 1, status = null }]) => {
    if (kinds.has(code)) throw new TypeError(`${code} is defined twice, in ${kinds.get(code)?.domain} and ${domain}`)
    const kind = Object.freeze({ domain, meaning, retryable, exitStatus, status })
    kinds.set(code, kind)
    return /** @type {const} */ ([code, kind])
  })
  return Object.freeze(Object.fromEntries(added))
}

/** @param {unknown} code @returns {Readonly<ErrorKind> | undefined} undefined: no registered code */
export const kindOf = (code) => kinds.get(/** @type {string} */ (code))

/** @returns {(ErrorKind & { code: string })[]} all codes registered so far, in the order of their definition */
export const definedErrors = () => [...kinds].map(([code, kind]) => ({ code, ...kind }))

export const ERRORS = define('core', {
  LAB_MISSING: { exitStatus: 2, meaning: 'experiments need the lab, which is in the repository and not in the installed package' },
  SETTINGS_INVALID: { exitStatus: 2, meaning: 'settings or options are invalid; the message lists all of them' },
  ARGUMENT_INVALID: { meaning: 'an argument of a call to the library is invalid' },
  FEED_NAME_INVALID: { status: 400, exitStatus: 2, meaning: 'the feed name does not match the required pattern' },
  FEED_UNKNOWN: { status: 404, meaning: 'no feed with this name exists' },
  FEED_LAYOUT_UNKNOWN: { exitStatus: 2, meaning: 'this version does not support the layout' },
  FEED_DEFINITION_DIFFERS: { status: 409, exitStatus: 2, meaning: 'the settings differ from the stored definition of the feed' },
  FEED_IN_USE: { retryable: true, meaning: 'the feed is being written and cannot be dropped' },
  ITEM_ID_INVALID: { status: 400, meaning: 'the id is not 1-128 bytes of UTF-8 without control characters' },
  ITEM_TS_INVALID: {
    status: 400, meaning: 'the ts is not a time in milliseconds since 1970, 0 <= ts < 2^41, or ISO 8601 (library: only integers)'
  },
  ITEM_VALUE_INVALID: { status: 400, meaning: 'the value is neither text nor bytes, or with encoding json has no JSON' },
  ITEM_VALUE_TOO_LARGE: { status: 413, meaning: 'the value is larger than 1 MiB' },
  ITEM_TOO_OLD: { status: 400, meaning: 'the ts is older than the window of the feed' },
  ITEM_FROM_FUTURE: { status: 400, meaning: 'the ts is further in the future than maxFutureMs allows' },
  CURSOR_INVALID: { status: 400, meaning: 'the cursor does not belong to this feed' },
  KEY_HOLDS_OTHER: { meaning: 'a key of the feed holds a value of another type' },
  SERVER_UNREACHABLE: { retryable: true, meaning: 'no server answered at this address within the deadline' },
  SERVER_REFUSED: { meaning: 'the server refused access: wrong user or password, or missing permission' },
  CLUSTER_UNSUPPORTED: { exitStatus: 2, meaning: 'the server is a node of a Redis or Valkey Cluster, and the command needs a single one' },
  SENTINEL_UNSUPPORTED: { exitStatus: 2, meaning: 'the address leads to a Sentinel, which stores no data' },
  SERVER_UNTRUSTED: { meaning: 'the certificate of the server, or the client certificate, cannot be used' },
  SERVER_LOST: { retryable: true, meaning: 'the connection closed before the reply; the outcome is unknown' },
  SERVER_FULL: { retryable: true, meaning: 'the server accepts no writes: maxmemory is reached, replicas are missing or its disk fails' },
  PRIMARY_UNCONFIRMED: {
    retryable: true, meaning: 'neither this reader nor a replica hears from the primary, so answers may be old'
  },
  LOOKUPS_FULL: { retryable: true, meaning: 'too many names that no replica has wait for an answer of the primary' },
  FOLLOWED_FULL: { retryable: true, meaning: 'this process follows as many slots of the cluster as it may' },
  REPLICAS_GONE: { retryable: true, meaning: 'no replica is available' },
  REPLICAS_TOO_FEW: { retryable: true, exitStatus: 2, meaning: 'a primary has fewer replicas than ack or durability asks for' },
  VIEW_NEEDED: { status: 501, meaning: 'the layout cannot answer this query without reading too many entries' },
  VIEW_BEHIND: { retryable: true, meaning: 'the view of the feed cannot answer yet' },
  VIEW_OVER_BOUND: { retryable: true, meaning: 'the feed has more live items than its view may hold; only the newest are available' },
  ENGINE_MISSING: { meaning: 'no server program was found and none could be downloaded' },
  SERVERS_FAILED: { meaning: 'the embedded servers did not start, or ended unexpectedly' },
  SERVERS_DIFFER: { exitStatus: 2, meaning: 'other embedded servers of this checkout already run' },
  PORT_IN_USE: { meaning: 'another program listens on this port' },
  PIPELINE_CLOSED: { meaning: 'append or query after close' },
  PIPELINE_FULL: { retryable: true, meaning: 'append far above the in-flight bound, without waiting for room' },
  DEADLINE_PASSED: {
    retryable: true, meaning: 'not done within the deadline; appended items are kept and still sent until the feed is closed'
  },
  SEGMENT_INVALID: { meaning: 'a log entry is corrupt, truncated or not written by Freshet' },
  SEGMENT_VERSION: { meaning: 'a log entry has a format or compression that this version does not support' },
  POSITION_EXPIRED: { meaning: 'entries after this position may have been trimmed, so resuming could miss changes' },
  POSITION_INVALID: { status: 400, meaning: 'the position does not belong to this feed' },
  TOKENS_INVALID: { exitStatus: 2, meaning: 'the token file cannot be read, or has an invalid line' },
  JWT_KEYS_INVALID: { exitStatus: 2, meaning: 'the file of JWT keys cannot be read, or is no JSON Web Key Set' },
  CERTIFICATE_INVALID: { exitStatus: 2, meaning: 'the certificate for HTTPS or its key cannot be read or used' },
  FILE_UNUSABLE: { exitStatus: 2, meaning: 'a file that a flag names cannot be read or written' },
  INPUT_INVALID: { status: 400, meaning: 'the input cannot be read in the given format' }
})

/**
 * An error as text that anyone may read, for example in /readyz: its code and meaning. Messages may name addresses and users.
 * @param {Error & { code?: string, publicWhy?: string }} error `publicWhy`: replaces the meaning of the code
 * @returns {string}
 */
export const publicReason = ({ code, publicWhy }) => {
  const kind = kindOf(code)
  return kind ? `${code}: ${publicWhy ?? kind.meaning}` : 'INTERNAL: unexpected error in this process'
}

/** Limit of the text of an error in replies, logs and dead letters: a rule, a handler or a server may send megabytes. */
const MAX_TEXT_BYTES = 4096
/** of that, for the note of what was cut */
const NOTE_BYTES = 64
/** of UTF-8, for each unit of UTF-16 */
const MOST_BYTES = 3

/** @param {string} text @returns {string} the same, or its beginning with a note: at most 4 KiB */
export function cutText (text) {
  if (text.length * MOST_BYTES <= MAX_TEXT_BYTES) return text
  const head = Buffer.from(text.slice(0, MAX_TEXT_BYTES + 1))
  if (head.length <= MAX_TEXT_BYTES) return text
  return `${head.toString('utf8', 0, MAX_TEXT_BYTES - NOTE_BYTES).replace(/\uFFFD+$/, '')}... (${text.length} characters)`
}

/** @param {any} thrown @returns {string} */
function textOf (thrown) {
  if (typeof thrown === 'string') return thrown
  try {
    if (typeof thrown?.message === 'string') return thrown.message
  } catch {
    // a getter of a user may throw, too
  }
  return `${Object(thrown) === thrown ? `a value of type ${typeof thrown}` : String(thrown)} was thrown`
}

/**
 * What code of a user threw, which may be anything, as an error with a short message. Where such code is called, this is what goes on.
 * @param {any} thrown
 * @returns {Error & { code?: string, retryable?: boolean, isOfStatement?: boolean }}
 */
export function asError (thrown) {
  const text = textOf(thrown)
  const message = cutText(text)
  if (thrown instanceof Error && thrown.message === message) return thrown
  const { code, retryable, isOfStatement } = Object(thrown)
  return Object.assign(new Error(message), { code, retryable, isOfStatement })
}

/** An error with a registered `code`; further facts are properties. */
export class FreshetError extends Error {
  /**
   * @param {string} code registered by `define`
   * @param {string} [message] what was received, what is expected, how to fix it; without it, the meaning of the code; cut at 4 KiB
   * @param {Record<string, unknown> & { cause?: unknown }} [facts] become properties of the error
   */
  constructor (code, message, facts = {}) {
    const { cause, ...rest } = facts
    const kind = kinds.get(code)
    if (!kind) throw new TypeError(`error code ${code} is not defined`)
    super(cutText(message ?? kind.meaning), cause === undefined ? undefined : { cause })
    this.name = 'FreshetError'
    this.code = code
    this.retryable = kind.retryable
    this.exitStatus = kind.exitStatus
    Object.assign(this, rest)
  }
}

/** Invalid settings of a command, or options of the library. `faults`: one sentence each. */
export class SettingsInvalid extends FreshetError {
  /** @param {string[]} faults @param {Record<string, unknown>} [facts] become properties of the error */
  constructor (faults, facts) {
    super('SETTINGS_INVALID', faults.join('\n'), facts)
    this.name = 'SettingsInvalid'
    this.faults = faults.map(cutText)
    this.message = this.faults.join('\n')
  }
}
