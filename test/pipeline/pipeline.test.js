import t from 'tap'
import fc from 'fast-check'
import { setImmediate as turn } from 'node:timers/promises'
import { holds } from '../properties.js'
import { eventually } from '../servers.js'
import { accounted, buildPipeline } from './fake-server.js'

const HOUR_MS = 3_600_000
const REFUSED = /** @type {any} */ ({ outcome: 'refused' })

t.test('items outside the bounds are refused, counted by reason, and reported to the hook', async (t) => {
  /** @type {string[]} */
  const told = []
  const { pipeline, append } = buildPipeline(t, { onRefused: (code, id, ts) => told.push(`${code} ${id} ${ts}`) })
  const now = Date.now()
  for (const ts of [-1, 0.5, NaN, Infinity, 2 ** 41]) append('a', ts)
  append('old', now - 61_000)
  append('future', now + 120_000)
  pipeline.append(Buffer.from('big'), now, Buffer.alloc(1024 * 1024 + 1))
  pipeline.append(Buffer.from('fits'), now, Buffer.alloc(1024 * 1024))
  pipeline.refuse('ITEM_ID_INVALID')
  t.same(pipeline.account.refused, { ts_invalid: 5, too_old: 1, from_future: 1, value_too_large: 1, id_invalid: 1 })
  t.ok(told.includes(`ITEM_TOO_OLD old ${now - 61_000}`))
  t.equal(told.length, 8)
  t.equal(pipeline.account.offered, 10)
})

t.test('without a window nothing is too old', async (t) => {
  const { pipeline, append } = buildPipeline(t, { retention: { windowMs: 0, maxItems: 5 } })
  append('a', 0)
  t.same(pipeline.account.refused, {})
})

t.test('a changed retention holds for items at once, and for keys from the next batch on', async (t) => {
  const { pipeline, wire, open, append, answer } = buildPipeline(t, { flushAt: { items: 2, bytes: 1_000_000, ms: HOUR_MS } })
  open()
  append('a')
  append('a')
  await answer()
  append('a')
  pipeline.setRetention({ windowMs: 10_000, maxItems: 0 })
  append('old', Date.now() - 20_000)
  t.same(pipeline.account.refused, { too_old: 1 })
  for (let i = 0; i < 3; i++) append('a')
  t.same(wire.map(({ batch }) => batch.retention.windowMs), [60_000, 10_000])
  await answer()
  append('a')
  append('a')
  t.same(wire.map(({ batch }) => batch.retention.windowMs), [10_000, 10_000], 'a batch made for the old window is not used again')
})

for (const whenFull of /** @type {const} */ (['block', 'refuse', 'drop'])) {
  t.test(`at the bound of bytes, whenFull ${whenFull}`, async (t) => {
    const { pipeline, wire, open, append, answer } = buildPipeline(t, { whenFull, inFlightBytes: 10_000 })
    open()
    let n = 0
    while (append(`id-${n++}`, Date.now(), 'x'.repeat(100)));
    t.ok(pipeline.heldBytes >= 10_000)
    const progress = { ready: false }
    const waiting = pipeline.ready().then(() => { progress.ready = true })
    t.equal(append('over'), false)
    const { refused, dropped } = pipeline.account
    t.same({ refused, dropped },
      { block: { refused: {}, dropped: 0 }, refuse: { refused: { full: 1 }, dropped: 0 }, drop: { refused: {}, dropped: 1 } }[whenFull])
    await turn()
    t.equal(progress.ready, false)
    while (!progress.ready && wire.length) await answer()
    await waiting
    t.ok(pipeline.heldBytes < 10_000 * 0.75)
    t.equal(append('fits again'), true)
    const flushed = pipeline.flush()
    while (wire.length) await answer()
    await flushed
    t.equal(pipeline.heldBytes, 0)
    t.equal(accounted(pipeline.account).ended, n + 2)
  })
}

