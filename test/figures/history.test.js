/** What is kept of the last ten minutes, and of how many feeds. */
import t from 'tap'
import { createFigures, createHistory, MAX_FEEDS } from '../../src/figures/index.js'
import { eventually, silentLog } from '../servers.js'

const nodeSample = (/** @type {number} */ at) => ({ at, lagMs: at % 7, cpu: { 'a:1': 0.5 } })

t.test('samples of ten minutes, oldest first, after a time', async (t) => {
  const history = createHistory()
  t.same(history.of('a', -1), [])
  t.same(history.choose(['a']), ['a'])
  for (let at = 0; at < 1500; at++) history.add(nodeSample(at), () => at * 10)
  const all = history.of('a', -1)
  t.equal(all.length, 600)
  t.same(all[0], { at: 900, itemsPerSecond: 9000, lagMs: 900 % 7, cpu: { 'a:1': 0.5 } })
  t.same(all.map(({ at }) => at), Array.from({ length: 600 }, (_, i) => 900 + i))
  t.same(history.of('a', 1497).map(({ at }) => at), [1498, 1499])
  t.same(history.of('a', 1499), [])
})

t.test('the history of a feed starts when it is known, and unknown values are null', async (t) => {
  const history = createHistory()
  history.choose(['a'])
  history.add(nodeSample(1), () => null)
  history.choose(['a', 'b'])
  history.add(nodeSample(2), (feed) => feed === 'b' ? 0 : null)
  const rates = (/** @type {string} */ feed) => history.of(feed, -1).map(({ at, itemsPerSecond }) => [at, itemsPerSecond])
  t.same(rates('a'), [[1, null], [2, null]])
  t.same(rates('b'), [[2, 0]])
  t.same(rates('not-known'), [[1, null], [2, null]], 'of the nodes there is one')
  history.choose(['a'])
  history.choose(['a', 'b'])
  history.add(nodeSample(3), () => 5)
  t.same(rates('b'), [[3, 5]], 'one that was dropped in between is another')
})

t.test('at most a hundred feeds are kept, the most recently used ones', async (t) => {
  const names = Array.from({ length: MAX_FEEDS + 50 }, (_, i) => `feed-${String(i).padStart(3, '0')}`)
  const history = createHistory()
  t.same(history.choose(names), names.slice(0, MAX_FEEDS))
  history.touch('feed-120')
  history.touch('feed-001')
  const kept = history.choose(names)
  t.equal(kept.length, MAX_FEEDS)
  t.same(kept.slice(-2), ['feed-120', 'feed-001'])
  t.notOk(kept.includes('feed-000'))
  for (const feed of names) history.touch(feed)
  t.same(history.choose(names), names.slice(50))
  t.same(history.choose(['feed-149', 'new']), ['feed-149', 'new'])
})

t.test('what was sampled before a process stood still is not shown for ever', async (t) => {
  let nowMs = 1_790_000_000_000
  let elapsedMs = 0
  const gone = async () => { throw new Error('no servers') }
  const figures = createFigures({
    queries: /** @type {any} */ ({
      definition: gone, count: gone, latest: gone, status: () => ({ ready: false, reasons: ['SERVER_UNREACHABLE'], nodes: [] })
    }),
    deployment: { shard () { throw new Error('no servers') }, nodes: () => [], figures: async () => [] },
    keyPrefix: 'fr:',
    now: () => nowMs,
    elapsed: () => elapsedMs,
    log: silentLog
  })
  t.teardown(() => figures.close())
  await eventually(async () => (await figures.of('a', -1)).history.length > 0)
  t.same((await figures.of('a', -1)).history[0], { at: nowMs, itemsPerSecond: null, lagMs: null, cpu: {} })
  nowMs += 599_999
  t.ok((await figures.of('a', -1)).history.length > 0)
  nowMs += 2
  elapsedMs += 600_001
  const { history } = await figures.of('a', -1)
  t.same(history.filter(({ at }) => at < nowMs - 600_000), [])
})
