/**
 * Items of a feed: the newest, those of given ids, one.
 *
 * Up to 10,000 items are one page, made before its head is sent: JSON within 16 MiB (then a short page with `next`),
 * NDJSON with its cursor in the header Freshet-Next. NDJSON that is larger in number or bytes is streamed, and the
 * cursor, known only at the end, is the trailer of that name. Without either, the feed ended there.
 */
import { Readable } from 'node:stream'
import { checkFeedName } from '../../src/feeds/definitions.js'
import { prefersNdjson } from '../../src/http/accept.js'
import { JSON_TYPE, NDJSON_TYPE } from '../../src/http/answer.js'
import { chosenChunks, itemBytes, newestChunks, newestNow } from '../../src/http/chunks.js'
import { ENCODINGS, itemWriter } from '../../src/http/encode.js'
import { feedRoute } from '../../src/http/openapi.js'
import { HttpError } from '../../src/http/problem.js'
import { integer, many, oneOf, querySchema, readQuery, text } from '../../src/http/query.js'
import { decodeCursor, encodeCursor } from '../../src/item/cursor.js'
import { idBytes } from '../../src/item/id.js'
import { MAX_TS } from '../../src/item/order.js'

/** @typedef {import('../../src/http/chunks.js').Chunk} Chunk */
/** @typedef {import('../../src/item/order.js').Place} Place */

const DEFAULT_LIMIT = 100
const MAX_PAGE_ITEMS = 10_000
const MAX_STREAM_ITEMS = 1_000_000
const MAX_PAGE_BYTES = 16 * 1024 * 1024
const MAX_IDS = 1000
const COMMA = 0x2c
const NEWLINE = 0x0a
const STREAM_CHUNK_BYTES = 64 * 1024
/** One page is made at once up to so many bytes, which takes a quarter of a millisecond; then the loop is given back. */
const PAGE_CHUNK_BYTES = 256 * 1024
/** Pages of so much are made at once. */
const MAX_NOW_ITEMS = 2000
const MAX_NOW_BYTES = 1024 * 1024
const NOTHING_AROUND = Object.freeze({ before: '', after: () => '' })
const VARY = 'accept, accept-encoding'

const encoding = oneOf(ENCODINGS, { description: 'how values are written; a value that is not that is base64 and says so' })

/** @param {number} maxLimit @param {string} description */
const fieldsOf = (maxLimit, description) => ({
  limit: integer(1, maxLimit, { description, default: DEFAULT_LIMIT }),
  since: integer(0, MAX_TS, { description: 'milliseconds since 1970: only items of this time and newer' }),
  after: text(String, { description: 'a cursor: only items strictly older than that place', expects: 'the text of "next" in an earlier answer' }),
  id: many(MAX_IDS, text(idBytes, { description: 'only items of these ids', expects: 'an id' })),
  encoding
})
const JSON_FIELDS = fieldsOf(MAX_PAGE_ITEMS, 'how many items at most; up to 1,000,000 as NDJSON')
const NDJSON_FIELDS = fieldsOf(MAX_STREAM_ITEMS, 'how many items at most')
const ITEM_FIELDS = { encoding }

const ITEM = {
  type: 'object',
  required: ['id', 'ts', 'value'],
  properties: { id: { type: 'string' }, ts: { type: 'integer' }, value: {}, encoding: { type: 'string', enum: ['base64'] } }
}

const MANY = feedRoute({
  summary: 'The newest items, newest first; as JSON, or one a line by Accept: application/x-ndjson',
  params: ['feed'],
  query: querySchema(JSON_FIELDS),
  content: {
    'application/json': {
      type: 'object',
      properties: { feed: { type: 'string' }, asOf: { type: 'integer' }, items: { type: 'array', items: ITEM }, next: { type: ['string', 'null'] } }
    },
    'application/x-ndjson': { type: 'string' }
  }
})

const ONE = feedRoute({ summary: 'One live item', params: ['feed', 'id'], query: querySchema(ITEM_FIELDS), content: { 'application/json': ITEM } })

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ ask: import('../app.js').Ask, answers: import('../../src/http/answer.js').Answers }} parts
 */
