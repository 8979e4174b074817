/**
 * What a writer of a log says of itself in what it writes, and how far its items are ahead of the server's clock.
 *
 * An entry's id tells when it arrived, by the server's clock; its items have times of their own. Whoever reads a log from
 * its newest entry back must know when nothing newer can follow, so a writer whose items are ahead of that clock says by
 * how much before it stores them, in the same transaction:
 *
 *     fr:{feed:p}:ahead     sorted set     '<until>:<writer>' -> ms      of entries that arrive before `until`
 *
 * So each item of an entry has ts <= (ms of its id) + (greatest score). What is ahead is rounded up generously, and said
 * once a period; what was said for a period is removed when no entry of it is left (lua/trim-log.lua), so that one item of
 * the future does not spoil answers for ever.
 *
 * @typedef {ReturnType<typeof createOrigin>} Origin
 */
import { createHash, randomUUID } from 'node:crypto'
import { WRITER_BYTES } from '../item/origin.js'

/** least that is said, doubled until it is enough */
const STEP_MS = 10
const PERIOD_MS = 60_000
/** where a writer does not know the server's clock, it may be so far behind its own */
const UNKNOWN_CLOCK_MS = 1000
/** keys are given their expiry anew so often; they outlive what they hold by more */
const EXPIRE_EVERY_MS = 1000

const monotonic = () => performance.now()

/**
 * @param {{ name: string, epoch: number, serverMs?: () => number, elapsed?: () => number }} options `epoch`: of those of that name
 *   another one each; `serverMs`: the server's clock now, or earlier, but never later, -Infinity = not known yet; `elapsed`: ms that never go back
 */
export function createOrigin ({ name, epoch, serverMs = () => Date.now() - UNKNOWN_CLOCK_MS, elapsed = monotonic }) {
  const writer = createHash('sha256').update(name).digest().subarray(0, WRITER_BYTES)
  let sequence = 0
  /** @type {Map<string, ReturnType<typeof createAhead>>} by key */
  const aheads = new Map()
  /** @type {Map<string, ReturnType<typeof createExpiry>>} by key */
  const expiries = new Map()

  return {
    name,
    writer,
    epoch,
    /** Numbers the writings of this epoch, whatever their partition. */
    next: () => ++sequence,

    /** @param {string} key of the sorted set */
    ahead (key) {
      const known = aheads.get(key) ?? createAhead(writer.toString('hex'), serverMs)
      aheads.set(key, known)
      return known
    },

    /** @param {string} key of the log */
    expiry (key) {
      const known = expiries.get(key) ?? createExpiry(elapsed)
      expiries.set(key, known)
      return known
    },

    /** What was said may be lost: another server is written to. */
    forget () {
      aheads.clear()
      expiries.clear()
    }
  }
}

/** @param {string} writer @param {() => number} serverMs */
function createAhead (writer, serverMs) {
  let saidUntilMs = 0
  let saidMs = 0
  return {
    /**
     * What must be said before items of that time are stored.
     * @param {number} lastTs @returns {{ ms: number, member: string } | null} null = nothing, or it was
     */
    needed (lastTs) {
      const seenMs = serverMs()
      const nowMs = Number.isFinite(seenMs) ? seenMs : Date.now() - UNKNOWN_CLOCK_MS
      const excess = lastTs - nowMs
      if (excess <= 0 || (excess <= saidMs && nowMs < saidUntilMs - PERIOD_MS)) return null
      let ms = STEP_MS
      while (ms < excess) ms *= 2
      // a period more, as entries may arrive late
      return { ms, member: `${(Math.floor(nowMs / PERIOD_MS) + 2) * PERIOD_MS}:${writer}` }
    },

    /** It is stored. @param {{ ms: number, member: string }} said */
    said ({ ms, member }) {
      const untilMs = Number(member.slice(0, member.indexOf(':')))
      saidMs = untilMs === saidUntilMs ? Math.max(saidMs, ms) : ms
      saidUntilMs = untilMs
    }
  }
}

/** @param {() => number} elapsed */
function createExpiry (elapsed) {
  let said = ''
  let saidAtMs = -Infinity
  return {
    /** Whether it must be said now. @param {string} lifetime */
    isDue: (lifetime) => lifetime !== said || elapsed() - saidAtMs >= EXPIRE_EVERY_MS,

    /** It is stored. @param {string} lifetime */
    said (lifetime) {
      said = lifetime
      saidAtMs = elapsed()
    }
  }
}

/** @type {Origin | null} */
let ofProcess = null

/** For whoever writes without saying who it is. */
export function originOfProcess () {
  ofProcess ??= createOrigin({ name: randomUUID(), epoch: 1 })
  return ofProcess
}
