/** Views of layouts that do not keep the order of arrival find items that are late, behind the clock, or rewritten. */
import t from 'tap'
import { engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { openViews } from './viewing.js'
import { scopedEngines } from '../scope.js'

const DAY_MS = 86_400_000
const bytes = (/** @type {string} */ text) => Buffer.from(text)

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const primary = await startServer(t, { engine })

  /**
   * A feed, and a view of it that must find what was acknowledged.
   * @param {import('tap').Test} t
   * @param {string} layout
   * @param {[id: string, ts: number, value?: string][]} items
   */
  async function open (t, layout, items) {
    const feed = `${layout}-${t.name.replace(/\W+/g, '-').slice(0, 40).toLowerCase()}`
    const writer = await openWriterFor(t, { redisUrl: primary.url, feed, layout, windowMs: DAY_MS })
    const append = async (/** @type {typeof items} */ more) => {
      for (const [id, ts, value = 'v'] of more) writer.pipeline.append(bytes(id), ts, bytes(value))
      await writer.pipeline.flush()
    }
    await append(items)
    const { views } = await openViews(t, { primary, mode: 'all', discover: false, written: () => writer.pipeline.account.items })
    return {
      append,
      async remove (/** @type {string} */ id, /** @type {number} */ ts, /** @type {{ ofAllAtThatTime: boolean }} */ how) {
        writer.pipeline.remove(bytes(id), ts, how)
        await writer.pipeline.flush()
      },
      count: async () => (await views.count(feed)).count,
      value: async (/** @type {string} */ id) => (await views.get(feed, [bytes(id)])).items[0]?.value.toString()
    }
  }

  for (const layout of ['values', 'ids']) {
    await t.test(`${layout}: items are found at once if event times are behind the clock`, async (t) => {
      const ts = Date.now() - 300_000
      const { append, value } = await open(t, layout, Array.from({ length: 10_000 }, (_, n) => [`${n}`, ts + n]))
      t.equal(await value('9999'), 'v')
      for (let n = 0; n < 5; n++) {
        await append([[`later-${n}`, ts + 20_000 + n, `${n}`]])
        t.equal(await value(`later-${n}`), `${n}`)
      }
    })

    await t.test(`${layout}: a writer finds its late item of the newest millisecond`, async (t) => {
      const ts = Date.now() - 1000
      const { append, value } = await open(t, layout, [['b', ts], ['c', ts]])
      t.equal(await value('c'), 'v')
      await append([['x', ts - 1], ['d', ts, 'late']])
      t.equal(await value('d'), 'late')
    })
  }

  for (const layout of ['values', 'ids']) {
    await t.test(`${layout}: a deletion of an item more than 2 s old is found, with the time of now or of the item`, async (t) => {
      const ts = Date.now() - 300_000
      const items = Array.from({ length: 6000 }, (_, n) => /** @type {[string, number]} */ ([`${n}`, ts + n]))
      const { append, remove, value, count } = await open(t, layout, [...items, ['newest', Date.now()]])
      t.same([await value('1000'), await value('3000'), await count()], ['v', 'v', 6001])
      await remove('1000', Date.now(), { ofAllAtThatTime: false })
      await remove('3000', ts + 3000, { ofAllAtThatTime: true })
      await eventually(async () => await value('1000') === undefined && await value('3000') === undefined && await count() === 5999)
      t.equal(await value('999'), 'v')
      await append([['3000', ts + 3001, 'again']])
      await eventually(async () => await value('3000') === 'again' && await count() === 6000)
    })
  }

  await t.test('ids: a value rewritten at the same time and place is seen', async (t) => {
    const ts = Date.now() - 1000
    const { append, value } = await open(t, 'ids', [['a', ts, 'first'], ['b', ts + 1]])
    t.equal(await value('a'), 'first')
    await append([['a', ts, 'second']])
    await eventually(async () => await value('a') === 'second')
  })
})
