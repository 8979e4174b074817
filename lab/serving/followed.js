/**
 * What one client knows of the ids that it follows: the newest version that it received of each. It checks what it receives
 * next against that: nothing goes back, and nothing comes that it did not request or that is not due yet.
 *
 * An item is timed once, when the client receives a version that it did not have: from the event time, which the writer sets
 * when the item is due, in whole milliseconds, until it was received. The measured time is never too short, and too long by
 * less than 1 ms. The first version of an id is not timed, because it can be of any age.
 */
import { numberIn } from './workload.js'

/** clocks of two processes of one machine differ by less */
const CLOCKS_MS = 1

/** @typedef {{ id: string, ts: number, value: string, deleted?: true }} Item as a reader writes it, values in base64 */

/** @param {string[]} ids */
export function createFollowed (ids) {
  const indexes = new Map(ids.map((id, index) => [id, index]))
  /** 0 = nothing received */
  const times = new Float64Array(ids.length)
  /** @type {string[]} */
  const values = ids.map(() => '')

  /** Of two versions of one millisecond. @param {string} before @param {string} value */
  const isOlder = (before, value) => Number(numberIn(value)?.number) < Number(numberIn(before)?.number)

  return {
    ids,
    /** The newest of each, base64; empty = nothing received. */
    values,

    /**
     * @param {Item[]} items
     * @param {number} receivedMs since 1970
     * @param {(ms: number) => void} onNew age of each version that the client did not have
     * @returns {string | null} what is wrong with them
     */
    take (items, receivedMs, onNew) {
      for (const { id, ts, value, deleted } of items) {
        const index = indexes.get(id)
        if (index === undefined) return `${id} was not requested`
        if (deleted) return `${id} is marked as deleted, but was never deleted`
        if (!(ts <= receivedMs + CLOCKS_MS)) return `${id} of ${ts} was received at ${receivedMs.toFixed(1)}, before it was due`
        const before = times[index]
        if (ts === before && value === values[index]) continue
        if (ts < before || (ts === before && isOlder(values[index], value))) return `${id} went back: from ${before} to ${ts}`
        times[index] = ts
        values[index] = value
        if (before > 0) onNew(receivedMs - ts)
      }
      return null
    },

    /** Forgets all versions, for a reset. */
    forget () {
      times.fill(0)
      values.fill('')
    }
  }
}
