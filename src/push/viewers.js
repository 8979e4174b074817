/**
 * The hub of all who view one subject: a feed (hub.js), or a key of a system (src/systems/viewers.js). It decides which viewer has a turn;
 * the encoder of the subject decides what a viewer lacks, and sends it.
 *
 *     change -> tick, at most every 10 ms -> encoder.refresh -> a turn of all viewers -> those that still lack something, until nothing
 *
 * A viewer that reads slowly, or not at all, delays no other: it is served when it has room. Viewers that lack only what is recent come
 * first; long deliveries get the remaining time, so many new viewers do not delay the others. Silent viewers get heartbeats; those that
 * read nothing while too many bytes wait are ended (stream.js).
 *
 * @typedef {import('./stream.js').Viewer} Viewer
 */

export const TICK_MS = 10
/** Longest time of a round, and of the ticks of several hubs; the rest follows after other work of the event loop. */
const SLICE_MS = 5
/** Time between two looks at the sockets of viewers, unless too many bytes wait in them. */
const TIDY_EVERY_MS = 100
/** After a tick that failed. */
const RETRY_MS = 1000
/** Timers are that much early. */
const EARLY_MS = 1
/** Ticks of idle hubs fall on multiples of it, so that many of them are one wake-up. */
const TOGETHER_MS = 50

/** @typedef {{ tick: () => void, dueMs: number }} Member */
/** @typedef {ReturnType<typeof createTicks>} Ticks */

/**
 * @typedef {object} Ticking
 * @property {() => void} soon something changed
 * @property {() => void} now what was asked for has come
 * @property {() => void} leave
 */

/**
 * @template R what a round has in common, such as the view and its position
 * @typedef {object} Encoder
 * @property {number} idleMs time between two turns of all viewers while nothing changes
 * @property {number} [lookMs] and between two refreshes while nothing can be shown; default: 10
 * @property {number} [pauseMs] shortest time between two refreshes because of changes; default: 10
 * @property {() => boolean} refresh brings the subject up to date; false: nothing can be shown at the moment
 * @property {(nowMs: number) => R} round a round begins
 * @property {(viewer: Viewer, round: R) => void} serve sends what the viewer lacks, as far as it has room, or a heartbeat
 * @property {(viewer: Viewer) => boolean} lacks whether it lacks something
 * @property {(viewer: Viewer) => boolean} isLong whether it has a long delivery
 * @property {() => void} [begun] a turn of all viewers begins
 * @property {(viewers: Iterable<Viewer>) => boolean} [tidied] gets those that may be behind; true: they hold too much, look again soon
 * @property {() => void} [turned] a turn has ended
 */

/** @template R @typedef {{ encoder: Encoder<R>, budget: import('./caps.js').Budget, log: import('pino').Logger }} Parts */

/**
 * @template R
 * @param {Parts<R> & { ticks: Ticks, onError: (error: Error) => void }} parts
 */
export function createViewers ({ encoder, ticks, budget, log, onError }) {
  /** @type {Set<Viewer>} */
  const viewers = new Set()
  const turns = createTurns({ viewers, encoder, budget, log })
  const ticking = ticks.join(tick, { pauseMs: encoder.pauseMs, onError })
  ticking.now()

  /** @returns {number} ms until the next tick is needed even if nothing changes */
  function tick () {
    const { idleMs, lookMs = TICK_MS } = encoder
    if (encoder.refresh()) return viewers.size > 0 ? turns.advance() : idleMs
    const nowMs = performance.now()
    for (const viewer of viewers) {
      viewer.endIfStuck(nowMs)
      viewer.keepAlive(nowMs)
    }
    return lookMs
  }

  return {
    get size () { return viewers.size },
    /** @returns {Iterable<Viewer>} */
    all: () => viewers,

    /** @param {Viewer} viewer */
    add (viewer) {
      viewers.add(viewer)
      turns.begin()
      ticking.soon()
    },

    /** @param {Viewer} viewer @returns {boolean} whether it was there */
    remove (viewer) {
      turns.remove(viewer)
      return viewers.delete(viewer)
    },

    /** All viewers have a turn: something changed. */
    begin: turns.begin,
    /** The subject changed: it is brought up to date. */
    soon: ticking.soon,
    /** What `refresh` has asked for has come. */
    now: ticking.now,
    close: ticking.leave
  }
}

