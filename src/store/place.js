/**
 * Where a link leads: one address, or the primary of a key, which moves in a cluster. When it moves, the attempt, session or wait of the
 * link ends.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** @typedef {{ map: import('./slot-map.js').SlotMap, url: () => string }} Place `url` may throw, when nothing is there now */

/** @param {string | Place} place @param {() => void} onMoved */
export function createMoves (place, onMoved) {
  const { map, url: urlOf } = typeof place === 'string' ? { map: undefined, url: () => place } : place
  let url = typeof place === 'string' ? place : place.map.seeds[0]
  /** of the attempt or session, or of the wait for the next one */
  let moving = new AbortController()
  let isWaiting = false
  let isOver = false

  const unwatch = map?.watch(() => {
    let next = url
    // no primary has the slot now: the last one may get it back
    try { next = urlOf() } catch {}
    if (next !== url || isWaiting) moving.abort()
    if (next !== url) onMoved()
  })

  return {
    map,
    /** Of the last attempt. */
    get url () { return url },
    /** Aborted when the place moves, or after `end`. @returns {AbortSignal} */
    get signal () { return moving.signal },
    /** Looks where the place is now. @returns {string} */
    look () {
      url = urlOf()
      return url
    },
    /** A new attempt begins. */
    begin () { if (!isOver) moving = new AbortController() },
    /** @param {number} ms at most */
    async wait (ms) {
      isWaiting = true
      await sleep(ms, undefined, { signal: moving.signal }).catch(() => {})
      isWaiting = false
    },
    end () {
      isOver = true
      unwatch?.()
      moving.abort()
    }
  }
}
