/** Items in any order: the newest version of each id is served, whichever way they came in. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { eventually } from '../servers.js'
import { startGateway } from '../services.js'
import { nightly, scoped, scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'
import { startFlow } from './flow.js'

const IDS = 200
const LINES = nightly(50_000, 5_000)
const POSTED = 500

const [engine] = await scopedEngines()
const { target, reader, write } = await startFlow(t, await sharedDeployment(t, { engine }))

/** Every id in many versions, in random order; the value of a version is its time. */
function shuffled (/** @type {number} */ count) {
  const from = Date.now() - count
  const items = Array.from({ length: count }, (_, n) => ({ id: `id-${n % IDS}`, ts: from + n, value: from + n }))
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [items[i], items[j]] = [items[j], items[i]]
  }
  return items
}

/** @param {{ id: string, ts: number }[]} items @returns {{ id: string, ts: number, value: number }[]} newest first */
function newestOf (items) {
  /** @type {Map<string, number>} */
  const newest = new Map()
  for (const { id, ts } of items) newest.set(id, Math.max(ts, newest.get(id) ?? 0))
  return [...newest].map(([id, ts]) => ({ id, ts, value: ts })).sort((a, b) => b.ts - a.ts)
}

const lines = (/** @type {object[]} */ items) => items.map((item) => JSON.stringify(item) + '\n').join('')

for (const layout of scoped(layoutNames(), ['ids', 'stream'])) {
  t.test(`${layout}: ${LINES} shuffled lines from standard input`, async (t) => {
    const items = shuffled(LINES)
    const flags = ['--source', 'stdin', '--feed', `lines-${layout}`, '--layout', layout, '--value-field', 'value']
    const { code, summary } = await write(t, flags, { input: lines(items) })
    t.equal(code, 0, 'late items are no fault of the input')
    t.match(summary, { offered: LINES, dropped: 0, failed: 0 })
    t.equal(summary.bytes, summary.items * 13, 'bytes of what was kept')
    // seconds have three decimals, and a fast machine takes 0.03
    t.ok(Math.abs(summary.offeredPerSecond * summary.seconds - LINES) < 0.01 * LINES + 0.001 * summary.offeredPerSecond,
      `${summary.offeredPerSecond} offered per second`)
    if (layout === 'ids') t.same(summary?.refusedBy, { late: summary?.refused }, `${summary?.refused} of ${LINES} were late`)
    const found = () => reader.allItems(`lines-${layout}`, `limit=${IDS}&encoding=json`)
    // a view is built, or may be a second behind; then it stays right
    if (layout !== 'ids') await eventually(async () => JSON.stringify(await found()) === JSON.stringify(newestOf(items)))
    for (let times = 0; times < 4; times++) {
      // refused until there is a view
      t.same(await eventually(found), newestOf(items))
      await pause(250)
    }
  })
}

t.test('csv: an older row after a newer one', async (t) => {
  const input = 'id,ts,note\na,2026-02-01,new\na,2026-01-01,old\n'
  const { code } = await write(t, ['--source', 'stdin', '--feed', 'rows', '--format', 'csv', '--value-field', 'note', '--window-ms', '0'],
    { input })
  t.equal(code, 0)
  t.same(await reader.allItems('rows', 'encoding=utf8'), [{ id: 'a', ts: Date.UTC(2026, 1, 1), value: 'new' }])
})

t.test(`${POSTED} shuffled items over HTTP`, async (t) => {
  const { post } = await startGateway(t, target)
  const items = shuffled(POSTED)
  for (let from = 0; from < POSTED; from += 50) {
    t.match(await post('/v1/feeds/posted/items', items.slice(from, from + 50)), { status: 200, json: { accepted: 50 } })
  }
  await eventually(async () => (await reader.allItems('posted', `limit=${IDS}&encoding=json`)).length === IDS)
  t.same(await reader.allItems('posted', `limit=${IDS}&encoding=json`), newestOf(items))
})
