import { Registry } from 'prom-client'
import t from 'tap'
import { registerNodes } from '../../src/metrics/feeds.js'
import { connectFor, engineName, eventually, openWriterFor, startDeployment } from '../servers.js'
import { createReaderMetrics, samplesOf, serveWriterMetrics, valueOf } from './registries.js'
import { scopedEngines } from '../scope.js'

const engines = await scopedEngines()

/** what a scrape may take at most: the wait for figures, and a busy machine */
const SCRAPE_WITHIN_MS = 10_000

/** @returns {import('../../src/store/index.js').NodeFigures} */
const figuresOf = (role, address, rest = {}) => ({
  address,
  runId: 'x',
  engine: 'valkey 9.1.2',
  role,
  cpuSeconds: 1.5,
  timeMs: 0,
  usedMemoryBytes: 2048,
  offset: 0,
  linkUp: true,
  loading: false,
  fullSyncs: 2,
  ...rest
})
const nodeNames = (text) => samplesOf(text).filter(({ name }) => name.startsWith('freshet_node_'))

t.test('nodes are queried once per scrape, and one request at a time', async (t) => {
  const registry = new Registry()
  let asked = 0
  registerNodes(registry, async () => {
    asked++
    return [figuresOf('primary', 'a:1'), figuresOf('replica', 'b:2', { linkUp: false, fullSyncs: 0 })]
  })
  const [text] = await Promise.all([registry.metrics(), registry.metrics()])
  t.equal(asked, 1)
  t.equal(valueOf(text, 'freshet_node_cpu_seconds_total', { role: 'primary', node: 'a:1' }), 1.5)
  t.equal(valueOf(text, 'freshet_node_memory_used_bytes', { role: 'replica', node: 'b:2' }), 2048)
  t.equal(valueOf(text, 'freshet_node_full_syncs_total', { node: 'a:1' }), 2)
  t.equal(valueOf(text, 'freshet_node_link_up', { node: 'b:2' }), 0)
  t.equal(valueOf(text, 'freshet_node_link_up', { node: 'a:1' }), undefined, 'a primary has no such link')
  t.equal(valueOf(text, 'freshet_node_info', { node: 'a:1', engine: 'valkey 9.1.2' }), 1)
  await registry.metrics()
  t.equal(asked, 2)
})

t.test('figures that never come, or fail, are absent and hold no scrape up', async (t) => {
  const silent = new Registry()
  let asked = 0
  registerNodes(silent, () => {
    asked++
    return new Promise(() => {})
  })
  const startedMs = performance.now()
  t.same(nodeNames(await silent.metrics()), [])
  t.same(nodeNames(await silent.metrics()), [])
  t.ok(performance.now() - startedMs < 2 * SCRAPE_WITHIN_MS)
  t.equal(asked, 1, 'no second question while the first is out')

  const failing = new Registry()
  let fails = true
  registerNodes(failing, async () => {
    if (fails) throw new Error('gone')
    return [figuresOf('primary', 'a:1')]
  })
  t.same(nodeNames(await failing.metrics()), [])
  fails = false
  t.equal(valueOf(await failing.metrics(), 'freshet_node_cpu_seconds_total'), 1.5)
})

t.test('a node that refuses its user is not connected', async (t) => {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine: engines[0], replicas: 1 })
  const [control, onReplica] = await Promise.all([primary, replica].map(({ url }) => connectFor(t, url)))
  for (const node of [control, onReplica]) await node.send('ACL', 'SETUSER', 'reading', 'on', '>word', '~*', '+@all')
  const { app } = await createReaderMetrics(t, { redisUrl: primary.url.replace('//', '//reading:word@') })
  const connected = async (/** @type {number} */ port) =>
    valueOf((await app.inject('/metrics')).body, 'freshet_node_connected', { node: `127.0.0.1:${port}` })
  await eventually(async () => await connected(replica.port) === 1)
  await onReplica.send('ACL', 'SETUSER', 'reading', 'off')
  await onReplica.send('CLIENT', 'KILL', 'USER', 'reading')
  await eventually(async () => /"state":"refused"/.test((await app.inject('/readyz')).body))
  t.equal(await connected(replica.port), 0)
  t.equal(await connected(primary.port), 1)
})

