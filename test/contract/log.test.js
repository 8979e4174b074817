/**
 * Log layouts: entries are in order of arrival, queries in order of event time.
 */
import t from 'tap'
import fc from 'fast-check'
import { entriesBefore } from '../../src/layouts/index.js'
import { holds } from '../properties.js'
import { createModel, expectSame, shown } from './model.js'
import { NOW, names, now, overLogArms } from './log-partition.js'
import { gone, item } from './partition.js'

const bytes = (/** @type {string} */ text) => Buffer.from(text)
const SECONDS = 1000

await overLogArms(t, async (t, { layout, guarantees, connection, open, fullTest, runs, log, entriesOf, arrive, sayAhead }) => {
  const { maxScan } = guarantees

  await t.test('an entry has one field, and its id is when it arrived', async (t) => {
    const partition = open()
    const before = Date.now()
    await partition.append([item('a', 5), item('b', 9), gone('a', 7)])
    const stored = await connection.send('XRANGE', partition.key(log.part), '-', '+')
    t.equal(stored.length, layout.name === 'segments' ? 1 : 3)
    /** @type {string[]} */
    const found = []
    for (const [id, fields] of stored) {
      t.ok(Number.parseInt(String(id)) >= before)
      t.equal(fields.length, 2)
      t.equal(String(fields[0]), log.field)
      const head = log.head(fields[1])
      t.equal(head.origin.length, 18)
      t.ok(head.stamp >= before * 1000)
      if (layout.name === 'segments') t.match(head, { count: 3, firstTs: 5, lastTs: 9 })
      log.each(fields[1], (from, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) =>
        found.push(`${from.toString('utf8', idAt, idEnd)} ${ts} ${seq} ${deleted} ${from.toString('utf8', valueAt, valueEnd)}`))
    }
    t.same(found, ['a 5 0 false a@5', 'b 9 0 false b@9', 'a 7 0 true '])
  })

  await t.test('what was delivered twice counts once, also when others came in between', async (t) => {
    const partition = open()
    const first = entriesOf([item('a', 5), item('b', 6), gone('c', 7)])
    await arrive(partition, NOW, first)
    await arrive(partition, NOW + 1, entriesOf([item('a', 9), item('c', 4)]))
    await arrive(partition, NOW + 2, first)
    t.equal(names(await partition.scan({ ...now(), limit: 1 })), 'a b')
    t.equal((await partition.count(now())).count, 5)
    t.same(await Promise.all([4, 5, 6, 7, 9].map(async (ts) => (await partition.count(now(NOW - ts))).count)), [5, 4, 3, 2, 1])
    t.same(await partition.get([bytes('c')], now()), [null])
    t.equal((await partition.count(now(0, 4))).count, 4)
    t.equal(names(await partition.scan({ ...now(0, 5), limit: 9 })), 'a b')
  })

  await t.test('of versions that compare equal the one appended later counts, however they arrive', async (t) => {
    const partition = open()
    const early = entriesOf([item('a', 5, 0, 'early'), item('b', 5, 0, 'one'), item('b', 5, 0, 'two')], { at: NOW * 2 })
    const late = entriesOf([item('a', 5, 0, 'late')], { at: NOW * 2 + 1 })
    await arrive(partition, NOW, late)
    await arrive(partition, NOW + 1, early)
    t.same((await partition.scan({ ...now(), limit: 9 })).map(({ value }) => String(value)), ['two', 'late'])
    t.same((await partition.get([bytes('a')], now())).map((one) => String(one?.value)), ['late'])
  })

  await t.test('entries that are cut, corrupt, of a newer version or of another program are passed over', async (t) => {
    const partition = open()
    const whole = entriesOf([item('a', 5), item('b', 6)])
    const corrupt = Buffer.from(entriesOf([item('x', 7, 0, 'broken')])[0])
    corrupt[corrupt.length - 1] ^= 1
    const newer = Buffer.from(entriesOf([item('y', 8)])[0])
    newer[layout.name === 'segments' ? 3 : 0] = 2
    await arrive(partition, NOW, whole)
    await arrive(partition, NOW + 1,
      [corrupt, newer, entriesOf([item('z', 9)])[0].subarray(0, -1), Buffer.alloc(0), bytes('something else')])
    await connection.send('XADD', partition.key(log.part), '*', 'temperature', '21', 'unit', 'C')
    await arrive(partition, Date.now() + 60 * SECONDS, entriesOf([item('c', 7)]))
    t.equal(names(await partition.scan({ ...now(), limit: 1 })), 'c b a')
    t.same((await partition.get(['x', 'y', 'b'].map(bytes), now())).map(Boolean), [false, false, true])
    t.equal((await partition.count(now())).count, 3)
    t.equal(names(await partition.scan({ ...now(0, 3), limit: 9 })), 'c b a', 'and take no place')
  })

  await t.test('a key of another type fails with a code in every query', async (t) => {
    const partition = open()
    await connection.send('SET', partition.key(log.part), 'mine')
    const holdsOther = { code: 'KEY_HOLDS_OTHER', message: /WRONGTYPE/ }
    await t.rejects(partition.append([item('a', 5)]), holdsOther)
    await t.rejects(partition.latest(now()), holdsOther)
    await t.rejects(partition.get([bytes('a')], now()), holdsOther)
    await t.rejects(partition.count(now()), holdsOther)
    await t.rejects(entriesBefore(connection, partition.key(log.part), { before: null, count: 1 }), holdsOther)
    await t.rejects(partition.trim(now(10)), holdsOther)
    t.equal(String(await connection.send('GET', partition.key(log.part))), 'mine')
  })

  await t.test('a scan stops as soon as the answer is certain', async (t) => {
    const partition = open()
    for (let i = 0; i < 200; i++) await arrive(partition, NOW + i * 10, entriesOf([item(`id-${i}`, NOW + i * 10)]))
    let read = 0
    const counting = open({
      feed: partition.feed,
      connection: {
        ...connection,
        async sendAll (commands) {
          const replies = await connection.sendAll(commands)
          read += replies[0].length
          return replies
        }
      }
    })
    const last = now(0, 0, NOW + 2000)
    t.equal(names((await counting.latest({ ...last, limit: 2 })).items), 'id-199 id-198')
    t.equal(read, 4)
    read = 0
    await sayAhead(partition, 80)
    t.equal(names((await counting.latest({ ...last, limit: 2 })).items), 'id-199 id-198')
    t.equal(read, 12, 'deeper, where items may be ahead')
    read = 0
    t.equal((await counting.get([bytes('id-199')], last))[0]?.ts, NOW + 1990)
    t.ok(read < 20)
    read = 0
    t.equal((await counting.scan({ ...now(100, 0, NOW + 2000), limit: 100 })).length, 10)
    t.ok(read < 40, `${read} read for the window`)
  })

  const anyLog = fc.record({
    entries: fc.array(fc.record({
      passMs: fc.constantFrom(0, 1, 10, 100),
      versions: fc.array(fc.record({
        id: fc.integer({ min: 0, max: 6 }).map((n) => bytes(`id-${n}`)),
        // late ones, and some that are ahead of the server's clock
        aheadMs: fc.oneof(fc.constantFrom(0, -1, -5), fc.integer({ min: -300, max: 40 })),
        seq: fc.constantFrom(0, 0, 1, 4095),
        deleted: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
      }), { minLength: 1, maxLength: 4 }),
      twice: fc.boolean()
    }), { minLength: 1, maxLength: 25 }),
    retention: fc.record({ windowMs: fc.constantFrom(0, 50, 400), maxItems: fc.constantFrom(0, 0, 3, 20) }),
    limit: fc.integer({ min: 1, max: 8 }),
    lookMs: fc.constantFrom(0, 5, 60),
    sinceMs: fc.option(fc.integer({ min: 0, max: 500 }).map((ago) => NOW + 300 - ago))
  })
  await t.test('late and early items among entries that arrived at any time: the answer is that of the model', (t) =>
    holds(t, fc.asyncProperty(anyLog, async ({ entries, retention, limit, lookMs, sinceMs }) => {
      const partition = open()
      const model = createModel('overwrite', guarantees)
      let ms = NOW
      let serial = 0
      await sayAhead(partition, 40)
      for (const { passMs, versions, twice } of entries) {
        ms += passMs
        const items = versions.map(({ id, aheadMs, seq, deleted }) =>
          ({ id, ts: ms + aheadMs, seq, deleted, value: bytes(deleted ? '' : String(++serial)) }))
        model.append(items)
        const made = entriesOf(items)
        await arrive(partition, ms, made)
        if (twice) await arrive(partition, ms, made)
      }
      const question = { retention, nowMs: ms + lookMs }
      const ids = Array.from({ length: 8 }, (_, n) => bytes(`id-${n}`))
      expectSame('page', (await partition.latest({ ...question, limit, sinceMs })).items.map(shown),
        model.latest({ ...question, limit, sinceMs }).map(shown))
      for (const newScan of [false, true]) {
        expectSame('pages', (await partition.scan({ ...question, limit, sinceMs }, undefined, { newScan })).map(shown),
          model.latest({ ...question, limit: Infinity, sinceMs }).map(shown))
      }
      for (const id of ids) {
        expectSame(`by id ${id}`, (await partition.get([id], question)).map((one) => one && shown(one)),
          model.get([id], question).map((one) => one && shown(one)))
      }
      expectSame('count', await partition.count(question), model.count(question))
    }), { runs: runs(40) }))

  await fullTest('an answer beyond the limit is refused, one above it is given', async (t) => {
    const partition = open()
    const perEntry = layout.name === 'segments' ? 1000 : 1
    const total = maxScan + 3000
    const pipelined = []
    for (let from = total; from > 0; from -= 1000) {
      const items = Array.from({ length: 1000 }, (_, i) => item(`id-${from - i}`, NOW - from + i, 0, ''))
      for (const [i, entry] of entriesOf(items).entries()) {
        pipelined.push(['XADD', partition.key(log.part), `${NOW - from + (i + 1) * perEntry}-*`, log.field, entry])
      }
    }
    for (let from = 0; from < pipelined.length; from += 1000) await connection.sendAll(pipelined.slice(from, from + 1000))
    const refused = { code: 'VIEW_NEEDED', message: new RegExp(`${maxScan} stored versions were looked at`), retryable: false }
    t.equal(names((await partition.latest({ ...now(), limit: 3 })).items), 'id-1 id-2 id-3')
    t.equal((await partition.get([bytes(`id-${maxScan / 2}`)], now()))[0]?.ts, NOW - maxScan / 2)
    await t.rejects(partition.get([bytes(`id-${total}`)], now()), refused)
    await t.rejects(partition.get([bytes('nobody')], now()), refused)
    const { next, scan } = await partition.latest({ ...now(), limit: 1000, after: item('id-17500', NOW - 17_500) })
    t.equal(next?.ts, NOW - 18_500)
    await t.rejects(partition.latest({ ...now(), limit: 1000, after: item('id-19500', NOW - 19_500), scan }), refused)
    t.same(await partition.get([bytes('nobody')], now(maxScan / 2)), [null], 'the window ends it')
    t.same(await partition.get([bytes('nobody')], now(0, maxScan / 2)), [null], 'maxItems ends it')
    t.equal((await partition.scan({ ...now(), limit: 1000, sinceMs: NOW - 3000 })).length, 3000, 'since ends it')
    const estimates = await Promise.all([now(), now(11_500), now(0, maxScan + 500)].map((question) => partition.count(question)))
    for (const [i, wanted] of [total, 11_500, maxScan + 500].entries()) {
      t.equal(estimates[i].exact, false)
      t.ok(Math.abs(estimates[i].count - wanted) <= wanted * 0.05, `about ${wanted}: ${estimates[i].count}`)
    }
  })

  await fullTest('large values are not read without end', async (t) => {
    const partition = open()
    const large = Buffer.alloc(1024 * 1024, 'x')
    await partition.append([item('deep', NOW - 100)])
    for (let i = 40; i > 0; i--) await partition.append([item(`id-${i}`, NOW - i, 0, large)])
    await t.rejects(partition.get([bytes('deep')], now()), { code: 'VIEW_NEEDED', message: /32 MiB of stored versions were looked at/ })
    await connection.send('UNLINK', partition.key(log.part))
  })

  await fullTest('a next page reads only newer and older entries', async (t) => {
    const partition = open()
    for (let from = 0; from < 5000; from += 500) {
      await partition.append(Array.from({ length: 500 }, (_, i) => item(`id-${from + i}`, NOW + from + i)))
    }
    let versions = 0
    const count = (/** @type {any} */ entries) => { for (const [, fields] of entries) versions += log.head(fields[1]).count }
    const counting = open({
      feed: partition.feed,
      connection: {
        ...connection,
        async sendAll (commands) {
          const replies = await connection.sendAll(commands)
          count(replies[0])
          return replies
        },
        async send (command, ...args) {
          const reply = await connection.send(command, ...args)
          if (command === 'XREAD') for (const [, entries] of reply ?? []) count(entries)
          return reply
        }
      }
    })
    let fresh = 0
    const found = await counting.scan({ ...now(), limit: 250 },
      async () => { await partition.append([item(`fresh-${++fresh}`, NOW + 9000 + fresh)]) })
    t.equal(found.length, 5000)
    t.ok(versions <= 5000 + fresh, `${versions} read, ${fresh} added during the scan`)
  })
})
