/** What each process would answer at /metrics: the registries of its real parts, over a real server. */
import { Registry } from 'prom-client'
import { createReaderApp } from '../../readers/app.js'
import { openFeed } from '../../src/index.js'
import { insideOfFeed } from '../../src/inside.js'
import { createServer, healthRoutes } from '../../src/http/index.js'
import { createAdmissionMetrics, createConsumerMetrics, createReaderRegistry, createWriterMetrics } from '../../src/metrics/index.js'
import { createServers } from '../../src/store/servers.js'
import { loadSystems } from '../../src/systems/list.js'
import { createQueries } from '../../src/view/queries.js'
import { createViews } from '../../src/view/views.js'
import { createGatewayApp } from '../../writers/gateway/app.js'
import { createFeeds } from '../../writers/gateway/feeds.js'
import { createDefinitions } from '../../writers/gateway/definitions.js'
import { openSystems } from '../../writers/gateway/systems.js'
import { serveMetrics } from '../../writers/metrics-server.js'
import { silentLog } from '../servers.js'

/**
 * A writer's, served; the feed is not followed yet.
 * @param {import('tap').Test} t @param {{ redisUrl: string, feed?: string, deadlineMs?: number, log?: import('pino').Logger }} options
 */
export async function serveWriterMetrics (t, { redisUrl, feed = 'latest', deadlineMs = 2000 }) {
  let url = ''
  const log = /** @type {import('pino').Logger} */ ({ ...silentLog, info: (fields) => { url = fields.url } })
  const served = await serveMetrics({
    settings: { metricsPort: 0, host: '127.0.0.1', readFrom: 'replica', deadlineMs, feed }, index: 0, redisUrl, replicaUrls: null, log
  })
  if (!served) throw new Error('no metrics are served')
  t.teardown(() => served.close())
  return { ...served.metrics, url }
}

/** @param {import('tap').Test} t @param {{ redisUrl: string, deadlineMs?: number }} options */
export async function createReaderMetrics (t, { redisUrl, deadlineMs = 2000 }) {
  const deployment =
    createServers({ redisUrl, replicaUrls: null, readFrom: 'replica', name: 'test-reader', deadlineMs, log: silentLog })
  t.teardown(() => deployment.close())
  await deployment.ready
  const queries = createQueries({ deployment, keyPrefix: 'fr:', now: Date.now })
  const views = createViews({
    queries, deployment, keyPrefix: 'fr:', now: Date.now, log: silentLog, mode: 'auto', boundItems: 1_000_000, boundBytes: 2 ** 30
  })
  t.teardown(() => views.close())
  const registry = createReaderRegistry(deployment, views.figures)
  createAdmissionMetrics(registry)
  for (const { metrics } of await loadSystems()) metrics?.reader?.(registry)
  const app = createReaderApp({ queries: views, registry, maxStaleMs: 10_000, caps: { maxStreams: 10, maxStreamsPerToken: 1 } })
  t.teardown(() => app.close())
  await app.ready()
  return { registry, app, deployment }
}

/** @param {import('tap').Test} t @param {{ redisUrl: string, deadlineMs?: number }} options */
export async function createGatewayMetrics (t, { redisUrl, deadlineMs = 2000 }) {
  const settings = /** @type {const} */ ({
    readFrom: 'replica',
    keyPrefix: 'fr:',
    deadlineMs,
    ack: 'primary',
    whenFull: 'refuse',
    ackWithinMs: 5000,
    inFlightBytes: 16 * 1024 * 1024,
    assets: null,
    tiers: 'hot=5/10/60,medium=30/60/300,cold=300/600/1800'
  })
  const servers = createServers({ ...settings, redisUrl, isReading: false, name: 'test-gateway', log: silentLog })
  const { definition } = createDefinitions({ ...settings, servers, primaryUrl: redisUrl, name: 'test-gateway' })
  const metrics = createWriterMetrics({ figures: servers.figures })
  const feeds = createFeeds({
    open: async (name, stored) => insideOfFeed(await openFeed(name, {
      ...(/** @type {{}} */ (stored)),
      redisUrl,
      deadlineMs,
      onFlush: (seconds) => metrics.flush(name, seconds),
      onBehind: (ms) => metrics.behind(name, ms)
    })),
    definition,
    onOpen: ({ name, writer }) => metrics.follow(name, writer),
    onClose: ({ name }) => metrics.unfollow(name),
    log: silentLog
  })
  const { signal } = new AbortController()
  const systems = openSystems(settings, await loadSystems(), {
    servers, registry: metrics.registry, log: silentLog, signal
  })
  const app = createGatewayApp({
    feeds, status: metrics.status, settings, stopping: new AbortController().signal, registry: metrics.registry
  })
  t.teardown(async () => {
    await app.close()
    await feeds.close({ drainMs: 0 })
    await systems.close()
    await servers.close()
  })
  await servers.ready
  await app.ready()
  return { registry: metrics.registry, app }
}

/**
 * The registries of a writer, a reader, a gateway and consumers, described.
 * @param {import('tap').Test} t @param {{ redisUrl: string }} options
 * @returns {Promise<Record<'writer' | 'reader' | 'gateway' | 'consumers', Described>>}
 */
export async function describeProcesses (t, options) {
  const writer = await serveWriterMetrics(t, options)
  const reader = await createReaderMetrics(t, options)
  const gateway = await createGatewayMetrics(t, options)
  const consumers = await createConsumersRegistry(t)
  return {
    writer: describeMetrics(writer.registry),
    reader: describeMetrics(reader.registry),
    gateway: describeMetrics(gateway.registry),
    consumers: describeMetrics(consumers)
  }
}

/** @param {import('tap').Test} t */
async function createConsumersRegistry (t) {
  const registry = new Registry()
  createAdmissionMetrics(registry)
  createConsumerMetrics(registry, () => [])
  for (const { metrics } of await loadSystems()) metrics?.consumers?.(registry)
  const app = createServer({ registry, security: null })
  app.register(healthRoutes, { status: () => ({ ready: true, reasons: [], nodes: [] }), registry })
  t.teardown(() => app.close())
  await app.ready()
  return registry
}

/** @typedef {Map<string, { type: string, labels: string[] }>} Described by name */

/** @param {import('prom-client').Registry} registry @returns {Described} */
export const describeMetrics = (registry) =>
  new Map(registry.getMetricsAsArray().map((/** @type {any} */ { name, type, labelNames }) =>
    [name, { type, labels: [...labelNames].sort() }]))

/**
 * @param {string} text of a scrape
 * @returns {{ name: string, labels: Record<string, string>, value: number }[]}
 */
export const samplesOf = (text) => text.split('\n').filter((line) => line && !line.startsWith('#')).map((line) => {
  const [, name, labels = '', value] = /** @type {string[]} */ (/^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line))
  return {
    name, labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, of]) => [label, of])), value: Number(value)
  }
})

/**
 * @param {string} text of a scrape @param {string} name @param {Record<string, string>} [labels]
 * @returns {any} a number, the sum of the series that have these labels, undefined without any
 */
export function valueOf (text, name, labels = {}) {
  const found = samplesOf(text).filter((one) =>
    one.name === name && Object.entries(labels).every(([label, of]) => one.labels[label] === of))
  return found.length ? found.reduce((sum, { value }) => sum + value, 0) : undefined
}
