/** Metrics whose values are read at each scrape. */
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { Counter, Gauge, Histogram } from 'prom-client'
import { refusedAnswers } from '../store/index.js'
import { eachTick, untilTick } from '../ticks.js'

/**
 * Metrics of the process itself: readiness, build, processor, memory, event loop.
 *
 * Rejected: prom-client's collectDefaultMetrics. It has 79 series, of which about a dozen are useful. Its garbage collection
 * histogram misses events (99 of 117 counted in a trial), and its event loop delay resets at every scrape, so two scrapers
 * disturb each other. Metrics with the same meaning have the same name.
 */

/** a stall of 0.65 s is always seen as one of more than 0.25 s */
const SAMPLE_MS = 400
const DELAY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

/**
 * @param {import('prom-client').Registry} registry
 * @param {{ isReady: () => boolean }} options `isReady`: as in /readyz
 * @returns {() => void} stop sampling
 */
export function registerProcess (registry, { isReady }) {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const startSeconds = Date.now() / 1000 - process.uptime()
  gauge(registry, { name: 'freshet_ready', help: '1 if /readyz returns 200, else 0' }, () => unlabelled(Number(isReady())))
  gauge(registry, {
    name: 'freshet_build_info', help: 'Always 1; the labels carry the versions of Freshet and Node.js', labels: ['version', 'node_version']
  }, () =>
    [[{ version, node_version: process.versions.node }, 1]])

  gauge(registry, { name: 'process_start_time_seconds', help: 'Start time of the process in seconds since 1970' },
    () => unlabelled(startSeconds))
  counter(registry, { name: 'process_cpu_seconds_total', help: 'Total CPU time of the process, user and system' }, () => {
    const { user, system } = process.cpuUsage()
    return unlabelled((user + system) / 1e6)
  })
  gauge(registry, { name: 'process_resident_memory_bytes', help: 'Resident memory of the process' },
    () => unlabelled(process.memoryUsage.rss()))
  gauge(registry, { name: 'process_open_fds', help: 'Number of open file descriptors; absent on systems without /proc' }, async () => {
    const open = await readdir('/proc/self/fd').catch(() => null)
    return open ? unlabelled(open.length - 1) : []
  })
  gauge(registry, { name: 'nodejs_heap_size_used_bytes', help: 'JavaScript heap in use' }, () => unlabelled(process.memoryUsage().heapUsed))
  gauge(registry, { name: 'nodejs_external_memory_bytes', help: 'Memory outside the heap, such as buffers of batches and replies' },
    () => unlabelled(process.memoryUsage().external))

  counter(registry, {
    name: 'freshet_loop_busy_seconds_total', help: 'Total time the event loop was busy; 1 s per second is saturation'
  }, () =>
    unlabelled(performance.eventLoopUtilization().active / 1000))
  counter(registry, {
    name: 'freshet_server_answers_refused_total',
    help: 'Total answers of servers about servers that were not used, by what they are about',
    labels: ['about']
  }, () => refusedAnswers().map(([about, total]) => [{ about }, total]))
  return sampleLoopDelay(registry)
}

/** @param {import('prom-client').Registry} registry @returns {() => void} stop */
function sampleLoopDelay (registry) {
  const delays = new Histogram({
    name: 'freshet_loop_delay_seconds',
    help: 'Delay of a timer by the event loop, sampled every 0.4 s',
    buckets: DELAY_SECONDS,
    registers: [registry]
  })
  let dueMs = performance.now() + untilTick(SAMPLE_MS)
  return eachTick(SAMPLE_MS, () => {
    delays.observe(Math.max(0, performance.now() - dueMs) / 1000)
    dueMs = performance.now() + untilTick(SAMPLE_MS)
  })
}

/** @typedef {import('prom-client').Registry} Registry */
/** @typedef {{ name: string, help: string, labels?: string[] }} Named */
/** @typedef {Iterable<[labels: Record<string, string>, value: number]>} Samples one per series; other series are absent */

/** @param {Registry} registry @param {Named} named @param {() => Samples | Promise<Samples>} read must not throw, or the scrape fails */
export function counter (registry, { name, help, labels = [] }, read) {
  // eslint-disable-next-line no-new
  new Counter({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect () { return fill(this, read(), (of, value) => this.inc(of, value)) }
  })
}

/** @param {Registry} registry @param {Named} named @param {() => Samples | Promise<Samples>} read must not throw, or the scrape fails */
export function gauge (registry, { name, help, labels = [] }, read) {
  // eslint-disable-next-line no-new
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect () { return fill(this, read(), (of, value) => this.set(of, value)) }
  })
}

/** @param {number} value @returns {Samples} of a metric without labels */
export const unlabelled = (value) => [[{}, value]]

/**
 * Synchronous if the samples are: prom-client awaits promises only.
 * @param {{ reset: () => void }} metric @param {Samples | Promise<Samples>} samples
 * @param {(labels: Record<string, string>, value: number) => void} put
 */
function fill (metric, samples, put) {
  if (samples instanceof Promise) return samples.then((here) => replace(metric, here, put))
  replace(metric, samples, put)
}

/** @param {{ reset: () => void }} metric @param {Samples} samples @param {(labels: Record<string, string>, value: number) => void} put */
function replace (metric, samples, put) {
  metric.reset()
  for (const [labels, value] of samples) put(labels, value)
}
