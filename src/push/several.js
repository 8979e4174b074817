/**
 * Streams of several subjects: feeds, and keys of systems. Each is a part (part.js) with the source that a stream of its own would have.
 *
 * One position has those of all parts (src/item/several-positions.js). It comes with the first event, then at most once a second, and with
 * heartbeats, so a client that resumes may get changes of up to a second again.
 *
 * All parts together have a bounded number of partitions. A feed that comes later, or comes again with more partitions, may exceed it: then
 * the stream ends, and the client, which asks again, gets the reason as a refusal (opening.js).
 *
 * @typedef {import('./streams.js').Source} Source
 * @typedef {{ name: string, label: string, isFeed: boolean, sourceOf: (position: string | null) => Source }} Subject `name`: of a feed, or
 *   of a key, such as `auction:lamp`; `label`: the first member of the data of its events, as JSON; `sourceOf` a position, or what is none
 */
import { encodeSeveral, partitionsIn } from '../item/index.js'
import { retryAfter } from './events.js'
import { Part } from './part.js'

/** Most partitions of the feeds of one stream: their positions fit into 6 KiB. */
export const MAX_PARTITIONS = 256
/** A key counts as so many. */
export const PARTITIONS_PER_KEY = 4
const POSITION_EVERY_MS = 1000
/** Clients whose feeds became too many ask again within this time. */
const RECONNECT_WITHIN_MS = 3000
/** What no subject has as a position: it costs a reset. */
const INVALID = '-'

/** @typedef {Pick<import('./index.js').Wanted, 'limit' | 'encoding' | 'periodMs' | 'ids' | 'beginnings' | 'seal' | 'start'>} Wanted */

/**
 * @param {readonly Subject[]} subjects
 * @param {{ positions: ReadonlyMap<string, string | null> | null, isResumed: boolean,
 *   wanted: Wanted }} options `positions`: by name, null = the client has none that is valid; `isResumed`: it has sent one
 * @returns {Source}
 */
export function severalOf (subjects, { positions, isResumed, wanted }) {
  /** @type {{ name: string, isFeed: boolean, part: import('./part.js').Part, source: Source }[]} */
  const parts = []
  let positionMs = -Infinity
  let end = () => {}

  function position () {
    const reached = parts.map(({ name, isFeed, part }) => ({ name, isFeed, position: part.position }))
    if (countPartitions(reached) > MAX_PARTITIONS) end()
    const whole = encodeSeveral(reached)
    return wanted.seal ? wanted.seal.shown({ position: whole }) : whole
  }

  const several = {
    /** @param {number} nowMs Infinity: it is due */
    positionDue (nowMs) {
      if (nowMs - positionMs < POSITION_EVERY_MS) return null
      positionMs = nowMs === Infinity ? performance.now() : nowMs
      return position()
    },

    /** Names the feeds that do not exist yet. */
    beat () {
      const waiting = parts.filter(({ part }) => part.isWaiting).map(({ name }) => `: no items yet in ${name}\n`)
      return `${waiting.join('') || ': \n'}id: ${position()}\n\n`
    }
  }

  return {
    add (viewer) {
      // only a stream has parts
      const stream = /** @type {import('./stream.js').Stream} */ (viewer)
      end = () => stream.end('failed', retryAfter(Math.random() * RECONNECT_WITHIN_MS))
      for (const { name, label, isFeed, sourceOf } of subjects) {
        const own = positions?.get(name) ?? null
        const part = new Part(stream, { ...wanted, label, isFeed, position: own, several })
        parts.push({ name, isFeed, part, source: sourceOf(isResumed && positions === null ? INVALID : own) })
      }
      for (const { part, source } of parts) if (!stream.isOver) source.add(part)
    },

    remove () { for (const { part, source } of parts) source.remove(part) }
  }
}

/**
 * A feed without a position counts as one.
 * @param {readonly { isFeed: boolean, position: string | null }[]} reached
 */
const countPartitions = (reached) => reached.reduce((sum, { isFeed, position }) =>
  sum + (isFeed ? position === null ? 1 : partitionsIn(position) : PARTITIONS_PER_KEY), 0)
