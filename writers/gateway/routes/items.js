/** Items into a feed, and deletions. */
import { ERRORS, FreshetError } from '../../../src/errors.js'
import { checkFeedName } from '../../../src/feeds/definitions.js'
import { bodyOf, takeBodies } from '../../../src/http/body.js'
import { feedRoute } from '../../../src/http/openapi.js'
import { integer, oneOf, querySchema, readQuery } from '../../../src/http/query.js'
import { idBytes } from '../../../src/item/id.js'
import { MAX_TS } from '../../../src/item/order.js'
import { countRefused } from '../../../src/pipeline/account.js'
import { JSON_TYPE, LINES_TYPES, readItems } from '../read-items.js'

/** an item is held as commands: its id twice, keys, lengths, its score */
const ITEM_HEAD_BYTES = 192
const NOTHING = Buffer.alloc(0)
const UNSAID = Object.freeze({ index: -1 })

const ITEM = {
  type: 'object',
  required: ['id', 'value'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', description: '1-128 bytes of UTF-8 without control characters' },
    ts: { type: 'integer', minimum: 0, maximum: MAX_TS, description: 'event time, milliseconds since 1970; now, without it' },
    value: { description: 'any JSON value, stored as its text; with encoding=base64 text in base64, stored as its bytes' }
  }
}
const TAKEN = {
  type: 'object',
  required: ['accepted'],
  properties: {
    accepted: { type: 'integer', description: 'acknowledged items; where the gateway was told to drop late ones, those too' },
    refused: { type: 'integer', description: 'items that became too old for the feed while they were taken' },
    dropped: { type: 'integer', description: 'all of them, when as many bytes are in flight as are allowed and the gateway was told to drop' }
  }
}
const POST_FIELDS = { encoding: oneOf(['json', 'base64'], { description: 'what values are' }) }
const DELETE_FIELDS = { ts: integer(0, MAX_TS, { description: 'event time of the deletion, milliseconds since 1970; now, without it' }) }

const POST = feedRoute({
  summary: 'Takes items, all or none; answers when they are acknowledged',
  params: ['feed'],
  query: querySchema(POST_FIELDS),
  body: Object.fromEntries([
    [JSON_TYPE, { type: 'array', items: ITEM }],
    ...LINES_TYPES.map((type) => [type, { type: 'string', description: 'one item a line, as in application/json' }])
  ]),
  content: { [JSON_TYPE]: TAKEN },
  headers: {}
})

const DELETE = feedRoute({
  summary: 'Deletes an item: hides its id until a newer version comes; answers when that is acknowledged. With ts it may be repeated',
  params: ['feed', 'id'],
  query: querySchema(DELETE_FIELDS),
  content: { [JSON_TYPE]: TAKEN },
  headers: {}
})

/** @typedef {import('../feeds.js').Feed} Feed */

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ feeds: import('../feeds.js').Feeds, ingest: import('../ingest.js').Ingest,
 *   bodies: { maxBytes: number, room: import('../../../src/http/body-bytes.js').BodyRoom }, clock: () => number }} parts `bodies`: their bounds
 */
export async function itemRoutes (app, { feeds, ingest, bodies, clock }) {
  takeBodies(app, { types: [JSON_TYPE, ...LINES_TYPES], ...bodies })

  app.post('/v1/feeds/:feed/items', { schema: POST }, async (request) => {
    const name = checkFeedName(/** @type {any} */ (request.params).feed)
    const { encoding } = readQuery(request, POST_FIELDS)
    const sent = createSent(bodyOf(request), { base64: encoding === 'base64', nowMs: Math.floor(clock()), free: () => /** @type {import('../../../src/http/body.js').Request} */ (/** @type {unknown} */ (request)).freeBody?.() })
    if (sent.faults.count > 0) {
      // what the feed has against the others is said too, if it can be asked
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
    // a deletion must not create anew what was dropped
    return feeds.use(name, { mayCreate: false }, (feed) => ingest.take(feed, createDeletion(id, ts, Math.floor(clock()))))
  })
}

/**
 * The items of a body, with the body as long as it is needed: who waits for an acknowledgement holds neither.
 * @param {import('../../../src/http/body.js').Body} body
 * @param {import('../read-items.js').Reading & { free: () => void }} reading `free` gives back its room
 */
function createSent (body, { free, ...reading }) {
  let { items, faults } = readItems(body, reading)
  return {
    faults,
    count: items.length,
    bytes: items.reduce((sum, { id, value }) => sum + 2 * id.length + value.length + ITEM_HEAD_BYTES, 0),

    /** @param {Feed} feed @throws {HttpError} REQUEST_INVALID, with what the feed has against items among the faults */
    check (feed) {
      if (faults.count === 0 && items.every((item) => feed.refusalOf(item) === null)) return
      const all = faults.listing ? readItems(body, { ...reading, refusalOf: feed.refusalOf }).faults : addRefused(faults, items, feed)
      if (all.count === 0) return
      for (const [code, n] of Object.entries(all.byCode)) {
        feed.account.offered += n
        countRefused(feed.account, code, n)
      }
      throw all.error()
    },

    /** @param {Feed} feed */
    append (feed) {
      for (const item of items) feed.append(item)
      items = []
      body = { ...body, bytes: NOTHING }
      free()
    }
  }
}

/**
 * Counts what the feed has against items, when as many faults are known as are listed: where they stand is not told then.
 * @param {import('../faults.js').Faults} faults
 * @param {import('../read-items.js').Item[]} items @param {Feed} feed
 */
function addRefused (faults, items, feed) {
  for (const item of items) {
    const code = feed.refusalOf(item)
    if (code !== null) faults.add(UNSAID, code, () => '')
  }
  return faults
}

/** @param {Buffer} id @param {number | null} givenTs null = a version of now @param {number} nowMs */
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
