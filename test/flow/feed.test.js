import t from 'tap'
import { percentilesInOrder } from '../../lab/analysis/percentiles.js'
import { logOf } from '../commands.js'
import { eventually } from '../servers.js'
import { startFlow } from './flow.js'
import { scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'

/** Fields of the summary line, with their types. */
const SUMMARY = {
  event: 'summary',
  role: 'writer',
  feed: String,
  layout: 'ids',
  engine: /^(valkey|redis) \d+\.\d+\.\d+$/,
  writers: Number,
  offered: Number,
  items: Number,
  refused: Number,
  dropped: Number,
  failed: Number,
  retried: Number,
  bytes: Number,
  seconds: Number,
  itemsPerSecond: Number,
  batches: Number,
  behindMs: { p50: Number, p95: Number, p99: Number, max: Number },
  nodes: ['primary', 'replica', 'replica'].map((role) => ({ role, cpuMicrosPerItem: Number }))
}

const [engine] = await scopedEngines()
const { reader, write, runWriter } = await startFlow(t, await sharedDeployment(t, { engine }))

t.test('written items are read newest first, by id, since a time, and counted', async (t) => {
  const { code, summary } = await write(t, ['--items', '2500', '--rate', '0', '--ids', '1000'])
  t.equal(code, 0)
  t.match(summary, { offered: 2500, items: 2500, refused: 0, dropped: 0, failed: 0, bytes: 2500 * 128 })

  const items = await reader.allItems('latest', 'limit=300&encoding=json')
  t.same(items.map(({ id }) => id), Array.from({ length: 1000 }, (_, i) => `bus-${i < 500 ? 499 - i : 1499 - i}`),
    'ids in the order of their newest versions')
  t.same(items.map(({ value }) => Number(value.n)), Array.from({ length: 1000 }, (_, i) => 2500 - i), 'each with its newest value')
  t.ok(items.every(({ ts }, i) => i === 0 || ts <= items[i - 1].ts))

  const first = (await reader.ask('/v1/feeds/latest/items?limit=5&encoding=json')).json
  t.same(first.items, items.slice(0, 5))
  t.match(first, { feed: 'latest', asOf: Number, next: String })
  const { ts } = items[400]
  const since = await reader.allItems('latest', `limit=1000&encoding=json&since=${ts}`)
  t.same(since, items.filter((item) => item.ts >= ts))
  t.same((await reader.ask('/v1/feeds/latest/items/bus-7?encoding=json')).json, items.find(({ id }) => id === 'bus-7'))
  t.match(await reader.ask('/v1/feeds/latest/items/bus-1000'), { status: 404, json: { code: 'ITEM_UNKNOWN' } })
  t.match((await reader.ask('/v1/feeds/latest/count')).json, { count: 1000, exact: true })
  t.match((await reader.ask('/v1/feeds')).json.feeds, [{ feed: 'latest', layout: 'ids', partitions: 1 }])
  t.equal((await reader.ask('/readyz')).status, 200)
})

t.test('a running writer logs a line a second and serves its figures to Prometheus; Ctrl-C flushes what was offered', async (t) => {
  const writer = runWriter(t, ['--feed', 'running', '--rate', '1000', '--ids', '1000000', '--metrics-port', '0'])
  const [, url] = await writer.until(/"url":"(http:[^"]+)\/metrics"/)
  const metrics = await eventually(async () => {
    const text = await (await fetch(url + '/metrics')).text()
    return /^freshet_items_total\{feed="running"\} [1-9]/m.test(text) && text
  })
  for (const name of ['freshet_batches_total', 'freshet_dropped_total', 'freshet_refused_total', 'freshet_flush_seconds_count',
    'freshet_behind_seconds_count', 'freshet_inflight_bytes']) {
    t.match(metrics, new RegExp(`^(# TYPE )?${name}[ {]`, 'm'))
  }
  t.match(metrics, /^freshet_node_cpu_seconds_total\{role="primary",node="[^"]+"\} [\d.]+$/m)
  t.equal((await fetch(url + '/livez')).status, 200)

  await writer.until(/"msg":"writing"[^]*"msg":"writing"/)
  const ended = await writer.stop()
  const { code, summary, stdout, stderr } = ended
  t.equal(code, 0)

  await t.test('without a terminal standard error is JSON lines', async (t) => {
    t.equal(stderr.trim().split('\n').length, logOf(ended).length, 'no line is anything else')
    t.match(logOf(ended)[0], { role: 'writer', msg: 'settings', settings: { feed: 'running', rate: 1000 } })
    t.match(logOf(ended).find(({ msg }) => msg === 'writing'),
      { items: Number, itemsPerSecond: Number, unacknowledged: Number, refused: 0, dropped: 0, retried: 0 })
  })

  await t.test('everything that was offered is stored', async (t) => {
    t.ok(summary.items > 0)
    t.equal(summary.items, summary.offered)
    await eventually(async () => (await reader.ask('/v1/feeds/running/count')).json.count === summary.items)
  })

  await t.test('standard output is only the summary, with these fields', async (t) => {
    t.equal(stdout, JSON.stringify(summary) + '\n')
    t.same(Object.keys(summary).filter((name) => name in SUMMARY), Object.keys(SUMMARY))
    t.same(Object.keys(summary).filter((name) => !(name in SUMMARY)),
      ['offeredPerSecond', 'flushMs', 'refusedBy', 'writerCpuMicrosPerItem', 'loopUse'])
    t.match(summary, SUMMARY)
    t.ok(Object.values(summary.behindMs).every((ms) => ms >= 0))
    t.ok(percentilesInOrder(summary.flushMs) && summary.flushMs.max > 0)
  })
})

t.test('a second feed with other partitions is independent, and a writer that disagrees gets both values', async (t) => {
  const { code } = await write(t, ['--feed', 'parts', '--partitions', '4', '--items', '1000', '--rate', '0', '--ids', '1000'])
  t.equal(code, 0)
  const items = await reader.allItems('parts', 'limit=70&encoding=json')
  t.same(items.map(({ value }) => Number(value.n)), Array.from({ length: 1000 }, (_, i) => 1000 - i),
    'the partitions are merged into one order')
  const same = await write(t, ['--feed', 'parts', '--items', '1000', '--rate', '0', '--ids', '1000', '--writers', '2'])
  t.match(same, { code: 0, summary: { items: 2000, layout: 'ids' } }, 'one that asks for nothing writes as it is stored')
  const other = await write(t, ['--feed', 'parts', '--partitions', '2', '--items', '1'])
  t.equal(other.code, 2)
  t.match(other.stderr, /partitions 4, not 2/)
  t.notMatch(other.stderr, /\n {4}at /)
})
