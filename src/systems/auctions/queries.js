/**
 * Queries about auctions, for readers: from memory, else from a replica, else from the primary (src/admission/key-view.js).
 *
 * @typedef {import('../../admission/index.js').Known} Known
 * @typedef {import('../../admission/index.js').Fields} Fields
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { decisionOfRequest, fieldsOf, maskWith } from '../../admission/index.js'
import { FreshetError } from './errors.js'
import { auctionOf, eventOf, replyTo, resultOf } from './replies.js'

const RULE = 'max'
const WAIT_FOR_SEQ_MS = 500

/** @typedef {ReturnType<typeof createAuctionQueries>} AuctionQueries */

/**
 * @param {{ view: import('../../admission/index.js').KeyView, connectionOf: (partition: number, isPrimary: boolean) =>
 *   import('../../store/index.js').Connection, keyOf: (partition: number) => (part: string) => string,
 *   partitionOf: (key: string) => number, partitions: number, secret: string, now: () => number }} parts `secret`:
 *   of the system; `now`: ms since 1970
 */
export function createAuctionQueries ({ view, connectionOf, keyOf, partitionOf, partitions: count, secret, now }) {
  const mask = maskWith(secret)
  const partitions = Array.from({ length: count }, (_, partition) => partition)

  /** @param {string} id @returns {Promise<Known>} @throws {FreshetError} AUCTION_UNKNOWN, and when no node can be asked */
  async function known (id) {
    const one = await view.get(id)
    if (one) return one
    throw new FreshetError('AUCTION_UNKNOWN', 'there is no auction with this id')
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

  return {
    mask,
    known,
    /** @param {Known} one */
    shown: (one) => auctionOf(one, { mask, nowMs: now() }),
    /** @param {Fields} event */
    shownEvent: (event) => eventOf(event, mask),

    /** Open auctions, the next to close first. @param {number} limit */
    async open (limit) {
      const due = await Promise.all(partitions.map(async (partition) => {
        const flat = await connectionOf(partition, false).send('ZRANGE', keyOf(partition)('tasks'), 0, limit - 1, 'WITHSCORES')
        const tasks = Object.entries(fieldsOf(flat.map(String)))
        return tasks.map(([task, atMs]) => ({ id: task.split(' ')[1], atMs: Number(atMs) }))
      }))
      const ids = due.flat().sort((a, b) => a.atMs - b.atMs).slice(0, limit).map(({ id }) => id)
      const all = await Promise.all(ids.map((id) => view.get(id)))
      return { items: all.flatMap((one) => one?.fields.status === 'open' ? [auctionOf(one, { mask, nowMs: now() })] : []) }
    },

    /** @param {string} id @param {number} minSeq waits until its events are known up to here @throws {FreshetError} AUCTION_UNKNOWN */
    async auction (id, minSeq) {
      return auctionOf(await knownSince(id, minSeq), { mask, nowMs: now() })
    },

    /**
     * @param {string} id @param {(winner: string) => boolean} isNamed whether the client may see its user id
     * @throws {FreshetError} AUCTION_UNKNOWN, AUCTION_OPEN
     */
    result: async (id, isNamed) => resultOf(await known(id), mask, isNamed),

    /**
     * Its events, the newest first.
     * @param {string} id @param {{ after: number | null, limit: number }} page `after`: only older ones than this sequence number
     * @throws {FreshetError} AUCTION_UNKNOWN
     */
    async bids (id, { after, limit }) {
      const one = await known(id)
      const below = after ?? Number(one.fields.seq) + 1
      const tail = one.events.filter(({ seq }) => Number(seq) < below)
      // the tail reaches back far enough, or to the first event
      const isWhole = tail.length >= limit || Number(one.events[0]?.seq ?? 1) <= 1
      const events = isWhole ? tail.slice(-limit).reverse() : await stored(id, below, limit)
      const oldest = Number(events.at(-1)?.seq ?? 1)
      return { items: events.map((/** @type {Fields} */ event) => eventOf(event, mask)), next: oldest > 1 ? String(oldest) : null }
    },

    /** @param {string} id @param {string} userId or empty @param {string} requestId @throws {FreshetError} REQUEST_NOT_ACCEPTED */
    async byRequest (id, userId, requestId) {
      const partition = partitionOf(id)
      const command = { rule: RULE, key: id, scope: userId, requestId }
      const decision = await decisionOfRequest(connectionOf(partition, true), keyOf(partition), command)
      return replyTo(decision, userId === '' ? {} : { bidder: mask(userId) })
    }
  }

  /** @param {string} id @param {number} below @param {number} limit */
  async function stored (id, below, limit) {
    const partition = partitionOf(id)
    const entries = below < 2
      ? []
      : await connectionOf(partition, false).send('XREVRANGE', keyOf(partition)(`events:${id}`), `${below - 1}-0`, '-', 'COUNT', limit)
    return entries.map((/** @type {any} */ [, flat]) => fieldsOf(flat.map(String)))
  }
}
