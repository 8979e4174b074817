/**
 * Changes of a feed as they come, as server-sent events (src/push).
 */
import { checkFeedName } from '../../src/feeds/definitions.js'
import { isBehindAnother } from '../../src/http/closed.js'
import { ENCODINGS } from '../../src/http/encode.js'
import { feedRoute } from '../../src/http/openapi.js'
import { HttpError } from '../../src/http/problem.js'
import { integer, many, number, oneOf, querySchema, readQuery, text } from '../../src/http/query.js'
import { idBytes } from '../../src/item/id.js'
import { retryAfter } from '../../src/push/events.js'
import { TICK_MS } from '../../src/push/hub.js'

const MAX_IDS = 1000
const MAX_SNAPSHOT = 10_000
const SNAPSHOT_ITEMS = 100
const MAX_RATE = 1000 / TICK_MS
/** clients come again after about so long, not all at once */
const RETRY_MS = 1000

const HEAD = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // proxies of the nginx kind hold streams back without it
  'x-accel-buffering': 'no'
})

const FIELDS = {
  limit: integer(0, MAX_SNAPSHOT, { description: `how many items the snapshot has: ${SNAPSHOT_ITEMS}, or one for each id, unless given` }),
  maxRate: number(0.1, 1000, { description: `how often a second changes come at most, and never more often than ${MAX_RATE} times; of an id that changes more often only the newest version comes`, default: MAX_RATE }),
  id: many(MAX_IDS, text(idBytes, { description: 'only items of these ids', expects: 'an id' })),
  encoding: oneOf(ENCODINGS, { description: 'how values are written; a value that is not that is base64 and says so' })
}

const LIVE = feedRoute({
  summary: 'What is newest, and changes as they come: server-sent events `snapshot`, `items`, `reset`; goes on behind Last-Event-ID',
  params: ['feed'],
  query: querySchema(FIELDS),
  content: { 'text/event-stream': { type: 'string' } }
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ push: import('../../src/push/index.js').Push, tokens: import('../../src/http/tokens.js').Tokens | null }} parts
 */
export async function liveRoutes (app, { push, tokens }) {
  // HEAD would never end
  app.get('/v1/feeds/:feed/live', { schema: LIVE, exposeHeadRoute: false }, async (request, reply) => {
    // made for nobody: what stands in front of it may be a stream, which does not end
    if (isBehindAnother(request.raw, reply.raw)) throw new HttpError('REQUEST_INVALID', 'another request of this connection is not answered yet; ask for a stream on a connection of its own')
    const { 'last-event-id': last, authorization } = request.headers
    const identify = () => tokens && tokens.check(authorization)
    identify()
    const feed = checkFeedName(/** @type {any} */ (request.params).feed)
    const { limit, maxRate, id, encoding } = readQuery(request, FIELDS)
    await push.stream({
      feed,
      limit: limit ?? (id ? id.length : SNAPSHOT_ITEMS),
      encoding,
      periodMs: 1000 / maxRate,
      ids: id ? new Set(id.map((/** @type {Buffer} */ one) => one.toString('latin1'))) : null,
      position: typeof last === 'string' && last !== '' ? last : null
    }, {
      identify,
      open () {
        reply.hijack()
        reply.raw.writeHead(200, HEAD)
        reply.raw.write(retryAfter(RETRY_MS * (0.5 + Math.random())))
        return { request: request.raw, response: reply.raw }
      }
    })
  })
}
