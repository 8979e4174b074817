/** The queries of prices as routes: the newest, several at once, history, tiers, sources, and a stream. */
import { fields, FreshetError, queries, schemas } from 'freshet-feed/systems'
import { compare, decimalOf } from './decimals.js'
import { replyOf } from './commands.js'
import { assetOf, TIERS } from './settings.js'
import { STATUSES } from './replies.js'
import { mergeFigures } from './sources/sources.js'

/**
 * Prices of a time range: from the event stream of the asset, and what is older from the history store.
 *
 * @typedef {Pick<import('freshet-feed/systems').ReaderParts, 'events'> & { store: import('./queries.js').Store | null }} Own `store`: null:
 *   there is none
 * @typedef {import('freshet-feed/systems').Event} Event
 * @typedef {{ at: number, price: string, seq: number }} Point `at`: ms since 1970; `price`: decimal text, as it was stored
 * @typedef {{ at: number, open: string, high: string, low: string, close: string, points: number }} Candle `at`: its beginning
 */

const MAX_POINTS = 10_000

/**
 * @param {Event[]} events all that are kept, the oldest first @param {Own['store']} store
 * @param {string} asset @param {number} from @param {number} to ms since 1970
 * @returns {Promise<Point[]>}
 */
async function pointsOf (events, store, asset, from, to) {
  const all = events.filter(({ type }) => type === 'price').map(({ at, price, seq }) => ({ at: Number(at), price: String(price), seq }))
  const points = all.filter(({ at }) => at >= from && at <= to)
  if (store === null || (all.length > 0 && all[0].at <= from)) return points
  const last = all.length > 0 ? Math.min(to, all[0].at - 1) : to
  const older = await store.history(asset, from, last, MAX_POINTS).catch((error) => {
    // its first event is here, so most likely there is nothing older
    if (events[0]?.seq !== 1) throw error
    return []
  })
  return [...older, ...points]
}

/**
 * @param {Own} own @param {string} asset @param {{ from: number, to: number, stepMs: number | null }} range ms since 1970, both included
 * @returns {Promise<{ asset: string, items: object[] }>} the newest 10,000 prices, the oldest of them first, or open, high, low and close
 *   of each step
 * @throws {FreshetError} ASSET_UNKNOWN
 */
export async function historyOf ({ events: read, store }, asset, { from, to, stepMs }) {
  let unknown = null
  const events = await read(asset, { after: 0, limit: MAX_POINTS }).catch((error) => {
    if (error.code !== 'ASSET_UNKNOWN') throw error
    // the store has what the servers may have lost
    unknown = error
    return []
  })
  const points = (await pointsOf(events, store, asset, from, to)).slice(-MAX_POINTS)
  if (points.length === 0 && unknown) throw unknown
  return { asset, items: stepMs === null ? points : candles(points, stepMs) }
}

/**
 * Steps begin at multiples of `stepMs`. A step without a price has no candle.
 * @param {Pick<Point, 'at' | 'price'>[]} points in order of time @param {number} stepMs @returns {Candle[]}
 */
export function candles (points, stepMs) {
  /** @type {Candle[]} */
  const all = []
  for (const { at, price } of points) {
    const begin = Math.floor(at / stepMs) * stepMs
    const last = all.at(-1)
    if (last?.at !== begin) {
      all.push({ at: begin, open: price, high: price, low: price, close: price, points: 1 })
      continue
    }
    if (isLess(last.high, price)) last.high = price
    if (isLess(price, last.low)) last.low = price
    last.close = price
    last.points++
  }
  return all
}

/** @param {string} one @param {string} other prices, as they were stored */
const isLess = (one, other) => compare(read(one), read(other)) < 0
const read = (/** @type {string} */ price) => /** @type {import('./decimals.js').Decimal} */ (decimalOf(price))

