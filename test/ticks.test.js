/** Ticks of a process: at the same times for all, once each however busy it is, and by no clock that jumps. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eachTick, untilTick } from '../src/ticks.js'
import { eventually } from './servers.js'

const EVERY_MS = 50

/** @param {number} ms */
function block (ms) {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
}

t.test('what has the same interval, or a multiple of it, is due at the same times, and never at once', async (t) => {
  const { now } = performance
  t.teardown(() => { performance.now = now })
  for (const [nowMs, of50, of100] of [[0, 50, 100], [1, 49, 99], [44.5, 5.5, 55.5], [46, 54, 54], [99, 51, 101], [149, 51, 51]]) {
    performance.now = () => nowMs
    t.same([untilTick(EVERY_MS), untilTick(2 * EVERY_MS)], [of50, of100], `at ${nowMs}`)
  }
})

t.test('a process that is busy for many ticks runs each once, and goes on', async (t) => {
  let ran = 0
  const end = eachTick(EVERY_MS, () => { ran++ })
  block(10 * EVERY_MS)
  const sinceMs = performance.now()
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  t.ok(ran <= 1 + (performance.now() - sinceMs) / EVERY_MS, `${ran} at once after ten ticks`)
  await eventually(() => ran >= 3)
  end()
  const before = ran
  await sleep(3 * EVERY_MS)
  t.equal(ran, before)
})

t.test('a wall clock that jumps moves no tick', async (t) => {
  const { now } = Date
  t.teardown(() => { Date.now = now })
  let ran = 0
  const hasRun = () => ran >= 2
  const end = eachTick(EVERY_MS, () => { ran++ })
  for (const jumpMs of [3_600_000, -3_600_000]) {
    Date.now = () => now() + jumpMs
    ran = 0
    t.ok(untilTick(EVERY_MS) <= 2 * EVERY_MS)
    for (let n = 0; n < 200 && !hasRun(); n++) await sleep(EVERY_MS)
    t.ok(hasRun(), `${jumpMs} ms`)
  }
  end()
})
