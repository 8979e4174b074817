/**
 * The clock of all hubs of a process. A hub is ticked when something has changed, at most every 10 ms, and after the time that its last
 * tick asked for. Hubs that are due have their ticks one after another; the event loop runs after a few milliseconds of them.
 *
 * @typedef {object} Ticking
 * @property {() => void} soon something changed
 * @property {() => void} now what was asked for has come
 * @property {() => void} leave
 */

export const TICK_MS = 10
const RETRY_MS = 1000
/** The event loop runs after this time. */
const SLICE_MS = 5
/** Timers are that much early. */
const EARLY_MS = 1
/** Ticks of idle hubs fall on multiples of it, so that many of them are one wake-up. */
const TOGETHER_MS = 50

/** @typedef {{ tick: () => void, dueMs: number }} Member */
/** @typedef {ReturnType<typeof createTicks>} Ticks */

export function createTicks () {
  /** @type {Set<Member>} */
  const members = new Set()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let timerMs = Infinity
  let isRunning = false

  /** @param {number} dueMs */
  function schedule (dueMs) {
    if (isRunning || dueMs >= timerMs) return
    clearTimeout(timer)
    const leftMs = dueMs - performance.now()
    if (leftMs <= 0) return begin()
    timerMs = dueMs
    timer = setTimeout(begin, leftMs).unref()
  }

  function begin () {
    timerMs = Infinity
    isRunning = true
    // what arrived with a change goes with it
    setImmediate(run)
  }

  function run () {
    const nowMs = performance.now()
    const due = [...members].filter(({ dueMs }) => dueMs - EARLY_MS <= nowMs)
    for (const member of due) {
      if (performance.now() - nowMs > SLICE_MS) break
      if (!members.has(member)) continue
      // the others come first in the next run
      members.delete(member)
      members.add(member)
      member.tick()
    }
    isRunning = false
    let nextMs = Infinity
    for (const { dueMs } of members) nextMs = Math.min(nextMs, dueMs)
    if (nextMs < Infinity) schedule(nextMs)
  }

  return {
    /**
     * @param {() => number} tick ms until the next one is needed even if nothing changes; 0 = there is more to do
     * @param {{ pauseMs?: number, onError: (error: Error) => void }} options `pauseMs`: shortest time between two ticks because of changes
     * @returns {Ticking}
     */
    join (tick, { pauseMs = TICK_MS, onError }) {
      let isChanged = false
      /** When the last tick because of a change was. */
      let changedMs = -Infinity
      const member = {
        dueMs: Infinity,
        tick () {
          const nowMs = performance.now()
          if (isChanged) [isChanged, changedMs] = [false, nowMs]
          member.dueMs = Infinity
          try {
            const waitMs = tick()
            const dueMs = performance.now() + waitMs
            member.dueMs = Math.min(member.dueMs, waitMs < TOGETHER_MS ? dueMs : Math.ceil(dueMs / TOGETHER_MS) * TOGETHER_MS)
          } catch (error) {
            onError(error)
            member.dueMs = nowMs + RETRY_MS
            changedMs = member.dueMs - pauseMs
          }
        }
      }
      /** @param {number} dueMs */
      function due (dueMs) {
        if (dueMs >= member.dueMs || !members.has(member)) return
        member.dueMs = dueMs
        schedule(dueMs)
      }
      members.add(member)
      return {
        soon () {
          isChanged = true
          due(changedMs + pauseMs)
        },
        now () { due(performance.now()) },
        leave () { members.delete(member) }
      }
    }
  }
}