t.test('flush waits for all that was appended before it', async (t) => {
  const { pipeline, wire, open, append, answer } = buildPipeline(t)
  append('a')
  let flushed = false
  const flushing = pipeline.flush().then(() => { flushed = true })
  open()
  t.equal(wire.length, 1)
  await turn()
  t.equal(flushed, false)
  await answer()
  await flushing
  t.equal(pipeline.account.items, 1)
  await pipeline.flush()
})

t.test('a batch that is sent again counts as retried, and once as items', async (t) => {
  const { pipeline, open, reopen, append, answer, stored } = buildPipeline(t)
  open()
  for (let i = 0; i < 20; i++) append(`id-${i}`)
  await answer()
  reopen()
  await answer()
  t.match(pipeline.account, { offered: 20, items: 20, retried: 10, batches: 2 })
  t.same(stored.flat().map(({ id }) => id), Array.from({ length: 20 }, (_, i) => `id-${i}`))
})

t.test('late items count as refused', async (t) => {
  const { pipeline, open, append, answer } = buildPipeline(t)
  open()
  for (let i = 0; i < 10; i++) append(`id-${i}`)
  await answer(3)
  t.match(pipeline.account, { items: 7, refused: { late: 3 } })
})

t.test('a full server is counted each time, and its items are kept', async (t) => {
  const { pipeline, wire, open, append, answer, fail } = buildPipeline(t)
  open()
  for (let i = 0; i < 10; i++) append(`id-${i}`)
  await fail('full')
  t.equal(pipeline.account.full, 1)
  t.equal(pipeline.isFull, true)
  await eventually(() => wire.length === 1)
  await answer()
  t.equal(pipeline.isFull, false)
  t.match(pipeline.account, { items: 10, retried: 10 })
})

t.test('what the server refuses for good fails the pipeline', async (t) => {
  const { pipeline, open, append, fail } = buildPipeline(t)
  open()
  for (let i = 0; i < 15; i++) append(`id-${i}`)
  const flushing = t.rejects(pipeline.flush(), REFUSED)
  const waiting = pipeline.ready()
  await fail('refused')
  await flushing
  await waiting.catch(() => {})
  t.throws(() => append('more'), REFUSED)
  await t.rejects(pipeline.flush(), REFUSED)
  await t.rejects(pipeline.ready(), REFUSED)
  await pipeline.close({ drainMs: HOUR_MS })
  t.match(pipeline.account, { offered: 15, items: 0, failed: 15 })
})

t.test('closing flushes first', async (t) => {
  const { pipeline, open, append, answer } = buildPipeline(t)
  open()
  append('a')
  const closing = pipeline.close({ drainMs: HOUR_MS })
  await answer()
  await closing
  t.match(pipeline.account, { items: 1, failed: 0 })
  t.throws(() => append('b'), { code: 'PIPELINE_CLOSED' })
  t.equal(pipeline.account.offered, 1)
})

t.test('items not acknowledged within the drain time have failed, and are counted once', async (t) => {
  const { pipeline, wire, open, append, answer } = buildPipeline(t)
  open()
  for (let i = 0; i < 25; i++) append(`id-${i}`)
  await answer()
  const flushing = t.rejects(pipeline.flush(), { code: 'PIPELINE_CLOSED' })
  await Promise.all([pipeline.close({ drainMs: 20 }), pipeline.close({ drainMs: 20 })])
  await flushing
  await pipeline.close({ drainMs: 0 })
  t.match(pipeline.account, { offered: 25, items: 10, failed: 15 })
  while (wire.length) await answer()
  t.match(pipeline.account, { items: 10, failed: 15 })
})

t.test('nor does it count again when a connection opens after that', async (t) => {
  const { pipeline, wire, open, append, answer } = buildPipeline(t)
  append('a')
  await pipeline.close({ drainMs: 0 })
  t.match(pipeline.account, { offered: 1, items: 0, failed: 1 })
  open()
  t.equal(wire.length, 0, 'nothing is sent')
  await answer()
  t.match(pipeline.account, { offered: 1, items: 0, failed: 1 })
})

