/** The queries of prices as routes: the newest, several at once, history, tiers, sources, and a stream. */
import { FreshetError } from '../../errors.js'
import { ID_TEXT, integer, number, readId, required, text } from '../../fields/index.js'
import { matchesTag } from '../../replies/index.js'
import { byRequestRow, limitField, listOf, objectOf, pageOf, SEQ, sinceFields, TIME } from '../schemas.js'
import { replyOf } from './commands.js'
import { historyOf } from './history.js'
import { assetOf, TIERS } from './names.js'
import { STATUSES } from './replies.js'

const MAX_MS = 2 ** 41 - 1
const MAX_ASSETS = 100
const HOUR_MS = 3_600_000
const RULE = 'latest'
const ONE_ID = ID_TEXT.pattern.slice(1, -1)
const JSON_TYPE = 'application/json; charset=utf-8'
const DECIMAL = { type: 'string', description: 'decimal, without an exponent' }
const TIER = { type: 'string', enum: TIERS }

const SOURCE = {
  ...objectOf({ exchange: { type: 'string' }, ok: { type: 'boolean' }, ts: TIME, reason: { type: 'string' } }), additionalProperties: true
}
const PRICE = objectOf({
  asset: ID_TEXT,
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

/** @param {string} given @returns {string[]} */
function readAssets (given) {
  const ids = given.split(',')
  if (ids.length > MAX_ASSETS) throw new RangeError('too many')
  return ids.map((id) => assetOf(readId(id, 'assets')))
}

/** @param {Record<string, any>} query */
function rangeIn (query) {
  const to = query.to ?? Date.now()
  const from = query.from ?? Math.max(0, to - HOUR_MS)
  if (from > to) throw new FreshetError('REQUEST_INVALID', `from: ${from}; expected a time not after \`to\`, ${to}`)
  return { from, to, stepMs: query.step }
}

/** @param {import('../../admission/index.js').KeyState} asset */
const shownAsset = ({ key, fields: { tier, pinned, seq } }) => ({ asset: key, tier, pinned: pinned === '1', seq: Number(seq) })

/** @type {import('../definition.js').System['queries']} */
export const QUERIES = {
  one: {
    path: '/v1/prices/:asset',
    summary: 'The newest price',
    fields: sinceFields(),
    reply: PRICE,
    codes: ['ASSET_UNKNOWN', 'PRICE_NO_DATA', 'PRICE_NO_QUORUM', 'PRICE_EXPIRED'],
    async run ({ params, query, headers: given }, { reading, price, encoder, now, metrics }, reply) {
      const asset = assetOf(params.asset)
      const read = query.minSeq === null ? null : await reading.since(asset, query)
      const found = await price(asset, read).catch((/** @type {any} */ error) => {
        if (STATUSES[error.code]) metrics.missed(STATUSES[error.code])
        throw error
      })
      const answer = encoder.replyOf(found, now())
      const { body, headers } = answer
      metrics.served(answer)
      reply.headers(headers)
      if (matchesTag(given['if-none-match'], headers.etag)) return reply.code(304).send()
      return reply.type(JSON_TYPE).send(body)
    }
  },
  several: {
    path: '/v1/prices',
    summary: 'The newest prices of several assets',
    fields: {
      assets: required(text(readAssets, {
        description: `ids, separated by commas, at most ${MAX_ASSETS}`,
        expects: `1-${MAX_ASSETS} ids, separated by commas`,
        schema: { type: 'string', pattern: `^${ONE_ID}(,${ONE_ID}){0,${MAX_ASSETS - 1}}$` }
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
    reply: withMore(listOf(POINT), { asset: ID_TEXT }),
    codes: ['ASSET_UNKNOWN'],
    run: ({ params: { asset }, query }, own) => historyOf(own, assetOf(asset), rangeIn(query))
  },
  byRequest: byRequestRow({
    path: '/v1/assets/:asset',
    codes: ['ASSET_UNKNOWN'],
    fields: {},
    replyTo: async (id, { requestId }, { reading }) => replyOf(assetOf(id), await reading.byRequest(RULE, assetOf(id), '', requestId))
  }),
  list: {
    path: '/v1/assets',
    summary: 'Assets by id, with their tiers',
    fields: {
      after: text((given) => readId(given, 'after'), { description: '`next` of the page before', expects: 'an id', schema: ID_TEXT }),
      limit: limitField('assets')
    },
    reply: pageOf(objectOf({ asset: ID_TEXT, tier: TIER, pinned: { type: 'boolean' }, seq: SEQ })),
    none: () => ({ items: [], next: null }),
    async run ({ query: { after, limit } }, { reading, view }) {
      /** @type {string[]} */
      const assets = await reading.names(RULE, after !== null)
      const page = assets.filter((asset) => after === null || asset > after).slice(0, limit)
      const all = await Promise.all(page.map((asset) => view.get(asset)))
      const items = all.flatMap((one) => one ? [shownAsset(one)] : [])
      return { items, next: page.length > 0 && page.at(-1) !== assets.at(-1) ? String(page.at(-1)) : null }
    }
  },
  sources: {
    path: '/v1/sources',
    summary: 'The sources, as the processes see them that refresh',
    reply: listOf(SOURCE_FIGURES),
    none: () => ({ items: [] }),
    run: async (_given, { sources }) => ({ items: await sources() })
  }
}

/** @type {import('../definition.js').StreamRoute} */
export const STREAM = {
  path: '/v1/prices/:asset/live',
  subject: 'asset',
  summary: 'Events `price`: when it has moved by minChange, or at the heartbeat (10 s)',
  fields: { minChange: number(0.001, 100, { description: 'percent by which the price must have moved for an event', default: 0.001 }) },
  reply: PRICE,
  codes: ['ASSET_UNKNOWN'],
  source: ({ params: { asset }, query: { minChange } }, { live }) => live.sourceOf(assetOf(asset), minChange)
}
