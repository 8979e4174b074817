/**
 * Finds items that arrived late in one partition, by counting: members of the last 20 ms, 200 ms and 2 s are counted in turn,
 * and the time whose count differs from what was seen is read again.
 */
import { createCountsByMs } from './counts-by-ms.js'

/** how far back to count, and how often */
const TIERS = Object.freeze([{ backMs: 20, everyMs: 10 }, { backMs: 200, everyMs: 100 }, { backMs: 2000, everyMs: 1000 }])

/** @typedef {import('../item/index.js').VersionPlace} VersionPlace */
/** @typedef {import('../store/index.js').Connection} Connection */

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, pages: import('./set-pages.js').SetPages,
 *   windowStart: () => number }} parts
 */
export function createSetLate ({ layout, key, pages: { page, forgetMissing, isOneVersion }, windowStart }) {
  const counts = createCountsByMs()
  const dueMs = TIERS.map(() => 0)

  /** Members of that time and newer. @param {Connection} connection @param {number} ms */
  const countSince = async (connection, ms) =>
    (await layout.count(connection, key, { retention: { windowMs: 1, maxItems: 0 }, nowMs: ms + 1 })).count

  /** @param {Connection} connection @param {number} fromMs @param {number} untilMs exclusive */
  async function isAsSeen (connection, fromMs, untilMs) {
    if (fromMs >= untilMs) return true
    const [since, beyond] = await Promise.all([countSince(connection, fromMs), countSince(connection, untilMs)])
    return since - beyond === counts.between(fromMs, untilMs)
  }

  /** @param {Connection} connection @param {number} fromMs @param {number} untilMs exclusive @param {{ readsAll?: boolean }} [options] */
  async function readAgain (connection, fromMs, untilMs, { readsAll = false } = {}) {
    if (fromMs >= untilMs) return
    counts.forget(fromMs, untilMs)
    /** @type {VersionPlace | null} */
    let place = null
    do {
      const from = place
      /** @type {Set<string>} */
      const there = new Set()
      place = await page(connection, {
        after: from,
        sinceMs: fromMs,
        readsAll,
        seen ({ id, ts }) {
          if (ts < untilMs) counts.add(ts)
          there.add(id.toString('latin1'))
        }
      })
      if (isOneVersion) await forgetMissing(connection, { sinceMs: fromMs, from, to: place, there })
    } while (place !== null && place.ts < untilMs)
  }

  return {
    clear: counts.clear,
    /** Counts a member that was read for the first time. @param {number} ms */
    seen: counts.add,

    readAgain,

    /**
     * @param {Connection} connection
     * @param {{ newestMs: number, isThorough: boolean, isQuiet: boolean }} options `isThorough`: all tiers, due or not;
     *   `isQuiet`: nothing newer came, so a member of the newest millisecond that is missing came late
     */
    async step (connection, { newestMs, isThorough, isQuiet }) {
      const nowMs = performance.now()
      const due = isThorough ? TIERS.length - 1 : TIERS.findLastIndex((_, tier) => nowMs >= dueMs[tier])
      if (due === -1) return
      TIERS.forEach(({ everyMs }, tier) => { if (tier <= due) dueMs[tier] = nowMs + everyMs })
      const untilMs = isThorough || isQuiet ? newestMs + 1 : newestMs
      const fromMs = Math.max(0, untilMs - TIERS[due].backMs, Math.ceil(windowStart()))
      if (fromMs >= untilMs || await isAsSeen(connection, fromMs, untilMs)) return
      // narrows the difference down from both ends
      const from = await firstMs(fromMs, untilMs, async (ms) => !await isAsSeen(connection, fromMs, ms))
      const until = await firstMs(from, untilMs, (ms) => isAsSeen(connection, ms, untilMs))
      await readAgain(connection, from - 1, until)
    }
  }
}

/**
 * The first millisecond for which a condition holds that holds for all later ones; by bisection.
 * @param {number} fromMs @param {number} untilMs it holds here @param {(ms: number) => Promise<boolean>} holds
 */
async function firstMs (fromMs, untilMs, holds) {
  let [low, high] = [fromMs, untilMs]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (await holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
