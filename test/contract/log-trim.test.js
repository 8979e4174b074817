/**
 * Layouts that keep a log are trimmed by whole entries, and never of anything that is live.
 */
import t from 'tap'
import { shown } from './model.js'
import { NOW, now, overLogArms } from './log-partition.js'
import { item } from './partition.js'

const SECONDS = 1000
const sum = (/** @type {number[]} */ pieces) => pieces.reduce((all, one) => all + one, 0)

await overLogArms(t, async (t, { layout, connection, open, log, entriesOf, arrive, sayAhead }) => {
  const perAppend = layout.name === 'segments' ? 1 : 2

  await t.test('trimming by age takes entries of which nothing is live, by the clock of the server', async (t) => {
    const partition = open()
    const nowMs = Date.now()
    const windowMs = 30 * SECONDS
    // an entry each second for 100 seconds, with one item of its time and a late one
    for (let age = 100; age > 0; age--) {
      await arrive(partition, nowMs - age * SECONDS,
        entriesOf([item(`id-${age}`, nowMs - age * SECONDS), item(`late-${age}`, nowMs - 2 * age * SECONDS)]))
    }
    const live = async () => (await partition.scan({ ...now(windowMs, 0, nowMs), limit: 1000 })).map(shown)
    const before = await live()
    t.ok(before.length > 30)
    await sayAhead(partition, 20 * SECONDS)
    const whileAhead = sum(await partition.trimAll(now(windowMs, 0, nowMs)))
    t.ok(whileAhead > 0 && whileAhead < 50 * perAppend, `${whileAhead} removed while items may be 20 s ahead`)
    await connection.send('DEL', partition.key('ahead'))
    t.same(await partition.trimAll(now(windowMs, 0, nowMs - 60 * SECONDS)), [0], 'whose clock is behind trims less')
    const removed = whileAhead + sum(await partition.trimAll(now(windowMs, 0, nowMs)))
    // the server trims whole nodes of its tree, which hold about two dozen small entries
    t.ok(removed > 40 * perAppend && removed < 70 * perAppend, `${removed} removed`)
    t.same(await live(), before)
    const more = sum(await partition.trimAll(now(windowMs, 0, nowMs + 3600 * SECONDS)))
    t.ok(removed + more < 75 * perAppend, 'whose clock is ahead trims no more than the server has it')
  })

  await t.test('a backlog is trimmed in steps, which report that there is more', async (t) => {
    const partition = open()
    const old = Date.now() - 600 * SECONDS
    const entries = Array.from({ length: 500 }, (_, i) => entriesOf([item(`id-${i}`, old)])).flat()
    for (let from = 0; from < 12_500; from += 500) {
      await connection.sendAll(entries.map((entry) => ['XADD', partition.key(log.part), `${old}-*`, log.field, entry]))
    }
    const pieces = await partition.trimAll(now(60 * SECONDS, 0, Date.now()))
    t.ok(pieces.length > 1, pieces.join(' '))
    t.ok(sum(pieces) > 12_000 && sum(pieces) <= 12_500)
    t.ok(await connection.send('XLEN', partition.key(log.part)) < 500)
  })

  await t.test('trimming by number takes entries beyond those that came last, and never one that counts', async (t) => {
    const partition = open()
    const most = now(0, 500)
    const stored = []
    for (let round = 0; round < 60; round++) {
      const items = Array.from({ length: 50 }, (_, i) => item(`id-${round * 50 + i}`, NOW + round * 50 + i, 0, 'x'.repeat(100)))
      await partition.append(items, { times: round % 7 === 3 ? 2 : 1 })
      await partition.trimAll(most)
      t.equal((await partition.count(most)).count, Math.min(500, (round + 1) * 50), `after round ${round}`)
      stored.push((await partition.count(now())).count)
    }
    t.ok(Math.max(...stored) <= 650, `${Math.max(...stored)} versions at most, where 500 are kept and 50 come between two rounds`)
    t.ok(await connection.send('ZCARD', partition.key('marks')) <= 70)
    t.equal((await partition.scan({ ...most, limit: 100 })).length, 500)
  })

  await t.test('marks are removed after a reset of the counter', async (t) => {
    const partition = open()
    const ten = now(0, 10)
    const round = async (/** @type {number} */ number) => {
      await partition.append(Array.from({ length: 10 }, (_, i) => item(`id-${number * 10 + i}`, NOW + i)))
      await partition.trimAll(ten)
      t.equal((await partition.count(ten)).count, 10)
    }
    for (let number = 0; number < 5; number++) await round(number)
    await connection.send('DEL', partition.key('appended'))
    for (let number = 5; number < 40; number++) await round(number)
    t.ok((await partition.count(now())).count < 150, 'and it is trimmed again')
  })

  await t.test('announcements of items ahead are kept as long as entries of that time, then removed', async (t) => {
    const partition = open()
    await partition.append([item('future', Date.now() + 30 * SECONDS)])
    const said = async () => (await connection.send('ZRANGE', partition.key('ahead'), 0, -1, 'WITHSCORES')).map(String)
    const [member, ms] = await said()
    t.match(member, /^\d+:[0-9a-f]{16}$/)
    t.ok(Number(ms) >= 30 * SECONDS)
    // of a time when the oldest entry had not arrived yet, and of one that is not over
    await connection.send('ZADD', partition.key('ahead'), 99, `${Date.now() - 10 * SECONDS}:old`, 98, `${Date.now() + 60 * SECONDS}:new`)
    await partition.trimAll(now(60 * SECONDS, 0, Date.now()))
    const names = async () => (await said()).filter((_, i) => i % 2 === 0).map((one) => one.split(':')[1]).sort()
    t.same(await names(), [member.split(':')[1], 'new'].sort())
    // members in another format keep nothing for ever
    await connection.send('ZADD', partition.key('ahead'), 'inf', '-Infinity:lost', 5, 'nonsense')
    await partition.trimAll(now(60 * SECONDS, 0, Date.now()))
    t.same(await names(), [member.split(':')[1], 'new'].sort())
  })

  await t.test('what belongs to a log expires with it', async (t) => {
    const partition = open({ ttlMs: 50_000 })
    await partition.append([item('a', Date.now() + 5 * SECONDS)])
    await partition.trimAll(now(60 * SECONDS, 100, Date.now()))
    const keys = await partition.keys()
    t.same(keys.map((key) => key.split(':').at(-1)), ['ahead', 'appended', 'marks', log.part].sort())
    const ttls = () => Promise.all(keys.map((key) => connection.send('PTTL', key)))
    t.ok((await ttls()).every((ttl) => ttl > 20_000 && ttl <= 50_000))
    await partition.extend(900_000)
    t.ok((await ttls()).every((ttl) => ttl > 600_000))
    await partition.extend(0)
    t.same(await ttls(), [-1, -1, -1, -1])
  })
})
