/**
 * What a partition must answer: the naive way, in memory. It shares no code with the layouts, not even the order.
 *
 * @typedef {{ id: Buffer, ts: number, seq: number, value: Buffer, deleted?: boolean }} Item
 * @typedef {{ windowMs: number, maxItems: number }} Retention
 * @typedef {{ retention: Retention, nowMs: number }} Now
 */

/** @param {Pick<Item, 'id' | 'ts' | 'seq'>} a @param {Pick<Item, 'id' | 'ts' | 'seq'>} b */
const newestFirst = (a, b) => b.ts - a.ts || b.seq - a.seq || Buffer.compare(b.id, a.id)

/** A version in one line, for comparing and for reading. @param {Item} item */
export const shown = ({ id, ts, seq, value }) =>
  `${ts}+${seq} ${JSON.stringify(id.toString())} ${value.length > 40 ? `${value.length} bytes` : value.toString('latin1')}`

/**
 * @param {'newest' | 'overwrite'} late
 * @param {Pick<import('../../src/layouts/index.js').Guarantees, 'versions' | 'counted' | 'trims'>} guarantees
 */
export const createModel = (late, guarantees) => guarantees.versions === 'one' ? modelOfItems(late) : modelOfVersions(guarantees)

/** The last write on an id is its version, or the newest with `late: newest`. @param {'newest' | 'overwrite'} late */
function modelOfItems (late) {
  /** @type {Map<string, Item>} */
  const stored = new Map()

  /** @param {Now} now */
  function live ({ retention, nowMs }) {
    const all = [...stored.values()].filter(({ deleted }) => !deleted).sort(newestFirst)
    const young = retention.windowMs ? all.filter(({ ts }) => ts >= nowMs - retention.windowMs) : all
    return retention.maxItems ? young.slice(0, retention.maxItems) : young
  }

  return {
    kept: live,
    live,
    newest: live,
    ...questionsOf(live),

    /** @param {Item[]} items @returns {number} how many were late and dropped */
    append (items) {
      let dropped = 0
      for (const item of items) {
        const name = item.id.toString('latin1')
        const known = stored.get(name)
        const older = known && (item.ts < known.ts || (item.ts === known.ts && item.seq < known.seq))
        if (late === 'newest' && older) dropped++
        else stored.set(name, item)
      }
      return dropped
    },

    /** @param {Now} now */
    count: (now) => ({ count: live(now).length, exact: true }),

    /** Removes what is not live. @param {Now} now @returns {number} how many */
    trim (now) {
      const kept = new Set(live(now))
      const dead = [...stored].filter(([, item]) => !item.deleted && !kept.has(item))
      for (const [name] of dead) stored.delete(name)
      return dead.length
    }
  }
}

/**
 * Every version is kept; the newest of an id counts, of equal ones the later append. `by order`: maxItems keeps the newest
 * versions; `by arrival`: those appended last.
 * @param {Pick<import('../../src/layouts/index.js').Guarantees, 'counted' | 'trims'>} guarantees
 */
function modelOfVersions ({ counted, trims }) {
  /** @type {Item[]} in the order of appending */
  let stored = []

  /** @param {Now} now @returns {Item[]} versions inside the retention, newest first */
  function kept ({ retention, nowMs }) {
    const last = stored.toReversed()
    const all = (counted === 'by arrival' && retention.maxItems ? last.slice(0, retention.maxItems) : last).sort(newestFirst)
    const young = retention.windowMs ? all.filter(({ ts }) => ts >= nowMs - retention.windowMs) : all
    return retention.maxItems ? young.slice(0, retention.maxItems) : young
  }

  /** @param {Now} now @returns {Item[]} one version an id, deletions too */
  function newest (now) {
    /** @type {Map<string, Item>} */
    const first = new Map()
    for (const version of kept(now)) if (!first.has(version.id.toString('latin1'))) first.set(version.id.toString('latin1'), version)
    return [...first.values()]
  }
  /** @param {Now} now */
  const live = (now) => newest(now).filter(({ deleted }) => !deleted)

  return {
    kept,
    live,
    newest,
    ...questionsOf(live),
    /** @param {Item[]} items @returns {number} none is dropped */
    append (items) {
      stored.push(...items)
      return 0
    },
    /** @param {Now} now */
    count: (now) => ({ count: kept(now).length, exact: false }),
    /** Removes versions that are not live. @param {Now} now @returns {number | null} how many; null = unknown */
    trim (now) {
      if (trims === 'entries') return null
      const before = stored.length
      const keep = new Set(kept(now))
      stored = stored.filter((version) => keep.has(version))
      return before - stored.length
    }
  }
}

/** @param {(now: Now) => Item[]} live newest first */
const questionsOf = (live) => ({
  /** @param {Now & { limit: number, after?: Pick<Item, 'id' | 'ts' | 'seq'> | null, sinceMs?: number | null }} question */
  latest: ({ limit, after = null, sinceMs = null, ...now }) => live(now)
    .filter((item) => (after === null || newestFirst(after, item) < 0) && item.ts >= (sinceMs ?? 0))
    .slice(0, limit),

  /** @param {Buffer[]} ids @param {Now} now */
  get: (ids, now) => ids.map((id) => live(now).find((item) => item.id.equals(id)) ?? null)
})

/** For properties, which fail by throwing. @param {string} what @param {unknown} found @param {unknown} wanted */
export function expectSame (what, found, wanted) {
  const [left, right] = [found, wanted].map((one) => JSON.stringify(one))
  if (left !== right) throw new Error(`${what}: found ${left}, wanted ${right}`)
}
