/** What routes do for clients that may see some ids only. */
import { plainCursors, sealedCursors } from '../../src/item/index.js'
import { filteredQueries } from '../../src/view/index.js'

/** @typedef {import('../../src/item/index.js').IdFilter} IdFilter null = all ids */

/** @param {import('../app.js').Queries} queries @param {IdFilter | null} filter */
export const queriesFor = (queries, filter) => filter === null ? queries : filteredQueries(queries, filter)

/**
 * @param {import('../app.js').Queries} queries @param {string} feed @param {IdFilter | null} filter
 * @returns {import('../../src/item/index.js').Cursors | Promise<import('../../src/item/index.js').Cursors>}
 */
export const cursorsFor = (queries, feed, filter) => filter === null
  ? plainCursors(feed)
  : queries.secret(feed).then((secret) => sealedCursors(feed, secret, filter))

/** @param {string[] | null} ids of a query */
export const bytesOfIds = (ids) => ids && ids.map((id) => Buffer.from(id))

/**
 * The ids to look up, if they are named.
 * @param {IdFilter | null} filter @param {Buffer[] | null} asked @returns {Buffer[] | null} null: items are scanned
 */
export function ownIds (filter, asked) {
  if (filter === null) return asked
  return asked ? asked.filter((id) => filter.has(id)) : filter.exact
}

/** Replies are shared by clients with the same ids. @param {IdFilter | null} filter */
export const sharedBy = (filter) => filter === null ? {} : { of: filter.of, isPrivate: true }
