/** Deletions and older versions that meet what is stored: by order of time, or, in layout ids, by order of writing. */
import t from 'tap'
import { openReader } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { startGateway } from '../services.js'
import { sharedDeployment } from '../shared.js'

const AHEAD_MS = 30_000

/** @type {{ layout: string, late?: string }[]} */
const KINDS = [...layoutNames().map((layout) => ({ layout })), { layout: 'ids', late: 'overwrite' }]

for (const { layout, late } of KINDS) {
  const isByWriting = late === 'overwrite'
  t.test(`${Object.values({ layout, late }).filter(Boolean).join(', late: ')}: ` +
    `${isByWriting ? 'what was written last counts' : 'what is newest counts, whenever it came'}`, async (t) => {
    const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
    const { post, remove, send } = await startGateway(t,
      { redisUrl, keyPrefix, flags: ['--layout', layout, ...(late ? ['--late', late] : [])] })
    const reader = await openReader({ redisUrl, keyPrefix, readFrom: 'primary', views: 'none' })
    t.teardown(() => reader.close())
    const ts = Date.now()
    const put = async (/** @type {string} */ id, /** @type {number} */ at, value = 1) =>
      t.match(await post('/v1/feeds/one/items', [{ id, ts: at, value }]), { status: 200, json: { accepted: 1 } })
    const del = async (/** @type {string} */ id, /** @type {number} */ at) =>
      t.match(await remove(`/v1/feeds/one/items/${id}${at ? `?ts=${at}` : ''}`), { status: 200, json: { accepted: 1 } })
    const has = async (/** @type {string} */ id) => await reader.feed('one').get(id) !== null

    await put('older', ts)
    t.match(await reader.feeds(), [{ feed: 'one', layout }])
    await del('older', ts - 10)
    t.equal(await has('older'), !isByWriting, 'a deletion older than what is stored')

    await put('after', ts)
    await del('after', ts + 5)
    t.notOk(await has('after'))
    await put('after', ts + 1)
    t.equal(await has('after'), isByWriting, 'an item older than the deletion that is stored')
    await put('after', ts + 6)
    t.ok(await has('after'), 'a newer one')

    await put('same', ts)
    await del('same', ts)
    t.notOk(await has('same'), 'a deletion of the same time')

    await put('ahead', ts + AHEAD_MS)
    await del('ahead', 0)
    t.equal(await has('ahead'), !isByWriting, 'an item ahead of the clock, and a deletion of now')

    await put('again', ts - 1, 2)
    await put('again', ts, 3)
    await put('again', ts - 1, 2)
    t.equal(String((await reader.feed('one').get('again'))?.value), isByWriting ? '2' : '3', 'an older version that is sent again')

    t.match(await remove('/v1/feeds/one/items/now'), { status: 200 })
    t.match(await post('/v1/feeds/one/items', [{ id: 'now', value: 1 }]), { status: 200 })
    t.ok(await has('now'), 'an item of now behind a deletion of now')

    const { body } = await send('GET', '/metrics')
    t.equal(Number(/^freshet_refused_total\{feed="one",reason="late"\} (\d+)$/m.exec(body)?.[1] ?? 0), layout === 'ids' && !isByWriting ? 4 : 0,
      'what was dropped as older was answered as accepted, and is counted here')
  })
}
