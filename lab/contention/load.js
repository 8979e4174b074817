/**
 * The load: users who bid on one auction in a closed loop. Each reads the price (that of the last reply), adds 0.50 to 10.00, and bids;
 * one bid in a hundred is sent again, as after a lost reply.
 *
 * @typedef {{ technique: string, driver?: string, users: number, thinkMs: number, warmUpSeconds: number, seconds: number,
 *   closeInMs?: number, softCloseMs?: number, softCloseMaxMs?: number }} Load
 *   `thinkMs`: mean of the wait after a reply, 0 = none
 * @typedef {import('./history.js').Bid} Bid
 */
import { performance } from 'node:perf_hooks'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { prepare } from '../../src/admission/index.js'
import { checkHistory } from './history.js'

const KEY = 'lot'
const [START, INCREMENT] = [1000, 50]
const [LEAST_RISE, MOST_RISE] = [50, 1000]
const REPEATED = 0.01
const HOUR_MS = 3_600_000
/** wait of a user after an error */
const OUTAGE_MS = 20
const RESOLVED_AT_ONCE = 100
/** in which nothing was decided */
const UNDECIDED = ['unknown', 'conflict']

/**
 * @param {import('./techniques.js').Technique} technique @param {Load} load
 * @param {{ onMeasuring?: () => void, onMeasured?: () => Promise<void>, untilQuiet?: () => Promise<void>, signal?: AbortSignal }} [options]
 *   `onMeasured`: at the end of the window, the load goes on until it is done; `untilQuiet`: before the stored events are read
 */
export async function runBids (technique, load, {
  onMeasuring = () => {}, onMeasured = async () => {}, untilQuiet = async () => {}, signal
} = {}) {
  const { users, thinkMs, warmUpSeconds, seconds, closeInMs = HOUR_MS, softCloseMs = 0, softCloseMaxMs = 0 } = load
  const terms = {
    start: START, increment: INCREMENT, closeAt: Date.now() + closeInMs, softCloseMs, softCloseMaxMs, clockMs: performance.timeOrigin
  }
  const given = [START, INCREMENT, 0, terms.closeAt, softCloseMs, softCloseMaxMs].map(String)
  await technique.submit(command('', 'create', ['create', ...given, '', '', 'EUR']))
  /** @type {Bid[]} in the order of their replies */
  const bids = []
  let [price, n] = [START, 0]
  const over = new AbortController()
  const stop = () => over.abort()
  signal?.addEventListener('abort', stop, { once: true })

  /** @param {string} user @param {number} amount @param {string} request */
  async function bid (user, amount, request) {
    const sent = performance.now()
    const answer = await technique.submit(command(user, request, ['bid', user, String(amount), ''])).catch(() => null)
    const { code = 'unknown', seq = 0, isReplay = false, details = {} } = answer ?? {}
    const [currentBid, minNext] = [Number(details.currentBid ?? 0), Number(details.minNext ?? 0)]
    price = Math.max(price, currentBid)
    bids.push({ user, amount, request, sent, answered: performance.now(), code, seq, currentBid, minNext, isReplay })
    return answer !== null
  }

  /** @param {string} user */
  async function use (user) {
    while (!over.signal.aborted) {
      const amount = price + LEAST_RISE + Math.floor(Math.random() * (MOST_RISE - LEAST_RISE))
      const request = String(++n)
      const isAnswered = await bid(user, amount, request)
      if (!isAnswered) await sleep(OUTAGE_MS)
      if (Math.random() < REPEATED) await bid(user, amount, request)
      // also without a wait: replies from memory must not keep others from being read
      await (thinkMs > 0 ? sleep(thinkMs * (0.33 + 1.33 * Math.random())) : turn())
    }
  }

  /** Bids without a reply are sent again, so that their outcome is known. */
  async function resolve () {
    const unknown = bids.filter(({ code }) => code === 'unknown')
    while (unknown.length > 0) {
      await Promise.all(unknown.splice(0, RESOLVED_AT_ONCE).map(({ user, amount, request }) => bid(user, amount, request)))
    }
  }

  const using = Promise.all(Array.from({ length: users }, (_, user) => use(`u${user}`)))
  await sleep(warmUpSeconds * 1000)
  onMeasuring()
  const before = look(technique, bids.length)
  await sleep(seconds * 1000, undefined, { signal }).catch(() => {})
  const after = look(technique, bids.length)
  await onMeasured()
  stop()
  await using
  await untilQuiet()
  await resolve()
  const { events, state } = await technique.stored(KEY)
  const history = {
    terms,
    bids: hashed(bids, load.driver === 'http'),
    events: events.map(eventOf),
    final: { seq: Number(state.seq), price: Number(state.price), leader: state.leader }
  }
  return {
    ...figuresOf(bids.slice(before.bids, after.bids), before, after),
    history,
    invariants: load.technique === 'noop' ? [] : checkHistory(history)
  }
}

/** @param {string} user @param {string} requestId @param {string[]} args */
const command = (user, requestId, args) => ({ rule: 'max', key: KEY, scope: user, requestId, args })

/** Requests as events name them. @param {Bid[]} bids @param {boolean} isOverHttp */
const hashed = (bids, isOverHttp) => bids.map((bid) => {
  const requestId = isOverHttp ? `${bid.user}-${bid.request}` : bid.request
  return { ...bid, request: prepare(command(bid.user, requestId, [])).request }
})

/** @param {import('../../src/admission/index.js').Fields} fields @returns {import('./history.js').Event} */
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

/** @param {import('./techniques.js').Technique} technique @param {number} bids */
const look = ({ counts }, bids) =>
  ({ gatewayCpuMicros: 0, ...counts, bids, atMs: performance.now(), cpu: process.cpuUsage(), loop: performance.eventLoopUtilization() })

/** @param {Bid[]} bids of the window @param {ReturnType<typeof look>} before @param {ReturnType<typeof look>} after */
function figuresOf (bids, before, after) {
  const seconds = (after.atMs - before.atMs) / 1000
  /** @type {Record<string, number[]>} */
  const byCode = {}
  for (const { code, sent, answered } of bids) (byCode[code] ??= []).push(answered - sent)
  const decided = bids.filter(({ code }) => !UNDECIDED.includes(code))
  const accepted = bids.filter(({ code, isReplay }) => code === 'accepted' && !isReplay).length
  const attempts = after.attempts - before.attempts
  return {
    seconds,
    items: decided.length,
    accepted,
    failed: bids.length - decided.length,
    calls: after.calls - before.calls,
    attemptsPerAccepted: attempts > 0 && accepted > 0 ? attempts / accepted : null,
    latencyMs: percentilesOf(decided.map(({ sent, answered }) => answered - sent)),
    latencyMsByCode: Object.fromEntries(Object.entries(byCode).map(([code, values]) =>
      [code, { n: values.length, ...percentilesOf(values) }])),
    cpuMicros: after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system,
    gatewayCpuSeconds: (after.gatewayCpuMicros - before.gatewayCpuMicros) / 1e6,
    loopUse: performance.eventLoopUtilization(after.loop, before.loop).utilization
  }
}

/** @param {number[]} values @returns {{ p50: number, p95: number, p99: number, max: number }} */
function percentilesOf (values) {
  const sorted = Float64Array.from(values).sort()
  const at = (/** @type {number} */ share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}
