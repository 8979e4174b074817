/**
 * Attempts at entries, counted on the server before their effect: an entry that ends its connection or its process each time is found by
 * whichever process comes next.
 *
 *     batch            one count for all its entries -> effect -> cursor
 *     did not end      its entries one at a time, each with a count of its own -> dead letter after the last attempt
 *
 * An attempt that fails because a server is down is taken back. If that server does not answer either, the attempt stays counted.
 *
 * @typedef {ReturnType<typeof createAttempt>} Attempt
 */
import { FreshetError } from './errors.js'

const EXHAUSTED = -1
const OLDER_TOKEN = -2

/** @param {import('./ownership.js').Owned} owned @returns {FreshetError} */
export const lost = ({ partition, token }) =>
  new FreshetError('LEASE_LOST', `partition ${partition} has another owner than token ${token}`)

/**
 * The primary that an entry was read from was replaced by one that never had it. The partition is taken again, from the cursor there.
 * @param {Pick<import('./ownership.js').Owned, 'partition'>} owned @param {string} entry its id @returns {FreshetError}
 */
export const entryLost = ({ partition }, entry) => new FreshetError('LEASE_LOST',
  `entry ${entry} of partition ${partition} was lost with the primary that had it; the partition is taken again`)

/**
 * Whether the entries may be the reason. Errors of a database say so by `isOfStatement`, though another attempt may succeed.
 * @param {Error & { retryable?: boolean, isOfStatement?: boolean }} error
 */
export const mayBeEntryFault = ({ retryable, isOfStatement }) => !retryable || isOfStatement === true

/**
 * @param {{ owned: import('./ownership.js').Owned, connection: () => import('../store/index.js').Connection,
 *   key: (part: string) => string }} target
 * @param {{ consumer: string, entry: string, most: number }} what `entry`: id of the first one; `most`: attempts
 */
export function createAttempt ({ owned, connection, key }, { consumer, entry, most }) {
  let begun = 0
  let isCounted = false
  let isClosed = false
  /** The count that `begin` waits for. */
  let beginning = Promise.resolve()
  const count = async (/** @type {number} */ limit) =>
    Number(await connection().runScript('attempt', ['owner', 'attempts'].map(key), [owned.token, consumer, entry, limit]))

  /** @param {boolean} isBlamed */
  async function end (isBlamed) {
    if (isCounted) isCounted = !isBlamed && await count(0).then(() => false, () => true)
  }

  async function begin () {
    const n = await count(most)
    if (n === OLDER_TOKEN) throw lost(owned)
    begun = n === EXHAUSTED ? most : n
    isCounted = n !== EXHAUSTED
    if (!isCounted) throw new FreshetError('ENTRY_UNFINISHED', `${most === 1 ? 'an attempt' : `${most} attempts`} began and did not end`)
  }

  return {
    /** How many attempts have begun. */
    get begun () { return begun },

    /**
     * To be called before the effect; again in the same attempt it does nothing.
     * @returns {Promise<number>} attempts that have begun @throws {FreshetError} LEASE_LOST, ENTRY_UNFINISHED
     */
    async begin () {
      if (!isCounted && !isClosed) await (beginning = begin())
      return begun
    },

    /** After a failure. @param {boolean} isBlamed */
    end,

    /** When the work is given back: the next owner does not count it. */
    async close () {
      isClosed = true
      await beginning.catch(() => {})
      await end(false)
    }
  }
}
