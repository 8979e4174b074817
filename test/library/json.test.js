/**
 * Values as JSON: objects are appended and read, and what is stored is plain JSON for every other reader.
 */
import t from 'tap'
import { openFeed, openReader } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { engineName, eventually, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()
t.test(engineName(engine), async (t) => {
  const { url: redisUrl } = await startServer(t, { engine })
  const options = { redisUrl, readFrom: /** @type {const} */ ('primary') }

  for (const layout of layoutNames()) {
    t.test(`${layout}: any JSON value is read as it was appended, by page, by id and as a change`, async (t) => {
      const feed = await openFeed(`json-${layout}`, { ...options, layout, encoding: 'json' })
      t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
      const changes = feed.subscribe({ pollMs: 5 })
      const first = changes.next()
      await eventually(async () => {
        feed.append({ id: 'begun', value: 0 })
        await feed.flush()
        return Promise.race([first, new Promise((resolve) => setTimeout(resolve, 50, false))])
      })
      /** @type {Record<string, any>} */
      const values = {
        object: { stop: 12, lines: ['a', 'é 漢 \u{1f600}'], at: { lat: 52.52 }, none: null },
        array: [1, [2]],
        text: 'text',
        empty: '',
        half: '\ud83d',
        number: 1.5,
        nothing: null,
        yes: true
      }
      for (const [id, value] of Object.entries(values)) feed.append({ id, value })
      await feed.flush()
      const page = Object.fromEntries((await feed.latest()).items.map(({ id, value, encoding }) => [id, [value, encoding]]))
      for (const [id, value] of Object.entries(values)) {
        t.same(page[id], [value, undefined], id)
        t.match(await feed.get(id), { id, value, encoding: undefined })
      }
      const left = new Set(Object.keys(values))
      for await (const { id, value, deleted, encoding } of changes) {
        if (id === 'begun') continue
        t.same([value, deleted, encoding], [values[id], false, undefined], `change of ${id}`)
        left.delete(id)
        if (left.size === 0) break
      }
    })
  }

  t.test('it is stored as the JSON of the value; a value that is not JSON comes as bytes, and says so', async (t) => {
    const bytes = await openFeed('mixed', options)
    const json = await openFeed('mixed', { ...options, encoding: 'json' })
    const reader = await openReader(options)
    for (const one of [bytes, json, reader]) t.teardown(() => one.close())
    const now = Date.now()
    json.append({ id: 'a', ts: now, value: { price: 1.1 } })
    const others = { b: Buffer.from([0xff, 0]), c: Buffer.from('not json'), d: Buffer.alloc(0), e: Buffer.from('"\xff"', 'latin1') }
    for (const [id, value] of Object.entries(others)) bytes.append({ id, ts: now - 1, value })
    bytes.append({ id: 'f', ts: now - 1, value: ' [1]\n' })
    await Promise.all([json.flush(), bytes.flush()])
    t.equal(String((await bytes.get('a'))?.value), '{"price":1.1}')
    for (const reading of [json, reader.feed('mixed', { encoding: 'json' })]) {
      t.same(await reading.get('a'), { id: 'a', ts: now, value: { price: 1.1 } })
      const { items } = await reading.latest()
      t.equal(items.length, 6)
      for (const [id, value] of Object.entries(others)) {
        const item = { id, ts: now - 1, value, encoding: 'bytes' }
        t.same(await reading.get(id), item)
        t.same(items.find((one) => one.id === id), item)
      }
      t.same(await reading.get('f'), { id: 'f', ts: now - 1, value: [1] })
    }
    t.same((await reader.feed('mixed').get('a'))?.value, Buffer.from('{"price":1.1}'), 'without the option values are bytes')
    t.same((await reader.feed('mixed', { encoding: 'bytes' }).get('a'))?.value, Buffer.from('{"price":1.1}'))
    t.throws(() => reader.feed('mixed', /** @type {any} */ ({ encoding: 'utf8' })),
      { code: 'ARGUMENT_INVALID', message: 'encoding "utf8"; expected bytes | json' })
  })

  t.test('what has no JSON throws, is counted, and is not written', async (t) => {
    const feed = await openFeed('none', { ...options, encoding: 'json' })
    t.teardown(() => feed.close())
    /** @type {any} */
    const circular = {}
    circular.self = circular
    const throwing = { toJSON () { throw new Error('mine') } }
    const values = [undefined, () => {}, Symbol('s'), 1n, circular, throwing, { toJSON: () => undefined }]
    for (const value of values) t.throws(() => feed.append({ id: 'a', value }), { code: 'ITEM_VALUE_INVALID' })
    t.throws(() => feed.append({ id: 'a', value: throwing }), { cause: { message: 'mine' } })
    t.throws(() => feed.append({ id: 'a', value: 'x'.repeat(1024 * 1024) }), { code: 'ITEM_VALUE_TOO_LARGE' })
    await feed.flush()
    t.match(feed.account, { offered: values.length + 2, items: 0, refused: { value_invalid: values.length + 1, value_too_large: 1 } })
    t.equal(await feed.get('a'), null)
  })
})
