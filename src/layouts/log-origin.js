/**
 * The origin of log entries: identifies the writer, and announces how far its items are ahead of the server's clock.
 *
 * An entry id holds the arrival time on the server's clock; items have event times of their own. A backward scan must know
 * when no newer item can follow. So a writer whose items are ahead of the server's clock announces by how much, in the
 * transaction that stores them:
 *
 *     fr:{feed:p}:ahead     sorted set     '<until>:<writer>' -> ms      for entries that arrive before `until`
 *
 * So each item of an entry has ts <= (ms of its id) + (greatest score). The value is rounded up and announced once per
 * period. lua/trim-log.lua removes an announcement when no entry of its period is left, so that one item far in the future
 * does not slow down queries for ever.
 *
 * @typedef {ReturnType<typeof createOrigin>} Origin
 */
import { createHash, randomUUID } from 'node:crypto'
import { WRITER_BYTES } from '../item/index.js'

/**
 * Timestamps of appends: microseconds since 1970, unique within the process and strictly increasing, even if the clock is
 * set back.
 */
let lastStamp = 0

/** @param {() => number} clock ms since 1970 @returns {number} */
export function nextStamp (clock) {
  lastStamp = Math.max(lastStamp + 1, Math.floor(clock() * 1000))
  return lastStamp
}

/** minimum announced; doubled until it is enough */
const STEP_MS = 10
const PERIOD_MS = 60_000
/** how far the server's clock may be behind, while it is unknown */
const UNKNOWN_CLOCK_MS = 1000
/** renewal of key expiries; keys outlive their contents by more than that */
const EXPIRE_EVERY_MS = 1000
/** entries */
const MEAN_OF = 64

const monotonic = () => performance.now()

/**
 * @param {{ name: string, epoch: number, serverMs?: () => number, elapsed?: () => number }} options `epoch`: differs
 *   between writers of that name; `serverMs`: time of the server, never ahead of it, -Infinity = unknown; `elapsed`: monotonic ms
 */
export function createOrigin ({ name, epoch, serverMs = () => Date.now() - UNKNOWN_CLOCK_MS, elapsed = monotonic }) {
  const writer = createHash('sha256').update(name).digest().subarray(0, WRITER_BYTES)
  let sequence = 0
  /** @type {Map<string, ReturnType<typeof createAhead>>} by key */
  const aheads = new Map()
  /** @type {Map<string, ReturnType<typeof createExpiry>>} by key */
  const expiries = new Map()
  /** bytes of entries, by key @type {Map<string, number>} */
  const means = new Map()

  return {
    name,
    writer,
    epoch,
    /** Sequence number of an entry, over all partitions. */
    next: () => ++sequence,

    /** @param {string} key of the sorted set */
    ahead (key) {
      const ahead = aheads.get(key) ?? createAhead(writer.toString('hex'), serverMs)
      aheads.set(key, ahead)
      return ahead
    },

    /** @param {string} key of the log */
    expiry (key) {
      const expiry = expiries.get(key) ?? createExpiry(elapsed)
      expiries.set(key, expiry)
      return expiry
    },

    /**
     * The mean size of the entries that were sent lately.
     * @param {string} key of the log @param {number} bytes of the entry that is sent now
     */
    meanBytes (key, bytes) {
      const before = means.get(key) ?? bytes
      const mean = before + (bytes - before) / MEAN_OF
      means.set(key, mean)
      return mean
    },

    /** Announcements may be lost, because the server changed. */
    forget () {
      aheads.clear()
      expiries.clear()
    }
  }
}

/** @param {string} writer @param {() => number} serverMs */
function createAhead (writer, serverMs) {
  let announcedUntilMs = 0
  let announcedMs = 0
  return {
    /**
     * The announcement needed before items of that time are stored.
     * @param {number} lastTs @returns {{ ms: number, member: string } | null} null = none
     */
    needed (lastTs) {
      const seenMs = serverMs()
      const nowMs = Number.isFinite(seenMs) ? seenMs : Date.now() - UNKNOWN_CLOCK_MS
      const excess = lastTs - nowMs
      if (excess <= 0 || (excess <= announcedMs && nowMs < announcedUntilMs - PERIOD_MS)) return null
      let ms = STEP_MS
      while (ms < excess) ms *= 2
      // one period more, because entries may arrive late
      return { ms, member: `${(Math.floor(nowMs / PERIOD_MS) + 2) * PERIOD_MS}:${writer}` }
    },

    /** The announcement is stored. @param {{ ms: number, member: string }} announcement */
    announced ({ ms, member }) {
      const untilMs = Number(member.slice(0, member.indexOf(':')))
      announcedMs = untilMs === announcedUntilMs ? Math.max(announcedMs, ms) : ms
      announcedUntilMs = untilMs
    }
  }
}

/** @param {() => number} elapsed */
function createExpiry (elapsed) {
  let sent = ''
  let sentAtMs = -Infinity
  return {
    /** Whether it must be sent now. @param {string} lifetime */
    isDue: (lifetime) => lifetime !== sent || elapsed() - sentAtMs >= EXPIRE_EVERY_MS,

    /** It is stored. @param {string} lifetime */
    stored (lifetime) {
      sent = lifetime
      sentAtMs = elapsed()
    }
  }
}

/** @type {Origin | null} */
let ofProcess = null

/** For writers without an origin of their own. */
export function originOfProcess () {
  ofProcess ??= createOrigin({ name: randomUUID(), epoch: 1 })
  return ofProcess
}
