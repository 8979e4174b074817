/**
 * How often nodes are asked for their state: every 100 ms while the servers are used, so that lag and loss are known by then, else twice a
 * second. Requests, batches and open streams are use. A process that only writes has no use for lag.
 */

const BUSY_MS = 100
const IDLE_MS = 500
const USED_FOR_MS = 10_000

/** @typedef {ReturnType<typeof createPace>} Pace */

/** @param {() => number} [now] performance.now() @param {{ isReading?: boolean }} [options] */
export function createPace (now = () => performance.now(), { isReading = true } = {}) {
  let usedMs = now()
  let holds = 0
  /** @type {Set<() => void>} */
  const wakers = new Set()
  const isBusy = () => holds > 0 || now() - usedMs < USED_FOR_MS

  function use () {
    const wasBusy = isBusy()
    usedMs = now()
    if (!wasBusy) for (const wake of wakers) wake()
  }

  return {
    use,
    /** As use, until the returned function is called. @returns {() => void} */
    hold () {
      use()
      holds++
      let isHeld = true
      return () => {
        if (isHeld) holds--
        isHeld = false
      }
    },
    get ms () { return isReading && isBusy() ? BUSY_MS : IDLE_MS },
    /** @param {() => void} wake is called when use begins again @returns {() => void} ends that */
    onBusy (wake) {
      wakers.add(wake)
      return () => { wakers.delete(wake) }
    }
  }
}
