/**
 * One local exchange over HTTP, with faults (demo/local/service.js).
 *
 *     GET /ticker/:symbol       {symbol, price, volume, ts}; 404: ids that begin with "none", and those that no asset has
 *     GET /calls?since=         {total, symbols, calls}; DELETE starts again at zero
 *
 * @typedef {{ latencyMs: number | null, errorRate: number, hang: boolean, badJson: boolean, html: boolean, wrongSymbol: boolean,
 *   zeroVolume: boolean, outlier: number, stale: number, skewMs: number, rateLimited: number | null, redirect: boolean,
 *   tenMegabytes: boolean, slowBody: boolean }} Faults
 */
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { syntheticTick } from '../../src/systems/prices/index.js'
import { createLocalService } from '../local/service.js'

const DAY_MS = 86_400_000
const SINCE = /^\d{1,15}$/
const NO = Object.freeze({ off: false })

/** @type {import('../local/service.js').FaultTable} */
const FAULTS = Object.freeze({
  latencyMs: { off: null, range: [0, 60_000] },
  hang: NO,
  errorRate: { off: 0, range: [0, 1] },
  badJson: NO,
  html: NO,
  wrongSymbol: NO,
  zeroVolume: NO,
  outlier: { off: 1, range: [-1e6, 1e6] },
  stale: { off: 0, range: [0, DAY_MS] },
  skewMs: { off: 0, range: [-DAY_MS, DAY_MS] },
  rateLimited: { off: null, range: [0, 86_400] },
  redirect: NO,
  tenMegabytes: NO,
  slowBody: NO
})

/**
 * @param {{ name: string, seed: number, tickMs: number, latencyMs: number, log: import('pino').Logger }} exchange
 * @returns {import('fastify').FastifyInstance} not listening yet
 */
export function createExchange ({ log, ...exchange }) {
  const service = createLocalService({ table: FAULTS, log, facts: { exchange: exchange.name } })
  const { app } = service
  const answer = createTicker(exchange)
  const calls = createCalls()

  app.get('/ticker/*', (request, reply) => {
    const { '*': symbol } = /** @type {{ '*': string }} */ (request.params)
    const call = calls.add(symbol)
    reply.raw.once('close', () => { if (reply.raw.headersSent) call.status = reply.statusCode })
    return answer(reply, symbol, /** @type {Faults} */ (service.faults()))
  })
  app.get('/calls', async (request, reply) => {
    const { since = '0' } = /** @type {{ since?: string }} */ (request.query)
    if (!SINCE.test(since)) return reply.code(400).send({ error: `since: ${since}; expected the number of a call` })
    return calls.shown(Number(since))
  })
  app.delete('/calls', async () => {
    calls.clear()
    return calls.shown(0)
  })
  return app
}

// One reply of an exchange to `GET /ticker/:symbol`, with its faults.

const LISTED = /^(?!none)[a-z0-9_.:-]{1,64}$/
const SLOW_BYTE_MS = 100
const TEN_MEGABYTES = 10_000_000

/**
 * @param {{ name: string, seed: number, tickMs: number, latencyMs: number }} exchange
 * @returns {(reply: import('fastify').FastifyReply, symbol: string, faults: Faults) => Promise<unknown>}
 */
function createTicker ({ name, seed, tickMs, latencyMs }) {
  let errorsDue = 0

  /** @param {string} symbol @param {Faults} faults */
  function tickerOf (symbol, { wrongSymbol, zeroVolume, outlier, stale, skewMs }) {
    const tick = Math.floor((Date.now() - stale) / tickMs)
    const { price, volume, ts } = syntheticTick({ seed, exchange: name, symbol, tick, tickMs })
    return {
      symbol: wrongSymbol ? `${symbol}.other` : symbol,
      price: outlier === 1 ? price : String(Number(price) * outlier),
      volume: zeroVolume ? '0' : volume,
      ts: ts + skewMs
    }
  }

  /** Errors have exactly their share of the calls. @param {number} rate */
  function isErrorDue (rate) {
    errorsDue += rate
    if (errorsDue < 1) return false
    errorsDue -= 1
    return true
  }

  return async (reply, symbol, faults) => {
    await sleep(faults.latencyMs ?? latencyMs)
    if (faults.hang) return reply.hijack()
    if (faults.rateLimited !== null) {
      return reply.code(429).header('retry-after', String(faults.rateLimited)).send({ error: 'too many requests' })
    }
    if (isErrorDue(faults.errorRate)) return reply.code(500).send({ error: 'fault errorRate' })
    if (faults.redirect) return reply.code(302).header('location', `/ticker/${encodeURIComponent(symbol)}`).send({ error: 'moved' })
    if (faults.html) return reply.type('text/html').send('<!doctype html><title>Maintenance</title>')
    if (!LISTED.test(symbol)) return reply.code(404).send({ error: 'symbol not listed' })
    const ticker = tickerOf(symbol, faults)
    const text = JSON.stringify(faults.tenMegabytes ? { ...ticker, padding: 'x'.repeat(TEN_MEGABYTES) } : ticker)
    reply.type('application/json')
    if (faults.slowBody) return reply.send(Readable.from(slowly(text)))
    return reply.send(faults.badJson ? text.slice(0, -10) : text)
  }
}

/** @param {string} text */
async function * slowly (text) {
  for (const char of text) {
    yield char
    await sleep(SLOW_BYTE_MS)
  }
}

// The calls that an exchange has had: counts by symbol, and the last ones.

const KEPT = 10_000

/** @typedef {{ n: number, at: number, symbol: string, status: number | null }} Call `at`: ms since 1970; `status`: null = no reply yet */

function createCalls () {
  /** @type {Map<string, number>} */
  const bySymbol = new Map()
  /** @type {Call[]} a ring */
  const last = []
  let total = 0

  return {
    /** @param {string} symbol @returns {Call} its status is set with the reply */
    add (symbol) {
      const call = { n: ++total, at: Date.now(), symbol, status: null }
      bySymbol.set(symbol, (bySymbol.get(symbol) ?? 0) + 1)
      last[(total - 1) % KEPT] = call
      return call
    },

    /** @param {number} since number of a call @returns all counts, and the calls after it, as far back as they are kept */
    shown (since) {
      const from = Math.max(since, total - KEPT)
      const calls = Array.from({ length: Math.max(0, total - from) }, (_, i) => last[(from + i) % KEPT])
      return { total, symbols: Object.fromEntries(bySymbol), calls }
    },

    /** Starts again at zero. */
    clear () {
      bySymbol.clear()
      last.length = 0
      total = 0
    }
  }
}
