/** Feeds that are created, or whose retention is changed, without an item. */
import { FreshetError } from '../errors.js'
import { FEED_FIELD } from '../../../src/feeds/index.js'
import { choiceField, NO_FIELDS, optional, wholeField } from '../../../src/fields/index.js'
import { feedRoute, readObject, takeBodies } from '../../../src/http/index.js'
import { layoutNames } from '../../../src/layouts/index.js'

const JSON_TYPE = 'application/json'
const MAX_BODY_BYTES = 16 * 1024
const FIELDS = {
  layout: optional(choiceField(...layoutNames())('storage layout of a partition; without it, that of the gateway')),
  partitions: optional(wholeField(1, 1024)('number of partitions')),
  late: optional(choiceField('newest', 'overwrite')('which version of an id counts (layout ids)')),
  windowMs: optional(wholeField(0, 2 ** 41 - 1)('maximum age of live items in milliseconds; 0 = no limit')),
  maxItems: optional(wholeField(0, 1e9)('maximum number of ids (layout ids) or versions per partition; 0 = no limit'))
}
const DEFINITION = { type: 'object', description: 'the definition, as GET /v1/feeds/:feed of a reader returns it' }
const PUT = feedRoute({
  summary: 'Create a feed (201), or change the retention of an existing one (200). For what is not given, the settings of the gateway ' +
    'count for a new feed; an existing one stays as it is',
  params: { feed: FEED_FIELD },
  query: NO_FIELDS,
  command: FIELDS,
  content: { [JSON_TYPE]: DEFINITION },
  isCached: false,
  codes: ['PAYLOAD_TOO_LARGE', 'MEDIA_TYPE_UNSUPPORTED', 'FIELD_INVALID', 'FEED_DEFINITION_DIFFERS']
})
const SCHEMA = { ...PUT, response: { ...PUT.response, 201: /** @type {any} */ (PUT.response)[200] } }

/** @typedef {(feed: string, asked: Record<string, any>) => ReturnType<typeof import('../../../src/feeds/index.js').putFeed>} Put */

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ put: Put, budget: import('../../../src/http/index.js').BodyBudget }} parts
 */
export async function feedRoutes (app, { put, budget }) {
  takeBodies(app, { types: [JSON_TYPE], maxBytes: MAX_BODY_BYTES, budget })

  const config = /** @type {any} */ ({ access: 'admin' })
  app.put('/v1/feeds/:feed', { schema: SCHEMA, config, preValidation: readObject }, async (request, response) => {
    const { feed } = /** @type {any} */ (request.params)
    const asked = Object.fromEntries(Object.entries(/** @type {any} */ (request.body)).filter(([, value]) => value !== null))
    const { definition, isNew } = await put(feed, asked).catch((error) => {
      throw error.code === 'SETTINGS_INVALID' ? new FreshetError('FIELD_INVALID', error.message) : error
    })
    return response.code(isNew ? 201 : 200).send(definition)
  })
}
