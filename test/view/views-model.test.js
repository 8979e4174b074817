/**
 * Views against a naive model and against nodes: random items through real writers, late, repeated, deleted, of all
 * sizes, by two writers in turn, while time goes on.
 */
import t from 'tap'
import { setRetention } from '../../src/feeds/definitions.js'
import { createSequence } from '../../src/item/order.js'
import { layoutNames } from '../../src/layouts/index.js'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { nightly, scopedEngines } from '../scope.js'
import { liveIn } from './live-model.js'
import { everything, openViews, shown } from './viewing.js'

const ROUNDS = nightly(5, 1)
const IDS = 150
const WINDOW_MS = 20_000
const SECONDS_PER_ROUND = 4
const MAX_SEQ = 4095

const seed = Number(process.env.FRESHET_TEST_SEED ?? Date.now() % 2 ** 31)

/** Numbers from 0 up to 1, the same for the same seed: a linear congruence, source Numerical Recipes. @param {number} from */
function createChance (from) {
  let state = from >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** @param {any} a @param {any} b @param {string} what */
function expectSame (a, b, what) {
  const [left, right] = [a, b].map((list) => list.map(shown))
  const at = left.findIndex((/** @type {string} */ one, /** @type {number} */ i) => one !== right[i])
  if (at !== -1 || left.length !== right.length) {
    throw new Error(`${what}: ${left.length} against ${right.length}, at ${at}: ${left[at]} against ${right[at]}`)
  }
}

/**
 * @param {import('tap').Test} t
 * @param {{ url: string }} primary
 * @param {string} layout
 * @param {{ partitions: number, maxItems: number, late: 'newest' | 'overwrite' }} shape
 * @param {() => number} chance
 */
async function compare (t, primary, layout, { partitions, maxItems, late }, chance) {
  const feed = `${layout}-${partitions}-${late}`
  let ahead = 0
  const now = () => Date.now() + ahead
  const retention = { windowMs: WINDOW_MS, maxItems }
  // views of all feeds of a prefix are open
  const keyPrefix = `${feed}:`
  const settings = { redisUrl: primary.url, keyPrefix, feed, layout, late, partitions, ...retention, clock: now }
  const writers = await Promise.all([0, 1].map(async () => ({ writer: await openWriterFor(t, settings), sequence: createSequence() })))
  const { queries, views, isComplete, countsOf } = await openViews(t, { primary, keyPrefix, mode: 'all', now })
  await isComplete(feed)
  /** @type {import('./live-model.js').Version[]} */
  const written = []
  const ids = Array.from({ length: IDS }, (_, n) => Buffer.from(`${'x'.repeat(n % 7 * 15)}${n}`))

  /** @param {{ writer: Awaited<ReturnType<typeof openWriterFor>>, sequence: (ts: number) => number }} by @param {number} count */
  async function write ({ writer: { pipeline }, sequence }, count) {
    const base = Math.floor(now())
    for (let n = 0; n < count; n++) {
      const id = ids[Math.floor(chance() ** 2 * IDS)]
      const ts = base - Math.floor(chance() < 0.2 ? chance() * WINDOW_MS * 0.6 : chance() < 0.3 ? 0 : chance() * 40)
      if (chance() < 0.1) {
        const isOfAll = chance() < 0.5
        pipeline.remove(id, ts, { ofAllAtThatTime: isOfAll })
        written.push({ id, ts, seq: isOfAll ? MAX_SEQ : sequence(ts), value: Buffer.alloc(0), deleted: true })
      } else {
        const value = Buffer.alloc(Math.floor(chance() < 0.02 ? chance() * 50_000 : chance() * 300), `${n} `)
        pipeline.append(id, ts, value)
        written.push({ id, ts, seq: sequence(ts), value, deleted: false })
      }
    }
    await pipeline.flush()
  }

  for (let round = 0; round < ROUNDS; round++) {
    for (const one of writers) await write(one, Math.floor(chance() * 300))
    ahead += chance() * SECONDS_PER_ROUND * 1000
    await eventually(async () => {
      const model = () => liveIn(written, { layout, late, partitions, ...retention }, now())
      const before = model()
      const found = await everything(views, feed, { limit: 7 + round * 50 })
      // what expired while it was asked would differ
      if (model().length !== before.length) throw new Error('time went on')
      expectSame(found, before, 'newest first')
      const since = now() - WINDOW_MS / 2
      expectSame(await everything(views, feed, { sinceMs: Math.ceil(since) }), before.filter(({ ts }) => ts >= since), 'since')
      const { items } = await views.get(feed, ids)
      if (model().length !== before.length) throw new Error('time went on')
      expectSame(items.filter((item) => item !== null), ids.flatMap((id) => before.find((one) => one.id.equals(id)) ?? []), 'by id')
      const { count, exact } = await views.count(feed)
      if (model().length !== before.length) throw new Error('time went on')
      if (count !== before.length || !exact) throw new Error(`count ${count}, exact ${exact}; expected ${before.length}`)
      expectSame(await everything(queries, feed), model(), 'asked')
    })
  }
  t.same(countsOf(feed), { skipped: { corrupt: 0, version: 0, duplicate: 0 }, rebuilt: 0 })
  await eventually(() => views.status().ready && views.status().reasons.length === 0)

  await t.test('a changed retention is applied, also one that makes removed items live again', async (t) => {
    const admin = await connectFor(t, primary.url)
    for (const change of [{ windowMs: 5000 }, { windowMs: WINDOW_MS }, { maxItems: 20 }]) {
      Object.assign(retention, change)
      await setRetention(admin, keyPrefix, feed, change)
      await eventually(async () => {
        const found = await everything(views, feed)
        expectSame(found, liveIn(written, { layout, late, partitions, ...retention }, now()), JSON.stringify(change))
        expectSame(found, await everything(queries, feed), `${JSON.stringify(change)}, asked`)
      })
    }
    t.pass()
  })
}

t.jobs = 2
t.comment(`seed ${seed}`)
const SHAPES = [{ partitions: 1, maxItems: 400 }, { partitions: 3, maxItems: 1_000_000 }]

const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const primary = await startServer(t, { engine })
  const all = layoutNames().map((name) => [name, 'newest'])
  for (const [n, [layout, late]] of /** @type {[string, 'newest' | 'overwrite'][]} */ ([...all, ['ids', 'overwrite']]).entries()) {
    // by day, sets and logs are tested with one partition and with several, but not each layout with both
    for (const shape of nightly(SHAPES, [SHAPES[n === all.length ? 0 : (n + 1) % 2]])) {
      await t.test(`${layout}, late ${late}, partitions ${shape.partitions}, maxItems ${shape.maxItems}`, (t) =>
        compare(t, primary, layout, { ...shape, late }, createChance(seed)))
    }
  }
})
