/**
 * The bound on memory of all views of a process: half of what the process may use. Over it, views that nothing read for a minute are
 * closed, the longest unread first, and come again when they are asked for. While there is no room no further view is opened: its feed is
 * answered by nodes, as far as they can, and what they cannot is VIEW_OVER_BOUND.
 *
 * @typedef {{ view: { stats: () => { bytes: number } }, usedMs: number }} Measured
 * @typedef {ReturnType<typeof createViewBound>} ViewBound
 */
import { totalmem } from 'node:os'
import { FreshetError } from '../errors.js'

const SHARE = 0.5
const UNREAD_MS = 60_000

/** Bytes. Where nothing bounds a process, its bound is far above what the machine has. */
const ofProcess = () => SHARE * Math.min(totalmem(), process.constrainedMemory() || Infinity)

/**
 * @param {{ maxBytes?: number, unreadMs?: number, log: import('pino').Logger }} parts `unreadMs`: after which a view may be closed
 */
export function createViewBound ({ maxBytes = ofProcess(), unreadMs = UNREAD_MS, log }) {
  let bytes = 0
  /** feeds whose view was closed, until they are asked for @type {Set<string>} */
  const closed = new Set()
  /** feeds that should have a view and have none @type {Set<string>} */
  const refused = new Set()
  const counts = { closed: 0, refused: 0 }

  return {
    counts,

    /** Whether a view may be opened now. @param {string} feed */
    admits (feed) {
      if (closed.has(feed)) return false
      if (bytes < maxBytes) {
        refused.delete(feed)
        return true
      }
      if (!refused.has(feed)) {
        counts.refused++
        log.warn({ feed, bytes, maxBytes }, 'no room for the view of a feed')
      }
      refused.add(feed)
      return false
    },

    /** A feed is read. @param {string} feed */
    asked (feed) { closed.delete(feed) },

    /** @param {string} feed @returns {FreshetError | null} why it has no view */
    refusalOf: (feed) => refused.has(feed)
      // not how many bytes: those of other feeds and ids would show
      ? new FreshetError('VIEW_OVER_BOUND', `feed ${feed} has no view: those of this process hold more than half of its memory; ` +
        'request the newest items, or read fewer feeds from one reader')
      : null,

    /**
     * @param {Iterable<[feed: string, one: Measured]>} held
     * @param {{ isKept: (feed: string) => boolean, close: (feed: string) => void }} how `isKept`: for a client that watches
     */
    enforce (held, { isKept, close }) {
      const all = [...held]
      bytes = all.reduce((sum, [, { view }]) => sum + view.stats().bytes, 0)
      const unread = all.filter(([feed, { usedMs }]) => !isKept(feed) && performance.now() - usedMs > unreadMs)
      for (const [feed, { view }] of unread.sort(([, a], [, b]) => a.usedMs - b.usedMs)) {
        if (bytes < maxBytes) return
        const freed = view.stats().bytes
        bytes -= freed
        closed.add(feed)
        counts.closed++
        log.warn({ feed, bytes: freed, maxBytes }, 'view that nothing read is closed: views hold too much memory')
        close(feed)
      }
    }
  }
}
