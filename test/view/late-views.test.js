/**
 * Items in any order, deletions among them: what a view answers as current is never older than what was acknowledged a second
 * before.
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
/** of a view's content; its floor is up to 50 ms older */
const CURRENT_MS = 1050
const QUERY_EVERY_MS = 10
const OTHER = Buffer.from('other')
const GAP_MS = 20

/** @typedef {import('./live-model.js').Version} Version */
/** @typedef {{ ackedMs: number, live: Map<string, string>, versions: number }} State after a batch: values by id, versions so far */

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
  const states = [{ ackedMs: 0, live: new Map(), versions: 0 }]

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
    const live = liveIn(written, { ...feed, partitions: 1, windowMs: WINDOW_MS }, Date.now())
    /** @type {State} */
    const state = { ackedMs: Infinity, live: new Map(live.map(({ id, value }) => [String(id), String(value)])), versions: written.length }
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
 * @param {{ written: Version[], states: State[], first: number }} given `first`: the oldest state that it may show
 */
function wrongIn (found, { written, states, first }) {
  const { versions } = states[first]
  /** @param {string} id @param {string | undefined} value */
  function isNewer (id, value) {
    const mine = written.filter((version) => String(version.id) === id)
    const later = mine.filter((version) => written.indexOf(version) >= versions &&
      (value === undefined ? version.deleted : String(version.value) === value))
    const before = mine.filter((version) => written.indexOf(version) < versions).sort(byOrder).at(-1)
    return later.some((version) => !before || byOrder(version, before) >= 0)
  }
  return Array.from({ length: IDS }, (_, n) => `id-${n}`)
    .filter((id) => !states.slice(first).some(({ live }) => live.get(id) === found.get(id)) && !isNewer(id, found.get(id)))
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
      let [current, behind, isOver] = [0, 0, false]
      done.finally(() => { isOver = true }).catch(() => {})
      /** @type {string[]} */
      const wrong = []
      for (let after = 0; wrong.length === 0 && (after === 0 || current < after); await pause(QUERY_EVERY_MS)) {
        const askedMs = Date.now()
        // some answers after the last batch was acknowledged a second ago
        if (isOver && after === 0 && askedMs - (states.at(-1)?.ackedMs ?? 0) > CURRENT_MS) after = current + 5
        const first = states.findLastIndex(({ ackedMs }) => ackedMs <= askedMs - CURRENT_MS)
        try {
          const { items, node } = await views.latest(feed, { limit: IDS, after: null, sinceMs: null })
          // behind by more than a second: the node answered
          if (node) continue
          current++
          const found = new Map(items.filter(({ value }) => !value.equals(OTHER)).map(({ id, value }) => [String(id), String(value)]))
          wrong.push(...wrongIn(found, { written, states, first }))
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
