/**
 * Streams of feeds that do not exist yet. A comment says so, at once and with each heartbeat; when the feed exists, the stream joins its
 * hub, and its snapshot has all items of the feed.
 */
import { isPositionOf } from '../item/index.js'
import { NO_ITEMS, retryAfter } from './events.js'

const LOOK_EVERY_MS = 1000
/** Clients whose feed cannot be followed come again within this time, and get the reason. */
const RECONNECT_WITHIN_MS = 3000

/** @typedef {import('./viewer.js').Viewer} Stream */

/**
 * @param {{ queries: Pick<import('../view/index.js').Queries, 'untilFeed'>, hubs: ReturnType<typeof import('./hubs.js').createHubs>,
 *   log: import('pino').Logger }} parts
 */
export function createWaiting ({ queries, hubs, log }) {
  /** @type {Set<Stream>} */
  const waiting = new Set()
  /** @type {NodeJS.Timeout | undefined} */
  let beats

  function beat () {
    for (const stream of waiting) {
      stream.measure()
      stream.keepAlive(performance.now(), NO_ITEMS)
    }
  }

  /** @param {Stream} stream */
  function leave (stream) {
    waiting.delete(stream)
    if (waiting.size === 0) clearInterval(beats)
  }

  /** @param {Stream} stream @param {import('./index.js').Wanted} wanted @param {AbortSignal} signal */
  async function join (stream, { feed, position }, signal) {
    if (await queries.untilFeed(feed, signal) === null) return null
    const followed = await hubs.follow(feed)
    leave(stream)
    if (signal.aborted) {
      hubs.lingerIfEmpty(feed, followed)
      return null
    }
    const isInvalid = position !== null && !isPositionOf(feed, position)
    stream.isFirst = position === null
    followed.hub.add(stream, isInvalid ? null : position, isInvalid)
    return followed
  }

  return {
    /** @param {import('./index.js').Wanted} wanted @returns {import('./streams.js').Source} */
    sourceOf (wanted) {
      const over = new AbortController()
      /** @type {import('./hubs.js').Followed | null} */
      let followed = null
      return {
        add (stream) {
          stream.send(NO_ITEMS)
          if (waiting.size === 0) beats = setInterval(beat, LOOK_EVERY_MS).unref()
          waiting.add(stream)
          join(stream, wanted, over.signal).then((one) => { followed = one }, (error) => {
            log.warn({ feed: wanted.feed, code: error.code, reason: error.message }, 'streams that waited for a feed end')
            stream.end('failed', retryAfter(Math.random() * RECONNECT_WITHIN_MS))
          })
        },
        remove (stream) {
          over.abort()
          leave(stream)
          if (followed === null) return
          followed.hub.remove(stream)
          hubs.lingerIfEmpty(wanted.feed, followed)
        }
      }
    }
  }
}
