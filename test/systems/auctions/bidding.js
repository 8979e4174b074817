/**
 * Bids on many lots, one after another on each: for tests that let servers fail under them. A bid without a decision is sent again with
 * its Idempotency-Key, as clients do; every bid that was acknowledged must be in the history, once and in its order.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../../servers.js'

const EVERY_MS = 20
const DECIDED = [200, 201, 410, 422]

/** @typedef {Awaited<ReturnType<typeof import('./auctioning.js').startAuctions>>} Auctions */
/** @typedef {{ lot: string, acknowledged: string[], longestMs: number, again: number }} Bidden */

/**
 * @param {Auctions} auctions @param {string[]} lots @param {{ everyMs?: number }} [pace] of each lot
 */
export async function startBidding ({ gateway: { create, bid }, auction }, lots, { everyMs = EVERY_MS } = {}) {
  await Promise.all(lots.map((lot) => eventually(async () => (await create(lot)).status < 300)))
  const stopping = new AbortController()
  const bidding = lots.map((lot) => bidOn(bid, lot, { everyMs, signal: stopping.signal }))

  return {
    /** Ends it and compares. @param {import('tap').Test} t */
    async end (t) {
      stopping.abort()
      const all = await Promise.all(bidding)
      const sum = (/** @type {(one: Bidden) => number} */ of) => all.reduce((total, one) => total + of(one), 0)
      t.comment(`${sum(({ acknowledged }) => acknowledged.length)} bids acknowledged; longest wait for a decision ` +
        `${Math.round(Math.max(...all.map(({ longestMs }) => longestMs)))} ms; sent again ${sum(({ again }) => again)} times`)
      for (const { lot, acknowledged } of all) {
        await eventually(async () => (await auction(lot, `?minSeq=${acknowledged.length}`)).seq >= acknowledged.length)
        t.same(await historyOf(auction, lot), acknowledged, `${lot}: ${acknowledged.length} bids, none lost, none twice`)
      }
    }
  }
}

/**
 * @param {any} bid @param {string} lot @param {{ everyMs: number, signal: AbortSignal }} options @returns {Promise<Bidden>}
 */
async function bidOn (bid, lot, { everyMs, signal }) {
  const all = { lot, acknowledged: /** @type {string[]} */ ([]), longestMs: 0, again: 0 }
  for (let amount = 10; !signal.aborted; amount++) {
    const sinceMs = performance.now()
    for (;;) {
      const { status } = await bid(lot, `user-${amount}`, amount, { key: `${lot}-${amount}` }).catch(() => ({ status: 0 }))
      if (status === 201) all.acknowledged.push(`${amount}.00`)
      if (DECIDED.includes(status)) break
      all.again++
      await pause(EVERY_MS)
    }
    all.longestMs = Math.max(all.longestMs, performance.now() - sinceMs)
    await pause(everyMs)
  }
  return all
}

/** Amounts in the order of their numbers. @param {any} auction @param {string} lot */
async function historyOf (auction, lot) {
  /** @type {string[]} */
  const amounts = []
  for (let next = ''; next !== null;) {
    const page = await auction(lot, `/bids?limit=100${next && `&after=${next}`}`)
    amounts.push(...page.items.map((/** @type {any} */ { amount }) => amount))
    next = page.next
  }
  return amounts.reverse()
}
