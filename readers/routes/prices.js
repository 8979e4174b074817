/** Prices: the newest, several at once, history, a stream; tiers and sources. */
import { commandRoute, ID_TEXT, integer, number, querySchema, readId, readQuery, required, text } from '../../src/http/index.js'
import { matchesTag } from '../../src/replies/index.js'
import { assetOf, STATUSES } from '../../src/systems/prices/index.js'
import { FreshetError } from '../errors.js'
import { attachStream } from './live-stream.js'

const TAG = 'prices'
const READ = /** @type {any} */ ({ access: 'read', system: TAG })
const MAX_MS = 2 ** 41 - 1
const MAX_ASSETS = 100
const MAX_PAGE = 1000
const PAGE = 100
const HOUR_MS = 3_600_000
const PARAMS = { asset: ID_TEXT }
const ONE_ID = ID_TEXT.pattern.slice(1, -1)
const TIME = { type: 'integer', description: 'milliseconds since 1970' }
const DECIMAL = { type: 'string', description: 'decimal, at most 8 places' }

const PRICE = {
  type: 'object',
  properties: {
    asset: ID_TEXT,
    price: DECIMAL,
    updatedAt: { ...TIME, description: 'when its refresh began, milliseconds since 1970' },
    asOf: { ...TIME, description: 'its time by its sources, from which Age and the expiries count' },
    tier: { type: 'string', enum: ['hot', 'medium', 'cold'] },
    status: {
      type: 'string',
      description: 'fresh; stale: past the soft expiry; degraded: the last refresh failed. Of several assets also unknown, no_data, ' +
        'no_quorum, expired: no price'
    },
    version: { type: 'integer', description: 'grows with each change of the asset' },
    sources: {
      type: 'array',
      items: {
        type: 'object',
        properties: { exchange: { type: 'string' }, ok: { type: 'boolean' }, ts: TIME, reason: { type: 'string' } },
        additionalProperties: true
      }
    },
    failed: {
      type: 'object',
      description: 'of a degraded price: the last refresh',
      properties: { at: TIME, reason: { type: 'string' } },
      additionalProperties: true
    }
  }
}
const POINT = {
  type: 'object',
  properties: { at: TIME, price: DECIMAL, version: { type: 'integer' }, open: DECIMAL, high: DECIMAL, low: DECIMAL, close: DECIMAL }
}
const list = (/** @type {object} */ items, /** @type {object} */ more = {}) =>
  ({ type: 'object', properties: { items: { type: 'array', items }, ...more } })

const SEVERAL = {
  assets: required(text((given) => readAssets(given), {
    description: `ids, separated by commas, at most ${MAX_ASSETS}`,
    expects: `1-${MAX_ASSETS} ids, separated by commas`,
    schema: { type: 'string', pattern: `^${ONE_ID}(,${ONE_ID}){0,${MAX_ASSETS - 1}}$` }
  }))
}
const RANGE = {
  from: integer(0, MAX_MS, { description: 'first time, milliseconds since 1970; without it, an hour before `to`' }),
  to: integer(0, MAX_MS, { description: 'last time; without it, now' }),
  step: integer(1000, MAX_MS, { description: 'ms; open, high, low and close of each step instead of prices' })
}
const MOVES = { minChange: number(0.001, 100, { description: 'percent by which the price must have moved for an event', default: 0.001 }) }
const LIST = {
  after: text((given) => readId(given, 'after'), { description: '`next` of the page before', expects: 'an id', schema: ID_TEXT }),
  limit: integer(1, MAX_PAGE, { description: 'assets of a page', default: PAGE })
}
const NONE = Object.freeze({})
const MISSING = ['ASSET_UNKNOWN', 'PRICE_NO_DATA', 'PRICE_NO_QUORUM', 'PRICE_EXPIRED']

/** @param {string} given @returns {string[]} */
function readAssets (given) {
  const ids = given.split(',')
  if (ids.length > MAX_ASSETS) throw new RangeError('too many')
  return ids.map((id) => assetOf(readId(id, 'assets')))
}

/** @param {string} summary @param {object} content @param {Parameters<typeof querySchema>[0]} fields @param {string[]} codes */
const route = (summary, content, fields, codes) => commandRoute({
  summary, tag: TAG, query: querySchema(fields), content: { 200: content }, codes
})
/** @type {typeof route} */
const assetRoute = (summary, content, fields, codes) => commandRoute({
  summary, tag: TAG, params: PARAMS, query: querySchema(fields), content: { 200: content }, codes
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ systems: ReturnType<typeof import('../systems.js').openSystems>, push: import('../../src/push/index.js').Push,
 *   access: import('../../src/http/index.js').Access | null }} parts
 */
