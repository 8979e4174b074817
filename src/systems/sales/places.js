/**
 * Where people are in the queue of a sale, for those who show their ticket.
 *
 * @typedef {import('../../waiting-room/index.js').Place} Place
 */
import { claimOfTicket } from './tickets.js'

/**
 * @param {{ room: import('../../waiting-room/index.js').WaitingRoom, secret: string, known: (id: string) => Promise<unknown> }} parts
 *   `secret`: of the system; `known` throws if there is no such sale
 */
export function createPlaces ({ room, secret, known }) {
  return {
    /** As JSON. @param {Place} place */
    shownPlace: ({ status, position, etaMs, untilMs, claim }) => ({
      status,
      ...(status === 'waiting' ? { position, etaMs } : {}),
      ...(status === 'admitted' ? { until: untilMs } : {}),
      ...(status === 'claimed' ? { claimId: claim } : {})
    }),

    /** @param {string} id @param {string} userId @param {string | null} ticket @throws TICKET_MISSING, TICKET_INVALID */
    claimOfTicket: (id, userId, ticket) => claimOfTicket(secret, { sale: id, user: userId, ticket }),

    /**
     * Where a person is, when that is no longer `waiting`, or after a time.
     * @param {string} id @param {string} userId @param {string | null} ticket @param {number} waitMs
     * @returns {Promise<Place>} @throws TICKET_MISSING, TICKET_INVALID, SALE_UNKNOWN
     */
    async place (id, userId, ticket, waitMs) {
      const claim = claimOfTicket(secret, { sale: id, user: userId, ticket })
      await known(id)
      const place = await room.placeOf(id, userId, claim)
      if (place.status !== 'waiting' || waitMs === 0) return place
      return new Promise((resolve) => {
        let last = place
        const end = () => {
          clearTimeout(timer)
          unwatch()
          resolve(last)
        }
        const timer = setTimeout(end, waitMs)
        const unwatch = room.watch(id, userId, (now) => {
          last = now
          if (now.status !== 'waiting') end()
        })
      })
    }
  }
}