const { id: ID, listOf, objectOf, pageOf, seq: SEQ, time: TIME } = schemas
const { integer, limit, number, required, since, text } = fields.query
const MAX_MS = 2 ** 41 - 1
const MAX_ASSETS = 100
const HOUR_MS = 3_600_000
const RULE = 'latest'
const ONE_ID = /** @type {any} */ (ID).pattern.slice(1, -1)
const IDS = `^${ONE_ID}(,${ONE_ID}){0,${MAX_ASSETS - 1}}$`
const JSON_TYPE = 'application/json; charset=utf-8'
const DECIMAL = { type: 'string', description: 'decimal, without an exponent' }
const TIER = { type: 'string', enum: TIERS }

const SOURCE = {
  ...objectOf({ exchange: { type: 'string' }, ok: { type: 'boolean' }, ts: TIME, reason: { type: 'string' } }), additionalProperties: true
}
const PRICE = objectOf({
  asset: ID,
  price: DECIMAL,
  updatedAt: { ...TIME, description: 'when its refresh began, milliseconds since 1970' },
  asOf: { ...TIME, description: 'its time by its sources, from which Age and the expiries count' },
  tier: TIER,
  status: {
    type: 'string',
    description: 'fresh; stale: past the soft expiry; degraded: the last refresh failed. Of several assets also unknown, no_data, ' +
      'no_quorum, expired: no price'
  },
  seq: SEQ,
  sources: { type: 'array', items: SOURCE },
  failed: {
    ...objectOf({ at: TIME, reason: { type: 'string' } }),
    description: 'of a degraded price, or, of several assets, of one without a price: the last refresh',
    additionalProperties: true
  }
})
const POINT = objectOf({ at: TIME, price: DECIMAL, seq: SEQ, open: DECIMAL, high: DECIMAL, low: DECIMAL, close: DECIMAL })
const SOURCE_FIGURES = {
  ...objectOf({
    exchange: { type: 'string' },
    breaker: { type: 'string', enum: ['closed', 'open', 'half-open'] },
    latencyMs: { type: ['number', 'null'] },
    lastError: { type: ['string', 'null'] },
    lastErrorAt: { type: ['integer', 'null'], description: 'ms since 1970' },
    url: { type: 'string', description: 'of an exchange on the machine of that process: its faults can be switched there' }
  }),
  additionalProperties: true
}
/** @param {ReturnType<typeof objectOf>} list @param {Record<string, object>} more */
const withMore = (list, more) => ({ ...list, properties: { ...list.properties, ...more } })

/** @param {Record<string, any>} query */
function rangeIn (query) {
  const to = query.to ?? Date.now()
  const from = query.from ?? Math.max(0, to - HOUR_MS)
  if (from > to) throw new FreshetError('REQUEST_INVALID', `from: ${from}; expected a time not after \`to\`, ${to}`)
  return { from, to, stepMs: query.step }
}

/** @param {import('freshet-feed/systems').Found} asset */
const shownAsset = ({ key, fields: { tier, pinned, seq } }) => ({ asset: key, tier, pinned: pinned === '1', seq: Number(seq) })

