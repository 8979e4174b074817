/** Dead letters of systems: list, replay, discard. */
import { described, ID_TEXT, integer } from '../../../src/fields/index.js'
import { commandRoute } from '../../../src/http/index.js'

const TAG = 'dead-letters'
const MAX_PAGE = 1000
const PAGE = 100
const LETTER_ID = { type: 'string', pattern: '^\\d{1,4}:\\d{1,15}-\\d{1,6}$' }
const LETTER_FIELD = { schema: LETTER_ID, expects: 'the id of a dead letter', code: 'DEAD_LETTER_UNKNOWN' }
const FIELDS = {
  after: described(LETTER_FIELD, 'only letters after this one'),
  limit: integer(1, MAX_PAGE, { description: 'letters of a page', default: PAGE })
}
const LETTER = {
  type: 'object',
  properties: {
    id: LETTER_ID,
    consumer: { type: 'string' },
    key: ID_TEXT,
    entry: { type: 'string', description: 'id in the outbox' },
    reason: { type: 'string' },
    attempts: { type: 'integer' },
    at: { type: 'integer', description: 'milliseconds since 1970' },
    fields: { type: 'object', additionalProperties: { type: 'string' } }
  }
}
const DONE = { type: 'object', properties: { id: LETTER_ID, status: { type: 'string', enum: ['replayed', 'discarded'] } } }

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ name: string, open: () => Promise<import('../../../src/consumers/index.js').DeadLetters> }} parts `name` of the system
 */
export async function deadLetterRoutes (app, { name, open }) {
  const config = /** @type {any} */ ({ access: 'admin', system: name })
  const path = `/v1/systems/${name}/dead-letters`

  app.get(path, {
    config,
    schema: commandRoute({
      summary: `Dead letters of ${name}: entries that failed permanently`,
      tag: TAG,
      query: FIELDS,
      content: {
        200: { type: 'object', properties: { items: { type: 'array', items: LETTER }, next: { type: ['string', 'null'] } } }
      },
      codes: ['DEAD_LETTER_UNKNOWN']
    })
  }, async (request) => (await open()).list(/** @type {any} */ (request.query)))

  for (const [method, suffix, status, summary, codes] of /** @type {const} */ ([
    ['POST', '/replay', 'replayed', 'Put a dead letter back into the outbox', ['DEAD_LETTER_UNKNOWN']],
    ['DELETE', '', 'discarded', 'Discard a dead letter', ['DEAD_LETTER_UNKNOWN', 'DEAD_LETTER_BLOCKS_KEY']]
  ])) {
    app.route({
      method,
      url: `${path}/:id${suffix}`,
      config,
      schema: commandRoute({
        summary, tag: TAG, params: { id: LETTER_FIELD }, content: { 200: DONE }, codes: [...codes]
      }),
      async handler (request) {
        const { id } = /** @type {any} */ (request.params)
        const all = await open()
        await (status === 'replayed' ? all.replay(id) : all.discard(id))
        return { id, status }
      }
    })
  }
}
