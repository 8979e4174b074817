/**
 * Routes of the items of a feed: the newest, those with given ids, one.
 *
 * Up to 10,000 items are one page, built before its head is sent: JSON up to 16 MiB (else a short page with `next`), NDJSON
 * with its cursor in the header Freshet-Next. Larger NDJSON is streamed, unless it may turn out to need a view: then it is built before
 * its head as well, up to 16 MiB. The cursor of the next page is in the body, in the header Freshet-Next or, if the body is streamed, in
 * the trailer Freshet-Next. Without a cursor the feed ends there.
 *
 * For a client that may see some ids only, a scan may end before the page is full: `complete` is false then, or the header
 * Freshet-Complete. Such a cursor may name another id, so its place is not part of the entity tag.
 */
import { Readable } from 'node:stream'
import { FEED_FIELD, FEED_SCHEMA } from '../../src/feeds/index.js'
import { described, integer, many, oneOf, readTexts } from '../../src/fields/index.js'
import { clientGone, feedRoute, FILTERS_IDS, idsOf, problemOf, problemText } from '../../src/http/index.js'
import { CURSOR_FIELD, CURSOR_SCHEMA, ID_FIELD, MAX_TS, plainCursors, sealedCursors } from '../../src/item/index.js'
import {
  ENCODINGS, ITEM_SCHEMA, itemBytes, itemWriter, JSON_TYPE, NDJSON_TYPE, newestChunks, newestNow, PAGE_BYTES, PAGE_ITEMS, prefersNdjson,
  selectedChunks
} from '../../src/replies/index.js'
import { filteredQueries } from '../../src/view/index.js'
import { FreshetError } from '../errors.js'

/** @typedef {import('../../src/item/index.js').IdFilter} IdFilter null = all ids */

/** @param {import('../app.js').Queries} queries @param {IdFilter | null} filter @param {() => boolean} [isWanted] */
const queriesFor = (queries, filter, isWanted = () => true) => filter === null
  ? queries
  : filteredQueries(queries, filter, whileWanted(isWanted))

/** @param {() => boolean} isWanted @returns {() => void} throws CLIENT_GONE */
export const whileWanted = (isWanted) => () => { if (!isWanted()) throw clientGone() }

/**
 * @param {import('../app.js').Queries} queries @param {string} feed @param {IdFilter | null} filter
 * @returns {import('../../src/item/index.js').Cursors | Promise<import('../../src/item/index.js').Cursors>}
 */
export const cursorsFor = (queries, feed, filter) => filter === null
  ? plainCursors(feed)
  : queries.secret(feed).then(({ secret }) => sealedCursors(feed, secret, filter))

/** @param {string[] | null} ids of a query */
export const bytesOfIds = (ids) => ids && ids.map((id) => Buffer.from(id))

/**
 * The ids to look up, if they are named.
 * @param {IdFilter | null} filter @param {Buffer[] | null} asked @returns {Buffer[] | null} null: items are scanned
 */
export function permittedIds (filter, asked) {
  if (filter === null) return asked
  return asked ? asked.filter((id) => filter.has(id)) : filter.exact
}

/** Replies are shared by clients with the same ids. @param {IdFilter | null} filter */
export const sharedBy = (filter) => filter === null ? {} : { of: filter.of, isPrivate: true }

/** @typedef {import('../../src/replies/index.js').Chunk} Chunk */
/** @typedef {import('../../src/item/index.js').Cursors} Cursors */
/** @typedef {import('../../src/item/index.js').Place} Place */
/** @typedef {{ parts: Buffer[], bytes: number, last: Chunk }} Page */

const MAX_PAGE_BYTES = 16 * 1024 * 1024
/** larger pages are not built synchronously: a thousand of them at once would delay everything else for seconds */
const MAX_NOW_BYTES = 128 * 1024
/** of the memory that building takes, which is more than the page */
const MAX_NOW_ESTIMATE = 4 * MAX_NOW_BYTES
const NOTHING_AROUND = Object.freeze({ before: '', after: () => '' })

/** @param {string} feed @param {number} asOf */
const jsonHead = (feed, asOf) => `{"feed":"${feed}","asOf":${asOf},"items":[`

