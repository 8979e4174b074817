/**
 * Checks the history of an auction: what clients sent and heard, and the events that are stored. Linear in its length. All times are of
 * one monotonic clock, but `ts` of events.
 *
 * @typedef {{ user: string, amount: number, request: string, sent: number, answered: number, code: string, seq: number,
 *   decidedAtSeq: number, minNext: number, isReplay: boolean }} Bid amounts in minor units; `seq` of an accepted one
 * @typedef {{ seq: number, by: string, user: string, amount: number, previous: number, ts: number, request: string }} Event
 * @typedef {{ start: number, increment: number, closeAt: number }} Terms
 * @typedef {{ terms: Terms, bids: Bid[], events: Event[] }} History
 */
import { createOracle } from '../../src/admission/index.js'

const MOST_SHOWN = 3

/**
 * @param {History} history
 * @returns {{ name: string, ok: boolean, detail: string }[]} invariants
 */
export function checkHistory ({ terms, bids, events }) {
  const accepted = bids.filter(({ code, isReplay }) => code === 'accepted' && !isReplay)
  return [
    result('A1 events rise by the increment, without gaps', risingFaults(terms, events)),
    result('A1 accepted bids are stored, and no other', storedFaults(accepted, bids, events)),
    result('A2 no false rejection', rejectionFaults(bids, events, terms)),
    result('A3 real time', realTimeFaults(accepted)),
    result('A4 none after the end', events.filter(({ by, ts }) => by === 'bid' && ts >= terms.closeAt).map(({ seq }) => `event ${seq}`)),
    result('A5 one effect of a request', effectFaults(bids)),
    result('A7 the same prices when replayed', replayFaults(terms, events))
  ]
}

/** @param {string} name @param {string[]} faults */
const result = (name, faults) => ({
  name, ok: faults.length === 0, detail: faults.length ? `${faults.length}: ${faults.slice(0, MOST_SHOWN).join('; ')}` : 'none'
})

/** @param {Terms} terms @param {Event[]} events */
function risingFaults ({ start, increment }, events) {
  return events.flatMap(({ seq, by, amount }, i) => {
    const before = events[i - 1]
    const least = before ? before.amount + increment : start
    if (seq !== i + 1) return [`event ${seq} at place ${i + 1}`]
    return by === 'bid' && amount < least ? [`event ${seq}: ${amount} after ${before?.amount ?? 0}`] : []
  })
}

/** @param {Bid[]} accepted @param {Bid[]} bids @param {Event[]} events */
function storedFaults (accepted, bids, events) {
  const bySeq = new Map(events.map((event) => [event.seq, event]))
  const known = new Set(bids.filter(({ code }) => code === 'accepted' || code === 'unknown').map(({ request }) => request))
  return [
    ...accepted.filter(({ seq, user, amount }) => bySeq.get(seq)?.user !== user || bySeq.get(seq)?.amount !== amount)
      .map(({ seq, amount }) => `accepted ${amount} at ${seq} is not stored`),
    ...events.filter(({ by, request }) => by === 'bid' && !known.has(request)).map(({ seq }) => `event ${seq} was not accepted`)
  ]
}

/**
 * A rejection names the event at which it was decided: the bid was too low then, and that event was stored before the reply.
 * @param {Bid[]} bids @param {Event[]} events @param {Terms} terms
 */
function rejectionFaults (bids, events, { start, increment }) {
  /** @type {Map<string, number>} when each was sent first */
  const sentOf = new Map()
  for (const { request, sent } of bids) sentOf.set(request, Math.min(sent, sentOf.get(request) ?? Infinity))
  const rejected = bids.filter(({ code }) => code === 'too_low' || code === 'self_outbid')
  return rejected.flatMap(({ code, user, amount, decidedAtSeq, answered }) => {
    const at = events[decidedAtSeq - 1]
    if (decidedAtSeq > 0 && !at) return [`${amount} rejected at event ${decidedAtSeq}, which is not stored`]
    if (at && (sentOf.get(at.request) ?? -Infinity) > answered) return [`${amount} rejected at event ${decidedAtSeq}, which came later`]
    if (code === 'self_outbid') return at?.user === user ? [] : [`${user} did not lead at event ${decidedAtSeq}`]
    const next = at ? at.amount + increment : start
    return amount < next ? [] : [`${amount} rejected at event ${decidedAtSeq}, when ${next} was enough`]
  })
}

/** A bid whose reply came before another was sent is before it in the order. @param {Bid[]} accepted */
function realTimeFaults (accepted) {
  const faults = []
  let earliest = Infinity
  for (const { seq, sent, answered } of accepted.toSorted((a, b) => b.seq - a.seq)) {
    if (earliest < sent) faults.push(`event ${seq} was sent after a later one was answered`)
    earliest = Math.min(earliest, answered)
  }
  return faults
}

/** @param {Bid[]} bids in the order of their replies */
function effectFaults (bids) {
  /** @type {Map<string, Bid>} accepted, by request */
  const first = new Map()
  const faults = []
  for (const bid of bids) {
    const before = first.get(bid.request)
    if (before && bid.code !== 'unknown' && bid.sent > before.answered && (bid.code !== 'accepted' || bid.seq !== before.seq)) {
      faults.push(`${bid.request} was accepted at ${before.seq}, then ${bid.code} at ${bid.seq}`)
    }
    if (!before && bid.code === 'accepted') first.set(bid.request, bid)
  }
  return faults
}

/** @param {Terms} terms @param {Event[]} events */
function replayFaults ({ start, increment, closeAt }, events) {
  const oracle = createOracle()
  const admit = (/** @type {string[]} */ args, /** @type {number} */ now, /** @type {string} */ requestId) =>
    oracle.admit([{ rule: 'max', key: 'a', scope: '', requestId, args }], now)[0]
  admit(['create', String(start), String(increment), '0', String(closeAt), '0', '0', '', '', 'EUR'], 0, 'create')
  return events.filter(({ by }) => by === 'bid').flatMap(({ seq, user, amount, ts }) => {
    const { code, details } = admit(['bid', user, String(amount), ''], ts, `bid ${seq}`)
    return code === 'accepted' && Number(details.currentBid) === amount ? [] : [`event ${seq}: ${code}`]
  })
}

/** @param {string} text lines of JSON: terms, bids, events @returns {History} */
export function readHistory (text) {
  const lines = text.split('\n').filter(Boolean).map((line) => JSON.parse(line))
  const of = (/** @type {string} */ kind) => lines.filter((line) => line.kind === kind)
  return { terms: of('terms')[0], bids: of('bid'), events: of('event') }
}

/** @param {History} history @returns {string} */
export const historyText = ({ terms, bids, events }) => [
  { kind: 'terms', ...terms }, ...bids.map((bid) => ({ kind: 'bid', ...bid })), ...events.map((event) => ({ kind: 'event', ...event }))
].map((line) => JSON.stringify(line)).join('\n') + '\n'
