/**
 * The process itself: readiness, build, processor, memory, event loop.
 *
 * Rejected: prom-client's collectDefaultMetrics. Of 79 series a dozen are looked at; its garbage collection histogram
 * counts one event of each report (99 of 117 in a trial), and its event loop delay forgets at every scrape, so that two
 * scrapers take it from each other. Where the meaning is the same, so is the name.
 */
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { Histogram } from 'prom-client'
import { counter, gauge, one } from './scrape.js'

const SAMPLE_MS = 100
const DELAY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

/**
 * @param {import('prom-client').Registry} registry
 * @param {{ isReady: () => boolean }} options what /readyz says
 * @returns {() => void} stops what samples
 */
export function registerProcess (registry, { isReady }) {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  const startSeconds = Date.now() / 1000 - process.uptime()
  gauge(registry, { name: 'freshet_ready', help: 'Whether /readyz answers 200' }, () => one(Number(isReady())))
  gauge(registry, { name: 'freshet_build_info', help: 'Always 1; the versions of Freshet and Node', labels: ['version', 'node_version'] }, () =>
    [[{ version, node_version: process.versions.node }, 1]])

  gauge(registry, { name: 'process_start_time_seconds', help: 'When the process started, in seconds since 1970' }, () => one(startSeconds))
  counter(registry, { name: 'process_cpu_seconds_total', help: 'Processor time of the process, user and system' }, () => {
    const { user, system } = process.cpuUsage()
    return one((user + system) / 1e6)
  })
  gauge(registry, { name: 'process_resident_memory_bytes', help: 'Memory of the process that is in RAM' }, () => one(process.memoryUsage.rss()))
  gauge(registry, { name: 'process_open_fds', help: 'Open files and sockets; absent where there is no /proc' }, async () => {
    const open = await readdir('/proc/self/fd').catch(() => null)
    return open ? one(open.length - 1) : []
  })
  gauge(registry, { name: 'nodejs_heap_size_used_bytes', help: 'Memory of JavaScript objects' }, () => one(process.memoryUsage().heapUsed))
  gauge(registry, { name: 'nodejs_external_memory_bytes', help: 'Memory outside the heap: buffers, such as batches and answers' }, () => one(process.memoryUsage().external))

  counter(registry, { name: 'freshet_loop_busy_seconds_total', help: 'Time in which the event loop did not wait for anything; 1 a second is saturation' }, () =>
    one(performance.eventLoopUtilization().active / 1000))
  return sampleLoopDelay(registry)
}

/** @param {import('prom-client').Registry} registry @returns {() => void} stop */
function sampleLoopDelay (registry) {
  const delays = new Histogram({ name: 'freshet_loop_delay_seconds', help: 'How late the event loop gets to a timer, sampled ten times a second', buckets: DELAY_SECONDS, registers: [registry] })
  let dueMs = performance.now() + SAMPLE_MS
  const timer = setInterval(() => {
    const nowMs = performance.now()
    delays.observe(Math.max(0, nowMs - dueMs) / 1000)
    dueMs = nowMs + SAMPLE_MS
  }, SAMPLE_MS).unref()
  return () => clearInterval(timer)
}
