/** Items into a feed, and deletions. */
import { FreshetError } from '../errors.js'
import { ERRORS } from '../../../src/errors.js'
import { checkFeedName } from '../../../src/feeds/index.js'
import { bodyOf, feedRoute, oneOf, querySchema, readQuery, takeBodies, text } from '../../../src/http/index.js'
import { EXPECTED_TS, idBytes, MAX_TS, readTs } from '../../../src/item/index.js'
import { countRefused } from '../../../src/pipeline/index.js'
import { windowAdvice } from '../../window-advice.js'
import { JSON_TYPE, LINES_TYPES, readItems } from '../read-items.js'

/** of an item held as commands, without its id (twice) and value: keys, lengths, score */
const ITEM_HEAD_BYTES = 192
const NOTHING = Buffer.alloc(0)

const ITEM = {
  type: 'object',
  required: ['id', 'value'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', description: '1-128 bytes of UTF-8 without control characters' },
    ts: {
      anyOf: [
        { type: 'integer', minimum: 0, maximum: MAX_TS, description: 'milliseconds since 1970; 10^7 to 10^11 are refused as seconds' },
        { type: 'string', description: 'the same in digits, or ISO 8601; UTC without an offset', examples: ['2026-01-31T10:00:00.000Z'] }
      ],
      description: 'event time; default: now'
    },
    value: { description: 'any JSON value, stored as the text that was sent; with encoding=base64, base64 of the bytes to store' }
  }
}
const TAKEN = {
  type: 'object',
  required: ['accepted'],
  properties: {
    accepted: { type: 'integer', description: 'acknowledged items, and late items, which are dropped (layout ids)' },
    refused: { type: 'integer', description: 'items that became too old for the feed during the request' },
    dropped: { type: 'integer', description: 'all items, at the bound on bytes in flight if the gateway drops then (--when-full drop)' }
  }
}
const POST_FIELDS = { encoding: oneOf(['json', 'base64'], { description: 'encoding of the values sent' }) }
const DELETE_FIELDS = {
  ts: text(timeOf, { expects: EXPECTED_TS, description: 'event time of the deletion, as the ts of an item; default: now' })
}

const POST = feedRoute({
  summary: 'Append items, all or none; the response follows their acknowledgement',
  params: ['feed'],
  query: querySchema(POST_FIELDS),
  body: Object.fromEntries([
    [JSON_TYPE, { type: 'array', items: ITEM }],
    ...LINES_TYPES.map((type) => [type, { type: 'string', description: 'one item per line, as in application/json' }])
  ]),
  content: { [JSON_TYPE]: TAKEN },
  headers: {}
})

const DELETE = feedRoute({
  summary: 'Delete an item: its id is hidden until a newer version is appended. With ts the request may be repeated',
  params: ['feed', 'id'],
  query: querySchema(DELETE_FIELDS),
  content: { [JSON_TYPE]: TAKEN },
  headers: {}
})

/** @typedef {import('../feeds.js').Feed} Feed */

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ feeds: import('../feeds.js').Feeds, ingest: import('../ingest.js').Ingest,
 *   bodies: { maxBytes: number, room: import('../../../src/http/index.js').BodyRoom }, clock: () => number }} parts `bodies`: bounds
 */
export async function itemRoutes (app, { feeds, ingest, bodies, clock }) {
  takeBodies(app, { types: [JSON_TYPE, ...LINES_TYPES], ...bodies })

  app.post('/v1/feeds/:feed/items', { schema: POST }, async (request) => {
    const name = checkFeedName(/** @type {any} */ (request.params).feed)
    const { encoding } = readQuery(request, POST_FIELDS)
    const free = () => /** @type {import('../../../src/http/index.js').Request} */ (/** @type {unknown} */ (request)).freeBody?.()
    const sent = createSent(bodyOf(request), { base64: encoding === 'base64', nowMs: Math.floor(clock()), free })
    if (sent.faults.count > 0) {
      // adds items that the feed refuses, if the feed can be opened
      await feeds.use(name, { mayCreate: false }, async (feed) => sent.check(feed)).catch((error) => {
        if (error.code === 'REQUEST_INVALID') throw error
      })
      throw sent.faults.error()
    }
    if (sent.count === 0) return { accepted: 0 }
    request.body = undefined
    return feeds.use(name, { mayCreate: true }, (feed) => ingest.take(feed, sent))
  })

  app.delete('/v1/feeds/:feed/items/:id', { schema: DELETE }, async (request) => {
    const params = /** @type {any} */ (request.params)
    const name = checkFeedName(params.feed)
    const id = idBytes(params.id)
    const { ts } = readQuery(request, DELETE_FIELDS)
    // a deletion must not create a feed that was dropped
    return feeds.use(name, { mayCreate: false }, (feed) => ingest.take(feed, createDeletion(id, ts, Math.floor(clock()))))
  })
}

/**
 * The items of a body. They are read again when they are appended; then the body is not held any more, so requests that wait for
 * an acknowledgement cost little.
 * @param {import('../../../src/http/index.js').Body} body
 * @param {import('../read-items.js').Reading & { free: () => void }} reading `free` returns the bytes of the body to the bound
 */
function createSent (body, { free, ...reading }) {
  let count = 0
  let bytes = 0
  let oldest = Infinity
  let newest = 0
  const faults = readItems(body, reading, ({ id, ts, value }) => {
    count++
    bytes += 2 * id.length + value.length + ITEM_HEAD_BYTES
    oldest = Math.min(oldest, ts)
    newest = Math.max(newest, ts)
  })
  return {
    faults,
    count,
    bytes,

    /** @param {Feed} feed @throws {FreshetError} REQUEST_INVALID, items that the feed refuses are among the faults */
    check (feed) {
      // no value of a body is larger than a value may be
      if (faults.count === 0 && [oldest, newest].every((ts) => feed.refusalOf({ ts, value: NOTHING }) === null)) return
      const all = readItems(body, { ...reading, refusalOf: feed.refusalOf, ageAdvice: windowAdvice(feed) }, () => {})
      if (all.count === 0) return
      for (const [code, n] of Object.entries(all.byCode)) {
        feed.account.offered += n
        countRefused(feed.account, code, n)
      }
      throw all.error()
    },

    /** @param {Feed} feed */
    append (feed) {
      readItems(body, reading, (item) => feed.append(item))
      body = { ...body, bytes: NOTHING }
      free()
    }
  }
}

/** @param {string} given @returns {number} @throws {FreshetError} ITEM_TS_INVALID */
function timeOf (given) {
  const ts = readTs(given)
  if (typeof ts === 'string') throw new FreshetError('ITEM_TS_INVALID', `ts ${ts}`)
  return ts
}

/** @param {Buffer} id @param {number | null} givenTs null = now @param {number} nowMs */
const createDeletion = (id, givenTs, nowMs) => ({
  count: 1,
  bytes: 2 * id.length + ITEM_HEAD_BYTES,
  /** @param {Feed} feed @throws {FreshetError} ITEM_TOO_OLD, ITEM_FROM_FUTURE */
  check (feed) {
    const code = feed.refusalOf({ ts: givenTs ?? nowMs, value: NOTHING })
    if (code === null) return
    feed.writer.pipeline.refuse(code)
    throw new FreshetError(code, `ts ${givenTs ?? nowMs}: ${ERRORS[code].meaning}`)
  },
  /** @param {Feed} feed */
  append (feed) { feed.delete(givenTs === null ? { id } : { id, ts: givenTs }) }
})
