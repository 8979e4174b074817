/** Views of layouts that keep no order of arrival: what comes late, behind the clock, or a second time is found. */
import t from 'tap'
import { engineName, eventually, openWriterFor, startServer, testEngines } from '../servers.js'
import { openViews } from './viewing.js'

const DAY_MS = 86_400_000
const bytes = (/** @type {string} */ text) => Buffer.from(text)

t.jobs = 2
for (const engine of await testEngines()) {
  t.test(engineName(engine), { buffered: true }, async (t) => {
    const primary = await startServer(t, { engine })

    /** A feed, and a view of it that must find what was acknowledged. @param {import('tap').Test} t @param {string} layout @param {[id: string, ts: number, value?: string][]} items */
    async function open (t, layout, items) {
      const feed = `${layout}-${t.name.replace(/\W+/g, '-').slice(0, 40).toLowerCase()}`
      const writer = await openWriterFor(t, { redisUrl: primary.url, feed, layout, windowMs: DAY_MS })
      const append = async (/** @type {typeof items} */ more) => {
        for (const [id, ts, value = 'v'] of more) writer.pipeline.append(bytes(id), ts, bytes(value))
        await writer.pipeline.flush()
      }
      await append(items)
      const { views } = await openViews(t, { primary, mode: 'all', discover: false, written: () => writer.pipeline.account.items })
      return { append, value: async (/** @type {string} */ id) => (await views.get(feed, [bytes(id)])).items[0]?.value.toString() }
    }

    for (const layout of ['values', 'ids']) {
      await t.test(`${layout}: where event times are behind the clock, what comes is found at once`, async (t) => {
        const ts = Date.now() - 300_000
        const { append, value } = await open(t, layout, Array.from({ length: 10_000 }, (_, n) => [`${n}`, ts + n]))
        t.equal(await value('9999'), 'v')
        for (let n = 0; n < 5; n++) {
          await append([[`later-${n}`, ts + 20_000 + n, `${n}`]])
          t.equal(await value(`later-${n}`), `${n}`)
        }
      })

      await t.test(`${layout}: what comes late within the newest millisecond is found by who wrote it`, async (t) => {
        const ts = Date.now() - 1000
        const { append, value } = await open(t, layout, [['b', ts], ['c', ts]])
        t.equal(await value('c'), 'v')
        await append([['x', ts - 1], ['d', ts, 'late']])
        t.equal(await value('d'), 'late')
      })
    }

    await t.test('ids: an id that is written again at the same time and place is found by a walk', async (t) => {
      const ts = Date.now() - 1000
      const { append, value } = await open(t, 'ids', [['a', ts, 'first'], ['b', ts + 1]])
      t.equal(await value('a'), 'first')
      await append([['a', ts, 'second']])
      await eventually(async () => await value('a') === 'second')
    })
  })
}
