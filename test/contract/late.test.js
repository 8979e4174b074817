import t from 'tap'
import { shown } from './model.js'
import { UNLIMITED, gone, item, overAllArms } from './partition.js'

const NOW = 1_750_000_000_000

await overAllArms(t, async (t, { guarantees, connection, open }) => {
  /** @param {import('./partition.js').Partition} partition */
  const all = async (partition) => (await partition.scan({ ...UNLIMITED, limit: 100 })).map(shown)
  const keepsOne = guarantees.versions === 'one'

  for (const late of /** @type {const} */ (['overwrite', 'newest'])) {
    const drops = keepsOne && late === 'newest'
    const newestWins = drops || guarantees.late === 'newest'
    const whenLate = newestWins
      ? `the newer version counts${drops ? ' and the older one is dropped' : ''}`
      : 'the last one written is the version'
    await t.test(`late: ${late}: ${whenLate}`, async (t) => {
      const partition = open({ late })
      t.match(await partition.append([item('a', NOW, 3), item('b', NOW)]), { late: 0 })
      const answer = await partition.append([item('a', NOW - 5), item('b', NOW + 5), item('c', NOW - 9)])
      t.match(answer, { late: drops ? 1 : 0 })
      const a = newestWins ? item('a', NOW, 3) : item('a', NOW - 5)
      t.same(await all(partition), [item('b', NOW + 5), a, item('c', NOW - 9)].map(shown))
    })

    await t.test(`late: ${late}: of equal versions the later append wins`, async (t) => {
      const partition = open({ late })
      await partition.append([item('a', NOW, 7, 'zzz')])
      t.match(await partition.append([item('a', NOW, 7, 'second')]), { late: 0 })
      t.same(await all(partition), [shown(item('a', NOW, 7, 'second'))])
      t.match(await partition.append([item('a', NOW, 7, 'third'), item('a', NOW, 7, 'fourth')]), { late: 0 })
      t.same(await all(partition), [shown(item('a', NOW, 7, 'fourth'))])
      await partition.append([gone('a', NOW, 7)])
      t.same(await all(partition), [])
      await partition.append([item('a', NOW, 7, '')])
      t.same(await all(partition), [shown(item('a', NOW, 7, ''))])
    })

    await t.test(`late: ${late}: the same holds inside a batch`, async (t) => {
      const partition = open({ late })
      const answer = await partition.append([item('a', NOW, 2), item('a', NOW, 1), item('a', NOW - 1, 4095), item('b', NOW),
        item('a', NOW, 1)])
      t.match(answer, { late: drops ? 3 : 0 })
      const a = newestWins ? item('a', NOW, 2) : item('a', NOW, 1)
      t.same(await all(partition), [a, item('b', NOW)].map(shown))
      t.same(await partition.count(UNLIMITED), keepsOne ? { count: 2, exact: true } : { count: 5, exact: false })
    })

    await t.test(`late: ${late}: a batch sent twice has the effect of one sent once`, async (t) => {
      const batch = [item('a', NOW, 1), item('b', NOW, 2), item('a', NOW + 1), item('c', NOW), gone('c', NOW, 1), gone('d', NOW),
        item('d', NOW + 1)]
      const [once, twice] = [open({ late }), open({ late })]
      await once.append(batch)
      await twice.append(batch, { times: 2 })
      t.same(await all(twice), await all(once))
      t.same(await twice.count(UNLIMITED), await once.count(UNLIMITED))
    })

    await t.test(`late: ${late}: a deleted id is nowhere, until it is written again`, async (t) => {
      const partition = open({ late })
      await partition.append([item('a', NOW), item('b', NOW - 1), item('c', NOW - 2)])
      t.match(await partition.append([gone('b', NOW + 1), gone('nobody', NOW)]), { late: 0 })
      t.same(await all(partition), [item('a', NOW), item('c', NOW - 2)].map(shown))
      t.same(await partition.get(['b', 'nobody'].map((id) => Buffer.from(id)), UNLIMITED), [null, null])
      t.equal((await partition.count(UNLIMITED)).count, keepsOne ? 2 : 5)
      const two = await partition.scan({ retention: { windowMs: 0, maxItems: 2 }, nowMs: NOW, limit: 1 })
      t.same(two.map(shown), keepsOne ? [item('a', NOW), item('c', NOW - 2)].map(shown) : [],
        'deletions take a place where versions are counted')
      t.match(await partition.append([item('b', NOW + 2)]), { late: 0 })
      t.same(await all(partition), [item('b', NOW + 2), item('a', NOW), item('c', NOW - 2)].map(shown))
    })

    if (!newestWins) continue
    await t.test(`late: ${late}: deletions are compared as other versions are`, async (t) => {
      const partition = open({ late })
      const dropped = (/** @type {number} */ count) => ({ late: drops ? count : 0 })
      await partition.append([item('a', NOW, 5), item('b', NOW), gone('never-was', NOW)])
      t.match(await partition.append([gone('a', NOW, 4)]), dropped(1))
      t.same(await all(partition), [item('a', NOW, 5), item('b', NOW)].map(shown), 'an older deletion changes nothing')
      t.match(await partition.append([gone('a', NOW, 5), gone('b', NOW + 9)]), { late: 0 })
      t.match(await partition.append([item('a', NOW, 4), item('b', NOW + 8), item('never-was', NOW - 1)]), dropped(3))
      t.match(await partition.append([gone('b', NOW + 8)]), dropped(1))
      t.same(await all(partition), [], 'older versions do not come back')
      t.match(await partition.append([item('b', NOW + 8), item('b', NOW + 10), item('b', NOW + 9), gone('a', NOW + 1), item('a', NOW + 2)]),
        dropped(2))
      t.same(await all(partition), [item('b', NOW + 10), item('a', NOW + 2)].map(shown))
    })

    await t.test(`late: ${late}: one step of seq is older`, async (t) => {
      const partition = open({ late })
      await partition.append([item('a', 2 ** 41 - 1, 4095)])
      t.match(await partition.append([item('a', 2 ** 41 - 1, 4094)]), { late: drops ? 1 : 0 })
      t.same(await all(partition), [shown(item('a', 2 ** 41 - 1, 4095))])
    })
  }

  await t.test('the last operation of a batch on an id decides', async (t) => {
    const partition = open()
    await partition.append([gone('a', NOW), item('a', NOW, 1), item('b', NOW), gone('b', NOW, 1), gone('c', NOW), item('c', NOW, 1),
      gone('c', NOW, 2)])
    t.same(await all(partition), [shown(item('a', NOW, 1))])
  })

  if (!keepsOne) return
  await t.test('a tombstone lives as long as an item would, and a day where items stay', async (t) => {
    for (const late of /** @type {const} */ (['overwrite', 'newest'])) {
      for (const [ttlMs, least, most] of [[50_000, 20_000, 50_000], [0, 80_000_000, 86_400_000]]) {
        const partition = open({ late, ttlMs })
        await partition.append([item('a', NOW), item('b', NOW)])
        await partition.append([gone('a', NOW + 1)])
        const ttl = await connection.send('PTTL', partition.key('item:a'))
        t.ok(ttl > least && ttl <= most, `${ttl} ms`)
        await partition.append([item('a', NOW + 2)])
        t.ok(await connection.send('PTTL', partition.key('item:a')) <= (ttlMs || -1), 'and no longer once it is written again')
      }
    }
  })

  await t.test('late: newest: after the window was widened a deletion lasts as long as items do, and hides what comes late', async (t) => {
    for (const [ttlMs, least, most] of [[900_000, 600_000, 900_000], [0, 80_000_000, 86_400_000]]) {
      const partition = open({ late: 'newest', ttlMs: 60_000 })
      await partition.append([item('a', NOW), item('b', NOW)])
      await partition.append([gone('a', NOW + 1)])
      await partition.extend(ttlMs)
      const ttl = await connection.send('PTTL', partition.key('item:a'))
      t.ok(ttl > least && ttl <= most, `${ttl} ms`)
      const itemTtl = await connection.send('PTTL', partition.key('item:b'))
      t.ok(ttlMs === 0 ? itemTtl === -1 : itemTtl > least && itemTtl <= most, `${itemTtl} ms`)
      t.match(await partition.append([item('a', NOW)]), { late: 1 })
      t.same(await all(partition), [shown(item('b', NOW))])
    }
  })
})
