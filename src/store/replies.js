/**
 * The replies of a request, and what an error reply means. The store only says what happened; the write path and the read
 * path decide what to do.
 *
 *     full       the server accepts no writes now (no memory, too few replicas, a failing disk): retry later
 *     later      nothing was done, because a slot is moving or its cluster is not whole: retry later, on the same connection
 *     moved      nothing was done, because another node has the slot: the connection is of no more use for this key
 *     over       this connection is of no more use (node demoted, loading, scripts lost): connect again
 *     forbidden  the user lacks a permission, or no longer exists: someone may fix that, so retry seldom
 *     refused    the same request would fail again
 *
 * @typedef {'full' | 'later' | 'moved' | 'over' | 'forbidden' | 'refused'} Outcome
 * @typedef {{ count: number, resolve: (reply: any) => void, reject: (error: Error) => void }} Taker takes the replies of one
 *   request, one call for each of `count`
 */
import { cutText, FreshetError } from '../errors.js'
import { movedIn } from './slots.js'

/** @type {Record<string, { code: string, outcome: Outcome }>} */
const KNOWN = {
  OOM: { code: 'SERVER_FULL', outcome: 'full' },
  WRONGTYPE: { code: 'KEY_HOLDS_OTHER', outcome: 'refused' },
  READONLY: { code: 'SERVER_LOST', outcome: 'over' },
  LOADING: { code: 'SERVER_LOST', outcome: 'over' },
  MASTERDOWN: { code: 'SERVER_LOST', outcome: 'over' },
  NOREPLICAS: { code: 'SERVER_FULL', outcome: 'full' },
  MISCONF: { code: 'SERVER_FULL', outcome: 'full' },
  NOSCRIPT: { code: 'SERVER_LOST', outcome: 'over' },
  BUSY: { code: 'SERVER_LOST', outcome: 'over' },
  UNBLOCKED: { code: 'SERVER_LOST', outcome: 'over' },
  NOPERM: { code: 'SERVER_REFUSED', outcome: 'forbidden' },
  NOAUTH: { code: 'SERVER_REFUSED', outcome: 'forbidden' },
  WRONGPASS: { code: 'SERVER_REFUSED', outcome: 'forbidden' }
}

/**
 * Replies with the general code ERR that mean the same as one with a code of its own.
 * @type {[RegExp, string][]}
 */
const WORDED_AS_ERR = [
  [/^ERR (ACL failure in script|The user executing the script can't)/, 'NOPERM'],
  [/^ERR WAIT cannot be used with replica/, 'READONLY'],
  // a transaction that waited for a planned failover runs on the demoted node: its script fails at its first key
  [/^ERR .*attempted to access a non local key in a cluster node/i, 'TRYAGAIN']
]

/**
 * Replies of the nodes of a cluster. ASK is no redirection here: the node that imports a slot answers TRYAGAIN to commands of several keys
 * of which one does not exist, and every batch and every decision creates keys. So they wait until the slot is whole.
 * @type {Record<string, { code: string, outcome: Outcome }>}
 */
const OF_CLUSTERS = {
  MOVED: { code: 'SERVER_LOST', outcome: 'moved' },
  ASK: { code: 'SERVER_LOST', outcome: 'later' },
  TRYAGAIN: { code: 'SERVER_LOST', outcome: 'later' },
  CLUSTERDOWN: { code: 'SERVER_LOST', outcome: 'later' },
  CROSSSLOT: { code: 'SERVER_REFUSED', outcome: 'refused' }
}
/** Of MOVED without a slot or an address: the map of another node may have them. */
const NOWHERE = OF_CLUSTERS.ASK

/** @param {string} address */
export const clusterUnsupported = (address) => /** @type {FreshetError & { outcome: Outcome }} */ (new FreshetError('CLUSTER_UNSUPPORTED',
  `the server at ${address} runs as a node of a cluster (cluster-enabled yes), and this ` +
  'command needs a single primary; use one with replicas outside a cluster (cluster-enabled no)', { outcome: 'refused' }))

/** @param {string} address */
export const sentinelUnsupported = (address) => new FreshetError('SENTINEL_UNSUPPORTED', `the server at ${address} is a Sentinel, which ` +
  `stores no data; use redis+sentinel://${address}/NAME, with the name of the primary that it watches`, { outcome: 'refused' })

/** EXEC names the reason when it fails although all its commands were queued */
const EXEC_REFUSED = /^EXECABORT [^:]*because of: /

/**
 * Missing permissions as the servers word them, and the same without the name of user or key.
 * @type {[RegExp, (match: RegExpExecArray) => string][]}
 */
const PUBLIC_WHY = [
  [/to run the '([\w|.-]+)' command/, ([, command]) => `the user may not run ${command}`],
  [/access (?:a|at least one of the|one of the) (key|channel)/, ([, kind]) => `the user may not access a ${kind} that is needed`],
  [/can't run this command/, () => 'the user may not run a command that a script needs']
]

/** @param {string} text @returns {string | undefined} */
function publicWhyOf (text) {
  for (const [pattern, words] of PUBLIC_WHY) {
    const match = pattern.exec(text)
    if (match) return words(match)
  }
}

/**
 * @param {Error} error an error reply
 * @param {string} address
 * @param {{ isOfCluster?: boolean }} [node] whether the node was opened as one of a cluster
 * @returns {FreshetError & { outcome: Outcome, to?: import('./slots.js').Moved | null }} `to`: of MOVED; null = malformed
 */
export function fromReply (error, address, { isOfCluster = false } = {}) {
  if (error instanceof FreshetError) return /** @type {any} */ (error)
  const message = cutText(error.message)
  const reason = message.replace(EXEC_REFUSED, '')
  const word = WORDED_AS_ERR.find(([pattern]) => pattern.test(reason))?.[1] ?? /^[A-Z]+/.exec(reason)?.[0] ?? ''
  if (Object.hasOwn(OF_CLUSTERS, word) && !isOfCluster) return clusterUnsupported(address)
  const to = word === 'MOVED' ? movedIn(reason) : undefined
  const { code, outcome } = (to === null && NOWHERE) || OF_CLUSTERS[word] || KNOWN[word] || { code: 'SERVER_REFUSED', outcome: 'refused' }
  const text = message.replace(/,? with args beginning with.*$/s, '')
  const details = { outcome, reply: word, to, ...(outcome === 'forbidden' && { publicWhy: publicWhyOf(reason) }) }
  return /** @type {any} */ (new FreshetError(code, `the server at ${address} answered: ${text}`, details))
}

/**
 * @param {number} count replies of the request; errors inside the reply of EXEC are errors, too
 * @param {(error: Error | null, last: any) => void} done called after the last reply, with the first error
 * @returns {Taker}
 */
export function takerOf (count, done) {
  /** @type {Error | null} */
  let failed = null
  let missing = count
  return {
    count,
    resolve (reply) {
      if (count > 1 && Array.isArray(reply)) failed ??= reply.find((part) => part instanceof Error) ?? null
      if (--missing === 0) done(failed, reply)
    },
    reject (error) {
      failed ??= error
      if (--missing === 0) done(failed, null)
    }
  }
}