/**
 * Turns of viewers: those that lack recent changes once per tick; long deliveries over many ticks. After changes all have a turn, then
 * those that still lack something (not due, no room, a long delivery) until they lack nothing.
 * @template R @param {Parts<R> & { viewers: Set<Viewer> }} parts
 */
function createTurns ({ viewers, encoder, budget, log }) {
  /** Those that lack something after their turn. @type {Set<Viewer>} */
  const lacking = new Set()
  /** Viewers of this turn that were not served yet; null: the next turn begins. @type {Iterator<Viewer> | null} */
  let recent = null
  let long = lacking.values()
  /** When all of them had been served; null: not all have been yet. @type {number | null} */
  let recentEndedMs = null
  /** Whether all viewers have a turn next. */
  let isForAll = true
  let begunMs = -Infinity
  let tidiedMs = -Infinity
  let isTooMuch = false

  /** The viewers that have a turn now. @param {number} nowMs */
  function next (nowMs) {
    if (!isForAll && nowMs - begunMs < encoder.idleMs) return lacking
    isForAll = false
    begunMs = nowMs
    encoder.begun?.()
    return viewers
  }

  /**
   * One round over viewers, or as much of it as there is time for.
   * @param {Iterator<Viewer>} some @param {boolean} isLong those with long deliveries, or the others
   * @returns {boolean} whether all were served; otherwise the next round continues
   */
  function round (some, isLong) {
    const nowMs = performance.now()
    const shared = encoder.round(nowMs)
    while (performance.now() - nowMs < SLICE_MS) {
      const { done, value: viewer } = some.next()
      if (done) return true
      try {
        if (encoder.isLong(viewer) === isLong) encoder.serve(viewer, shared)
      } catch (error) {
        log.error({ err: error }, 'stream failed')
        viewer.end('failed', '')
      }
      if (!viewer.isOver && encoder.lacks(viewer)) lacking.add(viewer)
      else if (lacking.size > 0) lacking.delete(viewer)
    }
    return false
  }

  /** Measures sockets, and ends those that are stuck. */
  function tidy () {
    const nowMs = performance.now()
    if (nowMs - tidiedMs < TIDY_EVERY_MS && !isTooMuch && !budget.isOver) return
    tidiedMs = nowMs
    const some = budget.waiting > 0 ? viewers : lacking
    for (const viewer of some) {
      viewer.measure()
      viewer.endIfStuck(nowMs)
    }
    isTooMuch = encoder.tidied?.(some) ?? false
  }

  return {
    /** @returns {number} ms until there is more to do, unless something changes */
    advance () {
      if (recentEndedMs === null) {
        if (recent === null) {
          const due = next(performance.now())
          if (due.size === 0) return encoder.idleMs
          recent = due.values()
        }
        if (!round(recent, false)) return 0
        recentEndedMs = performance.now()
      }
      const isDone = lacking.size === 0 || round(long, true)
      if (isDone) long = lacking.values()
      else if (performance.now() - recentEndedMs < TICK_MS) return 0
      tidy()
      encoder.turned?.()
      recent = recentEndedMs = null
      if (!isDone) return 0
      return lacking.size > 0 ? TICK_MS : encoder.idleMs
    },

    begin () { isForAll = true },

    /** @param {Viewer} viewer */
    remove (viewer) { lacking.delete(viewer) }
  }
}

/**
 * The clock of all hubs of a process. A hub is ticked when something has changed, at most every 10 ms, and after the time that its last
 * tick asked for. Hubs that are due have their ticks one after another; the event loop runs after a few milliseconds of them.
 */
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