/** @param {string | null} next @param {boolean} [isCut] */
const jsonTail = (next, isCut = false) => `],"next":${JSON.stringify(next)}${isCut ? ',"complete":false' : ''}}`

/**
 * Builds a small page from a view, synchronously.
 * @param {import('../app.js').Queries} queries @param {import('../../src/replies/index.js').Replies} replies @param {string} feed
 * @param {import('../../src/replies/index.js').Query} query
 * @param {import('../../src/replies/index.js').Format} format @param {boolean} ndjson
 * @returns {import('../../src/replies/index.js').BuildNow}
 */
const pageBuilder = (queries, { budget, sizes }, feed, query, format, ndjson) => ({ asOf, lagMs }) => {
  const estimate = sizes.estimate(feed, query.limit, MAX_PAGE_BYTES)
  if (estimate > MAX_NOW_ESTIMATE || !budget.mayBeginNow(estimate)) return null
  const cursors = plainCursors(feed)
  const around = ndjson
    ? NOTHING_AROUND
    : { before: jsonHead(feed, asOf), after: (/** @type {Place | null} */ next) => jsonTail(cursorOf(cursors, next)) }
  const page = newestNow(queries, feed, query, format, around)
  if (!page) return null
  const { bytes, itemsAt, items } = page
  sizes.learn(feed, items, bytes.length, query.sinceMs === null && query.after === null && page.next === null)
  const next = ndjson ? cursorOf(cursors, page.next) : null
  return { asOf, lagMs, body: bytes, content: [bytes.subarray(itemsAt), next ?? ''], next }
}

/**
 * Reads chunks until they end or their bytes reach a bound.
 * @param {AsyncGenerator<Chunk>} chunks @param {number} maxBytes @param {() => boolean} isWanted
 * @returns {Promise<Page>}
 * @throws {FreshetError} CLIENT_GONE
 */
async function readPage (chunks, maxBytes, isWanted) {
  const parts = []
  let bytes = 0
  let last
  do {
    last = /** @type {Chunk} */ ((await chunks.next()).value)
    bytes += last.bytes.length
    parts.push(last.bytes)
    if (isWanted()) continue
    await chunks.return(undefined)
    throw clientGone()
  } while (!last.end && bytes < maxBytes)
  return { parts, bytes, last }
}

/** @param {Cursors} cursors @param {Place | null} place */
const cursorOf = (cursors, place) => place && cursors.encode(place)

/** @param {string} feed @param {Page} page @param {Cursors} cursors @returns {import('../../src/replies/index.js').Built} */
function buildJson (feed, { parts, last }, cursors) {
  const tail = jsonTail(cursorOf(cursors, last.next), last.isCut)
  const body = Buffer.concat([Buffer.from(jsonHead(feed, last.asOf)), ...parts, Buffer.from(tail)])
  return { asOf: last.asOf, lagMs: last.lagMs, body, content: [...parts, cursors.isSealed ? jsonTail(shownOf(last), last.isCut) : tail] }
}

/** @param {Page} page @param {Cursors} cursors @returns {import('../../src/replies/index.js').Built} */
function buildNdjson ({ parts, last }, cursors) {
  const next = cursorOf(cursors, last.next)
  const content = [...parts, (cursors.isSealed ? shownOf(last) : next) ?? '']
  return { asOf: last.asOf, lagMs: last.lagMs, body: Buffer.concat(parts), content, next, isCut: last.isCut }
}

/** What a sealed cursor shows. @param {Chunk} last */
const shownOf = ({ next }) => next && 'more'

/**
 * A stream that breaks off ends with a line that is the problem, without an `id`, and its connection is closed without the end of the body.
 * @param {Page} page the first chunks @param {AsyncGenerator<Chunk>} chunks the others @param {Cursors} cursors
 * @param {import('fastify').FastifyReply} reply
 * @returns {Readable}
 */
function streamNdjson ({ parts, last }, chunks, cursors, reply) {
  let next = last.next
  async function * rest () {
    yield * parts.splice(0)
    if (reply.request.method === 'HEAD') return
    try {
      for await (const chunk of chunks) {
        next = chunk.next
        yield chunk.bytes
      }
    } catch (error) {
      yield Buffer.from(problemText(problemOf(error), reply.request.id) + '\n')
      throw error
    }
  }
  reply.trailer('freshet-next', async () => cursorOf(cursors, next) ?? '')
  return Readable.from(rest(), { objectMode: false })
}

