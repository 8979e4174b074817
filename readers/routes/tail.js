/** What arrived last in a feed, in the order of its log. */
import { FEED_FIELD, FEED_SCHEMA } from '../../src/feeds/index.js'
import { integer, oneOf } from '../../src/fields/index.js'
import { feedRoute, FILTERS_IDS, idsOf } from '../../src/http/index.js'
import { createPositionSeal } from '../../src/push/index.js'
import { ENCODINGS, itemWriter, TextBuffer } from '../../src/replies/index.js'
import { steadyMs } from '../../src/view/index.js'
import { VERSION } from './live.js'
import { sharedBy } from './items.js'

const MAX_LIMIT = 1000
const FIELDS = {
  limit: integer(1, MAX_LIMIT, { description: 'most versions', default: 100 }),
  encoding: oneOf(ENCODINGS, { description: 'encoding of values; values that are not valid in it are base64 and marked so' })
}
const TAIL = feedRoute({
  summary: 'The versions that arrived last, oldest first, deletions included; a stream resumes behind them at `position`',
  params: { feed: FEED_FIELD },
  query: FIELDS,
  codes: ['FEED_UNKNOWN'],
  content: {
    'application/json': {
      type: 'object',
      required: ['feed', 'asOf', 'items', 'position'],
      properties: {
        feed: FEED_SCHEMA,
        asOf: { type: 'integer', description: 'milliseconds since 1970, on the clock of this reader' },
        items: { type: 'array', items: VERSION },
        position: { type: 'string', description: 'for Last-Event-ID of the stream of the feed' },
        complete: { type: 'boolean', enum: [false], description: 'for a token with ids: 100,000 versions were looked at' }
      }
    }
  }
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ queries: import('../app.js').Queries, replies: import('../../src/replies/index.js').Replies }} parts
 */
export async function tailRoutes (app, { queries, replies }) {
  app.get('/v1/feeds/:feed/tail', { schema: TAIL, config: FILTERS_IDS }, async (request, reply) => {
    const { feed } = /** @type {any} */ (request.params)
    const { limit, encoding } = /** @type {any} */ (request.query)
    const filter = idsOf(request)
    const seal = filter && await createPositionSeal(feed, filter, queries.secret)
    return replies.serve(request, reply, { feed, ...sharedBy(filter) }, async () => {
      const { items, isCut, position, ...read } = await queries.tail(feed, limit, filter)
      const asOf = filter === null ? read.asOf : steadyMs(read.asOf)
      const shown = itemsOf(items, encoding)
      const body = bodyOf({ feed, asOf, shown, position: seal?.shown({ position }) ?? position, isCut })
      // a position tells when others wrote
      return { asOf, lagMs: read.lagMs, body, content: [`${limit} ${encoding} ${isCut} `, seal === null ? position : shown] }
    })
  })
}

/** @param {import('../../src/view/index.js').Arrived[]} items @param {string} encoding @returns {Buffer} as JSON, separated by commas */
function itemsOf (items, encoding) {
  const write = itemWriter(encoding)
  const out = new TextBuffer()
  for (const [i, { id, ts, value }] of items.entries()) {
    if (i > 0) out.text(',')
    if (value === null) out.text(JSON.stringify({ id: id.toString(), ts, deleted: true }))
    else write(out, id, 0, id.length, ts, value, 0, value.length)
  }
  return out.take()
}

/** @param {{ feed: string, asOf: number, shown: Buffer, position: string, isCut: boolean }} of */
const bodyOf = ({ feed, asOf, shown, position, isCut }) => Buffer.concat([
  Buffer.from(`{"feed":${JSON.stringify(feed)},"asOf":${asOf},"items":[`),
  shown,
  Buffer.from(`],"position":${JSON.stringify(position)}${isCut ? ',"complete":false' : ''}}`)
])
