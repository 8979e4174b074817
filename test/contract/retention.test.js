import t from 'tap'
import { agree } from '../../src/feeds/definitions.js'
import { onlyKey } from '../../src/feeds/keys.js'
import { connectFor, eventually } from '../servers.js'
import { shown } from './model.js'
import { UNLIMITED, item, overAllArms } from './partition.js'

const NOW = 1_750_000_000_000
/** id-0 is the newest, and comes last */
const aged = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => item(`id-${i}`, NOW - i)).reverse()
const age = (/** @type {number} */ windowMs, nowMs = NOW) => ({ retention: { windowMs, maxItems: 0 }, nowMs })
const atMost = (/** @type {number} */ maxItems) => ({ retention: { windowMs: 0, maxItems }, nowMs: NOW })

await overAllArms(t, async (t, { layout, guarantees, server, connection, open }) => {
  /** @param {import('./partition.js').Partition} partition @param {import('./model.js').Now} now */
  const answers = async (partition, now) => ({
    items: (await partition.scan({ ...now, limit: 7 })).map(({ id }) => String(id)),
    count: (await partition.count(now)).count
  })
  // whole entries are trimmed by the clock of the server and by what came between two rounds: log.test.js
  const trimsVersions = guarantees.trims === 'versions'
  const ids = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => `id-${i}`)

  await t.test('an item is live until it is older than the window, trimmed or not', async (t) => {
    const partition = open()
    await partition.append(aged(30))
    t.same(await answers(partition, age(10)), { items: ids(11), count: 11 })
    t.same(await answers(partition, age(10, NOW + 5)), { items: ids(6), count: 6 })
    t.same(await answers(partition, age(10, NOW + 11)), { items: [], count: 0 })
    t.same(await partition.get([Buffer.from('id-10'), Buffer.from('id-11')], age(10)).then((found) =>
      found.map((one) => one && shown(one))), [shown(item('id-10', NOW - 10)), null])
    const pieces = await partition.trimAll(age(10))
    t.same(await answers(partition, age(10)), { items: ids(11), count: 11 })
    if (!trimsVersions) return
    t.same(pieces, [19])
    t.same(await answers(partition, age(0)), { items: ids(11), count: 11 })
  })

  await t.test('with maxItems the newest are live before anything was trimmed', async (t) => {
    const partition = open()
    await partition.append(aged(30))
    t.same(await answers(partition, atMost(12)), { items: ids(12), count: 12 })
    t.same(await partition.get([Buffer.from('id-11'), Buffer.from('id-12')], atMost(12)).then((found) => found.map(Boolean)), [true, false])
    const pieces = await partition.trimAll(atMost(12))
    t.same(await answers(partition, atMost(12)), { items: ids(12), count: 12 })
    if (!trimsVersions) return
    t.same(pieces, [18])
    t.same(await answers(partition, atMost(0)), { items: ids(12), count: 12 })
    t.same(await partition.trimAll(atMost(12)), [0])
  })

  await t.test('maxItems cuts among items of one ts and seq', async (t) => {
    const partition = open()
    await partition.append(['a', 'b', 'c', 'd'].map((id) => item(id, NOW)))
    t.same((await answers(partition, atMost(3))).items, ['d', 'c', 'b'])
  })

  await t.test('items beyond maxItems are trimmed also when others are too old', async (t) => {
    const partition = open()
    await partition.append(aged(30))
    const both = { retention: { windowMs: 20, maxItems: 5 }, nowMs: NOW }
    t.same(await answers(partition, both), { items: ids(5), count: 5 })
    await partition.trim(both)
    t.equal((await partition.count(trimsVersions ? UNLIMITED : both)).count, 5)
  })

  if (trimsVersions) {
    await t.test('one trim removes at most 500 and reports that there is more', async (t) => {
      const partition = open()
      await partition.append(aged(1300))
      const keysBefore = (await partition.keys()).length
      const pieces = await partition.trimAll(atMost(100))
      t.equal(pieces.reduce((sum, piece) => sum + piece, 0), 1200)
      t.ok(pieces.every((piece) => piece <= 500), pieces.join(' '))
      if (layout.name === 'ids') t.equal(keysBefore - (await partition.keys()).length, 1200, 'their keys are gone too')
      t.same((await answers(partition, atMost(0))).count, 100)
    })
  }

  await t.test('an item that is written again while it is being trimmed stays', async (t) => {
    const partition = open()
    await partition.append(aged(30))
    const rewritten = item('id-29', NOW + 1)
    const meddling = partition.meddling(trimsVersions ? `trim-${layout.name}` : 'trim-log', () => partition.append([rewritten]))
    const { removed } = await open({ feed: partition.feed, connection: meddling }).trim(age(10))
    if (trimsVersions) t.equal(removed, guarantees.versions === 'one' ? 18 : 19)
    t.same((await partition.get([Buffer.from('id-29')], UNLIMITED)).map((one) => one && shown(one)), [shown(rewritten)])
    t.same((await answers(partition, age(10))).items, ['id-29', ...ids(11)])
  })

  await t.test('two trimmers at once take nothing that is live', async (t) => {
    const partition = open()
    const others = await Promise.all([0, 1].map(() => connectFor(t, server.url)))
    await partition.append(aged(2000))
    await Promise.all(others.map((other) => open({ feed: partition.feed, connection: other }).trimAll(atMost(1300))))
    t.equal((await partition.count(trimsVersions ? UNLIMITED : atMost(1300))).count, 1300)
    t.same((await answers(partition, atMost(1300))).items, ids(1300))
  })

  await t.test('every key expires, and each batch puts it off', async (t) => {
    const partition = open({ ttlMs: 50_000 })
    await partition.append(aged(3))
    const ttls = async () => Promise.all((await partition.keys()).map((key) => connection.send('PTTL', key)))
    t.ok((await ttls()).every((ttl) => ttl > 20_000 && ttl <= 50_000), String(await ttls()))
    await open({ ttlMs: 90_000, feed: partition.feed }).append(aged(3))
    t.ok((await ttls()).every((ttl) => ttl > 50_000 && ttl <= 90_000), String(await ttls()))
  })

  await t.test('without a window no key expires', async (t) => {
    const partition = open({ ttlMs: 0 })
    await partition.append(aged(3))
    t.ok((await partition.keys()).length > 0)
    for (const key of await partition.keys()) t.equal(await connection.send('PTTL', key), -1, key)
  })

  await t.test('extend gives all stored items a new expiry, and 0 none', async (t) => {
    const partition = open({ ttlMs: 60_000 })
    await partition.append(aged(2500))
    const oldestKeys = (await partition.keys()).filter((key) =>
      /(:ids|:values|:stream|:segments|:appended|id-0|id-1000|id-2499)$/.test(key))
    t.ok(oldestKeys.length > 0)
    await partition.extend(900_000)
    for (const key of oldestKeys) t.ok(await connection.send('PTTL', key) > 600_000, key)
    await partition.extend(0)
    t.same(await Promise.all((await partition.keys()).map((key) => connection.send('PTTL', key))).then((ttls) => [...new Set(ttls)]), [-1])
  })

  await t.test('an abandoned feed leaves only its definition and its secret', async (t) => {
    for (const late of /** @type {const} */ (['overwrite', 'newest'])) {
      const partition = open({ ttlMs: 300, late })
      await agree(connection, 'fr:',
        { feed: partition.feed, layout: layout.name, partitions: 1, windowMs: 100, maxItems: 0, format: layout.format })
      await partition.append(aged(20))
      await eventually(async () => (await partition.keys()).length === 0)
      const left = (await connection.send('KEYS', `*${partition.feed}*`)).map(String).sort()
      t.same(left, ['feed', 'secret'].map((part) => `fr:{${partition.feed}}:${part}`))
    }
  })

  await t.test('a partition does not see the items of another', async (t) => {
    const one = open()
    const other = open()
    await one.append(aged(2))
    t.equal((await other.count(UNLIMITED)).count, 0)
    t.equal(onlyKey('fr:', one.feed)('ids'), `fr:{${one.feed}:0}:ids`)
  })
})