export async function itemRoutes (app, { ask, answers }) {
  app.get('/v1/feeds/:feed/items', { schema: MANY }, async (request, reply) => {
    const feed = checkFeedName(/** @type {any} */ (request.params).feed)
    const ndjson = prefersNdjson(request.headers.accept)
    const query = readQuery(request, ndjson ? NDJSON_FIELDS : JSON_FIELDS)
    const question = { limit: query.limit, sinceMs: query.since, after: query.after === null ? null : decodeCursor(feed, query.after) }
    const isPage = question.limit <= MAX_PAGE_ITEMS
    const format = { write: itemWriter(query.encoding), between: ndjson ? 0 : COMMA, behind: ndjson ? NEWLINE : 0, chunkBytes: isPage ? PAGE_CHUNK_BYTES : STREAM_CHUNK_BYTES }
    reply.header('vary', VARY)
    const makeNow = query.id || question.limit > MAX_NOW_ITEMS ? undefined : pageMaker(ask, feed, question, { ...format, chunkBytes: MAX_NOW_BYTES }, ndjson)
    return answers.give(request, reply, { feed, type: ndjson ? NDJSON_TYPE : JSON_TYPE, vary: VARY, makeNow }, () => {
      const chunks = query.id ? chosenChunks(ask, feed, query.id, question, format) : newestChunks(ask, feed, question, format)
      return ndjson ? ndjsonAnswer(feed, chunks, isPage ? MAX_PAGE_BYTES : 1, reply, answers) : jsonAnswer(feed, chunks)
    })
  })

  app.get('/v1/feeds/:feed/items/:id', { schema: ONE }, async (request, reply) => {
    const params = /** @type {any} */ (request.params)
    const feed = checkFeedName(params.feed)
    const id = idBytes(params.id)
    const query = readQuery(request, ITEM_FIELDS)
    return answers.give(request, reply, { feed }, async () => {
      const { items: [item], asOf, lagMs } = await ask.get(feed, [id])
      if (!item) throw new HttpError('ITEM_UNKNOWN', `feed ${feed} has no live item ${JSON.stringify(params.id)}`, { feed, id: params.id })
      const body = itemBytes(itemWriter(query.encoding), item)
      return { asOf, lagMs, body, content: [body] }
    })
  })
}

/** @param {string} feed @param {number} asOf */
const jsonHead = (feed, asOf) => `{"feed":"${feed}","asOf":${asOf},"items":[`

/** @param {string} feed @param {Place | null} next */
const jsonTail = (feed, next) => `],"next":${JSON.stringify(cursorOf(feed, next))}}`

/**
 * A page of a view, made at once.
 * @param {import('../app.js').Ask} ask @param {string} feed @param {import('../../src/http/chunks.js').Question} question
 * @param {import('../../src/http/chunks.js').Format} format @param {boolean} ndjson
 * @returns {import('../../src/http/making.js').MakeNow}
 */
const pageMaker = (ask, feed, question, format, ndjson) => ({ asOf, lagMs }) => {
  const around = ndjson ? NOTHING_AROUND : { before: jsonHead(feed, asOf), after: (/** @type {Place | null} */ next) => jsonTail(feed, next) }
  const page = newestNow(ask, feed, question, format, around)
  if (!page) return null
  const { bytes, itemsAt } = page
  const next = ndjson ? cursorOf(feed, page.next) : null
  return { asOf, lagMs, body: bytes, content: [bytes.subarray(itemsAt), next ?? ''], next }
}

/**
 * Takes chunks until they end or their bytes reach a bound.
 * @param {AsyncGenerator<Chunk>} chunks @param {number} maxBytes
 * @returns {Promise<{ parts: Buffer[], last: Chunk }>}
 */
async function take (chunks, maxBytes) {
  const parts = []
  let bytes = 0
  let last
  do {
    last = /** @type {Chunk} */ ((await chunks.next()).value)
    bytes += last.bytes.length
    parts.push(last.bytes)
  } while (!last.end && bytes < maxBytes)
  return { parts, last }
}

/** @param {string} feed @param {Place | null} place */
const cursorOf = (feed, place) => place && encodeCursor(feed, place)

/**
 * @param {string} feed
 * @param {AsyncGenerator<Chunk>} chunks
 * @returns {Promise<import('../../src/http/making.js').Made>}
 */
async function jsonAnswer (feed, chunks) {
  const { parts, last } = await take(chunks, MAX_PAGE_BYTES)
  await chunks.return(undefined)
  const { asOf, lagMs } = last
  const content = [...parts, Buffer.from(jsonTail(feed, last.next))]
  return { asOf, lagMs, body: Buffer.concat([Buffer.from(jsonHead(feed, asOf)), ...content]), content }
}

/**
 * @param {string} feed
 * @param {AsyncGenerator<Chunk>} chunks
 * @param {number} maxBytes beyond them it is a stream
 * @param {import('fastify').FastifyReply} reply
 * @param {import('../../src/http/answer.js').Answers} answers
 * @returns {Promise<import('../../src/http/making.js').Made | Readable>}
 */
async function ndjsonAnswer (feed, chunks, maxBytes, reply, answers) {
  const { parts, last } = await take(chunks, maxBytes)
  const { asOf, lagMs } = last
  if (last.end) {
    await chunks.return(undefined)
    const next = cursorOf(feed, last.next)
    return { asOf, lagMs, body: Buffer.concat(parts), content: [...parts, next ?? ''], next }
  }
  answers.setHead(reply, { asOf, lagMs, type: NDJSON_TYPE, vary: VARY }, feed)
  let next = last.next
  async function * rest () {
    yield * parts
    if (reply.request.method === 'HEAD') return
    for await (const chunk of chunks) {
      next = chunk.next
      yield chunk.bytes
    }
  }
  reply.trailer('freshet-next', async () => cursorOf(feed, next) ?? '')
  return Readable.from(rest(), { objectMode: false })
}
