/**
 * Where people are in the queue of a sale, for those who show their ticket.
 *
 * @typedef {import('../../waiting-room/index.js').Place} Place
 */
import { ID_TEXT } from '../../http/index.js'
import { EMPTY_HEARTBEAT } from '../../push/index.js'
import { HEARTBEAT_MS } from '../hub.js'
import { COUNT, objectOf, TIME } from '../schemas.js'
import { claimOfTicket } from './tickets.js'

/** the share of the estimated time after which it is worth asking again */
const ASK_TIMES = 3
const MAX_ASK_S = 30

export const PLACE = objectOf({
  status: { type: 'string', enum: ['waiting', 'admitted', 'claimed', 'sold_out', 'expired', 'left', 'unknown'] },
  position: { ...COUNT, description: 'from 1' },
  etaMs: { ...COUNT, description: 'estimated time to admission' },
  until: { ...TIME, description: 'end of the admission' },
  claimId: ID_TEXT
})

/** @param {Place} place @returns {number} seconds */
export const retryAfterS = ({ etaMs }) => Math.max(1, Math.min(MAX_ASK_S, Math.ceil(etaMs / ASK_TIMES / 1000)))

/** As JSON. @param {Place} place */
const shownPlace = ({ status, position, etaMs, untilMs, claim }) => ({
  status,
  ...(status === 'waiting' ? { position, etaMs } : {}),
  ...(status === 'admitted' ? { until: untilMs } : {}),
  ...(status === 'claimed' ? { claimId: claim } : {})
})

/**
 * @param {{ room: import('../../waiting-room/index.js').WaitingRoom, secret: string, reading: import('../reading.js').Reading,
 *   push: import('../../push/index.js').Push }} parts `secret`: of the system
 */
export function createPlaces ({ room, secret, reading: { known, waitFor }, push }) {
  return {
    shownPlace,

    /**
     * Where a person is, when that is no longer `waiting`, or after a time.
     * @param {string} id @param {string} userId @param {string | null} ticket @param {number} waitMs
     * @returns {Promise<Place>} @throws {Error} TICKET_MISSING, TICKET_INVALID, SALE_UNKNOWN
     */
    async place (id, userId, ticket, waitMs) {
      const claim = claimOfTicket(secret, { sale: id, user: userId, ticket })
      await known(id)
      let place = await room.placeOf(id, userId, claim)
      if (place.status !== 'waiting' || waitMs === 0) return place
      await waitFor((done) => room.watch(id, userId, (now) => {
        place = now
        if (now.status !== 'waiting') done()
      }), waitMs)
      return place
    },

    /**
     * As server-sent events `place`.
     * @param {string} id @param {string} user @param {string | null} ticket
     * @returns {Promise<import('../../push/index.js').Source>} @throws {Error} TICKET_MISSING, TICKET_INVALID, SALE_UNKNOWN
     */
    async placeSourceOf (id, user, ticket) {
      claimOfTicket(secret, { sale: id, user, ticket })
      await known(id)
      let end = () => {}
      return {
        add (stream) {
          const timer = setInterval(() => {
            if (performance.now() - stream.sentMs > HEARTBEAT_MS) stream.send(EMPTY_HEARTBEAT)
          }, HEARTBEAT_MS / 2).unref()
          const unwatch = room.watch(id, user, (place) => {
            const bytes = Buffer.from(`event: place\ndata: ${JSON.stringify(shownPlace(place))}\n\n`)
            stream.send(bytes)
            push.counts.events++
            push.counts.bytes += bytes.length
          })
          end = () => {
            clearInterval(timer)
            unwatch()
          }
        },
        remove: () => end()
      }
    }
  }
}
