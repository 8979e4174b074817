/**
 * Claims of a sale, for readers.
 *
 * A claim remembers the number of its first event (lua/rules/bounded.lua), so a page of events says which claims begin
 * there.
 */
import { eventsOf } from '../../admission/index.js'
import { FreshetError } from '../../errors.js'
import { ID_TEXT } from '../../http/index.js'
import { COUNT, objectOf } from '../schemas.js'
import { claimOf, expectAccepted, numbersOf, placeOf } from './replies.js'

const RULE = 'bounded'
/** read for a page; some events say how earlier claims went on */
const MAX_EVENTS = 1000

export const CLAIM = objectOf({
  claimId: ID_TEXT,
  userId: { type: 'string', description: 'masked' },
  seq: { ...COUNT, description: 'number of its first event' },
  quantity: { ...COUNT, description: 'units' },
  status: { type: 'string', enum: ['held', 'pending', 'sold', 'released', 'revoked', 'expired', 'left'] }
})

/**
 * @param {Pick<import('../reading.js').Place, 'connectionOf' | 'keyOf' | 'partitionOf'> & { reading: import('../reading.js').Reading,
 *   mask: import('../../admission/index.js').Mask }} parts
 */
export function createClaimQueries ({ connectionOf, keyOf, partitionOf, reading, mask }) {
  const { known } = reading

  /** @param {string} id @param {string} claimId @param {string} member */
  function claimIn (id, claimId, member) {
    const [status, quantity, user, seq] = member.split(' ')
    return { claimId, userId: mask(user), seq: Number(seq), quantity: Number(quantity), status }
  }

  /** @param {string} id @param {string} claimId @param {boolean} isPrimary @returns {Promise<string | null>} */
  async function memberOf (id, claimId, isPrimary) {
    const partition = partitionOf(id)
    const member = await connectionOf(partition, isPrimary).send('HGET', keyOf(partition)(`members:${id}`), `claim ${claimId}`)
    return member === null ? null : String(member)
  }

  return {
    /**
     * Claims in order, each with its status now.
     * @param {string} id @param {{ after: number | null, limit: number }} page `after`: a sequence number
     * @throws {FreshetError} SALE_UNKNOWN
     */
    async claims (id, { after, limit }) {
      await known(id)
      const partition = partitionOf(id)
      const connection = connectionOf(partition, false)
      const key = keyOf(partition)
      const from = after ?? 0
      const events = eventsOf(await connection.send('XRANGE', key(`events:${id}`), `${from + 1}-0`, '+', 'COUNT', MAX_EVENTS))
      const ids = [...new Set(events.map(({ claim }) => claim).filter(Boolean))]
      const members = ids.length > 0 ? await connection.send('HMGET', key(`members:${id}`), ...ids.map((one) => `claim ${one}`)) : []
      const claims = ids.flatMap((one, i) => members[i] === null ? [] : [claimIn(id, one, String(members[i]))])
      const items = claims.filter(({ seq }) => seq > from).sort((a, b) => a.seq - b.seq).slice(0, limit)
      const isAll = items.length < limit && events.length < MAX_EVENTS
      const last = items.length === limit ? items.at(-1)?.seq : events.at(-1)?.seq
      return { items, next: isAll || last === undefined ? null : String(last) }
    },

    /** @param {string} id @param {string} claimId @throws {FreshetError} SALE_UNKNOWN, CLAIM_UNKNOWN */
    async claim (id, claimId) {
      await known(id)
      const member = await memberOf(id, claimId, false) ?? await memberOf(id, claimId, true)
      if (member === null || member.startsWith('waiting')) throw new FreshetError('CLAIM_UNKNOWN', 'there is no such claim in this sale')
      return claimIn(id, claimId, member)
    },

    /** @param {string} id @param {string} userId or empty @param {string} requestId @throws REQUEST_NOT_ACCEPTED, as expectAccepted */
    async byRequest (id, userId, requestId) {
      const decision = expectAccepted(await reading.byRequest(RULE, id, userId, requestId))
      if (decision.details.position !== undefined || decision.details.status === 'admitted') return placeOf(decision)
      const { claim } = decision.details
      if (claim === undefined) return { status: 200, body: numbersOf(decision) }
      const { body } = claimOf(decision, claim)
      const member = await memberOf(id, claim, true)
      return { status: 200, body: { ...body, ...(member === null ? {} : { status: claimIn(id, claim, member).status }) } }
    }
  }
}
