/**
 * Layouts that keep every version of an id: superseded ones are never shown, retention counts them, and an answer that
 * would have to be looked for too deep is refused instead of being wrong.
 */
import t from 'tap'
import fc from 'fast-check'
import { MEMBER_HEAD_BYTES, writeMemberHead } from '../../src/item/record.js'
import { createReadSize } from '../../src/layouts/index.js'
import { holds } from '../properties.js'
import { nightly } from '../scope.js'
import { createModel, expectSame, shown } from './model.js'
import { UNLIMITED, gone, item, overAllArms } from './partition.js'

const NOW = 1_750_000_000_000
const bytes = (/** @type {string} */ text) => Buffer.from(text)

await overAllArms(t, async (t, { layout, guarantees, connection, open, fullTest }) => {
  if (guarantees.versions === 'one') return
  const { maxScan } = guarantees
  // how deep a log is read, and what else may lie in it: log.test.js
  const isLog = layout.log !== undefined
  const atMost = (/** @type {number} */ maxItems) => ({ retention: { windowMs: 0, maxItems }, nowMs: NOW })
  const refused = { code: 'VIEW_NEEDED', message: new RegExp(`${maxScan} stored versions were looked at`), retryable: false }

  /** A connection that counts the members that come over it. */
  function counting () {
    const seen = { members: 0, bytes: 0, most: 0 }
    const count = (/** @type {any} */ reply) => {
      const flat = Array.isArray(reply[1]) ? reply[1] : reply
      const size = flat.reduce((/** @type {number} */ sum, /** @type {Buffer} */ one) => sum + one.length, 0)
      seen.members += flat.length / 2
      seen.bytes += size
      seen.most = Math.max(seen.most, size)
      return reply
    }
    /** @type {typeof connection} */
    const asking = {
      ...connection,
      send: async (/** @type {any} */ ...command) => count(await connection.send(command[0], ...command.slice(1))),
      runScript: async (name, keys, args) => count(await connection.runScript(name, keys, args))
    }
    return { seen, asking }
  }

  await t.test('superseded versions are counted and never shown', async (t) => {
    const partition = open()
    await partition.append([item('a', NOW - 3), item('a', NOW), item('b', NOW - 1), item('a', NOW - 2), item('b', NOW - 1, 1),
      gone('c', NOW + 1), item('c', NOW - 4)])
    for (const limit of [1, 2, 3, 10]) {
      t.same((await partition.scan({ ...UNLIMITED, limit })).map(shown), [item('a', NOW), item('b', NOW - 1, 1)].map(shown))
    }
    t.same((await partition.get(['a', 'b', 'c'].map(bytes), UNLIMITED)).map((one) => one && shown(one)),
      [shown(item('a', NOW)), shown(item('b', NOW - 1, 1)), null])
    t.same(await partition.count(UNLIMITED), { count: 7, exact: false })
  })

  await t.test('a page behind which only superseded versions and deletions come is the last, if it has read that far', async (t) => {
    const partition = open()
    await partition.append([item('a', NOW), item('a', NOW - 1), item('a', NOW - 2), item('b', NOW - 3), gone('c', NOW - 4),
      item('c', NOW - 5), item('a', NOW - 6)])
    t.equal((await partition.latest({ ...UNLIMITED, limit: 2 })).next, null)
    const full = open()
    await full.append(Array.from({ length: 2000 }, (_, i) => item(`id-${i}`, NOW - i)))
    const first = await full.latest({ ...UNLIMITED, limit: 1000 })
    const second = await full.latest({ ...UNLIMITED, limit: 1000, after: first.next, scan: first.scan })
    t.same([first.items.length, second.items.length, second.next], [1000, 1000, null])
    await partition.append([item('d', NOW - 7)])
    const { next } = await partition.latest({ ...UNLIMITED, limit: 2 })
    t.same((await partition.latest({ ...UNLIMITED, limit: 2, after: next })).items.map(({ id }) => String(id)), ['d'])
  })

  await t.test('maxItems counts versions: an id whose newest is beyond them is not live', async (t) => {
    const partition = open()
    await partition.append([item('a', NOW - 9), ...Array.from({ length: 5 }, (_, i) => item('b', NOW - i))])
    t.same((await partition.scan({ ...atMost(5), limit: 3 })).map(shown), [shown(item('b', NOW))])
    t.same(await partition.get(['a', 'b'].map(bytes), atMost(5)).then((found) => found.map(Boolean)), [false, true])
    t.same((await partition.scan({ ...atMost(6), limit: 3 })).map(({ id }) => String(id)), ['b', 'a'])
    t.same(await partition.count(atMost(5)), { count: 5, exact: false })
    if (isLog) return
    t.same(await partition.trimAll(atMost(5)), [1])
    t.same(await partition.count(UNLIMITED), { count: 5, exact: false })
  })

  if (!isLog) {
    await fullTest('the pages of one answer read again only new versions', async (t) => {
      const partition = open()
      for (let from = 0; from < 10_000; from += 1000) {
        await partition.append(Array.from({ length: 1000 }, (_, i) => item(`id-${from + i}`, NOW - from - i)))
      }
      for (const { limit, fresh, most } of [{ limit: 1000, fresh: 0, most: 10_300 }, { limit: 97, fresh: 0, most: 10_300 },
        { limit: 500, fresh: 50, most: 12_500 }]) {
        const { seen, asking } = counting()
        let serial = 0
        const found = await open({ feed: partition.feed, connection: asking }).scan({ ...UNLIMITED, limit }, async () => {
          if (fresh) await partition.append(Array.from({ length: fresh }, () => item(`fresh-${limit}-${++serial}`, NOW + serial)))
        })
        t.equal(found.length, 10_000, `limit ${limit}`)
        t.ok(seen.members <= most, `${seen.members} members read for pages of ${limit}, ${serial} added between pages`)
      }
    })
  }

  await t.test('a version that arrived before a page is found, however many arrive during the search', async (t) => {
    for (const storm of [0, 10, 40, 300]) {
      const partition = open()
      await partition.append([...'abcdef'].map((id, i) => item(id, NOW - 10 * i)))
      const first = await partition.latest({ ...UNLIMITED, limit: 2 })
      await partition.append([item('c', NOW + 1), gone('e', NOW - 5), item('x', NOW - 25)])
      let serial = 0
      const meddling = partition.meddling('*', () =>
        storm && partition.append(Array.from({ length: storm }, () => item(`storm-${++serial}`, NOW + 1 + serial))))
      const rest = await open({ feed: partition.feed, connection: meddling })
        .latest({ ...UNLIMITED, limit: 9, after: first.next, scan: first.scan })
      t.equal([...first.items, ...rest.items].map(({ id }) => String(id)).join(''), 'abxdf', `${serial} added during the search`)
    }
  })

  await t.test('a scan is valid for one page of its own partition, and never changes an answer', async (t) => {
    const partition = open()
    const other = open()
    await partition.append(Array.from({ length: 30 }, (_, i) => item(`id-${i % 15}`, NOW - i)))
    await other.append(Array.from({ length: 30 }, (_, i) => item(`id-${i % 10}`, NOW - i)))
    const first = await partition.latest({ ...UNLIMITED, limit: 4 })
    const plain = (await partition.latest({ ...UNLIMITED, limit: 4, after: first.next })).items.map(shown)
    for (let time = 0; time < 3; time++) {
      t.same((await partition.latest({ ...UNLIMITED, limit: 4, after: first.next, scan: first.scan })).items.map(shown), plain)
    }
    const foreign = await other.latest({ ...UNLIMITED, limit: 12 })
    for (const scan of [foreign.scan, {}, 'no walk', 7, null]) {
      t.same((await partition.latest({ ...UNLIMITED, limit: 4, after: first.next, scan })).items.map(shown), plain)
    }
    const gone = async () => { throw new Error('gone') }
    const failing = { ...connection, runScript: gone, send: gone, sendAll: gone }
    const second = await partition.latest({ ...UNLIMITED, limit: 4 })
    await t.rejects(open({ feed: partition.feed, connection: failing })
      .latest({ ...UNLIMITED, limit: 4, after: second.next, scan: second.scan }), /gone/)
    t.same((await partition.latest({ ...UNLIMITED, limit: 4, after: second.next, scan: second.scan })).items.map(shown), plain)
    const further = await partition.latest({ ...UNLIMITED, limit: 12 })
    t.same((await partition.latest({ ...UNLIMITED, limit: 4, after: first.next, scan: further.scan })).items.map(shown), plain,
      'back from where it went')
  })

  if (isLog) return
  await t.test('two writers that append an id in one microsecond do not confuse a scan', async (t) => {
    const partition = open()
    const stamped = (/** @type {number} */ i) => {
      const head = Buffer.alloc(MEMBER_HEAD_BYTES)
      writeMemberHead(head, 0, 1_750_000_000_000_000 + Math.floor(i / 4), false)
      return [NOW - i, Buffer.concat([bytes(`id-${Math.floor(i / 4)}`), head, bytes(String(i))])]
    }
    await connection.send('ZADD', partition.key('values'), ...Array.from({ length: 1600 }, (_, i) => stamped(i)).flat())
    const { seen, asking } = counting()
    const found = await open({ feed: partition.feed, connection: asking }).scan({ ...UNLIMITED, limit: 20 })
    t.same(found.map(({ value }) => Number(value)), Array.from({ length: 400 }, (_, i) => 4 * i))
    t.ok(seen.members < 3400, `${seen.members} members read`)
  })

  await t.test('a member that another program wrote has a code', async (t) => {
    const partition = open()
    await partition.append([item('a', NOW)])
    await connection.send('ZADD', partition.key('values'), NOW + 1, 'stranger')
    for (const question of [() => partition.latest({ ...UNLIMITED }), () => partition.get([bytes('a')], UNLIMITED),
      () => layout.piece?.(connection, partition.key, { before: null, minTs: 0, limit: 10, size: createReadSize() })]) {
      await t.rejects(/** @type {() => Promise<unknown>} */ (question), { code: 'KEY_HOLDS_OTHER' })
    }
  })

  await fullTest('large values come in pieces of bounded bytes', async (t) => {
    const partition = open()
    for (let from = 0; from < 300; from += 100) {
      await partition.append(Array.from({ length: 100 }, (_, i) => item(`id-${from + i}`, NOW - from - i, 0, Buffer.alloc(100_000, i))))
    }
    const { seen, asking } = counting()
    const reading = open({ feed: partition.feed, connection: asking })
    t.equal((await reading.scan({ ...UNLIMITED, limit: 1000 })).length, 300)
    t.ok(await reading.get([bytes('id-299')], UNLIMITED).then(([one]) => one))
    t.ok(seen.most <= 13_000_000, `${seen.most} bytes in the largest answer`)
  })

  await fullTest(`an answer that needs more than ${maxScan} versions is refused, one that ends before is exact`, async (t) => {
    const partition = open()
    const hot = Array.from({ length: maxScan - 1 }, (_, i) => item('hot', NOW - 1 - Math.floor(i / 4096), i % 4096, ''))
    await partition.append([item('deep', NOW - 1000), ...hot])
    t.same((await partition.scan({ ...UNLIMITED, limit: 10 })).map(({ id }) => String(id)), ['hot', 'deep'], 'just as deep')
    t.same((await partition.get(['deep', 'hot', 'nobody'].map(bytes), UNLIMITED)).map(Boolean), [true, true, false])
    await partition.append([gone('newer', NOW)])
    await t.rejects(partition.latest({ ...UNLIMITED, limit: 2 }), refused)
    await t.rejects(partition.latest({ ...UNLIMITED, limit: 2, after: item('hot', NOW - 1, 4095) }), refused)
    await t.rejects(partition.get(['hot', 'nobody'].map(bytes), UNLIMITED), refused)
    await t.rejects(partition.get(['deep'].map(bytes), UNLIMITED), refused)
    t.same((await partition.get(['hot', 'newer'].map(bytes), UNLIMITED)).map(Boolean), [true, false], 'found ones are exact')
    const { items, next, scan } = await partition.latest({ ...UNLIMITED, limit: 1 })
    t.same(items.map(({ id }) => String(id)), ['hot'])
    await t.rejects(partition.latest({ ...UNLIMITED, limit: 1, after: next, scan }), refused)
    t.same((await partition.scan({ ...UNLIMITED, limit: 10, sinceMs: NOW - 100 })).map(({ id }) => String(id)), ['hot'], 'since ends it')
    t.same((await partition.scan({ ...atMost(maxScan), limit: 10 })).map(({ id }) => String(id)), ['hot'], 'maxItems ends it')
    t.same((await partition.scan({ retention: { windowMs: 500, maxItems: 0 }, nowMs: NOW, limit: 10 })).map(({ id }) => String(id)),
      ['hot'], 'the window ends it')
    t.same(await partition.count(UNLIMITED), { count: maxScan + 1, exact: false })
  })

  const anyDeepFeed = fc.record({
    hotIds: fc.integer({ min: 1, max: 40 }),
    colder: fc.array(fc.record({
      depth: fc.oneof(fc.integer({ min: 0, max: maxScan + 2000 }), fc.integer({ min: maxScan - 5, max: maxScan + 5 })),
      deleted: fc.boolean()
    }), { maxLength: 30 }),
    limits: fc.array(fc.constantFrom(1, 5, 30, 1000), { minLength: 1, maxLength: 3 }),
    sinceMs: fc.option(fc.integer({ min: NOW - maxScan - 2000, max: NOW })),
    maxItems: fc.constantFrom(0, 0, maxScan - 1, maxScan, maxScan + 1)
  })
  await fullTest('every answer is that of the model, or VIEW_NEEDED beyond the limit', (t) =>
    holds(t, fc.asyncProperty(anyDeepFeed, async ({ hotIds, colder, limits, sinceMs, maxItems }) => {
      const partition = open()
      const model = createModel('overwrite', guarantees)
      const items = Array.from({ length: maxScan + 2000 }, (_, i) => item(`hot-${i % hotIds}`, NOW - i, 0, String(i)))
      for (const [i, { depth, deleted }] of colder.entries()) {
        items[depth] = deleted ? gone(`cold-${i}`, NOW - depth) : item(`cold-${i}`, NOW - depth)
      }
      model.append(items)
      await partition.append(items)
      const now = { retention: { windowMs: 0, maxItems }, nowMs: NOW }
      const kept = model.kept(now)
      const live = model.live(now)
      const newest = new Map(model.newest(now).map((version) => [String(version.id), version]))
      const depths = new Map(kept.map((version, i) => [version, i + 1]))

      for (const [i] of [...colder, 0].entries()) {
        const id = bytes(i < colder.length ? `cold-${i}` : 'nobody')
        const depth = depths.get(/** @type {any} */ (newest.get(String(id)))) ?? kept.length
        const found = await partition.get([id], now).then(([one]) => one && shown(one), codeOf)
        const one = live.find((version) => version.id.equals(id))
        expectSame(String(id), found, depth > maxScan ? 'VIEW_NEEDED' : one ? shown(one) : null)
      }
      for (const limit of limits) {
        /** @type {any} */
        let page = { next: null, scan: undefined }
        do {
          const wanted = model.latest({ ...now, limit, sinceMs, after: page.next })
          const depth = wanted.length === limit ? depths.get(wanted[limit - 1]) ?? 0 : kept.filter(({ ts }) => ts >= (sinceMs ?? 0)).length
          page = await partition.latest({ ...now, limit, sinceMs, after: page.next, scan: page.scan }).catch(codeOf)
          expectSame(`a page of ${limit}`, page.items?.map(shown) ?? page, depth > maxScan ? 'VIEW_NEEDED' : wanted.map(shown))
        } while (page.next)
      }
    }), { runs: nightly(8, 4), timeLimitMs: 8000 }))
})

/** @param {any} error */
const codeOf = (error) => error.code ?? error.stack
