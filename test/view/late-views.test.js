/**
 * Items in any order, deletions among them: what a view answers as current is never older than what was acknowledged a second
 * before. Items that maxItems excludes may stay for a second more, but only as the newest version of their id.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createSequence } from '../../src/item/order.js'
import { engineName, openWriterFor, startServer } from '../servers.js'
import { nightly, scoped, scopedEngines } from '../scope.js'
import { liveIn } from './live-model.js'
import { openViews } from './viewing.js'

const BATCHES = nightly(100, 20)
/** `others`: other ids, older than all; where they are live, a sweep through the window takes longer than the test */
const FEEDS = [
  { layout: 'values', maxItems: 1_000_000, others: 60_000 },
  { layout: 'values', maxItems: 500, others: 2000 },
  { layout: 'ids', maxItems: 1_000_000, others: 60_000 }
]
const IDS = 300
const MOST_LATE_MS = 60_000
const WINDOW_MS = 3_600_000
/** of a view's content */
const CURRENT_MS = 1050
/** by how much its floor of maxItems may be older: superseded versions count, so it is asked of the server each second */
const FLOOR_MS = 1000
const QUERY_EVERY_MS = 10
const OTHER = Buffer.from('other')
const GAP_MS = 20

/** @typedef {import('./live-model.js').Version} Version */
/**
 * @typedef {{ ackedMs: number, live: Map<string, string>, newest: Map<string, string>, versions: number }} State after a batch: values
 *   by id, `newest`: those beyond maxItems, too; versions so far
 */

/**
 * Writes batches; the states of the feed as they follow from each other.
 * @param {Awaited<ReturnType<typeof openWriterFor>>} writer
 * @param {{ layout: string, late: 'newest' | 'overwrite', maxItems: number }} feed
 */
function startWriting ({ pipeline }, feed) {
  const sequence = createSequence()
  /** @type {Version[]} */
  const written = []
  /** @type {State[]} */
  const states = [{ ackedMs: 0, live: new Map(), newest: new Map(), versions: 0 }]
  /** @param {number} maxItems */
  const liveWith = (maxItems) => new Map(liveIn(written, { ...feed, maxItems, partitions: 1, windowMs: WINDOW_MS }, Date.now())
    .map(({ id, value }) => [String(id), String(value)]))

  /** @param {number} count @param {number} deletions share of them */
  async function writeBatch (count, deletions) {
    const isOrderly = Math.random() < 0.3
    for (let n = 0; n < count; n++) {
      // half of the ids are always late, so that a late version is often their newest
      const id = Buffer.from(`id-${Math.floor(Math.random() * (isOrderly ? IDS / 2 : IDS))}`)
      const ts = Date.now() - Math.floor(isOrderly ? 0 : Math.random() * MOST_LATE_MS)
      const value = Buffer.from(`value ${written.length}`)
      const deleted = Math.random() < deletions
      if (deleted) pipeline.remove(id, ts)
      else pipeline.append(id, ts, value)
      written.push({ id, ts, seq: sequence(ts), value, deleted })
    }
    /** @type {State} */
    const state = { ackedMs: Infinity, live: liveWith(feed.maxItems), newest: liveWith(Infinity), versions: written.length }
    states.push(state)
    await pipeline.flush({ deadlineMs: 60_000 })
    state.ackedMs = Date.now()
  }

  const done = (async () => {
    for (let n = 0; n < BATCHES; n++) {
      // a view finds late items without deletions that are marked, too
      await writeBatch(1 + Math.floor(Math.random() * 200), n < BATCHES / 2 ? 0.1 : 0)
      await pause(Math.random() * GAP_MS)
    }
  })()
  return { written, states, done }
}

/**
 * What is wrong with an answer. It may show parts of a batch that is under way.
 * @param {Map<string, string>} found values by id
 * @param {{ written: Version[], states: State[], first: number, ofFloor: number, maxItems: number }} given `first`: the oldest state that
 *   it may show; `ofFloor`: the oldest one whose floor it may have
 */
