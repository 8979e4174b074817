/** Nothing is sent before it is due, a latency below 0 is found, and a measurement with too much stolen time is repeated. */
import t from 'tap'
import { invariantsOf, notBelowZero } from '../../lab/analysis/check.js'
import { undisturbed } from '../../lab/run/index.js'
import { createLatencies } from '../../lab/serving/latencies.js'
import { atRate, untilDue } from '../../lab/systems/pace.js'
import { resultOf } from './results.js'

t.test('work at a rate begins at its time or later, never before', async (t) => {
  /** @type {number[]} */
  const lateMs = []
  await atRate({ rate: 400, seconds: 0.5, signal: new AbortController().signal }, (n, dueMs) => lateMs.push(performance.now() - dueMs))
  t.equal(lateMs.length, 200)
  t.same(lateMs.filter((ms) => ms < 0), [])
})

t.test('a timer that fires early waits again; what is due or aborted is not waited for', async (t) => {
  const times = [0, 3.2, 4.9, 5.1]
  let n = 0
  await untilDue(5, { now: () => times[n++] })
  t.equal(n, times.length)
  await untilDue(5, { now: () => 5 })
  const stop = new AbortController()
  setTimeout(() => stop.abort(), 5)
  const beganMs = performance.now()
  await untilDue(beganMs + 60_000, { signal: stop.signal })
  t.ok(performance.now() - beganMs < 10_000)
})

t.test('a latency below 0 makes a sample INVALID', async (t) => {
  const latencies = createLatencies()
  for (const ms of [3, -0.4, 5]) latencies.record(ms)
  t.match(latencies.percentiles(), { min: -0.4, p50: 3.001 })
  const { samples: [sample] } = resultOf({ costs: { ids: 1, values: 1, reference: 1, blob: 1 } })
  const named = (/** @type {any} */ one) => invariantsOf(one).find(({ name }) => name === 'no latency is below 0')
  t.match(named(sample), { ok: true, detail: 'none' })
  t.match(named({ ...sample, lagMs: { min: -1, p50: 0, p95: 1, p99: 1, max: 1 } }), { ok: false, detail: 'lagMs -1 ms' })
  t.match(notBelowZero({ orders: { polledMs: { p50: -2, p95: 1 } } }), { ok: false, detail: 'orders.polledMs -2 ms' })
})

t.test('above 5 % of stolen time a measurement is repeated, at most twice; an error is an outcome', async (t) => {
  const measured = async (/** @type {(number | string)[]} */ ...all) => {
    let n = 0
    const sample = await undisturbed(async () => {
      const one = all[n++]
      const isError = typeof one === 'string'
      return /** @type {any} */ ({ error: isError ? { code: one } : null, machine: isError ? null : { stealPercent: one } })
    })
    return { sample, times: n }
  }
  t.match(await measured(5), { times: 1, sample: { repeated: undefined } })
  t.match(await measured(9, 6, 1), { times: 3, sample: { repeated: 2, machine: { stealPercent: 1 } } })
  t.match(await measured(9, 8, 7, 1), { times: 3, sample: { repeated: 2, machine: { stealPercent: 7 } } })
  t.match(await measured('SERVER_LOST'), { times: 1, sample: { error: { code: 'SERVER_LOST' } } })
})
