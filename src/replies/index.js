/**
 * Cached HTTP replies about items.
 *
 * @typedef {import('./item-chunks.js').ItemQueries} ItemQueries
 * @typedef {import('./item-chunks.js').Chunk} Chunk
 * @typedef {import('./item-chunks.js').Format} Format
 * @typedef {import('./item-chunks.js').Query} Query
 * @typedef {import('./reply-cache.js').Built} Built
 * @typedef {import('./reply-cache.js').BuildNow} BuildNow
 * @typedef {import('./reply-cache.js').Revision} Revision
 * @typedef {import('./serve.js').Replies} Replies
 */
export { acceptsGzip, matchesTag, prefersNdjson, tagOf } from './headers.js'
export { ENCODINGS, ITEM_SCHEMA, itemWriter, TextBuffer } from './encode-items.js'
export { gzipped } from './compress.js'
export { itemBytes, newestChunks, newestNow, PAGE_BYTES, PAGE_ITEMS, selectedChunks } from './item-chunks.js'
export { createReplies, JSON_TYPE, NDJSON_TYPE } from './serve.js'
export { SingleFlight } from './reply-cache.js'
