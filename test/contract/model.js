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

  const { of: live, forget } = remembered(({ retention, nowMs }) => {
    const all = [...stored.values()].filter(({ deleted }) => !deleted).sort(newestFirst)
    const young = retention.windowMs ? all.filter(({ ts }) => ts >= nowMs - retention.windowMs) : all
    return retention.maxItems ? young.slice(0, retention.maxItems) : young
  })

  return {
    kept: live,
    live,
    newest: live,
    ...questionsOf(live),

    /** @param {Item[]} items @returns {number} how many were late and dropped */
    append (items) {
      forget()
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
      forget()
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

  /** Versions inside the retention, newest first. */
  const { of: kept, forget: forgetKept } = remembered(({ retention, nowMs }) => {
    const last = stored.toReversed()
    const all = (counted === 'by arrival' && retention.maxItems ? last.slice(0, retention.maxItems) : last).sort(newestFirst)
    const young = retention.windowMs ? all.filter(({ ts }) => ts >= nowMs - retention.windowMs) : all
    return retention.maxItems ? young.slice(0, retention.maxItems) : young
  })

  /** One version an id, deletions too. */
  const { of: newest, forget: forgetNewest } = remembered((now) => {
    /** @type {Map<string, Item>} */
    const first = new Map()
    for (const version of kept(now)) {
      const name = version.id.toString('latin1')
      if (!first.has(name)) first.set(name, version)
    }
    return [...first.values()]
  })
  /** @param {Now} now */
  const live = (now) => newest(now).filter(({ deleted }) => !deleted)
  function forget () {
    forgetKept()
    forgetNewest()
  }

  return {
    kept,
    live,
    newest,
    ...questionsOf(live),
    /** @param {Item[]} items @returns {number} none is dropped */
    append (items) {
      stored.push(...items)
      forget()
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
      forget()
      return before - stored.length
    }
  }
}

/**
 * What was computed for a retention and a time, until it is forgotten: tests ask many questions about the same contents.
 * @param {(now: Now) => Item[]} compute
 */
function remembered (compute) {
  /** @type {Map<string, Item[]>} */
  const answers = new Map()
  return {
    /** @param {Now} now */
    of ({ retention: { windowMs, maxItems }, nowMs }) {
      const name = `${windowMs} ${maxItems} ${nowMs}`
      const answer = answers.get(name) ?? compute({ retention: { windowMs, maxItems }, nowMs })
      answers.set(name, answer)
      return answer
    },
    forget: () => answers.clear()
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
