import t from 'tap'
import { shown } from './model.js'
import { UNLIMITED, item, overAllArms } from './partition.js'

const NOW = 1_750_000_000_000

await overAllArms(t, async (t, { open }) => {
  /** @param {import('./partition.js').Partition} partition */
  const all = async (partition) => (await partition.walk({ ...UNLIMITED, limit: 100 })).map(shown)

  for (const late of /** @type {const} */ (['overwrite', 'drop'])) {
    const whenLate = late === 'drop' ? 'the newer version stays and the older one is counted' : 'the last one written is the version'
    await t.test(`late: ${late}: ${whenLate}`, async (t) => {
      const partition = open({ late })
      t.same(await partition.append([item('a', NOW, 3), item('b', NOW)]), { late: 0 })
      const answer = await partition.append([item('a', NOW - 5), item('b', NOW + 5), item('c', NOW - 9)])
      t.same(answer, { late: late === 'drop' ? 1 : 0 })
      const a = late === 'drop' ? item('a', NOW, 3) : item('a', NOW - 5)
      t.same(await all(partition), [item('b', NOW + 5), a, item('c', NOW - 9)].map(shown))
    })

    await t.test(`late: ${late}: of equal versions the later append wins`, async (t) => {
      const partition = open({ late })
      await partition.append([item('a', NOW, 7, 'first')])
      t.same(await partition.append([item('a', NOW, 7, 'second')]), { late: 0 })
      t.same(await all(partition), [shown(item('a', NOW, 7, 'second'))])
      t.same(await partition.append([item('a', NOW, 7, 'third'), item('a', NOW, 7, 'fourth')]), { late: 0 })
      t.same(await all(partition), [shown(item('a', NOW, 7, 'fourth'))])
    })

    await t.test(`late: ${late}: the same holds inside a batch`, async (t) => {
      const partition = open({ late })
      const answer = await partition.append([item('a', NOW, 2), item('a', NOW, 1), item('a', NOW - 1, 4095), item('b', NOW), item('a', NOW, 1)])
      t.same(answer, { late: late === 'drop' ? 3 : 0 })
      const a = late === 'drop' ? item('a', NOW, 2) : item('a', NOW, 1)
      t.same(await all(partition), [a, item('b', NOW)].map(shown))
      t.same(await partition.count(UNLIMITED), { count: 2, exact: true })
    })

    await t.test(`late: ${late}: a batch sent twice has the effect of one sent once`, async (t) => {
      const partition = open({ late })
      const batch = [item('a', NOW, 1), item('b', NOW, 2), item('a', NOW + 1)]
      await partition.append(batch)
      const once = await all(partition)
      await partition.append(batch)
      t.same(await all(partition), once)
    })
  }

  await t.test('late: drop counts one step of seq as older', async (t) => {
    const partition = open({ late: 'drop' })
    await partition.append([item('a', 2 ** 41 - 1, 4095)])
    t.same(await partition.append([item('a', 2 ** 41 - 1, 4094)]), { late: 1 })
    t.same(await all(partition), [shown(item('a', 2 ** 41 - 1, 4095))])
  })
})
