/**
 * The sources of prices, asked in parallel.
 *
 * @typedef {import('./own.js').Tick} Tick
 * @typedef {ReturnType<typeof createSources>} Sources
 */
import { setMaxListeners } from 'node:events'
import { calls } from 'freshet-feed/systems'
import { callExchange, callOwn, clientOf } from './own.js'

/** Most calls in flight. The sources share them equally, so that one that hangs takes nothing from the others. */
const MAX_CALLS = 64
const CALL_MS = 400

/** @param {number} sources how many there are @returns {number} calls in flight, of one of them */
const limitOf = (sources) => Math.floor(MAX_CALLS / sources)

/**
 * Calls that a source which died gets at most, before its breaker is open.
 * @param {number} sources how many there are
 */
export const thresholdOf = (sources) => Math.max(limitOf(sources), calls.minFailures)

/**
 * @param {{ exchanges: (import('../exchanges/exchanges.js').Exchange | import('./own.js').OwnSource)[], callMs?: number,
 *   resetMs?: number, log?: import('pino').Logger }} options `callMs`: deadline of a call, from its start; `resetMs`: how long a breaker
 *   stays open
 */
export function createSources ({ exchanges, callMs = CALL_MS, resetMs, log }) {
  const limit = limitOf(exchanges.length)
  const sources = exchanges.map((exchange) => createSource({ exchange, limit, callMs, resetMs, log }))
  return {
    /** Never rejects. @param {string} asset an id of prices @returns {Promise<Tick[]>} one of each source, in their order */
    ticks: (asset) => Promise.all(sources.map(({ tick }) => tick(asset))),

    /** @returns {SourceFigures[]} */
    figures: () => sources.map(({ figures }) => figures()),

    /** A source answers, but its price is too old to count. @param {string} exchange */
    noteOld (exchange) { for (const source of sources) if (source.name === exchange) source.noteOld() },

    /** See `thresholdOf`. */
    threshold: thresholdOf(exchanges.length),

    /** Ends calls: their reason is `closed`. */
    close () { for (const source of sources) source.close() }
  }
}

/**
 * What each process that refreshes has published, as one figure for each source: the worst breaker, the slowest latency and the last
 * error that one sees.
 * @param {SourceFigures[][]} all @returns {SourceFigures[]}
 */
export function mergeFigures (all) {
  /** @type {Map<string, SourceFigures>} */
  const merged = new Map()
  for (const one of all.flat()) {
    const before = merged.get(one.exchange) ?? one
    const { breaker, latencyMs } = before
    const { lastError, lastErrorAt } = Number(before.lastErrorAt) > Number(one.lastErrorAt) ? before : one
    merged.set(one.exchange, {
      ...one,
      breaker: calls.states.indexOf(breaker) >= calls.states.indexOf(one.breaker) ? breaker : one.breaker,
      latencyMs: latencyMs === null ? one.latencyMs : Math.max(latencyMs, Number(one.latencyMs)),
      lastError,
      lastErrorAt
    })
  }
  return [...merged.values()]
}

/**
 * One source: the calls of an exchange, or of a function of a user, in turn, behind a circuit breaker.
 *
 * A call waits until fewer than `limit` are in flight, and is refused as soon as the breaker is open. Its deadline starts when it starts.
 *
 * @typedef {{ exchange: string, breaker: 'closed' | 'half-open' | 'open', latencyMs: number | null, lastError: string | null,
 *   lastErrorAt: number | null, calls: number, failures: number, skipped: number, url?: string }} SourceFigures `latencyMs`: moving
 *   average, null before the first reply; `lastError`: reason of the last failure, `lastErrorAt` its time, ms since 1970; `failures`: calls
 *   without a tick; `skipped`: ticks that failed without a call; `url`: of an exchange on this machine, whose faults a page may switch
 */

const MAX_WAITING = 10_000
const LOG_EVERY_MS = 10_000
/** Weight of the newest latency in the moving average. */
const NEWEST = 0.2

/** @typedef {ReturnType<typeof createSource>} Source */

/**
 * @param {{ exchange: import('../exchanges/exchanges.js').Exchange | import('./own.js').OwnSource, limit: number, callMs: number,
 *   resetMs?: number, log?: { warn: (facts: object, message: string) => void } }} options `log`: of what a function of a user throws
 */