function wrongIn (found, { written, states, first, ofFloor, maxItems }) {
  const { versions } = states[first]
  /** @param {string} id @param {string | undefined} value */
  function isNewer (id, value) {
    const bytes = Buffer.from(id)
    const isMine = (/** @type {Version} */ version) => version.id.equals(bytes)
    const later = written.slice(versions).filter((version) => isMine(version) &&
      (value === undefined ? version.deleted : String(version.value) === value))
    if (later.length === 0) return false
    const before = written.slice(0, versions).filter(isMine).sort(byOrder).at(-1)
    return later.some((version) => !before || byOrder(version, before) >= 0)
  }
  /** Whether it is beyond maxItems by now, but was not by the older floor, and is neither superseded nor deleted. @type {typeof isNewer} */
  function isAboveFloor (id, value) {
    if (value === undefined || !states.slice(first).some(({ newest }) => newest.get(id) === value)) return false
    const shown = written[Number(value.split(' ')[1])]
    return written.slice(0, states[ofFloor].versions).filter((version) => byOrder(version, shown) > 0).length < maxItems
  }
  return Array.from({ length: IDS }, (_, n) => `id-${n}`)
    .filter((id) => !states.slice(first).some(({ live }) => live.get(id) === found.get(id)))
    .filter((id) => !isAboveFloor(id, found.get(id)) && !isNewer(id, found.get(id)))
    .map((id) => `${id} is ${found.get(id)}, not ${[...new Set(states.slice(first).map(({ live }) => live.get(id)))].join(' or ')}`)
}

/** @param {Version} a @param {Version} b */
const byOrder = (a, b) => a.ts - b.ts || a.seq - b.seq

t.jobs = 2
t.setTimeout(300_000)
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const primary = await startServer(t, { engine })
  for (const { layout, maxItems, others } of scoped(FEEDS, FEEDS.slice(1))) {
    await t.test(`${layout}, maxItems ${maxItems}`, async (t) => {
      const startMs = Date.now()
      const feed = `${layout}-${maxItems}`
      // views of all feeds of a prefix are open
      const keyPrefix = `${feed}:`
      const writer = await openWriterFor(t, { redisUrl: primary.url, keyPrefix, feed, layout, windowMs: WINDOW_MS, maxItems })
      const { views, isComplete } = await openViews(t, { primary, keyPrefix, mode: 'all' })
      for (let n = 0; n < others; n++) {
        if (!writer.pipeline.append(Buffer.from(`other-${n}`), startMs - 10 * MOST_LATE_MS + n, OTHER)) await writer.pipeline.ready()
      }
      await writer.pipeline.flush({ deadlineMs: 60_000 })
      await isComplete(feed)
      const { written, states, done } = startWriting(writer, { layout, late: 'newest', maxItems })
      const floorMs = maxItems < others ? FLOOR_MS : 0
      /** @param {number} untilMs */
      const ackedBy = (untilMs) => states.findLastIndex(({ ackedMs }) => ackedMs <= untilMs)
      let [current, behind, isOver] = [0, 0, false]
      done.finally(() => { isOver = true }).catch(() => {})
      /** @type {string[]} */
      const wrong = []
      for (let after = 0; wrong.length === 0 && (after === 0 || current < after); await pause(QUERY_EVERY_MS)) {
        const askedMs = Date.now()
        // some answers that have to show all of the last batch
        if (isOver && after === 0 && askedMs - (states.at(-1)?.ackedMs ?? 0) > CURRENT_MS + floorMs) after = current + 5
        const first = ackedBy(askedMs - CURRENT_MS)
        const ofFloor = ackedBy(askedMs - CURRENT_MS - floorMs)
        try {
          const { items, node } = await views.latest(feed, { limit: IDS, after: null, sinceMs: null })
          // behind by more than a second: the node answered
          if (node) continue
          current++
          const found = new Map(items.filter(({ value }) => !value.equals(OTHER)).map(({ id, value }) => [String(id), String(value)]))
          wrong.push(...wrongIn(found, { written, states, first, ofFloor, maxItems }))
        } catch (error) {
          if (!error.retryable) throw error
          behind++
        }
      }
      await done
      t.same(wrong.slice(0, 5), [], `${current} answers current, ${behind} times behind`)
    })
  }
})
