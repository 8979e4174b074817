/**
 * The load: users who bid on one auction in a closed loop. Each reads the price (that of the last reply), adds 0.50 to 10.00, and bids;
 * one bid in a hundred is sent again, as after a lost reply.
 *
 * @typedef {{ technique: string, driver?: string, users: number, thinkMs: number, warmUpSeconds: number, seconds: number,
 *   closeInMs?: number }} Load
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

/**
 * @param {import('./techniques.js').Technique} technique @param {Load} load
 * @param {{ onMeasuring?: () => void, untilQuiet?: () => Promise<void>, signal?: AbortSignal }} [options] `untilQuiet`: before the stored
 *   events are read
 */
export async function runBids (technique, load, { onMeasuring = () => {}, untilQuiet = async () => {}, signal } = {}) {
  const { users, thinkMs, warmUpSeconds, seconds, closeInMs = HOUR_MS } = load
  const closeAt = Date.now() + closeInMs
  await technique.submit(command('', 'create', ['create', ...[START, INCREMENT, 0, closeAt, 0, 0].map(String), '', '', 'EUR']))
  /** @type {Bid[]} in the order of their replies */
  const bids = []
  let [price, n, failed] = [START, 0, 0]
  const over = new AbortController()
  const stop = () => over.abort()
  signal?.addEventListener('abort', stop, { once: true })

  /** @param {string} user @param {number} amount @param {string} request */
  async function bid (user, amount, request) {
    const sent = performance.now()
    const answer = await technique.submit(command(user, request, ['bid', user, String(amount), ''])).catch(() => null)
    if (answer === null) failed++
    const { code = 'unknown', seq = 0, isReplay = false, details = {} } = answer ?? {}
    if (details.currentBid !== undefined) price = Math.max(price, Number(details.currentBid))
    const minNext = Number(details.minNext ?? 0)
    bids.push({ user, amount, request, sent, answered: performance.now(), code, seq, decidedAtSeq: seq, minNext, isReplay })
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

  const using = Promise.all(Array.from({ length: users }, (_, user) => use(`u${user}`)))
  await sleep(warmUpSeconds * 1000)
  onMeasuring()
  const before = look(technique, bids.length, failed)
  await sleep(seconds * 1000, undefined, { signal }).catch(() => {})
  const after = look(technique, bids.length, failed)
  stop()
  await using
  await untilQuiet()
  const isDecided = load.technique !== 'noop'
  const history = {
    terms: { start: START, increment: INCREMENT, closeAt }, bids: hashed(bids, load.driver === 'http'), events: await eventsOf(technique)
  }
  return {
    ...figuresOf(bids.slice(before.bids, after.bids), before, after),
    history,
    invariants: isDecided ? checkHistory(history) : []
  }
}

/** @param {string} user @param {string} requestId @param {string[]} args */
const command = (user, requestId, args) => ({ rule: 'max', key: KEY, scope: user, requestId, args })

/** Requests as events name them. @param {Bid[]} bids @param {boolean} isOverHttp */
const hashed = (bids, isOverHttp) => bids.map((bid) => {
  const requestId = isOverHttp ? `${bid.user}-${bid.request}` : bid.request
  return { ...bid, request: prepare(command(bid.user, requestId, [])).request }
})

/** @param {import('./techniques.js').Technique} technique */
const eventsOf = async (technique) => (await technique.events(KEY)).map(({ seq, type, user, amount, previous, ts, request }) => ({
  seq: Number(seq), by: type, user, amount: Number(amount), previous: Number(previous), ts: Number(ts), request
}))

/** @param {import('./techniques.js').Technique} technique @param {number} bids @param {number} failed */
const look = ({ counts }, bids, failed) => ({
  ...counts, bids, failed, atMs: performance.now(), cpu: process.cpuUsage(), loop: performance.eventLoopUtilization()
})

/** @param {Bid[]} bids of the window @param {ReturnType<typeof look>} before @param {ReturnType<typeof look>} after */
function figuresOf (bids, before, after) {
  const seconds = (after.atMs - before.atMs) / 1000
  /** @type {Record<string, number[]>} */
  const byCode = {}
  for (const { code, sent, answered } of bids) (byCode[code] ??= []).push(answered - sent)
  const accepted = bids.filter(({ code, isReplay }) => code === 'accepted' && !isReplay).length
  const attempts = after.attempts - before.attempts
  return {
    seconds,
    items: bids.length,
    accepted,
    failed: after.failed - before.failed,
    calls: after.calls - before.calls,
    attemptsPerAccepted: attempts > 0 && accepted > 0 ? attempts / accepted : null,
    latencyMs: percentilesOf(bids.map(({ sent, answered }) => answered - sent)),
    latencyMsByCode: Object.fromEntries(Object.entries(byCode).map(([code, values]) =>
      [code, { n: values.length, ...percentilesOf(values) }])),
    cpuMicros: after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system,
    loopUse: performance.eventLoopUtilization(after.loop, before.loop).utilization
  }
}

/** @param {number[]} values @returns {{ p50: number, p95: number, p99: number, max: number }} */
function percentilesOf (values) {
  const sorted = Float64Array.from(values).sort()
  const at = (/** @type {number} */ share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) }
}
