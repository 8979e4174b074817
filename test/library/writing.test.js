/**
 * What a caller hands over to append and delete, and how long it waits.
 */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { engineName, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const MIB = 1024 * 1024
const INVALID = { code: 'ARGUMENT_INVALID', retryable: false }

const [engine] = await scopedEngines()
t.test(engineName(engine), async (t) => {
  const server = await startServer(t, { engine })
  let feeds = 0

  /** @param {import('tap').Test} t @param {Partial<Parameters<typeof openFeed>[1]>} [options] */
  async function open (t, options) {
    const feed = await openFeed(`feed-${++feeds}`, { redisUrl: server.url, readFrom: 'primary', ...options })
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    return feed
  }
  /** @param {Awaited<ReturnType<typeof open>>} feed @param {string} id */
  const valueOf = async (feed, id) => (await feed.get(id))?.value

  t.test('bytes of any kind are stored as they are, text as UTF-8', async (t) => {
    const feed = await open(t)
    const bytes = Uint8Array.from({ length: 8 }, (_, i) => 248 + i)
    const { buffer } = bytes
    /** @type {Record<string, any>} */
    const same = {
      array: bytes,
      buffer: Buffer.from(buffer),
      memory: buffer,
      view: new DataView(buffer),
      clamped: new Uint8ClampedArray(buffer),
      wide: new Float64Array(buffer)
    }
    for (const [id, value] of Object.entries(same)) feed.append({ id, value })
    feed.append({ id: 'part', value: new DataView(buffer, 2, 3) })
    feed.append({ id: 'text', value: 'né 漢 \u{1f600}' })
    feed.append({ id: 'empty', value: '' })
    feed.append({ id: 'largest', value: Buffer.alloc(MIB, 7) })
    await feed.flush({ deadlineMs: 60_000 })
    for (const id of Object.keys(same)) t.same(await valueOf(feed, id), Buffer.from(bytes), id)
    t.same(await valueOf(feed, 'part'), Buffer.from([250, 251, 252]))
    t.equal(String(await valueOf(feed, 'text')), 'né 漢 \u{1f600}')
    t.equal((await valueOf(feed, 'empty'))?.length, 0)
    t.ok((await valueOf(feed, 'largest'))?.equals(Buffer.alloc(MIB, 7)), '1 MiB to the byte')
  })

  t.test('id and value are copied: they may be changed as soon as append is back', async (t) => {
    const feed = await open(t)
    const id = Buffer.from('mine')
    const value = Buffer.from('before')
    feed.append({ id, value })
    id.fill('x')
    value.fill('x')
    await feed.flush({ deadlineMs: 60_000 })
    t.same((await feed.latest()).items.map((item) => [item.id, String(item.value)]), [['mine', 'before']])
  })

  t.test('what cannot be a value, or a time, throws and is counted', async (t) => {
    const feed = await open(t)
    const transferred = new ArrayBuffer(8)
    const views = [transferred, new Uint8Array(transferred), new DataView(transferred)]
    structuredClone(transferred, { transfer: [transferred] })
    /** @type {any[]} */
    const values = ['half \ud83d', '\ude00', ...views, null, undefined, 7, {}, ['a'], () => {}, Symbol('s')]
    for (const value of values) t.throws(() => feed.append({ id: 'a', value }), { code: 'ITEM_VALUE_INVALID' })
    t.throws(() => feed.append({ id: 'a', value: 'half \ud83d' }), { message: /half of a surrogate pair/ })
    t.throws(() => feed.append({ id: 'a', value: /** @type {any} */ ({}) }), { message: /JSON\.stringify/ })
    /** @type {any[]} */
    const times = [NaN, -1, -0.5, Infinity, null, '1', 2 ** 41, new Date()]
    for (const ts of times) {
      t.throws(() => feed.append({ id: 'a', ts, value: '' }), { code: 'ITEM_TS_INVALID' })
      t.throws(() => feed.delete({ id: 'a', ts }), { code: 'ITEM_TS_INVALID' })
    }
    t.match(feed.account, {
      offered: values.length + 2 + 2 * times.length, items: 0, refused: { value_invalid: values.length + 2, ts_invalid: 2 * times.length }
    })
    t.same((await feed.latest()).items, [])
  })

  for (const whenFull of /** @type {const} */ (['refuse', 'drop'])) {
    t.test(`at the in-flight bound, whenFull ${whenFull}: append answers false, and the item is counted and not sent`, async (t) => {
      /** @type {string[]} */
      const reported = []
      const feed = await open(t,
        { whenFull, inFlightBytes: 100_000, deadlineMs: 60_000, onRefused: (code, id) => reported.push(`${code} ${id}`) })
      const value = Buffer.alloc(50_000)
      server.freeze()
      let taken = 0
      do taken++; while (feed.append({ id: `taken-${taken}`, value }))
      t.equal(feed.append({ id: 'over', value }), false)
      t.equal(feed.append({ id: 'over', value }), false)
      server.thaw()
      await feed.flush({ deadlineMs: 60_000 })
      t.same(reported, whenFull === 'refuse' ? ['PIPELINE_FULL over', 'PIPELINE_FULL over'] : [])
      t.match(feed.account,
        { offered: taken + 2, items: taken, dropped: whenFull === 'drop' ? 2 : 0, refused: whenFull === 'refuse' ? { full: 2 } : {} })
      t.equal(await feed.get('over'), null)
    })
  }

  t.test('an invalid deadline is refused, also by close, which then closes nothing', async (t) => {
    const feed = await open(t)
    for (const name of /** @type {const} */ (['flush', 'ready', 'acknowledged'])) {
      const wait = (/** @type {any} */ within) => feed[name](within)
      for (const within of [5000, 'abc', null, { deadline: 5 }, { drainMs: 5 }]) {
        await t.rejects(wait(within), INVALID, `${name} ${JSON.stringify(within)}`)
      }
      for (const deadlineMs of [NaN, 'abc', '5', {}]) await t.rejects(wait({ deadlineMs }), INVALID, `${name} ${deadlineMs}`)
      for (const within of [undefined, {}, { deadlineMs: undefined }, { deadlineMs: Infinity }, { deadlineMs: 0 }, { deadlineMs: -5 }]) {
        await wait(within)
      }
    }
    const close = (/** @type {any} */ drain) => feed.close(drain)
    for (const drain of [5000, null, { deadlineMs: 5 }]) await t.rejects(close(drain), INVALID)
    for (const drainMs of [NaN, 'abc']) await t.rejects(close({ drainMs }), INVALID)
    t.equal(feed.append({ id: 'a', value: 'x' }), true, 'still open')
    await feed.flush({ deadlineMs: 60_000 })
    t.ok(await feed.get('a'))
  })

  t.test('a wait keeps its own deadline during close', async (t) => {
    const feed = await open(t, { drainMs: 0, deadlineMs: 60_000 })
    server.freeze()
    feed.append({ id: 'a', value: 'x' })
    const thawing = setTimeout(server.thaw, 200)
    t.teardown(() => clearTimeout(thawing))
    await feed.flush()
    t.match(feed.account, { items: 1 })
  })

  t.test('callers of acknowledged share a batch, each flush sends one', async (t) => {
    const feed = await open(t)
    const handlers = 100
    /** @param {'acknowledged' | 'flush'} how @returns {Promise<number>} batches */
    const handle = async (how) => {
      const { batches } = feed.account
      await Promise.all(Array.from({ length: handlers }, (_, i) => {
        feed.append({ id: `id-${i}`, value: how })
        return feed[how]({ deadlineMs: 60_000 })
      }))
      return feed.account.batches - batches
    }
    t.equal(await handle('acknowledged'), 1)
    t.equal(await handle('flush'), handlers)
    t.match(feed.account, { items: 2 * handlers })
  })

  t.test('two feeds that are open at once keep their items and accounts apart', async (t) => {
    const [one, other] = await Promise.all([open(t), open(t, { layout: 'segments' })])
    one.append({ id: 'a', value: '1' })
    other.append({ id: 'a', value: '2' })
    other.append({ id: 'b', value: '2' })
    await Promise.all([one.flush({ deadlineMs: 60_000 }), other.flush({ deadlineMs: 60_000 })])
    t.equal(String(await valueOf(one, 'a')), '1')
    t.equal(String(await valueOf(other, 'a')), '2')
    t.equal(await one.get('b'), null)
    t.match([one.account.items, other.account.items], [1, 2])
    await one.close()
    other.append({ id: 'c', value: '3' })
    await other.flush({ deadlineMs: 60_000 })
    t.equal(String(await valueOf(other, 'c')), '3', 'closing one leaves the other open')
  })
})
