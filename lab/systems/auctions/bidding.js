/**
 * Bids on auctions through a technique, and what was heard of them. A user reads the price (by default that of the last reply), adds
 * 0.50 to 10.00, and bids; one bid in a hundred is sent again, as after a lost reply.
 *
 * @typedef {import('./history.js').Bid} Bid
 * @typedef {import('./history.js').History} History
 * @typedef {{ key: string, price: number, bids: Bid[] }} Lot `price`: the highest heard of
 */
import { performance } from 'node:perf_hooks'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { prepare } from '../../../src/admission/index.js'
import { fewAtOnce } from '../pace.js'
import { zipfPicker } from '../zipf.js'

const [LEAST_RISE, MOST_RISE] = [50, 1000]
const REPEATED = 0.01
/** wait of a user after an error */
const OUTAGE_MS = 20
const RESOLVED_AT_ONCE = 100

/**
 * @param {import('./techniques.js').Technique} technique
 * @param {{ lots: number, terms: import('./history.js').Terms, isOverHttp: boolean, reads?: boolean }} options
 *   `lots`: by Zipf's law; `reads`: asks for the price before each bid
 */
export function createBidding (technique, { lots: count, terms, isOverHttp, reads = false }) {
  const lots = Array.from({ length: count }, (_, i) => ({ key: `lot-${i}`, price: terms.start, bids: /** @type {Bid[]} */ ([]) }))
  const pick = zipfPicker(lots)
  /** in the order of their replies @type {Bid[]} */
  const bids = []
  let n = 0

  /** @param {Lot} lot @param {{ user: string, amount: number, request: string, sent: number }} one */
  async function bid (lot, { user, amount, request, sent }) {
    const answer = await technique.submit(command(lot.key, user, request, ['bid', user, String(amount), ''])).catch(() => null)
    const { code = 'unknown', seq = 0, isReplay = false, details = {} } = answer ?? {}
    const [currentBid, minNext] = [Number(details.currentBid ?? 0), Number(details.minNext ?? 0)]
    lot.price = Math.max(lot.price, currentBid)
    const heard = { user, amount, request, sent, answered: performance.now(), code, seq, currentBid, minNext, isReplay }
    lot.bids.push(heard)
    bids.push(heard)
    return answer !== null
  }

  /** @param {string} user */
  async function bidOnce (user) {
    const begunMs = performance.now()
    const lot = pick()
    if (reads) lot.price = Math.max(lot.price, await technique.read?.(lot.key).catch(() => 0) ?? 0)
    const amount = lot.price + LEAST_RISE + Math.floor(Math.random() * (MOST_RISE - LEAST_RISE))
    const request = String(++n)
    const isAnswered = await bid(lot, { user, amount, request, sent: reads ? performance.now() : begunMs })
    if (Math.random() < REPEATED) await bid(lot, { user, amount, request, sent: performance.now() })
    return isAnswered
  }

  return {
    bids,

    async create () {
      const { start, increment, closeAt, softCloseMs, softCloseMaxMs } = terms
      const given = [start, increment, 0, closeAt, softCloseMs, softCloseMaxMs].map(String)
      for (const { key } of lots) await technique.submit(command(key, '', 'create', ['create', ...given, '', '', 'EUR']))
    },

    /** Bids again after each reply. @param {string} user @param {number} thinkMs mean @param {AbortSignal} signal */
    async use (user, thinkMs, signal) {
      while (!signal.aborted) {
        if (!await bidOnce(user)) await sleep(OUTAGE_MS)
        // also without a wait: replies from memory must not keep others from being read
        await (thinkMs > 0 ? sleep(thinkMs * (0.33 + 1.33 * Math.random())) : turn())
      }
    },

    /** Sends bids without a reply again, so that their outcome is known. */
    async resolve () {
      for (const lot of lots) {
        const unknown = lot.bids.filter(({ code }) => code === 'unknown')
        await fewAtOnce(unknown, RESOLVED_AT_ONCE, (one) => bid(lot, { ...one, sent: performance.now() }))
      }
    },

    /** @returns {Promise<History[]>} of each lot, the most contested one first */
    async histories () {
      const all = []
      for (const { key, bids } of lots) {
        const { events, state } = await technique.stored(key)
        all.push({
          terms,
          bids: bids.map((one) => ({ ...one, request: requestOf(key, one, isOverHttp) })),
          events: events.map(eventOf),
          final: { seq: Number(state.seq), price: Number(state.price), leader: state.leader }
        })
      }
      return all
    }
  }
}

/** @param {string} key @param {string} user @param {string} requestId @param {string[]} args */
const command = (key, user, requestId, args) => ({ rule: 'max', key, scope: user, requestId, args })

/** As events name it. @param {string} key @param {Bid} bid @param {boolean} isOverHttp */
const requestOf = (key, { user, request }, isOverHttp) =>
  prepare(command(key, user, isOverHttp ? `${user}-${request}` : request, [])).request

/** @param {import('../../../src/admission/index.js').Fields} fields @returns {import('./history.js').Event} */
const eventOf = ({ seq, type, user, amount, previous, ts, closeAt, request }) => ({
  seq: Number(seq),
  by: type,
  user,
  amount: Number(amount),
  previous: Number(previous),
  ts: Number(ts),
  closeAt: closeAt === undefined ? null : Number(closeAt),
  request
})
