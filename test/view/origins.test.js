import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import fc from 'fast-check'
import { ORIGIN_BYTES, WRITER_BYTES, originText, sequenceOf, writeOrigin } from '../../src/item/origin.js'
import { openReader } from '../../src/index.js'
import { createOrigins } from '../../src/view/origins.js'
import { holds } from '../properties.js'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { openViews } from './viewing.js'
import { nightly, scoped, scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()

/** @param {string | number} writer @param {number} sequence @param {number} [epoch] @returns {string} */
function textOf (writer, sequence, epoch = 1) {
  const bytes = Buffer.alloc(ORIGIN_BYTES)
  writeOrigin(bytes, 0, 123, Buffer.from(String(writer).padEnd(WRITER_BYTES)), epoch, sequence)
  return originText(bytes, 0)
}

const anyOrigin = fc.record({
  writer: fc.integer({ min: 0, max: 3 }),
  epoch: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  sequence: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.maxSafeNat().map((n) => n % 2 ** 48))
})

t.test('the text of an origin contains its sequence number', (t) =>
  holds(t, fc.property(anyOrigin, ({ writer, epoch, sequence }) => sequenceOf(textOf(writer, sequence, epoch)) === sequence)))

t.test('an added origin is known, and no other', (t) =>
  holds(t, fc.property(fc.array(fc.tuple(anyOrigin, fc.boolean()), { maxLength: 300 }), (story) => {
    const origins = createOrigins()
    const known = new Set()
    for (const [{ writer, epoch, sequence }, isAdded] of story) {
      const text = textOf(writer, sequence, epoch % 3)
      if (origins.has(text) !== known.has(text)) return false
      if (isAdded) known.add(text)
      if (isAdded) origins.add(text)
    }
    return [...known].every((text) => origins.has(text))
  })))

t.test('a writer is remembered however much others write', async (t) => {
  const origins = createOrigins()
  for (let n = 1; n <= 1000; n++) origins.add(textOf('slow', n))
  for (let n = nightly(1_000_000, 300_000); n > 0; n--) origins.add(textOf(n % 3, n))
  t.same([1, 500, 1000].map((n) => origins.has(textOf('slow', n))), [true, true, true])
})

t.test('without room, the writer with the most pieces loses its oldest', async (t) => {
  const origins = createOrigins({ maxPieces: 10, goneAfter: 1000 })
  origins.add(textOf('slow', 1))
  for (let n = 0; n < 100; n++) origins.add(textOf('quick', n * 4096))
  t.ok(origins.has(textOf('slow', 1)))
  const kept = Array.from({ length: 100 }, (_, n) => n).filter((n) => origins.has(textOf('quick', n * 4096)))
  t.same(kept, [91, 92, 93, 94, 95, 96, 97, 98, 99])
})

t.test('a writer that is gone is dropped first, or the longest idle one if all have equally many pieces', async (t) => {
  const origins = createOrigins({ maxPieces: 10, goneAfter: 20 })
  for (let n = 0; n < 5; n++) origins.add(textOf('gone', n * 4096))
  for (let n = 0; n < 5; n++) origins.add(textOf('here', n * 4096))
  for (let n = 0; n < 40; n++) {
    origins.add(textOf('here', n * 4096))
    if (n === 10) t.ok(origins.has(textOf('gone', 0)), 'not yet')
  }
  t.notOk(origins.has(textOf('gone', 0)))
  t.same([39, 30].map((n) => origins.has(textOf('here', n * 4096))), [true, true], 'all the room is its own')
  for (let n = 0; n < 20; n++) origins.add(textOf(n, 1))
  t.notOk(origins.has(textOf(9, 1)))
  t.ok(origins.has(textOf(10, 1)))
})

const FOREIGN = nightly(120_000, scoped(40_000, 20_000))

t.test(`${engineName(engine)}: a repeated batch counts once, however much others wrote in between`, async (t) => {
  const server = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)
  const options = { redisUrl: server.url, feed: 'many', layout: 'stream', windowMs: 3_600_000 }
  const [slow, quick] = [await openWriterFor(t, options), await openWriterFor(t, options)]
  /** @param {typeof slow} writer @param {string} id */
  const append = ({ pipeline }, id) => pipeline.append(Buffer.from(id), Date.now(), Buffer.from('v'))
  const readers = await openViews(t, { primary: server })
  const reader = await openReader({ redisUrl: server.url, readFrom: 'primary', views: 'none' })
  t.teardown(() => reader.close())

  append(slow, 'begin')
  await slow.pipeline.flush()
  await readers.isComplete('many')
  const changes = reader.feed('many').subscribe({ pollMs: 5 })
  const first = changes.next().then(({ value }) => value)
  let begun = 0
  await eventually(async () => {
    append(slow, `begun-${begun++}`)
    await slow.pipeline.flush()
    return Promise.race([first, pause(50, false)])
  })
  const name = 'fr:{many:0}:stream'
  const entries = await admin.send('XRANGE', name, '-', '+')
  for (let n = 0; n < FOREIGN; n++) {
    if (!append(quick, `of ${n % 1000}`)) await quick.pipeline.ready()
  }
  await quick.pipeline.flush()
  for (const [, [field, bytes]] of entries) await admin.send('XADD', name, '*', field, bytes)
  append(slow, 'end')
  await slow.pipeline.flush()
  const seen = [String(/** @type {any} */ (await first).id)]
  for await (const { id } of changes) {
    if (!id.startsWith('of ')) seen.push(id)
    if (id === 'end') break
  }
  t.same(seen, [...new Set(seen)])
  await eventually(async () => (await readers.views.count('many')).count === 1000 + entries.length + 1)
  t.equal(readers.countsOf('many')?.skipped.duplicate, entries.length)
})
