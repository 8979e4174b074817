/** One reply of an exchange to `GET /ticker/:symbol`, with its faults. */
import { setTimeout as sleep } from 'node:timers/promises'
import { syntheticTick } from '../../src/systems/prices/index.js'
import { reply } from './reply.js'

/**
 * @typedef {import('node:http').ServerResponse} Response
 * @typedef {import('./faults.js').Faults} Faults
 */

const LISTED = /^(?!none)[a-z0-9_.:-]{1,64}$/
const SLOW_BYTE_MS = 100
const TEN_MEGABYTES = 10_000_000

/**
 * @param {{ name: string, seed: number, tickMs: number, latencyMs: number }} exchange
 * @returns {(response: Response, symbol: string, faults: Faults) => Promise<void>}
 */
export function createTicker ({ name, seed, tickMs, latencyMs }) {
  let errorsDue = 0

  /** @param {string} symbol @param {Faults} faults */
  function tickerOf (symbol, { wrongSymbol, zeroVolume, outlier, stale, skewMs }) {
    const tick = Math.floor((Date.now() - stale) / tickMs)
    const { price, volume, ts } = syntheticTick({ seed, exchange: name, symbol, tick, tickMs })
    return {
      symbol: wrongSymbol ? `${symbol}.other` : symbol,
      price: outlier === 1 ? price : (Number(price) * outlier).toFixed(8),
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

  return async (response, symbol, faults) => {
    await sleep(faults.latencyMs ?? latencyMs)
    if (faults.hang) return
    if (faults.rateLimited !== null) return refuse(response, faults.rateLimited)
    if (isErrorDue(faults.errorRate)) return reply(response, 500, { error: 'fault errorRate' })
    if (faults.redirect) return reply(response, 302, { error: 'moved' }, { location: `/ticker/${encodeURIComponent(symbol)}` })
    if (faults.html) return replyText(response, '<!doctype html><title>Maintenance</title>', 'text/html')
    if (!LISTED.test(symbol)) return reply(response, 404, { error: 'symbol not listed' })
    const ticker = tickerOf(symbol, faults)
    const text = JSON.stringify(faults.tenMegabytes ? { ...ticker, padding: 'x'.repeat(TEN_MEGABYTES) } : ticker)
    if (faults.slowBody) return replySlowly(response, text)
    replyText(response, faults.badJson ? text.slice(0, -10) : text, 'application/json')
  }
}

/** @param {Response} response @param {number} seconds */
const refuse = (response, seconds) => reply(response, 429, { error: 'too many requests' }, { 'retry-after': String(seconds) })

/** @param {Response} response @param {string} text @param {string} type */
const replyText = (response, text, type) => { response.writeHead(200, { 'content-type': type }).end(text) }

/** @param {Response} response @param {string} text */
async function replySlowly (response, text) {
  response.writeHead(200, { 'content-type': 'application/json' })
  for (const char of text) {
    if (response.destroyed) return
    response.write(char)
    await sleep(SLOW_BYTE_MS)
  }
  response.end()
}