export async function priceRoutes (app, { systems, push, access }) {
  app.addHook('onSend', async (_request, reply) => { if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store') })
  const opened = () => systems.prices(push)

  app.get('/v1/prices/:asset', { config: READ, schema: assetRoute('The newest price', PRICE, NONE, MISSING) }, async (request, reply) => {
    readQuery(request, NONE)
    const { queries, encoder, now, metrics } = await opened()
    const found = await queries.price(assetIn(request)).catch((error) => {
      if (STATUSES[error.code]) metrics.missed(STATUSES[error.code])
      throw error
    })
    const answer = encoder.replyOf(found, now())
    const { body, headers } = answer
    metrics.served(answer)
    reply.headers(headers)
    if (matchesTag(request.headers['if-none-match'], headers.etag)) return reply.code(304).send()
    return reply.type('application/json; charset=utf-8').send(body)
  })

  app.get('/v1/prices', {
    config: READ, schema: route('The newest prices of several assets', list(PRICE, { asOf: TIME }), SEVERAL, [])
  }, async (request, reply) => {
    const { assets } = readQuery(request, SEVERAL)
    const system = await orNone(opened, null)
    // before the first asset there is no system
    if (system === null) return { items: assets.map((/** @type {string} */ asset) => ({ asset, status: 'unknown' })), asOf: Date.now() }
    const { queries, encoder, now, metrics } = system
    const found = await queries.prices(assets)
    const asOf = now()
    const texts = found.map((one) => {
      if (!('fields' in one)) {
        metrics.missed(one.status)
        return JSON.stringify(one)
      }
      const answer = encoder.replyOf(one, asOf)
      metrics.served(answer)
      return answer.body.toString()
    })
    return reply.type('application/json; charset=utf-8').send(`{"items":[${texts.join(',')}],"asOf":${asOf}}`)
  })

  app.get('/v1/prices/:asset/history', {
    config: READ,
    schema: assetRoute('Prices of a time range, the oldest first, or candles', list(POINT, { asset: ID_TEXT }), RANGE, ['ASSET_UNKNOWN'])
  }, async (request) => {
    const { from, to, step } = rangeIn(request)
    return (await opened()).queries.history(assetIn(request), { from, to, stepMs: step })
  })

  listRoutes(app, opened)
  liveRoute(app, { opened, push, access })
}

/** @param {import('fastify').FastifyInstance} app @param {() => Promise<import('../open-prices.js').OpenPrices>} opened */
function listRoutes (app, opened) {
  app.get('/v1/tiers', {
    config: READ,
    schema: route('Assets by id, with their tiers', list({
      type: 'object', properties: { asset: ID_TEXT, tier: PRICE.properties.tier, pinned: { type: 'boolean' } }
    }, { next: { type: ['string', 'null'], description: 'for `after`' } }), LIST, [])
  }, async (request) => {
    const page = /** @type {any} */ (readQuery(request, LIST))
    return orNone(async () => (await opened()).queries.tiers(page), { items: [], next: null })
  })

  app.get('/v1/sources', {
    config: READ,
    schema: route('The sources, as the processes see them that refresh', list({
      type: 'object',
      properties: {
        exchange: { type: 'string' },
        breaker: { type: 'string', enum: ['closed', 'open', 'half-open'] },
        latencyMs: { type: ['number', 'null'] },
        lastError: { type: ['string', 'null'] },
        url: { type: 'string', description: 'of an exchange on the machine of that process: its faults can be switched there' }
      },
      additionalProperties: true
    }), NONE, [])
  }, async (request) => {
    readQuery(request, NONE)
    return orNone(async () => ({ items: await (await opened()).sources() }), { items: [] })
  })
}

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ opened: () => Promise<import('../open-prices.js').OpenPrices>, push: import('../../src/push/index.js').Push,
 *   access: import('../../src/http/index.js').Access | null }} parts
 */
function liveRoute (app, { opened, push, access }) {
  // HEAD would never end
  app.get('/v1/prices/:asset/live', {
    config: READ,
    schema: commandRoute({
      summary: 'Events `price`: when it has moved by minChange, or at the heartbeat (10 s)',
      tag: TAG,
      params: PARAMS,
      query: querySchema(MOVES),
      content: { 200: PRICE },
      type: 'text/event-stream',
      codes: ['ASSET_UNKNOWN']
    }),
    exposeHeadRoute: false
  }, async (request, reply) => {
    const { minChange } = readQuery(request, MOVES)
    const asset = assetIn(request)
    const { queries, live } = await opened()
    await queries.known(asset)
    attachStream(request, reply, { system: TAG, push, access, source: live.sourceOf(asset, minChange) })
  })
}

/** @param {import('fastify').FastifyRequest} request */
function rangeIn (request) {
  const given = readQuery(request, RANGE)
  const to = given.to ?? Date.now()
  const from = given.from ?? Math.max(0, to - HOUR_MS)
  if (from > to) throw new FreshetError('REQUEST_INVALID', `from: ${from}; expected a time not after \`to\`, ${to}`)
  return { from, to, step: given.step }
}

/**
 * Before the first asset there is no system, and nothing to list.
 * @template T, N @param {() => Promise<T>} run @param {N} none @returns {Promise<T | N>}
 */
const orNone = (run, none) => run().catch((error) => {
  if (error.code === 'ASSET_UNKNOWN') return none
  throw error
})

/** @param {import('fastify').FastifyRequest} request */
const assetIn = ({ params }) => assetOf(readId(/** @type {any} */ (params).asset, 'asset'))
