/**
 * One local exchange over HTTP, with faults (bin/local).
 *
 *     GET /ticker/:symbol       {symbol, price, volume, ts}; 404: ids that begin with "none", and those that no asset has
 *     GET /calls?since=         {total, symbols, calls}; DELETE starts again at zero
 *
 * @typedef {{ latencyMs: number | null, errorRate: number, hang: boolean, badJson: boolean, html: boolean, wrongSymbol: boolean,
 *   zeroVolume: boolean, outlier: number, stale: number, skewMs: number, rateLimited: number | null, redirect: boolean,
 *   tenMegabytes: boolean, slowBody: boolean }} Faults
 */
import { createLocalService } from '../local/service.js'
import { createCalls } from './calls.js'
import { createTicker } from './ticker.js'

const DAY_MS = 86_400_000
const SINCE = /^\d{1,15}$/
const NO = Object.freeze({ off: false })

/** @type {import('../local/faults.js').FaultTable} */
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
