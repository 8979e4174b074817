/**
 * Positions of clients that may see some ids only. A position tells when others wrote, so it is sealed (item/cursor.js): once in a round,
 * for all such streams of the feed, behind a mark of the filter that each has.
 *
 *     mark of the filter, 11 characters | sealed position
 *
 * With another filter it is invalid, and the client is reset: it may now see ids of which it has nothing.
 */
import { createHmac } from 'node:crypto'
import { createSeal } from '../item/index.js'

const MARK_CHARS = 11

/** @typedef {ReturnType<typeof createPositionSeal>} PositionSeal */
/** @typedef {{ readonly position: string, sealed?: { by: string, text: string } }} Sealing a position, which is sealed once */

/** @param {string} feed @param {string} secret of the feed @param {import('../item/index.js').IdFilter} filter */
export function createPositionSeal (feed, secret, filter) {
  const { seal, open } = createSeal(secret, `position ${feed}`)
  const mark = createHmac('sha256', secret).update(`filter ${filter.of}`).digest('base64url').slice(0, MARK_CHARS)
  return {
    filter,

    /** @param {Sealing} reached @returns {string} */
    shown (reached) {
      if (reached.sealed?.by !== secret) reached.sealed = { by: secret, text: seal(reached.position) }
      return mark + reached.sealed.text
    },

    /** @param {string} text @returns {string | null} the position; null: it is not one of this filter */
    open: (text) => text.startsWith(mark) ? open(text.slice(MARK_CHARS)) : null
  }
}

/** @param {{ seal: PositionSeal | null }} stream @param {Sealing} reached @returns {string} for the client */
export const shownPosition = ({ seal }, reached) => seal === null ? reached.position : seal.shown(reached)
