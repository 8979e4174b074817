/**
 * Deletions of items older than two seconds: streams get them, and requests are answered as if the feed had no streams.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startFollowing } from '../client/following.js'
import { engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { scopedEngines } from '../scope.js'

const DAY_MS = 86_400_000
const OLD_MS = 60_000
const ITEMS = 5000
const VICTIM = 'item-1234'

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })

  for (const layout of ['ids', 'values', 'segments']) {
    await t.test(`${layout}: a deletion of an old item is seen by requests and streams`, async (t) => {
      const feed = `deleted-${layout}`
      const { pipeline } = await openWriterFor(t, { redisUrl: server.url, feed, layout, windowMs: DAY_MS })
      const ts = Date.now() - OLD_MS
      for (let n = 0; n < ITEMS; n++) {
        if (!pipeline.append(Buffer.from(`item-${n}`), ts + n, Buffer.from('v'))) await pipeline.ready({ deadlineMs: 20_000 })
      }
      await pipeline.flush({ deadlineMs: 20_000 })
      const all = startFollowing(t, reader.url, feed)
      const some = startFollowing(t, reader.url, feed, { ids: [VICTIM, 'item-7'] })
      await eventually(() => all.items.size > 0 && some.items.has(VICTIM))

      // a view that is more than a second behind answers nothing, which on a busy machine it may be
      const ask = (/** @type {string} */ path, headers = {}) => eventually(async () => {
        const response = await fetch(`${reader.url}/v1/feeds/${feed}/${path}`, { headers })
        /** @type {{ status: number, tag: string, body: any }} */
        const answer = {
          status: response.status, tag: response.headers.get('etag') ?? '', body: response.status === 304 ? null : await response.json()
        }
        return response.status !== 503 && answer
      })
      await eventually(async () => (await ask('count')).body.count === ITEMS)
      const here = await ask(`items?id=${VICTIM}&id=item-7`)
      t.equal(here.body.items.length, 2)
      t.equal((await ask(`items?id=${VICTIM}&id=item-7`, { 'if-none-match': here.tag })).status, 304)
      t.equal((await ask(`items/${VICTIM}`)).status, 200)
      t.match((await ask('count')).body, { count: ITEMS, exact: true })

      pipeline.remove(Buffer.from(VICTIM), Date.now())
      await pipeline.flush({ deadlineMs: 20_000 })
      const isGone = async () => {
        t.match(await ask(`items/${VICTIM}`), { status: 404, body: { code: 'ITEM_UNKNOWN' } })
        t.same((await ask(`items?id=${VICTIM}&id=item-7`, { 'if-none-match': here.tag })).body.items.map((/** @type {any} */ { id }) =>
          id), ['item-7'])
        t.match((await ask('count')).body, { count: ITEMS - 1, exact: true })
      }
      // of the others the view answers, which takes it in a moment later
      if (layout !== 'ids') await eventually(async () => (await ask(`items/${VICTIM}`)).status === 404)
      // replies before the change are reused for up to 50 ms
      await sleep(50)
      await isGone()
      await eventually(() => [all, some].every(({ items }) => items.get(VICTIM)?.deleted))
      await isGone()
      t.equal(some.items.get('item-7').deleted, undefined)
    })
  }

  for (const layout of ['segments', 'stream']) {
    await t.test(`${layout}: where maxItems trims a deletion before a version that it hid, requests and streams get that ` +
      'version', async (t) => {
      const feed = `full-${layout}`
      const { pipeline } = await openWriterFor(t, { redisUrl: server.url, feed, layout, windowMs: DAY_MS, maxItems: 5 })
      const now = Date.now()
      const put = async (/** @type {[id: string, ts: number, value: string][]} */ ...items) => {
        for (const [id, ts, value] of items) pipeline.append(Buffer.from(id), ts, Buffer.from(value))
        await pipeline.flush({ deadlineMs: 20_000 })
      }
      await put(['a', now - 2000, 'first'])
      const client = startFollowing(t, reader.url, feed, { encoding: 'utf8' })
      // 503: the view is behind
      const status = () => eventually(async () => {
        const { status } = await fetch(`${reader.url}/v1/feeds/${feed}/items/a`)
        return status !== 503 && status
      })
      await eventually(() => client.items.get('a')?.value === 'first')
      pipeline.remove(Buffer.from('a'), now)
      await put(['a', now - 1000, 'late'], ['b', now, ''])
      await eventually(() => client.items.get('a').deleted === true && client.items.has('b'))
      t.equal(await status(), 404)
      await put(['c', now, ''], ['d', now, ''], ['e', now, ''])
      await eventually(async () => await status() === 200)
      await eventually(() => client.items.get('a').value === 'late')
      t.equal(client.items.get('a').ts, now - 1000)
    })
  }
})
