/**
 * Commands of auctions, from checked fields to replies.
 *
 * @typedef {{ status: number, body: Record<string, unknown>, isReplay: boolean }} Reply
 * @typedef {{ startPrice: number, minIncrement: number, openAt: number | null, closeAt: number, softCloseMs: number | null,
 *   softCloseMaxMs: number | null, reserve: number | null, buyNow: number | null, currency: string }} Terms amounts in minor units, times
 *   in ms since 1970
 */
import { randomUUID } from 'node:crypto'
import { maskWith } from '../../admission/index.js'
import { FreshetError } from './errors.js'
import { replyTo } from './replies.js'

const RULE = 'max'
/** default of softCloseMaxMs, in multiples of softCloseMs */
const SOFT_CLOSES = 10

/** @typedef {ReturnType<typeof createAuctions>} Auctions */

/**
 * @param {{ submit: (command: import('../../admission/index.js').Command) => Promise<import('../../admission/index.js').Decision>,
 *   agreed: () => Promise<{ secret: string }> }} admission
 */
export function createAuctions ({ submit, agreed }) {
  /** @type {import('../../admission/index.js').Mask | null} */
  let mask = null

  /** @param {string} userId */
  async function masked (userId) {
    mask ??= maskWith((await agreed()).secret)
    return mask(userId)
  }

  /**
   * @param {string} key @param {string} userId or empty @param {string | null} requestId null: the client named none
   * @param {string[]} args @returns {Promise<Reply>}
   */
  async function run (key, userId, requestId, args) {
    const decision = await submit({ rule: RULE, key, scope: userId, requestId: requestId ?? randomUUID(), args })
    const facts = userId === '' ? {} : { bidder: await masked(userId) }
    return { ...replyTo(decision, facts), isReplay: decision.isReplay }
  }

  return {
    /** @param {string} id @param {Terms} terms @param {string | null} requestId @throws {FreshetError} FIELD_INVALID, as replyTo */
    create (id, terms, requestId) {
      const { startPrice, minIncrement, openAt, closeAt, softCloseMs, softCloseMaxMs, reserve, buyNow, currency } = terms
      const soft = softCloseMs ?? 0
      const numbers = [startPrice, minIncrement, openAt ?? 0, closeAt, soft, softCloseMaxMs ?? SOFT_CLOSES * soft]
      return run(id, '', requestId, ['create', ...numbers.map(String), String(reserve ?? ''), String(buyNow ?? ''), currency])
    },

    /**
     * @param {string} id @param {{ userId: string, amount: number, max: number | null }} bid minor units @param {string | null} requestId
     * @throws {FreshetError} FIELD_INVALID, as replyTo
     */
    bid (id, { userId, amount, max }, requestId) {
      if (max !== null && max < amount) {
        throw new FreshetError('FIELD_INVALID', 'max: less than amount; expected the amount or more, or none',
          { faults: [{ field: 'max', received: 'less than amount', expected: 'the amount or more' }] })
      }
      return run(id, userId, requestId, ['bid', userId, String(amount), String(max ?? '')])
    },

    /** @param {string} id @param {{ userId: string }} buyer @param {string | null} requestId @throws {FreshetError} as replyTo */
    buy: (id, { userId }, requestId) => run(id, userId, requestId, ['buy', userId]),

    /** @param {string} id @param {string | null} requestId @throws {FreshetError} as replyTo */
    close: (id, requestId) => run(id, '', requestId, ['close'])
  }
}
