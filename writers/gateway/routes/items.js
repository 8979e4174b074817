/** Items into a feed, and deletions. */
import { FreshetError } from '../errors.js'
import { ERRORS } from '../../../src/errors.js'
import { FEED_FIELD } from '../../../src/feeds/index.js'
import { described, oneOf } from '../../../src/fields/index.js'
import { bodyOf, feedRoute, FILTERS_IDS, idsOf, takeBodies } from '../../../src/http/index.js'
import { EXPECTED_TS, ID_FIELD, ID_SCHEMA, readTs, TS_SCHEMA } from '../../../src/item/index.js'
import { countRefused } from '../../../src/pipeline/index.js'
import { MAX_DEPTH } from '../raw-json.js'
import { windowAdviceOverHttp } from '../../window-advice.js'
import { JSON_TYPE, LINES_TYPES, readItems } from '../read-items.js'

/** of an item held as commands, without its id (twice) and value: keys, lengths, score */
const ITEM_HEAD_BYTES = 192
const NOTHING = Buffer.alloc(0)

const ITEM = {
  type: 'object',
  required: ['id', 'value'],
  additionalProperties: false,
  properties: {
    id: ID_SCHEMA,
    ts: TS_SCHEMA,
    value: {
      description: `any JSON value, nested at most ${MAX_DEPTH} deep, stored as the text that was sent; ` +
        'with encoding=base64, base64 of the bytes to store'
    }
  }
}
const TAKEN = {
  type: 'object',
  required: ['accepted'],
  properties: {
    accepted: { type: 'integer', minimum: 0, description: 'acknowledged items, and late items, which are dropped (layout ids)' },
    refused: { type: 'integer', minimum: 1, description: 'items that became too old for the feed during the request' },
    dropped: {
      type: 'integer', minimum: 1, description: 'all items, at the bound on bytes in flight if the gateway drops then (--when-full drop)'
    }
  }
}
const POST_FIELDS = { encoding: oneOf(['json', 'base64'], { description: 'encoding of the values sent' }) }
const DELETE_FIELDS = {
  ts: described({ schema: TS_SCHEMA, convert: timeOf, expects: expectedTime, code: 'ITEM_TS_INVALID' },
    'event time of the deletion; default: now')
}

const CODES = ['PAYLOAD_TOO_LARGE', 'MEDIA_TYPE_UNSUPPORTED', 'INGEST_FULL', 'ACK_UNKNOWN']

const POST = feedRoute({
  summary: 'Append items, all or none; the response follows their acknowledgement',
  params: { feed: FEED_FIELD },
  query: POST_FIELDS,
  body: Object.fromEntries([
    [JSON_TYPE, { ...ITEM, type: ['array', 'object'], items: ITEM }],
    ...LINES_TYPES.map((type) => [type, { type: 'string', description: 'one item per line, as in application/json' }])
  ]),
  content: { [JSON_TYPE]: TAKEN },
  isCached: false,
  codes: ['FEEDS_FULL', ...CODES]
})

const DELETE = feedRoute({
  summary: 'Delete an item: its id is hidden until a newer version is appended. With ts the request may be repeated',
  params: { feed: FEED_FIELD, id: ID_FIELD },
  query: DELETE_FIELDS,
  content: { [JSON_TYPE]: TAKEN },
  isCached: false,
  codes: ['ITEM_ID_INVALID', 'ITEM_TS_INVALID', 'ITEM_TOO_OLD', 'ITEM_FROM_FUTURE', 'FEED_UNKNOWN', ...CODES]
})

/** @typedef {import('../feeds.js').Feed} Feed */

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ feeds: import('../feeds.js').Feeds, ingest: import('../ingest.js').Ingest,
 *   bodies: { maxBytes: number, budget: import('../../../src/http/index.js').BodyBudget }, clock: () => number }} parts `bodies`: bounds
 */
export async function itemRoutes (app, { feeds, ingest, bodies, clock }) {
  takeBodies(app, { types: [JSON_TYPE, ...LINES_TYPES], ...bodies })

  app.post('/v1/feeds/:feed/items', { schema: POST, config: FILTERS_IDS }, async (request) => {
    const { feed: name } = /** @type {any} */ (request.params)
    const { encoding } = /** @type {any} */ (request.query)
    const free = () => /** @type {import('../../../src/http/index.js').Request} */ (/** @type {unknown} */ (request)).freeBody?.()
    const filter = idsOf(request)
    const sent = createSent(bodyOf(request), { base64: encoding === 'base64', nowMs: Math.floor(clock()), filter, free })
    if (sent.other !== null) throw otherId(sent.other)
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

  app.delete('/v1/feeds/:feed/items/:id', { schema: DELETE, config: FILTERS_IDS }, async (request) => {
    const { feed: name, id: named } = /** @type {any} */ (request.params)
    const { ts } = /** @type {any} */ (request.query)
    const id = Buffer.from(named)
    if (idsOf(request)?.has(id) === false) throw otherId(id)
    // a deletion must not create a feed that was dropped
    return feeds.use(name, { mayCreate: false }, (feed) => ingest.take(feed, createDeletion(id, ts, Math.floor(clock()))))
  })
}

/**
 * The items of a body. They are read again when they are appended; then the body is not held any more, so requests that wait for
 * an acknowledgement cost little.
 * @param {import('../../../src/http/index.js').Body} body
 * @param {import('../read-items.js').Reading & { filter: import('../../../src/item/index.js').IdFilter | null, free: () => void }} reading
 *   `filter` of the ids that the client may write; `free` returns the bytes of the body to the bound
 */
function createSent (body, { filter, free, ...reading }) {
  let count = 0
  let bytes = 0
  let oldest = Infinity
  let newest = 0
  /** @type {Buffer | null} */
  let other = null
  const faults = readItems(body, reading, ({ id, ts, value }) => {
    if (filter?.has(id) === false) other ??= id
    count++
    bytes += 2 * id.length + value.length + ITEM_HEAD_BYTES
    oldest = Math.min(oldest, ts)
    newest = Math.max(newest, ts)
  })
  return {
    faults,
    count,
    bytes,
    /** The first id that the client may not write. */
    other: /** @type {Buffer | null} */ (other),

    /** @param {Feed} feed @throws {FreshetError} REQUEST_INVALID, items that the feed refuses are among the faults */
    check (feed) {
      // no value of a body is larger than a value may be
      if (faults.count === 0 && [oldest, newest].every((ts) => feed.refusalOf({ ts, value: NOTHING }) === null)) return
      const all = readItems(body, { ...reading, refusalOf: feed.refusalOf, ageAdvice: windowAdviceOverHttp(feed) }, () => {})
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

/** @param {Buffer} id */
const otherId = (id) =>
  new FreshetError('FORBIDDEN', `this token is not for the id ${JSON.stringify(id.toString())}; nothing was taken: send only its ids`)

/** @param {string} text @returns {number | null} null: it is no time */
function timeOf (text) {
  const ts = readTs(text)
  return typeof ts === 'number' ? ts : null
}

/** @param {unknown} value that is no time */
function expectedTime (value) {
  const fault = String(readTs(value))
  return fault.includes('looks like') ? `${EXPECTED_TS}: ${fault}` : EXPECTED_TS
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
    const advice = code === 'ITEM_TOO_OLD' ? `; ${windowAdviceOverHttp(feed)}` : ''
    throw new FreshetError(code, `ts ${givenTs ?? nowMs}: ${ERRORS[code].meaning}${advice}`)
  },
  /** @param {Feed} feed */
  append (feed) { feed.delete(givenTs === null ? { id } : { id, ts: givenTs }) }
})
