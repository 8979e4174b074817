/**
 * One source: the calls of an exchange, or of a function of a user, in turn, behind a circuit breaker.
 *
 * A call waits until fewer than `limit` are in flight, and is refused as soon as the breaker is open. Its deadline starts when it starts.
 *
 * @typedef {import('./call.js').Tick} Tick
 * @typedef {{ exchange: string, breaker: 'closed' | 'half-open' | 'open', latencyMs: number | null, lastError: string | null,
 *   lastErrorAt: number | null, calls: number, failures: number, skipped: number, url?: string }} SourceFigures `latencyMs`: moving
 *   average, null before the first reply; `lastError`: reason of the last failure, `lastErrorAt` its time, ms since 1970; `failures`: calls
 *   without a tick; `skipped`: ticks that failed without a call; `url`: of an exchange on this machine, whose faults a page may switch
 */
import { setMaxListeners } from 'node:events'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { calls } from 'freshet-feed/systems'
import { callExchange } from './call.js'
import { callOwn } from './own.js'

const MAX_WAITING = 10_000
const LOG_EVERY_MS = 10_000
/** Weight of the newest latency in the moving average. */
const NEWEST = 0.2

/** @typedef {ReturnType<typeof createSource>} Source */

/**
 * @param {{ exchange: import('../exchanges/exchanges.js').Exchange | import('./own.js').OwnSource, limit: number, callMs: number,
 *   resetMs?: number, log?: { warn: (facts: object, message: string) => void } }} options `log`: of what a function of a user throws
 */
export function createSource ({ exchange, limit, callMs, resetMs, log }) {
  const breaker = calls.createBreaker({ limit, resetMs })
  const { ask, url, close } = 'ask' in exchange ? asked(exchange, log) : requested(exchange, limit)
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
    const { tick, pauseMs } = await ask(asset, { callMs, signal: closing.signal })
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

/** How an exchange is called. @param {import('../exchanges/exchanges.js').Exchange} exchange @param {number} limit */
function requested (exchange, limit) {
  const agent = new (exchange.base.startsWith('https:') ? HttpsAgent : HttpAgent)({ keepAlive: true, maxFreeSockets: limit })
  return {
    /** @param {string} asset @param {{ callMs: number, signal: AbortSignal }} how */
    ask: (asset, how) => callExchange(exchange, asset, { agent, ...how }),
    url: calls.localUrl(exchange.base) ?? undefined,
    close: () => agent.destroy()
  }
}

/**
 * How a function of a user is called.
 * @param {import('./own.js').OwnSource} source @param {Parameters<typeof createSource>[0]['log']} log
 */
function asked (source, log) {
  let loggedMs = -Infinity
  return {
    /** @param {string} asset @param {{ callMs: number, signal: AbortSignal }} how */
    ask: (asset, how) => callOwn(source, asset, {
      ...how,
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
