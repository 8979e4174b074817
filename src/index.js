/**
 * The public API of the library.
 *
 *     import { openFeed } from 'freshet-feed'
 *     const feed = await openFeed('positions', { redisUrl: 'redis://127.0.0.1:6379' })
 *     feed.append({ id: 'bus-7', ts: Date.now(), value: 'stop 12' })     // false: await feed.ready() before the next
 *     await feed.flush()
 *     const { items } = await feed.latest(100)
 *     for await (const change of feed.subscribe()) { ... }
 *     await feed.close()
 */
// values are Buffers, whose types must be referenced
/// <reference types="node" preserve="true" />
import { FreshetError } from './errors.js'
import { Feed as OpenedFeed } from './feed.js'
import { checkFeedName } from './feeds/index.js'
import { keepInside } from './inside.js'
import { checkedOptions } from './options.js'
import { Reader as OpenedReader } from './reader.js'
import { openQueries } from './view/index.js'
import { openWritableFeed } from './writable-feed.js'

export { FreshetError, SettingsInvalid } from './errors.js'

/** @template [T=Buffer] @typedef {import('./feed.js').Feed<T>} Feed a feed opened for writing and reading */
/** @template [T=Buffer] @typedef {import('./feed.js').NewItem<T>} NewItem what `append` takes */
/** @template [T=Buffer] @typedef {import('./reading.js').Item<T>} Item an item as it is read */
/** @template [T=Buffer] @typedef {import('./reading.js').Page<T>} Page what `latest` and `since` return */
/** @template [T=Buffer] @typedef {import('./reading.js').Reading<T>} Reading a feed opened for reading */
/** @template [T=Buffer] @typedef {import('./reading.js').Change<T>} Change what `subscribe` yields */
/** @typedef {import('./feed.js').Account} Account */
/** @typedef {import('./feed.js').Deletion} Deletion */
/** @typedef {import('./feed.js').Status} Status */
/** @typedef {import('./options.js').Definition} Definition */
/** @typedef {import('./options.js').FeedOptions} FeedOptions */
/** @typedef {import('./options.js').JsonFeedOptions} JsonFeedOptions */
/** @typedef {import('./options.js').Layout} Layout */
/** @typedef {import('./options.js').Log} Log */
/** @typedef {import('./options.js').ServerOptions} ServerOptions */
/** @typedef {import('./reader.js').Reader} Reader servers opened for reading */
/** @typedef {import('./reader.js').ReaderStatus} ReaderStatus */
/** @typedef {import('./reading.js').Count} Count */
/** @typedef {import('./reading.js').PageOptions} PageOptions */
/** @typedef {import('./reading.js').SubscribeOptions} SubscribeOptions */

/**
 * Opens a feed for writing and reading, whose values are stored as JSON. The first accepted item creates the feed. Later openings get
 * it as it is stored, and must agree in what they set.
 * @template [T=any] type of the values; what is read is not checked against it
 * @overload
 * @param {string} name of the feed: a-z or 0-9 first, then up to 63 of a-z 0-9 . _ -
 * @param {import('./options.js').JsonFeedOptions} options
 * @returns {Promise<Feed<T>>}
 * @throws {FreshetError} SETTINGS_INVALID (all faults at once), FEED_NAME_INVALID, FEED_DEFINITION_DIFFERS, FEED_LAYOUT_UNKNOWN,
 *   KEY_HOLDS_OTHER, SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED, CLUSTER_UNSUPPORTED, SENTINEL_UNSUPPORTED
 */
/**
 * Opens a feed for writing and reading, whose values are bytes. The first accepted item creates the feed. Later openings get it as it
 * is stored, and must agree in what they set.
 * @overload
 * @param {string} name of the feed: a-z or 0-9 first, then up to 63 of a-z 0-9 . _ -
 * @param {import('./options.js').FeedOptions} options
 * @returns {Promise<Feed>}
 * @throws {FreshetError} SETTINGS_INVALID (all faults at once), FEED_NAME_INVALID, FEED_DEFINITION_DIFFERS, FEED_LAYOUT_UNKNOWN,
 *   KEY_HOLDS_OTHER, SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED, CLUSTER_UNSUPPORTED, SENTINEL_UNSUPPORTED
 */
/**
 * @param {string} name @param {any} options
 * @param {{ isLazy?: boolean }} [by] `isLazy` false: of synthetic load: the opening creates the feed, before there are items
 * @returns {Promise<Feed<any>>}
 */
export async function openFeed (name, options, { isLazy = true } = {}) {
  const inside = await openWritableFeed(checkFeedName(name), { ...checkedOptions(options ?? {}, 'openFeed'), isLazy })
  return keepInside(new OpenedFeed(inside), inside)
}

/**
 * Opens servers for reading only: nothing is written, no feed is created.
 * @overload
 * @param {import('./options.js').ServerOptions} options
 * @returns {Promise<Reader>}
 * @throws {FreshetError} SETTINGS_INVALID (all faults at once), SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
 */
/** @param {any} options @param {import('./view/index.js').Serving} [serving] of the reader process @returns {Promise<Reader>} */
export async function openReader (options, serving) {
  const closing = new AbortController()
  const settings = checkedOptions(options ?? {}, 'openReader')
  const servers = await openQueries(settings, serving)

  async function views () {
    if (closing.signal.aborted) throw new FreshetError('PIPELINE_CLOSED', 'the reader is closed; open it again')
    return servers.queries
  }

  async function close () {
    closing.abort()
    await servers.close()
  }

  const reader = new OpenedReader({ views, closing: closing.signal, log: settings.log, status: servers.queries.status, close })
  return keepInside(reader, servers)
}
