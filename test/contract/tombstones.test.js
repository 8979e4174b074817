/**
 * A deletion hides every older version, however late that comes, for as long as one could be live; then it is removed completely.
 * All times are around now: logs are trimmed by the clock of the server.
 */
import t from 'tap'
import { eventually } from '../servers.js'
import { overLogArms } from './log-partition.js'
import { shown } from './model.js'
import { gone, item, overAllArms } from './partition.js'

const WINDOW_MS = 60_000

await overAllArms(t, async (t, { guarantees, open }) => {
  const retention = { windowMs: WINDOW_MS, maxItems: 0 }
  const arms = guarantees.versions === 'one' ? /** @type {const} */ (['newest']) : /** @type {const} */ (['overwrite'])

  for (const late of arms) {
    await t.test('a deletion hides late older versions to the end of its window, trimmed or not', async (t) => {
      const now = Date.now()
      const partition = open({ late })
      await partition.append([item('a', now - 30), item('b', now - 10), gone('a', now - 20)])
      await partition.append([item('a', now - 25), item('late', now - 25)])
      const live = async (/** @type {number} */ nowMs) => (await partition.scan({ retention, nowMs, limit: 10 })).map(shown)
      const byId = async (/** @type {number} */ nowMs) => (await partition.get([Buffer.from('a')], { retention, nowMs }))[0]
      const others = [item('b', now - 10), item('late', now - 25)].map(shown)
      // the last moment of what it hides, its own, and those behind them
      for (const [nowMs, wanted] of /** @type {[number, string[]][]} */ ([[now, others], [now - 25 + WINDOW_MS, others],
        [now - 20 + WINDOW_MS, others.slice(0, 1)], [now - 19 + WINDOW_MS, others.slice(0, 1)], [now + WINDOW_MS, []]])) {
        t.same(await live(nowMs), wanted)
        t.equal(await byId(nowMs), null)
        await partition.trimAll({ retention, nowMs })
        t.same(await live(nowMs), wanted)
        t.equal(await byId(nowMs), null)
      }
    })

    await t.test('a deletion that left the window is removed completely', async (t) => {
      const now = Date.now()
      const versions = [item('a', now - 30), gone('a', now - 20), gone('nobody', now - 20)]
      if (guarantees.versions === 'many' && guarantees.trims === 'versions') {
        const partition = open({ late })
        await partition.append(versions)
        t.same(await partition.trimAll({ retention, nowMs: now - 20 + WINDOW_MS }), [1], 'what it hid goes first')
        t.same(await partition.trimAll({ retention, nowMs: now - 19 + WINDOW_MS }), [2], 'then the deletions')
        t.same((await partition.keys()).filter((key) => !key.endsWith(':arrivals')), [])
      }
      // it is not trimmed: its keys expire
      const partition = open({ late, ttlMs: 300 })
      await partition.append(versions)
      await eventually(async () => (await partition.keys()).length === 0)
      t.match(await partition.append([item('a', now - 25)]), { late: 0 })
    })
  }
})

await overLogArms(t, async (t, { connection, open, log, entriesOf, arrive }) => {
  await t.test('deletions of a log are trimmed with their entries, and not before they are too old', async (t) => {
    const now = Date.now()
    const question = { retention: { windowMs: WINDOW_MS, maxItems: 0 }, nowMs: now }
    for (const [age, isKept] of /** @type {[number, boolean][]} */ ([[WINDOW_MS / 2, true], [2 * WINDOW_MS, false]])) {
      const partition = open()
      // the server trims whole nodes of its tree, which hold a hundred entries at most
      const entries = Array.from({ length: 500 }, (_, n) => entriesOf([gone(`id-${n}`, now - age)])).flat()
      await arrive(partition, now - age, entries)
      await arrive(partition, now, entriesOf(Array.from({ length: 500 }, (_, n) => item(`id-${n}`, now - age - 1))))
      await partition.append([item('last', now)])
      await partition.trimAll(question)
      const stored = (await connection.send('XRANGE', partition.key(log.part), '-', '+'))
        .filter((/** @type {[Buffer, unknown]} */ [place]) => Number.parseInt(String(place)) === now - age).length
      if (isKept) t.equal(stored, 500)
      else t.ok(stored <= 100, `${stored} are left`)
      t.same((await partition.scan({ ...question, limit: 600 })).map(({ id }) => String(id)), ['last'])
    }
  })
})
