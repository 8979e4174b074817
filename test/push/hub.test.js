/**
 * What a hub sends for any changes and socket speeds: after an event with a position a client has the newest version, as of
 * that position, of every id it wants; nothing goes back; in the end every client has everything.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import pino from 'pino'
import t from 'tap'
import { createBudget } from '../../src/push/caps.js'
import { createHub } from '../../src/push/hub.js'
import { createCounts } from '../../src/push/metrics.js'
import { eventually } from '../servers.js'
import { createClient, createCountingView } from './hub-parts.js'

const IDS = Array.from({ length: 30 }, (_, n) => `id-${n}`)

/**
 * Plays what was sent.
 * @param {import('tap').Test} t @param {string[]} sent @param {Map<string, number>[]} history @param {string[]} wanted
 * @returns {Map<string, number>} what the client has
 */
function play (t, sent, history, wanted) {
  /** @type {Map<string, number>} */
  const has = new Map()
  let faults = 0
  for (const block of sent.join('').split('\n\n').slice(0, -1)) {
    const lines = block.split('\n')
    const data = lines.find((line) => line.startsWith('data: '))
    if (data && !block.includes('event: reset')) {
      for (const { id, ts } of JSON.parse(data.slice(6)).items) {
        if (ts < (has.get(id) ?? 0)) faults++
        has.set(id, ts)
      }
    }
    const position = lines.find((line) => line.startsWith('id: '))?.slice(4)
    if (position === undefined) continue
    for (const id of wanted) if ((has.get(id) ?? 0) < (history[Number(position)].get(id) ?? 0)) faults++
  }
  t.equal(faults, 0)
  return has
}

t.test('a hub with random changes and sockets', async (t) => {
  await fc.assert(fc.asyncProperty(
    fc.array(fc.record({ puts: fc.array(fc.nat(IDS.length - 1), { maxLength: 40 }), drains: fc.nat(7), waits: fc.boolean() }),
      { minLength: 3, maxLength: 12 }),
    async (steps) => {
      const budget = createBudget()
      // events are cut after some items, as they would be with many streams
      Object.defineProperties(budget, { chunkBytes: { value: 300 }, budgetBytes: { value: 200 } })
      const view = createCountingView()
      const hub = createHub({
        feed: 'f',
        watched: { view: () => /** @type {any} */ (view) },
        queries: /** @type {any} */ ({}),
        now: () => 0,
        budget,
        counts: createCounts(),
        log: pino({ level: 'silent' })
      })
      const some = IDS.slice(3, 12)
      const clients = [createClient(budget, {}), createClient(budget, { periodMs: 40 }), createClient(budget, { ids: new Set(some) })]
      for (const { stream } of clients) hub.add(stream, null)
      for (const { puts, drains, waits } of steps) {
        for (const n of puts) view.put(IDS[n])
        clients.forEach(({ drain }, i) => { if (drains & 1 << i) drain() })
        if (waits) await sleep(12)
      }
      const all = /** @type {Map<string, number>} */ (view.history.at(-1))
      for (let n = 0; n < 30; n++) {
        for (const { drain } of clients) drain()
        await sleep(12)
      }
      await hub.close()
      t.same(Object.fromEntries(play(t, clients[0].sent, view.history, IDS)), Object.fromEntries(all))
      t.same(Object.fromEntries(play(t, clients[1].sent, view.history, IDS)), Object.fromEntries(all))
      t.same(Object.fromEntries(play(t, clients[2].sent, view.history, some)),
        Object.fromEntries([...all].filter(([id]) => some.includes(id))))
    }
  ), { numRuns: 12 })
})