/** @type {import('freshet-feed/systems').System['queries']} */
export const QUERIES = {
  one: {
    path: '/v1/prices/:asset',
    summary: 'The newest price',
    fields: since(),
    reply: PRICE,
    codes: ['ASSET_UNKNOWN', 'PRICE_NO_DATA', 'PRICE_NO_QUORUM', 'PRICE_EXPIRED'],
    async run ({ params, query }, { price, encoder, now, metrics }, reply, parts) {
      const asset = assetOf(params.asset)
      const read = query.minSeq === null ? null : await parts.since(asset, query)
      const found = await price(asset, read).catch((/** @type {any} */ error) => {
        if (STATUSES[error.code]) metrics.missed(STATUSES[error.code])
        throw error
      })
      const answer = encoder.replyOf(found, now())
      const { body, headers } = answer
      metrics.served(answer)
      reply.headers(headers)
      return reply.type(JSON_TYPE).send(body)
    }
  },
  several: {
    path: '/v1/prices',
    summary: 'The newest prices of several assets',
    fields: {
      assets: required(text((given) => given.split(',').map(assetOf), {
        description: `ids, separated by commas, at most ${MAX_ASSETS}`,
        expects: `1-${MAX_ASSETS} ids, separated by commas`,
        schema: { type: 'string', pattern: IDS }
      }))
    },
    reply: withMore(listOf(PRICE), { asOf: TIME }),
    none: ({ query: { assets } }) =>
      ({ items: assets.map((/** @type {string} */ asset) => ({ asset, status: 'unknown' })), asOf: Date.now() }),
    async run ({ query: { assets } }, { prices, encoder, now, metrics }, reply) {
      const found = await prices(assets)
      const asOf = now()
      const texts = found.map((/** @type {any} */ one) => {
        if (!('fields' in one)) {
          metrics.missed(one.status)
          return JSON.stringify(one)
        }
        const answer = encoder.replyOf(one, asOf)
        metrics.served(answer)
        return answer.body.toString()
      })
      return reply.type(JSON_TYPE).send(`{"items":[${texts.join(',')}],"asOf":${asOf}}`)
    }
  },
  history: {
    path: '/v1/prices/:asset/history',
    summary: 'Prices of a time range, the oldest first, or candles',
    fields: {
      from: integer(0, MAX_MS, { description: 'first time, milliseconds since 1970; without it, an hour before `to`' }),
      to: integer(0, MAX_MS, { description: 'last time; without it, now' }),
      step: integer(1000, MAX_MS, { description: 'ms; open, high, low and close of each step instead of prices' })
    },
    reply: withMore(listOf(POINT), { asset: ID }),
    codes: ['ASSET_UNKNOWN'],
    run: ({ params: { asset }, query }, { store }, _reply, { events }) => historyOf({ events, store }, assetOf(asset), rangeIn(query))
  },
  byRequest: queries.byRequest({
    path: '/v1/assets/:asset',
    codes: ['ASSET_UNKNOWN'],
    fields: {},
    replyTo: async (id, { requestId }, _own, { byRequest }) => replyOf(assetOf(id), await byRequest(RULE, assetOf(id), '', requestId))
  }),
  list: {
    path: '/v1/assets',
    summary: 'Assets by id, with their tiers',
    fields: {
      after: fields.query.id('`next` of the page before'),
      limit: limit('assets')
    },
    reply: pageOf(objectOf({ asset: ID, tier: TIER, pinned: { type: 'boolean' }, seq: SEQ })),
    none: () => ({ items: [], next: null }),
    async run ({ query: { after, limit: most } }, _own, _reply, { names, find }) {
      /** @type {string[]} */
      const assets = await names(RULE, after !== null)
      const page = assets.filter((asset) => after === null || asset > after).slice(0, most)
      const all = await Promise.all(page.map((asset) => find(asset)))
      const items = all.flatMap((one) => one ? [shownAsset(one)] : [])
      return { items, next: page.length > 0 && page.at(-1) !== assets.at(-1) ? String(page.at(-1)) : null }
    }
  },
  sources: {
    path: '/v1/sources',
    summary: 'The sources, as the processes see them that refresh',
    reply: listOf(SOURCE_FIGURES),
    none: () => ({ items: [] }),
    run: async (_given, _own, _reply, { figures }) => ({ items: mergeFigures(await figures()) })
  }
}

/** @type {import('freshet-feed/systems').StreamRoute} */
export const STREAM = {
  path: '/v1/prices/:asset/live',
  subject: 'asset',
  summary: 'Events `price`: when it has moved by minChange, or at the heartbeat (10 s)',
  fields: { minChange: number(0.001, 100, { description: 'percent by which the price must have moved for an event', default: 0.001 }) },
  reply: PRICE,
  codes: ['ASSET_UNKNOWN'],
  source: ({ params: { asset }, query: { minChange } }, { live }) => live.sourceOf(assetOf(asset), minChange)
}
