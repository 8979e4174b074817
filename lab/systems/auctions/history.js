/**
 * Checks the history of an auction: what clients sent and heard, and the events that are stored. Linear in its length. All times are of
 * one monotonic clock, but `ts` of events.
 *
 * @typedef {{ user: string, amount: number, request: string, sent: number, answered: number, code: string, seq: number,
 *   currentBid: number, minNext: number, isReplay: boolean }} Bid amounts in minor units; `seq`: of its event if it was accepted, else the
 *   one it was decided at
 * @typedef {{ seq: number, by: string, user: string, amount: number, previous: number, ts: number, closeAt: number | null,
 *   request: string }} Event `closeAt`: the end, if the bid moved it
 * @typedef {{ start: number, increment: number, closeAt: number, softCloseMs: number, softCloseMaxMs: number, clockMs: number }} Terms
 *   `clockMs`: time of day when the monotonic clock was 0
 * @typedef {{ seq: number, price: number, leader: string }} Final the stored state
 * @typedef {{ terms: Terms, bids: Bid[], events: Event[], final: Final }} History
 */
import { createOracle } from '../../rules/oracle.js'
import { result } from '../invariants.js'

/** between two readings of the time of day */
const CLOCK_MS = 20
const REJECTED = ['too_low', 'self_outbid']
/** `conflict`: an optimistic technique gave up; `unknown`: no reply */
const CODES = Object.freeze(['accepted', ...REJECTED, 'closed', 'conflict', 'unknown'])

/**
 * @param {History} history
 * @returns {{ name: string, ok: boolean, detail: string }[]} invariants
 */
export function checkHistory ({ terms, bids, events, final }) {
  const accepted = bids.filter(({ code, isReplay }) => code === 'accepted' && !isReplay)
  return [
    result('A1 events rise by the increment, without gaps', risingFaults(terms, events)),
    result('A1 the final state is that of the last event', finalFaults(events, final)),
    result('A1 accepted bids are stored, and no other', storedFaults(bids, events)),
    result('A2 no false rejection', rejectionFaults(bids, events, terms)),
    result('A3 real time', realTimeFaults(accepted)),
    result('A4 none after the end, none closed before it', endFaults(terms, bids, events)),
    result('A5 one effect of a request', effectFaults(bids)),
    result('A7 the same prices when replayed', replayFaults(terms, events)),
    result('every reply is one of the rule', bids.filter(({ code }) => !CODES.includes(code)).map(({ code }) => code))
  ]
}

/** @param {Terms} terms @param {Event | undefined} last @returns {number} the least amount of the next bid */
const nextAfter = ({ start, increment }, last) => last ? last.amount + increment : start

/** @param {Terms} terms @param {Event[]} events */
const risingFaults = (terms, events) => events.flatMap(({ seq, by, amount }, i) => {
  if (seq !== i + 1) return [`event ${seq} at place ${i + 1}`]
  return by === 'bid' && amount < nextAfter(terms, events[i - 1]) ? [`event ${seq}: ${amount} after ${events[i - 1]?.amount ?? 0}`] : []
})

/** @param {Event[]} events @param {Final} final */
function finalFaults (events, final) {
  const { seq, amount, user } = events.at(-1) ?? { seq: 0, amount: 0, user: '' }
  const isSame = final.seq === seq && final.price === amount && final.leader === user
  return isSame ? [] : [`the state says ${final.price} of ${final.leader} at ${final.seq}, the last event ${amount} of ${user} at ${seq}`]
}

/** @param {Bid[]} bids @param {Event[]} events */
function storedFaults (bids, events) {
  const bySeq = new Map(events.map((event) => [event.seq, event]))
  /** @type {Map<string, Bid>} accepted ones */
  const known = new Map(bids.filter(({ code }) => code === 'accepted').map((bid) => [bid.request, bid]))
  return [
    ...[...known.values()].flatMap(({ seq, user, amount, currentBid, request }) => {
      const event = bySeq.get(seq)
      const isStored = event?.user === user && event.amount === amount && event.request === request
      if (!isStored) return [`accepted ${amount} at ${seq} is not stored`]
      return currentBid === amount ? [] : [`the reply to ${amount} at ${seq} says ${currentBid}`]
    }),
    ...events.filter(({ by, request }) => by === 'bid' && !known.has(request)).map(({ seq }) => `event ${seq} was not accepted`)
  ]
}

/**
 * A rejection names the event at which it was decided. That event was stored before the reply; a bid was too low then, and stays so since
 * prices only rise; a user led then, and no event is known to have come between it and the bid.
 * @param {Bid[]} bids @param {Event[]} events @param {Terms} terms
 */
