/**
 * What one client knows of the ids that it follows: the newest version that it was told of each. What it is told next is held
 * against that: nothing goes back, nothing comes that was not asked for or is not due yet.
 *
 * An item is timed once, when a version comes that the client did not have: from the event time, which the writer gives it
 * when it is due, in whole milliseconds, to when it was heard. So what is told is never shorter than it was, and longer by
 * less than 1 ms. What a client is told of an id for the first time is as old as it happens to be, and is not timed.
 */
import { numberIn } from './workload.js'

/** clocks of two processes of one machine differ by less */
const CLOCKS_MS = 1

/** @typedef {{ id: string, ts: number, value: string, deleted?: true }} Item as a reader writes it, values in base64 */

/** @param {string[]} ids */
export function createFollowed (ids) {
  const slots = new Map(ids.map((id, slot) => [id, slot]))
  /** 0 = it was told nothing */
  const times = new Float64Array(ids.length)
  /** @type {string[]} */
  const values = ids.map(() => '')

  /** Of two versions of one millisecond. @param {string} before @param {string} value */
  const isOlder = (before, value) => Number(numberIn(value)?.number) < Number(numberIn(before)?.number)

  return {
    ids,
    /** The newest of each, base64; empty = it was told nothing. */
    values,

    /**
     * @param {Item[]} items
     * @param {number} heardMs ms since 1970
     * @param {(ms: number) => void} onNew of each version that it did not have: how old it was
     * @returns {string | null} what is wrong with them
     */
    take (items, heardMs, onNew) {
      for (const { id, ts, value, deleted } of items) {
        const slot = slots.get(id)
        if (slot === undefined) return `${id} was not asked for`
        if (deleted) return `${id} is told to be deleted, which nobody did`
        if (!(ts <= heardMs + CLOCKS_MS)) return `${id} of ${ts} came at ${heardMs.toFixed(1)}: it is not due yet`
        const before = times[slot]
        if (ts === before && value === values[slot]) continue
        if (ts < before || (ts === before && isOlder(values[slot], value))) return `${id} went back: from ${before} to ${ts}`
        times[slot] = ts
        values[slot] = value
        if (before > 0) onNew(heardMs - ts)
      }
      return null
    },

    /** What comes next begins anew. */
    forget () {
      times.fill(0)
      values.fill('')
    }
  }
}