function createSource ({ exchange, limit, callMs, resetMs, log }) {
  const breaker = calls.createBreaker({ limit, resetMs })
  const { ask, url, close } = 'ask' in exchange ? asked(exchange, callMs, log) : requested(exchange, callMs, limit)
  const closing = new AbortController()
  // one of each call in flight
  setMaxListeners(limit, closing.signal)
  /** @type {{ asset: string, resolve: (tick: Tick) => void }[]} */
  const waiting = []
  let inFlight = 0
  const figures = {
    latencyMs: /** @type {number | null} */ (null),
    lastError: /** @type {string | null} */ (null),
    lastErrorAt: /** @type {number | null} */ (null),
    calls: 0,
    failures: 0,
    skipped: 0
  }

  /** @param {string} reason @returns {Tick} */
  function skip (reason) {
    figures.skipped++
    return { exchange: exchange.name, ok: false, reason }
  }

  /** Starts what may start, and refuses what may not. */
  function serve () {
    while (waiting.length > 0) {
      const refusal = closing.signal.aborted ? 'closed' : breaker.isRefusing() ? 'breaker_open' : null
      if (refusal === null && !breaker.hasRoom(inFlight)) return
      const { asset, resolve } = /** @type {typeof waiting[number]} */ (waiting.shift())
      if (refusal === null) call(asset).then(resolve)
      else resolve(skip(refusal))
    }
  }

  /** @param {string} asset @returns {Promise<Tick>} */
  async function call (asset) {
    const done = breaker.start()
    const startedMs = performance.now()
    inFlight++
    figures.calls++
    const { tick, pauseMs } = await ask(asset, closing.signal)
    inFlight--
    const tookMs = performance.now() - startedMs
    if (tick.ok) figures.latencyMs = figures.latencyMs === null ? tookMs : figures.latencyMs + NEWEST * (tookMs - figures.latencyMs)
    else fail(tick.reason)
    if (pauseMs === null) done(isFailure(tick))
    else breaker.pause(pauseMs)
    serve()
    return tick
  }

  /** @param {string} reason */
  function fail (reason) {
    figures.failures++
    figures.lastError = reason
    figures.lastErrorAt = Date.now()
  }

  return {
    name: exchange.name,

    /** Its tick was too old. Its calls succeed, so the breaker stays closed. */
    noteOld: () => fail('old'),

    /** @param {string} asset @returns {Promise<Tick>} */
    tick: (asset) => new Promise((resolve) => {
      if (waiting.length === MAX_WAITING) return resolve(skip('busy'))
      waiting.push({ asset, resolve })
      serve()
    }),

    /** @returns {SourceFigures} */
    figures: () => ({
      exchange: exchange.name,
      breaker: breaker.state(),
      ...figures,
      latencyMs: figures.latencyMs === null ? null : Math.round(figures.latencyMs * 10) / 10,
      url
    }),

    close () {
      closing.abort()
      serve()
      close()
    }
  }
}

/**
 * How an exchange is called.
 * @param {import('../exchanges/exchanges.js').Exchange} exchange @param {number} callMs @param {number} limit
 */
function requested (exchange, callMs, limit) {
  const client = clientOf(exchange, { callMs, limit })
  return {
    /** @param {string} asset @param {AbortSignal} signal */
    ask: (asset, signal) => callExchange(exchange, asset, { client, signal }),
    url: calls.localUrl(exchange.base) ?? undefined,
    close: client.close
  }
}

/**
 * How a function of a user is called.
 * @param {import('./own.js').OwnSource} source @param {number} callMs @param {Parameters<typeof createSource>[0]['log']} log
 */
function asked (source, callMs, log) {
  let loggedMs = -Infinity
  return {
    /** @param {string} asset @param {AbortSignal} signal */
    ask: (asset, signal) => callOwn(source, asset, {
      callMs,
      signal,
      onThrown ({ message }) {
        if (performance.now() - loggedMs < LOG_EVERY_MS) return
        loggedMs = performance.now()
        log?.warn({ source: source.name, asset, reason: message }, 'a source of prices threw an error')
      }
    }),
    url: undefined,
    close () {}
  }
}

/** An exchange that does not list an asset is well. @param {Tick} tick */
const isFailure = (tick) => !tick.ok && tick.reason !== 'not_found'