function rejectionFaults (bids, events, terms) {
  /** @type {Map<string, number>} when each was sent first */
  const sentOf = new Map()
  for (const { request, sent } of bids) sentOf.set(request, Math.min(sent, sentOf.get(request) ?? Infinity))
  const known = knownAtSending(bids)
  return bids.filter(({ code }) => REJECTED.includes(code)).flatMap((bid) => {
    const { code, user, amount, seq, currentBid, minNext, answered } = bid
    const at = events[seq - 1]
    if (seq > 0 && !at) return [`${amount} rejected at event ${seq}, which is not stored`]
    if (at && (sentOf.get(at.request) ?? -Infinity) > answered) return [`${amount} rejected at event ${seq}, which came later`]
    const next = nextAfter(terms, at)
    const isTold = currentBid === (at?.amount ?? 0) && minNext === next
    if (!isTold) return [`the reply at event ${seq} says ${currentBid}, then ${minNext}; expected ${next}`]
    if (code === 'too_low') return amount < next ? [] : [`${amount} rejected at event ${seq}, when ${next} was enough`]
    if (at?.user !== user) return [`${user} did not lead at event ${seq}`]
    const since = known.get(bid) ?? 0
    return seq < since ? [`${user} led at event ${seq}, and bid after event ${since} was known`] : []
  })
}

/** The last event that somebody had heard of when a bid was sent. @param {Bid[]} bids @returns {Map<Bid, number>} */
function knownAtSending (bids) {
  const heard = bids.filter(({ code }) => code === 'accepted').sort((a, b) => a.answered - b.answered)
  const known = new Map()
  let [i, seq] = [0, 0]
  for (const bid of bids.toSorted((a, b) => a.sent - b.sent)) {
    for (; i < heard.length && heard[i].answered < bid.sent; i++) seq = Math.max(seq, heard[i].seq)
    known.set(bid, seq)
  }
  return known
}

/**
 * A soft close moves the end only within its time, up to its bound.
 * @param {Terms} terms @param {Bid[]} bids @param {Event[]} events
 */
function endFaults ({ closeAt: first, softCloseMs, softCloseMaxMs, clockMs }, bids, events) {
  let end = first
  const faults = events.flatMap(({ seq, by, ts, closeAt }) => {
    const before = end
    if (by === 'bid' && ts >= before) return [`event ${seq}`]
    if (closeAt === null) return []
    end = closeAt
    const isDue = before - ts < softCloseMs && closeAt === Math.min(ts + softCloseMs, first + softCloseMaxMs)
    return isDue ? [] : [`event ${seq} moved the end from ${before} to ${closeAt}`]
  })
  const early = bids.filter(({ code, answered }) => code === 'closed' && clockMs + answered < end - CLOCK_MS)
  return [...faults, ...early.map(({ answered }) => `closed ${(end - clockMs - answered).toFixed(0)} ms before the end`)]
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
function replayFaults ({ start, increment, closeAt, softCloseMs, softCloseMaxMs }, events) {
  const oracle = createOracle()
  const admit = (/** @type {string[]} */ args, /** @type {number} */ now, /** @type {string} */ requestId) =>
    oracle.admit([{ rule: 'max', key: 'a', scope: '', requestId, args }], now)[0]
  admit(['create', ...[start, increment, 0, closeAt, softCloseMs, softCloseMaxMs].map(String), '', '', 'EUR'], 0, 'create')
  return events.filter(({ by }) => by === 'bid').flatMap(({ seq, user, amount, ts }) => {
    const { code, details } = admit(['bid', user, String(amount), ''], ts, `bid ${seq}`)
    return code === 'accepted' && Number(details.currentBid) === amount ? [] : [`event ${seq}: ${code}`]
  })
}

/** @param {string} text lines of JSON: terms, bids, events, final state @returns {History} */
export function readHistory (text) {
  const lines = text.split('\n').filter(Boolean).map((line) => JSON.parse(line))
  const of = (/** @type {string} */ kind) => lines.filter((line) => line.kind === kind)
  return { terms: of('terms')[0], bids: of('bid'), events: of('event'), final: of('final')[0] }
}

/** @param {History} history @returns {string} */
export const historyText = ({ terms, bids, events, final }) => [
  { kind: 'terms', ...terms }, ...bids.map((bid) => ({ kind: 'bid', ...bid })), ...events.map((event) => ({ kind: 'event', ...event })),
  { kind: 'final', ...final }
].map((line) => JSON.stringify(line)).join('\n') + '\n'
