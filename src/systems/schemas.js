/** Schemas and query fields that systems share: the same word is the same thing in all of them. */
import { described, ID_FIELD, integer } from '../fields/index.js'

/** @import { QueryRow } from '../http/index.js' */

const MAX_SEQ = Number.MAX_SAFE_INTEGER
const MAX_WAIT_MS = 30_000
const MAX_PAGE = 1000
const PAGE = 100
const MAX_LISTED = 100
const LISTED = 20

/** @param {Record<string, object>} properties */
export const objectOf = (properties) => ({ type: 'object', properties })
/** @param {object} item */
export const listOf = (item) => objectOf({ items: { type: 'array', items: item } })
/** @param {object} item */
export const pageOf = (item) =>
  objectOf({ items: { type: 'array', items: item }, next: { type: ['string', 'null'], description: 'for `after`' } })

export const AMOUNT = Object.freeze({ type: 'string', description: 'decimal' })
export const NULLABLE_AMOUNT = Object.freeze({ type: ['string', 'null'], description: 'decimal' })
export const TIME = Object.freeze({ type: 'integer', description: 'milliseconds since 1970' })
export const COUNT = Object.freeze({ type: 'integer' })
export const SEQ = Object.freeze({ type: 'integer', description: 'number of the last event' })
export const GENERATION =
  Object.freeze({ type: 'string', description: 'of the history: sequence numbers of another one cannot be compared' })

/**
 * How long a query may wait. @param {string} what it waits for @param {number} [unset] without the field: null is 0, or 500 with minSeq
 */
export const waitField = (what, unset) => integer(0, MAX_WAIT_MS, {
  description: `longest wait for ${what}, ms${unset === undefined ? '; default: 500 with minSeq, else 0' : ''}`, default: unset
})

/** Fields of a query that may wait for events (reading.js, `since`). @param {string} [end] what it waits for without minSeq */
export const sinceFields = (end) => ({
  minSeq: integer(0, MAX_SEQ, { description: 'waits until events up to this number have come, then asks the primary' }),
  waitMs: waitField(`minSeq${end ? `, or without it for ${end}` : ''}`)
})

/** Fields of a page of events. @param {string} what @param {'before' | 'after'} [side] which come next */
export const pageFields = (what, side = 'after') => ({
  after: integer(1, MAX_SEQ, { description: `only ${what} ${side} this sequence number: \`next\` of the page before` }),
  limit: limitField(what)
})

/** An id in a query. @param {string} description */
export const idQuery = (description) => described(ID_FIELD, description)

/** @param {string} what @param {number} [most] @param {number} [unset] */
export const limitField = (what, most = MAX_PAGE, unset = PAGE) => integer(1, most, { description: `${what} of a page`, default: unset })

/** The query says whose command it was. */
const USER_FIELDS = Object.freeze({ userId: idQuery('the user of the command') })

const ANY = Object.freeze({ type: 'object' })

/**
 * The query for the reply of an accepted command, which has the status of that reply.
 * @param {{ path: string, codes: string[], fields?: QueryRow['fields'],
 *   replyTo: (id: string, request: { userId: string, requestId: string }, systemQueries: any, parts: any) =>
 *   Promise<{ status: number, body: unknown }> }} row `path` of the key; `userId`: empty = none
 * @returns {QueryRow}
 */
export const byRequestRow = ({ path, codes, fields = USER_FIELDS, replyTo }) => ({
  path: `${path}/by-request/:key`,
  summary: 'The reply of an accepted command, from the primary',
  fields,
  reply: ANY,
  replies: { 200: ANY, 201: ANY, 202: ANY },
  codes: [...codes, 'REQUEST_NOT_ACCEPTED'],
  async run ({ params: { key: requestId, ...of }, query: { userId } }, systemQueries, reply, parts) {
    const { status, body } = await replyTo(Object.values(of)[0], { userId: userId ?? '', requestId }, systemQueries, parts)
    return reply.code(status).send(body)
  }
})

/**
 * The query for the events of a key, the newest first.
 * @param {{ path: string, summary: string, item: object, codes: string[], shown: (event: any, systemQueries: any) => object }} row
 * @returns {QueryRow}
 */
export const historyRow = ({ path, summary, item, codes, shown }) => ({
  path,
  summary,
  fields: pageFields('events', 'before'),
  reply: pageOf(item),
  codes,
  async run ({ params, query: { after, limit } }, systemQueries, _reply, { events }) {
    const page = await events(Object.values(params)[0], { before: after, limit })
    const oldest = page.at(-1)?.seq ?? 1
    return { items: page.map((/** @type {any} */ event) => shown(event, systemQueries)), next: oldest > 1 ? String(oldest) : null }
  }
})

/**
 * The query for keys with the scheduled task `due`, the next one first.
 * @param {{ path: string, summary: string, item: object, what: string, rule: string,
 *   shown: (all: any[], systemQueries: any) => object[] | Promise<object[]> }} row
 * @returns {QueryRow}
 */
export const dueRow = ({ path, summary, item, what, rule, shown }) => ({
  path,
  summary,
  fields: { limit: limitField(what, MAX_LISTED, LISTED) },
  reply: listOf(item),
  none: () => ({ items: [] }),
  async run ({ query: { limit } }, systemQueries, _reply, { reading, view }) {
    const all = await reading.due({ rule, name: 'due', limit })
    return { items: await shown(all.map(view.storedOf), systemQueries) }
  }
})

const USER_PAGE = Object.freeze({
  after: integer(1, MAX_SEQ, { description: 'only older ones: `next` of the page before' }), limit: limitField('rows')
})

/**
 * A query of what a user has, from the database, the newest first.
 * @param {{ path: string, what: string, item: object, sql: string, shown: (row: any) => object }} row `sql`: $1 user, $2 the id before
 *   which rows count, $3 how many; rows have an `id`
 * @returns {QueryRow}
 */
export const queryOfUser = ({ path, what, item, sql, shown }) => ({
  path,
  access: 'write',
  summary: `${what} of a user, the newest first; needs the scope write, since user ids are not masked`,
  fields: USER_PAGE,
  reply: pageOf(item),
  codes: ['DATABASE_DOWN', 'DATABASE_TIMEOUT'],
  isOfDatabase: true,
  async run ({ params: { id }, query: { after, limit } }, database) {
    const rows = await database.rows(sql, [id, after ?? MAX_SEQ, limit + 1])
    const page = rows.slice(0, limit)
    return { items: page.map(shown), next: rows.length > limit ? String(page.at(-1).id) : null }
  }
})
