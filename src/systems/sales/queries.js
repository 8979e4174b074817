/**
 * Queries about sales, for readers: from memory, else from a replica, else from the primary (src/admission/key-view.js); order rows
 * from the database, if there is one.
 *
 * @typedef {import('../../admission/index.js').Known} Known
 * @typedef {import('../../waiting-room/index.js').Place} Place
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { decisionOfRequest, fieldsOf, maskWith } from '../../admission/index.js'
import { FreshetError } from './errors.js'
import { claimOf, numbersOf, placeOf, saleOf, throwIfRefused } from './replies.js'
import { claimOfTicket } from './tickets.js'

const RULE = 'bounded'
const WAIT_FOR_SEQ_MS = 500
/** events are read for a page of claims, some of which say how earlier claims went on */
const MAX_EVENTS = 1000

/** @typedef {ReturnType<typeof createSaleQueries>} SaleQueries */

/**
 * @param {{ view: import('../../admission/index.js').KeyView, room: import('../../waiting-room/index.js').WaitingRoom,
 *   connectionOf: (partition: number, isPrimary: boolean) => import('../../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, partitionOf: (key: string) => number, partitions: number, secret: string,
 *   orderRows: (sale: string) => Promise<number | null>, now: () => number }} parts `secret`: of the system; `orderRows`: committed rows,
 *   null = unknown; `now`: ms since 1970
 */
export function createSaleQueries ({ view, room, connectionOf, keyOf, partitionOf, partitions: count, secret, orderRows, now }) {
  const mask = maskWith(secret)

  /** @param {string} id @returns {Promise<Known>} @throws {FreshetError} SALE_UNKNOWN, and when no node can be asked */
  async function known (id) {
    const one = await view.get(id)
    if (one) return one
    throw new FreshetError('SALE_UNKNOWN', 'there is no sale with this id')
  }

  /** @param {string} id @param {number} minSeq @returns {Promise<Known>} */
  async function knownSince (id, minSeq) {
    const one = await known(id)
    if (Number(one.fields.seq) >= minSeq) return one
    const stop = new AbortController()
    const unwatch = view.watch(id, () => { if (Number(view.peek(id)?.fields.seq ?? minSeq) >= minSeq) stop.abort() })
    await sleep(WAIT_FOR_SEQ_MS, undefined, { signal: stop.signal }).catch(() => {})
    unwatch()
    const later = await known(id)
    return Number(later.fields.seq) >= minSeq ? later : await view.fromPrimary(id) ?? later
  }

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

  /** @param {Place} place */
  const shownPlace = ({ status, position, etaMs, untilMs, claim }) => ({
    status,
    ...(status === 'waiting' ? { position, etaMs } : {}),
    ...(status === 'admitted' ? { until: untilMs } : {}),
    ...(status === 'claimed' ? { claimId: claim } : {})
  })

  return {
    known,
    shownPlace,

    /** @param {string} id @param {number} minSeq waits until its events are known up to here @throws {FreshetError} SALE_UNKNOWN */
    async sale (id, minSeq) {
      const one = await knownSince(id, minSeq)
      return /** @type {{ [name: string]: unknown, generation: string, seq: number }} */ (
        saleOf(one, { nowMs: now(), orderRows: await orderRows(id) }))
    },

    /** Sales that are not closed, the next to close first. @param {number} limit */
    async open (limit) {
      const due = await Promise.all(Array.from({ length: count }, async (_, partition) => {
        const flat = await connectionOf(partition, false).send('ZRANGE', keyOf(partition)('tasks'), 0, -1, 'WITHSCORES')
        return Object.entries(fieldsOf(flat.map(String))).flatMap(([task, atMs]) => {
          const [, id, op] = task.split(' ')
          return op === 'due' ? [{ id, atMs: Number(atMs) }] : []
        })
      }))
      const ids = due.flat().sort((a, b) => a.atMs - b.atMs).slice(0, limit).map(({ id }) => id)
      const all = await Promise.all(ids.map((id) => view.get(id)))
      return { items: all.flatMap((one) => one ? [saleOf(one, { nowMs: now(), orderRows: null })] : []) }
    },

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
      const entries = await connection.send('XRANGE', key(`events:${id}`), `${from + 1}-0`, '+', 'COUNT', MAX_EVENTS)
      const events = entries.map((/** @type {any} */ [, flat]) => fieldsOf(flat.map(String)))
      const ids = [...new Set(events.map((/** @type {any} */ { claim }) => claim).filter(Boolean))]
      const members = ids.length > 0 ? await connection.send('HMGET', key(`members:${id}`), ...ids.map((one) => `claim ${one}`)) : []
      const claims = ids.flatMap((one, i) => members[i] === null ? [] : [claimIn(id, one, String(members[i]))])
      const items = claims.filter(({ seq }) => seq > from).sort((a, b) => a.seq - b.seq).slice(0, limit)
      const isAll = items.length < limit && entries.length < MAX_EVENTS
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

    /** @param {string} id @param {string} userId @param {string | null} ticket @throws {FreshetError} TICKET_MISSING, TICKET_INVALID */
    claimOfTicket: (id, userId, ticket) => claimOfTicket(secret, { sale: id, user: userId, ticket }),

    /**
     * Where a person is, when that is no longer `waiting`, or after a time.
     * @param {string} id @param {string} userId @param {string | null} ticket @param {number} waitMs
     * @returns {Promise<Place>} @throws {FreshetError} TICKET_MISSING, TICKET_INVALID, SALE_UNKNOWN
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
    },

    /** @param {string} id @param {string} userId or empty @param {string} requestId @throws {FreshetError} REQUEST_NOT_ACCEPTED, as replies */
    async byRequest (id, userId, requestId) {
      const partition = partitionOf(id)
      const decision = await decisionOfRequest(connectionOf(partition, true), keyOf(partition), { rule: RULE, key: id, scope: userId, requestId })
      throwIfRefused(decision)
      if (decision.details.position !== undefined || decision.details.status === 'admitted') return placeOf(decision)
      const { claim } = decision.details
      if (claim === undefined) return { status: 200, body: numbersOf(decision) }
      const told = claimOf(decision, claim)
      const member = await memberOf(id, claim, true)
      return { status: 200, body: { ...told.body, ...(member === null ? {} : { status: claimIn(id, claim, member).status }) } }
    }
  }
}
