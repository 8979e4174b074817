/** What arrived last in a feed, in the order of its log. */
import { checkFeedName, FEED_SCHEMA } from '../../src/feeds/index.js'
import { integer, oneOf, querySchema } from '../../src/fields/index.js'
import { feedRoute, readQuery } from '../../src/http/index.js'
import { ENCODINGS, itemWriter, TextBuffer } from '../../src/replies/index.js'
import { VERSION } from './live.js'

const MAX_LIMIT = 1000
const FIELDS = {
  limit: integer(1, MAX_LIMIT, { description: 'most versions', default: 100 }),
  encoding: oneOf(ENCODINGS, { description: 'encoding of values; values that are not valid in it are base64 and marked so' })
}
const TAIL = feedRoute({
  summary: 'The versions that arrived last, oldest first, deletions included; a stream resumes behind them at `position`',
  params: { feed: FEED_SCHEMA },
  query: querySchema(FIELDS),
  codes: ['FEED_UNKNOWN'],
  content: {
    'application/json': {
      type: 'object',
      required: ['feed', 'asOf', 'items', 'position'],
      properties: {
        feed: FEED_SCHEMA,
        asOf: { type: 'integer', description: 'milliseconds since 1970, on the clock of this reader' },
        items: { type: 'array', items: VERSION },
        position: { type: 'string', description: 'for Last-Event-ID of the stream of the feed' }
      }
    }
  }
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ queries: import('../app.js').Queries, replies: import('../../src/replies/index.js').Replies }} parts
 */
export async function tailRoutes (app, { queries, replies }) {
  app.get('/v1/feeds/:feed/tail', { schema: TAIL }, (request, reply) => {
    const feed = checkFeedName(/** @type {any} */ (request.params).feed)
    const { limit, encoding } = readQuery(request, FIELDS)
    return replies.serve(request, reply, { feed }, async () => {
      const { items, position, asOf, lagMs } = await queries.tail(feed, limit)
      const body = bodyOf({ feed, asOf, items, position }, encoding)
      return { asOf, lagMs, body, content: [`${limit} ${encoding} ${position}`] }
    })
  })
}

/**
 * @param {{ feed: string, asOf: number, items: import('../../src/view/index.js').Arrived[], position: string }} of
 * @param {string} encoding
 */
function bodyOf ({ feed, asOf, items, position }, encoding) {
  const write = itemWriter(encoding)
  const out = new TextBuffer()
  out.text(`{"feed":${JSON.stringify(feed)},"asOf":${asOf},"items":[`)
  for (const [i, { id, ts, value }] of items.entries()) {
    if (i > 0) out.text(',')
    if (value === null) out.text(JSON.stringify({ id: id.toString(), ts, deleted: true }))
    else write(out, id, 0, id.length, ts, value, 0, value.length)
  }
  out.text(`],"position":${JSON.stringify(position)}}`)
  return out.take()
}
