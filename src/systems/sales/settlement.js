/**
 * Claims that count only when the database has their order (durability `db`): a gateway waits for the event that says so. The order
 * writer of the partition's owner settles the claim (orders.js).
 */
import { FreshetError } from '../../errors.js'

const HAS_DECIDED = Object.freeze(['sold', 'released'])

/** @typedef {ReturnType<typeof createSettlement>} Settlement */

/**
 * @param {{ isUp: () => boolean, statusOf: (sale: string, claim: string) => Promise<string>, deadlineMs: number }} parts `isUp`: the
 *   database answers; `statusOf` a claim, from the primary
 */
export function createSettlement ({ isUp, statusOf, deadlineMs }) {
  /** @type {Map<string, (status: string) => void>} by sale and claim */
  const waiting = new Map()

  return {
    /** Is called with every event of the system. @param {import('../../admission/index.js').Entry} entry */
    note ({ key, fields: { type, claim } }) {
      if (HAS_DECIDED.includes(type)) waiting.get(`${key} ${claim}`)?.(type)
    },

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
      const name = `${sale} ${claim}`
      /** @type {NodeJS.Timeout | undefined} */
      let timer
      const outcome = new Promise((resolve) => {
        waiting.set(name, resolve)
        timer = setTimeout(() => resolve('pending'), deadlineMs)
      })
      const stored = isReplay ? await statusOf(sale, claim).catch(() => 'pending') : 'pending'
      const status = HAS_DECIDED.includes(stored) ? stored : await outcome
      clearTimeout(timer)
      waiting.delete(name)
      const facts = { claimId: claim }
      if (status === 'released') {
        throw new FreshetError('CLAIM_REJECTED', 'the database rejected the order; the units are free again', facts)
      }
      if (status === 'pending') {
        const why = `the database did not answer within ${deadlineMs} ms; by-request returns the outcome later`
        throw new FreshetError('CLAIM_UNSETTLED', why, facts)
      }
    }
  }
}
