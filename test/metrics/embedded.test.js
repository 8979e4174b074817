/** Metrics in CloudWatch's embedded metric format. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import t from 'tap'
import { createEmbedded } from '../../src/metrics/index.js'

t.test('a line: counters as what was added, series added up, the largest of times, no histograms, none of servers', async (t) => {
  const registry = new Registry()
  const options = { help: 'x', registers: [registry] }
  const items = new Counter({ ...options, name: 'freshet_items_total', labelNames: ['feed'] })
  const behind = new Gauge({ ...options, name: 'freshet_view_behind_seconds', labelNames: ['feed'] })
  const bytes = new Gauge({ ...options, name: 'freshet_view_bytes' })
  new Gauge({ ...options, name: 'freshet_node_memory_used_bytes' }).set(1)
  new Histogram({ ...options, name: 'freshet_flush_seconds' }).observe(1)
  /** @type {string[]} */
  const lines = []
  const tell = createEmbedded(registry, { service: 'reader', write: (line) => lines.push(line), now: () => 5 })

  items.inc({ feed: 'a' }, 3)
  items.inc({ feed: 'b' }, 4)
  behind.set({ feed: 'a' }, 0.5)
  behind.set({ feed: 'b' }, 0.2)
  bytes.set(1000)
  await tell()
  items.inc({ feed: 'a' }, 10)
  await tell()

  t.ok(lines.every((line) => line.endsWith('\n') && !line.slice(0, -1).includes('\n')))
  const [first, second] = lines.map((line) => JSON.parse(line))
  t.same(first, {
    _aws: {
      Timestamp: 5,
      CloudWatchMetrics: [{
        Namespace: 'Freshet',
        Dimensions: [['service']],
        Metrics: [
          { Name: 'freshet_items_total', Unit: 'Count' },
          { Name: 'freshet_view_behind_seconds', Unit: 'Seconds' },
          { Name: 'freshet_view_bytes', Unit: 'Bytes' }
        ]
      }]
    },
    service: 'reader',
    freshet_items_total: 7,
    freshet_view_behind_seconds: 0.5,
    freshet_view_bytes: 1000
  })
  t.equal(second.freshet_items_total, 10)
})