const DEFAULT_LIMIT = 100
const MAX_PAGE_ITEMS = 10_000
const MAX_STREAM_ITEMS = 1_000_000
const MAX_IDS = 1000
const COMMA = 0x2c
const NEWLINE = 0x0a
const STREAM_CHUNK_BYTES = 64 * 1024
/** of one page; the event loop runs after each */
const PAGE_CHUNK_BYTES = 256 * 1024
/** larger pages are not built synchronously: a thousand of them at once would delay everything else for seconds */
const MAX_NOW_ITEMS = 500
/** of a stream: its text, and what the socket has not taken */
const STREAM_BYTES = 4 * STREAM_CHUNK_BYTES
const VARY = 'accept, accept-encoding'

const encoding = oneOf(ENCODINGS, { description: 'encoding of values; values that are not valid in it are base64 and marked so' })

/** @param {number} maxLimit @param {string} description */
const fieldsOf = (maxLimit, description) => ({
  limit: integer(1, maxLimit, { description, default: DEFAULT_LIMIT }),
  since: integer(0, MAX_TS, { description: 'milliseconds since 1970: only items with this ts or a newer one' }),
  after: described(CURSOR_FIELD, 'a cursor: only items strictly older than its place'),
  id: many(MAX_IDS, described(ID_FIELD, 'only items with these ids')),
  encoding
})
const JSON_FIELDS = fieldsOf(MAX_PAGE_ITEMS, 'maximum number of items; up to 1,000,000 as NDJSON')
const NDJSON_FIELDS = fieldsOf(MAX_STREAM_ITEMS, 'maximum number of items')
const ITEM_FIELDS = { encoding }

const CODES = ['ITEM_ID_INVALID', 'FEED_UNKNOWN', 'VIEW_NEEDED']

const MANY = feedRoute({
  summary: 'The newest items, newest first; as JSON, or one per line with Accept: application/x-ndjson',
  params: { feed: FEED_FIELD },
  query: JSON_FIELDS,
  content: {
    'application/json': {
      type: 'object',
      required: ['feed', 'asOf', 'items', 'next'],
      properties: {
        feed: FEED_SCHEMA,
        asOf: { type: 'integer', description: 'as Freshet-As-Of' },
        items: { type: 'array', items: ITEM_SCHEMA, maxItems: MAX_PAGE_ITEMS },
        next: { ...CURSOR_SCHEMA, type: ['string', 'null'], description: '`after` of the next page; null at the end' },
        complete: {
          type: 'boolean', enum: [false], description: 'for a token with ids: 100,000 items were looked at; `next` continues there'
        }
      }
    },
    'application/x-ndjson': { type: 'string', description: 'one item per line, as in application/json' }
  },
  headers: {
    'Freshet-Next': {
      ...CURSOR_SCHEMA, description: 'of NDJSON: `after` of the next page, absent at the end; a trailer if the body is streamed'
    },
    'Freshet-Complete': { type: 'string', enum: ['false'], description: 'of NDJSON: as `complete`' }
  },
  codes: ['CURSOR_INVALID', ...CODES]
})

const ONE = feedRoute({
  summary: 'One live item',
  params: { feed: FEED_FIELD, id: ID_FIELD },
  query: ITEM_FIELDS,
  content: { 'application/json': ITEM_SCHEMA },
  codes: ['ITEM_UNKNOWN', ...CODES]
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ queries: import('../app.js').Queries, replies: import('../../src/replies/index.js').Replies }} parts
 */