t.test('metrics of real processes', { jobs: 2 }, async (t) => {
  for (const engine of engines) {
    t.test(`${engineName(engine)}: writers and readers have metrics of all nodes; a frozen node is absent`, async (t) => {
      const { primary, replicas } = await startDeployment(t, { engine, replicas: 2 })
      const writing = await serveWriterMetrics(t, { redisUrl: primary.url, feed: 'metered' })
      const reading = await createReaderMetrics(t, { redisUrl: primary.url })
      const scrapeWriter = async () => (await fetch(writing.url)).text()
      const scrapeReader = async () => (await reading.app.inject('/metrics')).body

      t.equal(valueOf(await scrapeWriter(), 'freshet_ready'), 0, 'before its feed is open')
      const writer = await openWriterFor(t,
        { redisUrl: primary.url, feed: 'metered', onFlush: (seconds) => writing.flush('metered', seconds) })
      writing.follow('metered', writer)
      for (let i = 0; i < 500; i++) writer.pipeline.append(Buffer.from(`id-${i}`), Date.now(), Buffer.alloc(10))
      await writer.pipeline.flush()

      for (const text of [await scrapeWriter(), await eventually(async () => {
        const now = await scrapeReader()
        return samplesOf(now).filter(({ name }) => name === 'freshet_replica_lag_seconds').length === 2 && now
      })]) {
        const nodes = samplesOf(text).filter(({ name }) => name === 'freshet_node_cpu_seconds_total')
        t.same(nodes.map(({ labels }) => labels.role).sort(), ['primary', 'replica', 'replica'])
        t.ok(nodes.every(({ value }) => value > 0))
        t.equal(valueOf(text, 'freshet_node_link_up'), 2)
        t.ok(valueOf(text, 'freshet_node_full_syncs_total', { role: 'primary' }) >= 1)
        t.ok(valueOf(text, 'freshet_node_memory_used_bytes', { role: 'primary' }) > 100_000)
        t.equal(valueOf(text, 'freshet_node_info', { engine: engineName(engine) }), 3)
        t.equal(valueOf(text, 'freshet_ready'), 1)
      }
      const text = await scrapeWriter()
      t.equal(valueOf(text, 'freshet_items_total', { feed: 'metered' }), 500)
      t.equal(valueOf(text, 'freshet_value_bytes_total'), 5000)
      t.ok(valueOf(text, 'freshet_flush_seconds_count') >= 1)
      t.ok(valueOf(text, 'freshet_http_requests_total', { route: '/metrics', status: '200' }) >= 1)
      const read = await scrapeReader()
      t.equal(valueOf(read, 'freshet_node_connected'), 3)
      t.equal(valueOf(read, 'freshet_view_items'), undefined, 'layout ids needs no view')

      replicas[0].freeze()
      await eventually(async () => {
        const startedMs = performance.now()
        const [fromWriter, fromReader] = await Promise.all([scrapeWriter(), scrapeReader()])
        t.ok(performance.now() - startedMs < SCRAPE_WITHIN_MS)
        return [fromWriter, fromReader].every((one) =>
          samplesOf(one).filter(({ name }) => name === 'freshet_node_cpu_seconds_total').length === 2) &&
          valueOf(fromReader, 'freshet_node_connected', { node: `127.0.0.1:${replicas[0].port}` }) === 0
      })
      t.equal(valueOf(await scrapeReader(), 'freshet_ready'), 1, 'the other replica answers')
      primary.freeze()
      await replicas[1].kill()
      writer.pipeline.append(Buffer.from('unanswered'), Date.now(), Buffer.alloc(10))
      await eventually(async () => {
        const [fromWriter, fromReader] = await Promise.all([scrapeWriter(), scrapeReader()])
        return nodeNames(fromWriter).length === 0 && valueOf(fromReader, 'freshet_node_connected') === 0 &&
          valueOf(fromReader, 'freshet_ready') === 0 && valueOf(fromWriter, 'freshet_ready') === 0
      })
      t.equal(valueOf(await scrapeWriter(), 'freshet_items_total', { feed: 'metered' }), 500, 'what is known is reported')
      t.equal(valueOf(await scrapeReader(), 'freshet_replica_lag_seconds'), undefined)
      primary.thaw()
      replicas[0].thaw()
      await eventually(async () => {
        const now = await scrapeWriter()
        return valueOf(now, 'freshet_ready') === 1 && valueOf(now, 'freshet_items_total') === 501
      })
    })
  }
})
