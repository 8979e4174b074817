/**
 * Claims that count only when the database has their order (durability `db`): a gateway waits for the event that says so. The order
 * writer of the partition's owner settles the claim (orders.js).
 */
import { FreshetError } from 'freshet-feed/systems'

const HAS_DECIDED = Object.freeze(['sold', 'released'])

/** @typedef {ReturnType<typeof createSettlement>} Settlement */

/**
 * @param {{ waits: ReturnType<import('freshet-feed/systems').GatewayParts['waits']>, isUp: () => boolean,
 *   statusOf: (sale: string, claim: string) => Promise<string>, deadlineMs: number }} parts `waits`: resolve when an event says what
 *   became of a claim; `isUp`: the database answers; `statusOf` a claim, from the primary
 */
export const createSettlement = ({ waits, isUp, statusOf, deadlineMs }) => ({
  /** @throws {FreshetError} DATABASE_DOWN */
  expectUp () {
    if (isUp()) return
    throw new FreshetError('DATABASE_DOWN', 'the database does not answer, and durability is db; try again later')
  },

  /**
   * Until the order is in the database.
   * @param {string} sale @param {string} claim @param {boolean} isReplay its event may have come before
   * @throws {FreshetError} CLAIM_REJECTED, CLAIM_UNSETTLED
   */
  async settled (sale, claim, isReplay) {
    let status = 'pending'
    await waits.waitFor((done) => {
      const decided = (/** @type {string} */ one) => {
        if (!HAS_DECIDED.includes(one)) return
        status = one
        done()
      }
      if (isReplay) statusOf(sale, claim).then(decided, () => {})
      return waits.watch(`${sale} ${claim}`, decided)
    }, deadlineMs)
    const facts = { claimId: claim }
    if (status === 'released') {
      throw new FreshetError('CLAIM_REJECTED', 'the database rejected the order; the units are free again', facts)
    }
    if (status === 'pending') {
      throw new FreshetError('CLAIM_UNSETTLED', 'the database has not answered yet; by-request returns the outcome later', facts)
    }
  }
})