export async function itemRoutes (app, { queries, replies }) {
  app.get('/v1/feeds/:feed/items', { schema: MANY, config: FILTERS_IDS, attachValidation: true }, (request, reply) => {
    // only valid requests have replies, which are for clients that may see all ids
    if (idsOf(request) !== null || !replies.serveNow(request, reply)) return serveMany(request, reply)
  })

  /** @param {import('fastify').FastifyRequest} request @param {import('fastify').FastifyReply} reply */
  async function serveMany (request, reply) {
    const { feed } = /** @type {any} */ (request.params)
    const ndjson = prefersNdjson(request.headers.accept)
    const query = queryOf(request, ndjson)
    const filter = idsOf(request)
    const cursors = await cursorsFor(queries, feed, filter)
    const ids = permittedIds(filter, bytesOfIds(query.id))
    const range = { limit: query.limit, sinceMs: query.since, after: query.after === null ? null : cursors.decode(query.after) }
    const isPage = range.limit <= MAX_PAGE_ITEMS
    const isWhole = isPage || ids || filter || await queries.mayBreakOff?.(feed)
    const bytesOf = isWhole
      ? () => replies.sizes.estimate(feed, ids?.length ?? range.limit, MAX_PAGE_BYTES)
      : () => replies.sizes.estimate(feed, PAGE_ITEMS, PAGE_BYTES) + STREAM_BYTES
    const isOfAll = !ids && !filter && range.sinceMs === null && range.after === null
    const format = {
      write: itemWriter(query.encoding),
      separator: ndjson ? 0 : COMMA,
      terminator: ndjson ? NEWLINE : 0,
      chunkBytes: isWhole ? PAGE_CHUNK_BYTES : STREAM_CHUNK_BYTES
    }
    reply.header('vary', VARY)
    const buildNow = ids || filter || range.limit > MAX_NOW_ITEMS
      ? undefined
      : pageBuilder(queries, replies, feed, range, { ...format, chunkBytes: MAX_NOW_BYTES }, ndjson)
    const type = ndjson ? NDJSON_TYPE : JSON_TYPE
    return replies.serve(request, reply, { feed, type, vary: VARY, buildNow, bytesOf, ...sharedBy(filter) }, async (isWanted) => {
      const from = queriesFor(queries, filter, isWanted)
      const chunks = ids ? selectedChunks(from, feed, ids, range, format) : newestChunks(from, feed, range, format)
      const page = await readPage(chunks, ndjson && !isWhole ? 1 : MAX_PAGE_BYTES, isWanted)
      replies.sizes.learn(feed, page.last.items, page.bytes, isOfAll && page.last.next === null)
      if (!ndjson || page.last.end || filter) {
        await chunks.return(undefined)
        return ndjson ? buildNdjson(page, cursors) : buildJson(feed, page, cursors)
      }
      if (isWhole && await queries.mayBreakOff?.(feed)) {
        await chunks.return(undefined)
        throw tooMuch(feed)
      }
      replies.setStreamHeaders(reply, { asOf: page.last.asOf, lagMs: page.last.lagMs, type, vary: VARY }, feed)
      replies.budget.hold(reply.raw, bytesOf())
      return streamNdjson(page, chunks, cursors, reply)
    })
  }

  app.get('/v1/feeds/:feed/items/:id', { schema: ONE, config: FILTERS_IDS }, async (request, reply) => {
    const { feed, id } = /** @type {any} */ (request.params)
    const { encoding: as } = /** @type {any} */ (request.query)
    const filter = idsOf(request)
    const bytesOf = () => replies.sizes.estimate(feed, 1, MAX_PAGE_BYTES)
    return replies.serve(request, reply, { feed, bytesOf, ...sharedBy(filter) }, async () => {
      const { items: [item], asOf, lagMs } = await queriesFor(queries, filter).get(feed, [Buffer.from(id)])
      if (!item) {
        const message = `feed ${feed} has no live item ${JSON.stringify(id)}; check the id, or the window of the feed`
        throw new FreshetError('ITEM_UNKNOWN', message, { feed, id, lagMs })
      }
      const body = itemBytes(itemWriter(as), item)
      replies.sizes.learn(feed, 1, body.length, false)
      return { asOf, lagMs, body, content: [body] }
    })
  })
}

/**
 * The query of a page. The schema bounds that of JSON.
 * @param {import('fastify').FastifyRequest} request @param {boolean} ndjson @returns {Record<string, any>}
 */
function queryOf ({ query, validationError: refused }, ndjson) {
  if (!refused) return /** @type {any} */ (query)
  if (ndjson && refused.validationContext === 'querystring') return readTexts(/** @type {any} */ (query), NDJSON_FIELDS)
  throw refused
}

/** @param {string} feed */
const tooMuch = (feed) => new FreshetError('VIEW_BEHIND',
  `the answer has more than ${MAX_PAGE_BYTES} bytes, and no view of feed ${feed} answers yet; retry, or ask for fewer items`)
