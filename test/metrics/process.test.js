import { Registry } from 'prom-client'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { registerProcess } from '../../src/metrics/scrape.js'
import { eventually } from '../servers.js'
import { valueOf } from './registries.js'

t.test('a process has metrics of its build, readiness and resources', async (t) => {
  await pause(10) // Node.js 22 and later report no use of the event loop before its first turn
  const registry = new Registry()
  let ready = true
  t.teardown(registerProcess(registry, { isReady: () => ready }))
  const text = await registry.metrics()
  t.equal(valueOf(text, 'freshet_build_info', { node_version: process.versions.node }), 1)
  t.equal(valueOf(text, 'freshet_ready'), 1)
  ready = false
  t.equal(valueOf(await registry.metrics(), 'freshet_ready'), 0)
  for (const name of ['process_cpu_seconds_total', 'process_resident_memory_bytes', 'nodejs_heap_size_used_bytes',
    'nodejs_external_memory_bytes', 'freshet_loop_busy_seconds_total']) {
    t.ok(valueOf(text, name) > 0, name)
  }
  t.ok(Math.abs(valueOf(text, 'process_start_time_seconds') - (Date.now() / 1000 - process.uptime())) < 60)
  if (process.platform === 'linux') t.ok(valueOf(text, 'process_open_fds') > 2)
})

t.test('a stall of the event loop is seen, and sampling ends', async (t) => {
  const registry = new Registry()
  const stop = registerProcess(registry, { isReady: () => true })
  const count = async (le) => valueOf(await registry.metrics(), 'freshet_loop_delay_seconds_bucket', { le })
  await eventually(async () => await count('+Inf') >= 1)
  const [longBefore, busyBefore] = [await count('+Inf') - await count('0.25'),
    valueOf(await registry.metrics(), 'freshet_loop_busy_seconds_total')]
  for (const until = performance.now() + 700; performance.now() < until;);
  await eventually(async () => await count('+Inf') - await count('0.25') > longBefore)
  t.ok(valueOf(await registry.metrics(), 'freshet_loop_busy_seconds_total') - busyBefore >= 0.5)
  stop()
  const stopped = await count('+Inf')
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(await count('+Inf'), stopped)
})