t.test('a stream that falls too far behind is reset', async (t) => {
  const budget = createBudget()
  const view = createCountingView()
  const counts = createCounts()
  const hub = createHub({
    feed: 'f',
    watched: { view: () => /** @type {any} */ (view) },
    queries: /** @type {any} */ ({}),
    now: () => 0,
    budget,
    counts,
    log: pino({ level: 'silent' })
  })
  const slow = createClient(budget, { limit: 2 })
  hub.add(slow.stream, null)
  await sleep(30)
  // it takes nothing from here on
  slow.stream.send('x'.repeat(1024 * 1024))
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 110_000; n++) {
      view.history.length = 1
      view.put(`many-${n}-${round}`)
    }
    await sleep(30)
  }
  slow.drain()
  const again = /event: reset\ndata: {"reason":"slow"}\nid:\n\nevent: snapshot\n/
  await eventually(() => again.test(slow.sent.join('')))
  await hub.close()
  t.equal(counts.resets, 1)
})

t.test('a stream that is always behind also gets ids that change all the time', async (t) => {
  const budget = createBudget()
  Object.defineProperties(budget, { chunkBytes: { value: 600 }, budgetBytes: { value: 200 } })
  const view = createCountingView()
  const hub = createHub({
    feed: 'f',
    watched: { view: () => /** @type {any} */ (view) },
    queries: /** @type {any} */ ({}),
    now: () => 0,
    budget,
    counts: createCounts(),
    log: pino({ level: 'silent' })
  })
  const slow = createClient(budget, {})
  hub.add(slow.stream, null)
  const all = [...IDS, 'always']
  for (let round = 0; round < 150; round++) {
    for (const id of all) view.put(id)
    slow.drain()
    await sleep(12)
  }
  await hub.close()
  const text = slow.sent.join('')
  const times = Object.fromEntries(all.map((id) => [id, text.split(`"id":"${id}"`).length - 1]))
  t.ok(Math.min(...Object.values(times)) >= 5, JSON.stringify(times))
})

t.test('streams that lack nothing get the next change, and a reset after the view was rebuilt', async (t) => {
  const budget = createBudget()
  const view = createCountingView()
  /** @type {any} */
  let watcher = null
  const { watch } = view
  view.watch = (one) => watch(watcher = one)
  const hub = createHub({
    feed: 'f',
    watched: { view: () => /** @type {any} */ (view) },
    queries: /** @type {any} */ ({}),
    now: () => 0,
    budget,
    counts: createCounts(),
    log: pino({ level: 'silent' })
  })
  const clients = [createClient(budget, {}), createClient(budget, { ids: new Set(['a']) })]
  for (const { stream, sent, drain } of clients) {
    hub.add(stream, null)
    await eventually(() => sent.length > 0)
    drain()
  }
  for (let n = 0; n < 3; n++) {
    // longer than a hub sleeps
    await sleep(150)
    view.put('a')
    await eventually(() => clients.every(({ sent }) => sent.at(-1)?.includes(`"id":"a","ts":${view.position()}`)))
    for (const { drain } of clients) drain()
  }
  watcher.rebuilt()
  await eventually(() => clients.every(({ sent }) => sent.join('').includes('"reason":"rebuilt"')))
  await hub.close()
})

t.test('a snapshot is current, also if the last one was built for an earlier stream', async (t) => {
  const budget = createBudget()
  const view = createCountingView()
  const hub = createHub({
    feed: 'f',
    watched: { view: () => /** @type {any} */ (view) },
    queries: /** @type {any} */ ({}),
    now: () => 0,
    budget,
    counts: createCounts(),
    log: pino({ level: 'silent' })
  })
  for (const limit of [100, 5000]) {
    const first = createClient(budget, { limit })
    hub.add(first.stream, null)
    await eventually(() => first.sent.length > 0)
    hub.remove(first.stream)
    view.put(`later-${limit}`)
    const second = createClient(budget, { limit })
    hub.add(second.stream, null)
    await eventually(() => second.sent.length > 0)
    t.match(second.sent[0], new RegExp(`^event: snapshot\n.*"later-${limit}".*\nid: ${view.position()}\n\n$`))
    hub.remove(second.stream)
  }
  await hub.close()
})
