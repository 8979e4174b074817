/** One reply of an exchange to `GET /ticker/:symbol`, with its faults. */
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { syntheticTick } from '../../src/systems/prices/index.js'

/** @typedef {import('./server.js').Faults} Faults */

const LISTED = /^(?!none)[a-z0-9_.:-]{1,64}$/
const SLOW_BYTE_MS = 100
const TEN_MEGABYTES = 10_000_000

/**
 * @param {{ name: string, seed: number, tickMs: number, latencyMs: number }} exchange
 * @returns {(reply: import('fastify').FastifyReply, symbol: string, faults: Faults) => Promise<unknown>}
 */
export function createTicker ({ name, seed, tickMs, latencyMs }) {
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
