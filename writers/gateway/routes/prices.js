/** Commands of prices: assets, tiers, refreshes on demand. */
import {
  bodySchema, choiceField, commandRoute, flagField, ID_TEXT, optional, readCommand, readId, readRequestId, takeBodies
} from '../../../src/http/index.js'
import { assetOf } from '../../../src/systems/prices/index.js'
import { COMMAND_CODES, JSON_TYPE, MAX_BODY_BYTES, send } from './command.js'

const WRITE = /** @type {any} */ ({ access: 'write', system: 'prices' })
const ADMIN = /** @type {any} */ ({ access: 'admin', system: 'prices' })
const PARAMS = { asset: ID_TEXT }
const PLACE = {
  tier: optional(choiceField('hot', 'medium', 'cold')('how often it is refreshed; without it, as it is, or cold')),
  pinned: optional(flagField('whether it stays in that tier, however often it is asked for'))
}
const PLACED = {
  type: 'object',
  properties: { asset: ID_TEXT, tier: { type: 'string', description: 'the one in effect' }, pinned: { type: 'boolean' } }
}
const REFRESHED = {
  type: 'object',
  properties: {
    asset: ID_TEXT,
    status: { type: 'string', enum: ['refreshed', 'in_progress', 'too_soon'] },
    price: { type: 'string' },
    updatedAt: { type: 'integer', description: 'milliseconds since 1970' },
    version: { type: 'integer' }
  }
}

/** @param {string} summary @param {object} body @param {Record<number, object>} content @param {string[]} codes */
const route = (summary, body, content, codes) =>
  commandRoute({ summary, tag: 'prices', params: PARAMS, body, content, codes: [...COMMAND_CODES, ...codes] })

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ prices: import('../../../src/systems/prices/index.js').Prices,
 *   room: import('../../../src/http/index.js').BodyRoom }} parts
 */
export async function priceRoutes (app, { prices, room }) {
  takeBodies(app, { types: [JSON_TYPE], maxBytes: MAX_BODY_BYTES, room })

  /** @param {import('fastify').FastifyRequest} request */
  const placeIn = (request) => /** @type {any} */ (readCommand(request, PLACE))

  app.put('/v1/assets/:asset', {
    config: ADMIN,
    schema: route('Keep the price of an asset, or change how', bodySchema(PLACE), { 200: PLACED, 201: PLACED }, [])
  }, (request, response) => send(response, () => prices.set(assetIn(request), placeIn(request), readRequestId(request))))

  app.put('/v1/tiers/:asset', {
    config: ADMIN,
    schema: route('Change the tier of an asset', bodySchema(PLACE), { 200: PLACED }, ['ASSET_UNKNOWN'])
  }, (request, response) => send(response, () => prices.setTier(assetIn(request), placeIn(request), readRequestId(request))))

  app.post('/v1/prices/:asset/refresh', {
    config: WRITE,
    schema: route('Refresh now; 202: one is in progress, or the last one was a moment ago', bodySchema({}),
      { 200: REFRESHED, 202: REFRESHED }, ['ASSET_UNKNOWN', 'PRICE_SOURCES_FAILED', 'PRICE_REFRESH_LATE'])
  }, (request, response) => send(response, () => {
    if (request.body !== undefined) readCommand(request, {})
    return prices.refresh(assetIn(request), readRequestId(request))
  }))
}

/** @param {import('fastify').FastifyRequest} request */
const assetIn = ({ params }) => assetOf(readId(/** @type {any} */ (params).asset, 'asset'))
