/**
 * The time, for what is done for every item: looking at the clock costs a quarter of an append. It is looked at again
 * after each turn of the event loop, and within one after so many items, so it is behind by as long as those take.
 */

const ITEMS_PER_LOOK = 64

/** @param {() => number} [look] @returns {() => number} */
export function createCoarseClock (look = () => Date.now()) {
  let nowMs = 0
  let left = 0
  let isTurnWatched = false

  function turned () {
    left = 0
    isTurnWatched = false
  }

  return () => {
    if (left > 0) {
      left--
      return nowMs
    }
    left = ITEMS_PER_LOOK - 1
    if (!isTurnWatched) {
      isTurnWatched = true
      setImmediate(turned)
    }
    nowMs = look()
    return nowMs
  }
}
