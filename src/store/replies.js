/**
 * What an error reply means for whoever sent the command. The store only says what happened; the write path and
 * the read path decide what to do about it.
 *
 *     full       the server takes no writes now (no memory, too few replicas, a failing disk): at the bound, try later
 *     over       this connection is of no more use (node demoted, loading, scripts lost): find the server again
 *     forbidden  the user of this connection may not, or is none any more: somebody may mend that, so ask seldom
 *     refused    it will be refused again
 *
 * @typedef {'full' | 'over' | 'forbidden' | 'refused'} Outcome
 */
import { FreshetError } from '../errors.js'

/** @type {Record<string, { code: string, outcome: Outcome }>} */
const KNOWN = {
  OOM: { code: 'SERVER_FULL', outcome: 'full' },
  WRONGTYPE: { code: 'KEY_HOLDS_OTHER', outcome: 'refused' },
  READONLY: { code: 'SERVER_LOST', outcome: 'over' },
  LOADING: { code: 'SERVER_LOST', outcome: 'over' },
  MASTERDOWN: { code: 'SERVER_LOST', outcome: 'over' },
  NOREPLICAS: { code: 'SERVER_FULL', outcome: 'full' },
  MISCONF: { code: 'SERVER_FULL', outcome: 'full' },
  CLUSTERDOWN: { code: 'SERVER_LOST', outcome: 'over' },
  NOSCRIPT: { code: 'SERVER_LOST', outcome: 'over' },
  BUSY: { code: 'SERVER_LOST', outcome: 'over' },
  UNBLOCKED: { code: 'SERVER_LOST', outcome: 'over' },
  NOPERM: { code: 'SERVER_REFUSED', outcome: 'forbidden' },
  NOAUTH: { code: 'SERVER_REFUSED', outcome: 'forbidden' },
  WRONGPASS: { code: 'SERVER_REFUSED', outcome: 'forbidden' }
}

/**
 * Replies that say in words what others say by their first word: what a user may not do, a script of that user may not
 * either; a node that was demoted waits for no replicas.
 * @type {[RegExp, string][]}
 */
const SAID_AS_ERR = [
  [/^ERR (ACL failure in script|The user executing the script can't)/, 'NOPERM'],
  [/^ERR WAIT cannot be used with replica/, 'READONLY']
]

/** EXEC says what turned it down, when none of the commands before it was */
const EXEC_TURNED_DOWN = /^EXECABORT [^:]*because of: /

/**
 * What a user may not do, as the servers say it, without the name of user or key. A wrong password has the meaning of its code.
 * @type {[RegExp, (found: RegExpExecArray) => string][]}
 */
const PUBLIC_WHY = [
  [/to run the '([\w|.-]+)' command/, ([, command]) => `the user may not run ${command}`],
  [/access (?:a|at least one of the|one of the) (key|channel)/, ([, kind]) => `the user may not access a ${kind} that is needed`],
  [/can't run this command/, () => 'the user may not run a command that a script needs']
]

/** @param {string} said @returns {string | undefined} */
function publicWhyOf (said) {
  for (const [pattern, words] of PUBLIC_WHY) {
    const found = pattern.exec(said)
    if (found) return words(found)
  }
}

/**
 * @param {Error} error as the client gave it; it carries the command with its arguments, which go no further
 * @param {string} address
 * @returns {FreshetError & { outcome: Outcome }}
 */
export function fromReply (error, address) {
  if (error instanceof FreshetError) return /** @type {any} */ (error)
  const said = error.message.replace(EXEC_TURNED_DOWN, '')
  const word = SAID_AS_ERR.find(([pattern]) => pattern.test(said))?.[1] ?? /^[A-Z]+/.exec(said)?.[0] ?? ''
  const { code, outcome } = KNOWN[word] ?? { code: 'SERVER_REFUSED', outcome: 'refused' }
  const text = error.message.replace(/,? with args beginning with.*$/s, '')
  return /** @type {any} */ (new FreshetError(code, `the server at ${address} answered: ${text}`, { outcome, reply: word, ...(outcome === 'forbidden' && { publicWhy: publicWhyOf(said) }) }))
}
