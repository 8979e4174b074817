import t from 'tap'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { partitionOf } from '../../src/item/id.js'
import { eventually } from '../servers.js'
import { accounted, buildPipeline } from './fake-server.js'

const HOUR_MS = 3_600_000

t.test('a batch is flushed when it has enough items', async (t) => {
  const { wire, open, append } = buildPipeline(t)
  open()
  for (let i = 0; i < 25; i++) append(`id-${i}`)
  t.same(wire.map(({ batch }) => batch.count), [10, 10])
})

t.test('a batch is flushed when it has enough bytes', async (t) => {
  const { wire, open, append } = buildPipeline(t, { flushAt: { items: 1000, bytes: 1000, ms: HOUR_MS } })
  open()
  for (let i = 0; i < 10; i++) append(`id-${i}`, Date.now(), 'x'.repeat(300))
  t.same(wire.map(({ batch }) => batch.count), [3, 3, 3])
})

t.test('a batch is flushed when the one before it is long enough ago', async (t) => {
  const { wire, open, append } = buildPipeline(t, { flushAt: { items: 1000, bytes: 1_000_000, ms: 1000 } })
  open()
  append('a')
  append('b')
  t.equal(wire.length, 0, 'not before the event loop turns')
  await turn()
  t.equal(wire.length, 1)
  append('c')
  await turn()
  t.equal(wire.length, 1)
  await eventually(() => wire.length === 2)
  t.same(wire.map(({ batch }) => batch.count), [2, 1])
})

t.test('a batch that would go too soon after the one before it is not flushed', async (t) => {
  const { wire, open, append } = buildPipeline(t, { flushAt: { items: 1000, bytes: 1_000_000, ms: HOUR_MS } })
  open()
  append('a')
  await turn()
  append('b')
  await pause(100)
  t.same(wire.map(({ batch }) => batch.count), [1])
})

t.test('while enough batches are unanswered, or none can be sent, age does not flush', async (t) => {
  const { pipeline, wire, open, append, answer } = buildPipeline(t, { flushAt: { items: 1000, bytes: 1_000_000, ms: 1 } })
  append('a')
  await pause(30)
  append('b')
  open()
  await eventually(() => wire.length === 1)
  t.equal(wire[0].batch.count, 2, 'without a connection a batch goes on filling')
  for (let i = 2; i <= 4; i++) {
    append(`id-${i}`)
    await eventually(() => wire.length === i)
  }
  append('waits')
  await pause(50)
  append('too')
  t.equal(wire.length, 4)
  await answer()
  await eventually(() => wire.length === 4)
  t.equal(wire[3].batch.count, 2)
  for (let i = 0; i < 4; i++) await answer()
  t.match(accounted(pipeline.account), { offered: 7, ended: 7 })
})

t.test('each partition has batches of its own', async (t) => {
  const { pipeline, wire, open, append } = buildPipeline(t, { partitions: 3 })
  open()
  for (let i = 0; i < 300; i++) append(`id-${i}`)
  pipeline.flush().catch(() => {})
  const ids = wire.flatMap(({ batch }) => batch.items.map(({ id }) => id))
  t.equal(new Set(ids).size, 300)
  t.same([...new Set(wire.map(({ batch }) => batch.partition))].sort(), [0, 1, 2])
  for (const { batch } of wire) t.ok(batch.items.every(({ id }) => partitionOf(Buffer.from(id), 3) === batch.partition))
})

t.test('seq counts the items of one ts', async (t) => {
  const { wire, open, append } = buildPipeline(t, { flushAt: { items: 4, bytes: 1_000_000, ms: HOUR_MS } })
  const now = Date.now()
  open()
  for (const ts of [now, now, now + 1, now]) append('a', ts)
  t.same(wire[0].batch.items.map(({ ts, seq }) => [ts - now, seq]), [[0, 0], [0, 1], [1, 0], [0, 0]])
})

t.test('how late a flush starts is measured from when it was due', async (t) => {
  /** @type {number[]} */
  const behind = []
  const { pipeline, open, answer } = buildPipeline(t,
    { flushAt: { items: 2, bytes: 1_000_000, ms: HOUR_MS }, onBehind: (ms) => behind.push(ms) })
  open()
  const nowMs = performance.timeOrigin + performance.now()
  for (const dueMs of [nowMs - 900, nowMs - 500]) pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v'), dueMs)
  await answer()
  for (const dueMs of [nowMs + HOUR_MS, nowMs + HOUR_MS]) pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v'), dueMs)
  t.ok(behind[0] >= 500 && behind[0] < HOUR_MS, `${behind[0]} ms`)
  t.equal(behind[1], 0)
})
