/**
 * The marks of a sample: what its figures suffer from, by the counters that show it.
 */
import t from 'tap'
import { figuresOf } from '../../lab/run/window.js'

const node = (more = {}) => ({
  address: '127.0.0.1:1',
  role: /** @type {const} */ ('primary'),
  runId: 'a',
  engine: 'valkey 9.1.2',
  cpuSeconds: 1,
  mainThreadCpuSeconds: 1,
  usedMemoryBytes: 1,
  offset: 0,
  linkUp: true,
  loading: false,
  fullSyncs: 0,
  netInputBytes: 0,
  netOutputBytes: 0,
  replicas: 0,
  evictedKeys: 0,
  commands: 0,
  calls: {},
  ...more
})

/** A window of 4 s at 10,000 items/s, in which nothing went wrong. @param {any} more */
function marksOf ({ summary = {}, after = {}, use = {}, settings = {}, ...more } = {}) {
  const window = /** @type {any} */ ({
    nodes: { before: [node()], after: [node({ cpuSeconds: 1.2, netInputBytes: 6_000_000, ...after })] },
    use: {
      before: { atMs: 0, loadAverage: 0, ticks: { busy: 0, steal: 0, total: 0, processors: 2 } },
      after: { atMs: 4000, loadAverage: 0.5, ticks: { busy: 44, steal: 0, total: 800, processors: 2 }, ...use }
    },
    figures: { windowSeconds: 4 },
    labCpuSeconds: 0.04,
    relay: null,
    ended: {
      acknowledged: [50_000],
      summary: {
        items: 40_000,
        offered: 40_000,
        seconds: 4,
        refusedBy: {},
        dropped: 0,
        failed: 0,
        retried: 0,
        batches: 800,
        bytes: 1,
        behindMs: { p50: 1, p95: 2, p99: 3, max: 4 },
        writerCpuMicrosPerItem: 5,
        loopUse: 0.1,
        ...summary
      }
    },
    ...more
  })
  const servers = /** @type {any} */ ({ primaryUrl: 'redis://127.0.0.1:1', replicaUrls: [] })
  return figuresOf(/** @type {any} */ ({ settings: { rate: 10_000, writers: 1, duration: 4, ...settings } }), window, servers).marks
}

t.test('a window without trouble has no mark', async (t) => {
  t.same(marksOf(), [])
})

t.test('L7: a load near the limit of its event loop or processor is marked', async (t) => {
  t.same(marksOf({ summary: { loopUse: 0.81 } }), ['generator-bound'])
  t.same(marksOf({ summary: { writerCpuMicrosPerItem: 90 }, use: { ticks: { busy: 390, steal: 0, total: 800, processors: 2 } } }),
    ['generator-bound'])
  t.same(marksOf({
    summary: { writerCpuMicrosPerItem: 90 },
    settings: { writers: 2, rate: 5000 },
    use: { ticks: { busy: 390, steal: 0, total: 800, processors: 2 } }
  }), [], 'shared out between two')
})

t.test('other programs are noise, and time that was stolen has its own mark', async (t) => {
  t.same(marksOf({ use: { ticks: { busy: 144, steal: 0, total: 800, processors: 2 } } }), ['noisy'])
  t.same(marksOf({ use: { ticks: { busy: 44, steal: 24, total: 800, processors: 2 } } }), ['stolen'])
  t.same(marksOf({ use: { ticks: null } }), [], 'where the kernel does not report it')
})

t.test('a load that did not keep up is marked; one without a rate has nothing to keep up with', async (t) => {
  t.same(marksOf({ summary: { items: 38_000, offered: 38_000 } }), ['behind'])
  t.same(marksOf({ summary: { items: 38_000, offered: 38_000 }, settings: { rate: 0 } }), [])
})

t.test('L16: a delayed line at its limit is marked', async (t) => {
  t.same(marksOf({ relay: { cpuSeconds: 0.1 } }), [])
  t.same(marksOf({ relay: { cpuSeconds: 3.3 } }), ['relay-bound'])
  t.same(marksOf({ relay: { cpuSeconds: 0.1 }, after: { netInputBytes: 90_000_000 } }), ['relay-bound'])
})

t.test('full copies and evictions are marked', async (t) => {
  t.same(marksOf({ after: { fullSyncs: 1 } }), ['full copy'])
  t.same(marksOf({ after: { evictedKeys: 3 } }), ['evicted'])
})