t.test('an append while it is being closed is refused, so the account adds up', async (t) => {
  const { pipeline, open, append, answer } = buildPipeline(t)
  open()
  for (let i = 0; i < 10; i++) append(`id-${i}`)
  const closing = pipeline.close({ drainMs: 10_000 })
  t.throws(() => append('late'), { code: 'PIPELINE_CLOSED' })
  await answer()
  await closing
  t.match(pipeline.account, { offered: 10, items: 10, failed: 0 })
})

t.test('open batches that fill the bound are sent, though none is full or old', async (t) => {
  const { pipeline, wire, open, append, answer } = buildPipeline(t,
    { partitions: 8, inFlightBytes: 2000, flushAt: { items: 1000, bytes: 1_000_000, ms: 60_000 } })
  open()
  let room = true
  for (let i = 0; room; i++) room = append(`id-${i}`)
  t.ok(wire.length > 1, `${wire.length} batches sent`)
  const ready = pipeline.ready()
  while (wire.length) await answer()
  await ready
})

t.test('a deletion at a given time is newer than every version of that time', async (t) => {
  const { pipeline, wire, open, append } = buildPipeline(t, { flushAt: { items: 5, bytes: 1_000_000, ms: 60_000 } })
  open()
  const now = Date.now()
  append('y', now)
  append('x', now)
  append('z', now - 5)
  pipeline.remove(Buffer.from('x'), now, { ofAllAtThatTime: true })
  pipeline.remove(Buffer.from('y'), now)
  t.same(wire[0].batch.items.map(({ id, seq, value }) => [id, seq, value]),
    [['y', 0, 'v'], ['x', 1, 'v'], ['z', 0, 'v'], ['x', 4095, null], ['y', 0, null]])
})

const anyStory = fc.array(fc.oneof(
  fc.record({ step: fc.constant('append'), n: fc.integer({ min: 1, max: 30 }), ageMs: fc.constantFrom(0, 0, 0, 100_000, -200_000) }),
  fc.record({
    step: fc.constantFrom('answer', 'answer', 'over', 'full', 'reopen', 'flush', 'refuse', 'skip', 'late'),
    n: fc.integer({ min: 0, max: 5 }),
    ageMs: fc.constant(0)
  })
), { maxLength: 40 })

t.test('every item offered ends once, through any story', (t) =>
  holds(t, fc.asyncProperty(anyStory, fc.constantFrom(/** @type {const} */ ('block'), /** @type {const} */ ('refuse'),
    /** @type {const} */ ('drop')), fc.integer({ min: 1, max: 3 }), async (story, whenFull, partitions) => {
    const { pipeline, wire, stored, reopen, append, answer, fail } = buildPipeline(t, { whenFull, partitions, inFlightBytes: 3000 })
    let offered = 0
    const steps = /** @type {Record<string, (n: number, ageMs: number) => unknown>} */ ({
      append: (n, ageMs) => { for (let i = 0; i < n; i++) append(`id-${offered++}`, Date.now() - ageMs) },
      answer: () => answer(),
      late: (n) => answer(Math.min(n, wire[0]?.batch.count ?? 0)),
      over: () => fail('over'),
      full: () => fail('full'),
      reopen,
      flush: () => { pipeline.flush().catch(() => {}) },
      refuse: () => { offered++; pipeline.refuse('ITEM_ID_INVALID') },
      skip: (n) => { offered += n; pipeline.skip(n) }
    })
    for (const { step, n, ageMs } of story) await steps[step](n, ageMs)
    if (accounted(pipeline.account).ended > offered) throw new Error(`${JSON.stringify(pipeline.account)}, offered ${offered}`)
    await pipeline.close({ drainMs: 0 })
    const { account } = pipeline
    if (account.offered !== offered || accounted(account).ended !== offered) {
      throw new Error(`${JSON.stringify(account)}, offered ${offered}`)
    }
    const reached = new Set(stored.flat().map(({ id }) => id)).size
    if (account.items + (account.refused.late ?? 0) > reached) throw new Error(`${account.items} items, but ${reached} reached the server`)
    if (pipeline.heldBytes < 0) throw new Error(`holds ${pipeline.heldBytes} bytes`)
  }), { runs: 150 }))
