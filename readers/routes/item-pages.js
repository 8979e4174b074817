/**
 * Bodies of pages of items: built whole, as JSON or NDJSON, or streamed as NDJSON. The cursor of the next page is in the body, in the
 * header Freshet-Next or, if the body is streamed, in the trailer Freshet-Next. Without a cursor the feed ends there.
 *
 * For a client that may see some ids only, a scan may end before the page is full: `complete` is false then, or the header
 * Freshet-Complete. Such a cursor may name another id, so its place is not part of the entity tag.
 */
import { Readable } from 'node:stream'
import { newestNow } from '../../src/replies/index.js'
import { clientGone, problemOf, problemText } from '../../src/http/index.js'
import { plainCursors } from '../../src/item/index.js'

/** @typedef {import('../../src/replies/index.js').Chunk} Chunk */
/** @typedef {import('../../src/item/index.js').Cursors} Cursors */
/** @typedef {import('../../src/item/index.js').Place} Place */
/** @typedef {{ parts: Buffer[], bytes: number, last: Chunk }} Page */

export const MAX_PAGE_BYTES = 16 * 1024 * 1024
/** larger pages are not built synchronously: a thousand of them at once would delay everything else for seconds */
export const MAX_NOW_BYTES = 128 * 1024
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
export const pageBuilder = (queries, { budget, sizes }, feed, query, format, ndjson) => ({ asOf, lagMs }) => {
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
export async function readPage (chunks, maxBytes, isWanted) {
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
export function buildJson (feed, { parts, last }, cursors) {
  const tail = jsonTail(cursorOf(cursors, last.next), last.isCut)
  const body = Buffer.concat([Buffer.from(jsonHead(feed, last.asOf)), ...parts, Buffer.from(tail)])
  return { asOf: last.asOf, lagMs: last.lagMs, body, content: [...parts, cursors.isSealed ? jsonTail(shownOf(last), last.isCut) : tail] }
}

/** @param {Page} page @param {Cursors} cursors @returns {import('../../src/replies/index.js').Built} */
export function buildNdjson ({ parts, last }, cursors) {
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
export function streamNdjson ({ parts, last }, chunks, cursors, reply) {
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
