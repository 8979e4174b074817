import t from 'tap'
import { encodeCursor } from '../../src/item/cursor.js'
import { createReader, isProblem, item, NOW } from './fake-queries.js'

const five = () => [1, 2, 3, 4, 5].map((n) => item(`item-${n}`, NOW - 1000 * n, `value ${n}`))

t.test('the list of feeds and one definition', async (t) => {
  const { app } = createReader(t, { latest: five(), other: [] })
  const list = await app.inject('/v1/feeds')
  t.equal(list.statusCode, 200)
  t.same(list.json().feeds.map(({ feed }) => feed), ['latest', 'other'])
  const one = await app.inject('/v1/feeds/latest')
  t.match(one.json(), { feed: 'latest', layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 1_000_000, format: 1, createdAt: String })
  t.equal(one.headers['content-type'], 'application/json; charset=utf-8')
})

t.test('items come newest first, with the time at which they were current', async (t) => {
  const { app } = createReader(t, { latest: five() }, { clock: () => NOW + 2500 })
  const response = await app.inject('/v1/feeds/latest/items?limit=2')
  t.equal(response.statusCode, 200)
  t.match(response.json(), {
    feed: 'latest',
    asOf: NOW,
    items: [
      { id: 'item-1', ts: NOW - 1000, value: Buffer.from('value 1').toString('base64') },
      { id: 'item-2', ts: NOW - 2000, value: Buffer.from('value 2').toString('base64') }
    ],
    next: String
  })
  t.match(response.headers,
    { 'freshet-as-of': String(NOW), 'freshet-lag-ms': '12', age: '2', 'cache-control': 'max-age=0, stale-if-error=10', vary: 'accept' })
  t.equal(response.headers['freshet-stale'], undefined)
})

t.test('following next returns every item once and ends with null', async (t) => {
  const { app } = createReader(t, { latest: five() })
  const seen = []
  let after = ''
  do {
    const { items, next } = (await app.inject(`/v1/feeds/latest/items?limit=2${after}`)).json()
    seen.push(...items.map(({ id }) => id))
    after = next && `&after=${next}`
  } while (after)
  t.same(seen, ['item-1', 'item-2', 'item-3', 'item-4', 'item-5'])
})

t.test('an empty feed has an empty page', async (t) => {
  const { app } = createReader(t, { latest: [] })
  t.same((await app.inject('/v1/feeds/latest/items')).json(), { feed: 'latest', asOf: NOW, items: [], next: null })
  const lines = await app.inject({ url: '/v1/feeds/latest/items', headers: { accept: 'application/x-ndjson' } })
  t.equal(lines.statusCode, 200)
  t.equal(lines.body, '')
})

t.test('an unknown lag has no header', async (t) => {
  const { app, state } = createReader(t, { latest: five() })
  state.lagMs = null
  t.equal((await app.inject('/v1/feeds/latest/items')).headers['freshet-lag-ms'], undefined)
})

t.test('since is inclusive', async (t) => {
  const { app } = createReader(t, { latest: five() })
  const { items } = (await app.inject(`/v1/feeds/latest/items?since=${NOW - 3000}`)).json()
  t.same(items.map(({ id }) => id), ['item-1', 'item-2', 'item-3'])
})

t.test('items with given ids come newest first, once each, with since, after and limit applied', async (t) => {
  const { app } = createReader(t, { latest: five() })
  const idsOf = async (query) => (await app.inject(`/v1/feeds/latest/items?id=item-4&id=item-1&id=gone&id=item-3&id=item-1${query}`)).json()
  t.same((await idsOf('')).items.map(({ id }) => id), ['item-1', 'item-3', 'item-4'])
  t.same((await idsOf(`&since=${NOW - 3000}`)).items.map(({ id }) => id), ['item-1', 'item-3'])
  const page = await idsOf('&limit=2')
  t.same(page.items.map(({ id }) => id), ['item-1', 'item-3'])
  t.same((await idsOf(`&after=${page.next}`)).items.map(({ id }) => id), ['item-4'])
  t.equal((await idsOf('')).next, null)
})

t.test('one item by its id, and its absence', async (t) => {
  const { app } = createReader(t, { latest: five() })
  const response = await app.inject('/v1/feeds/latest/items/item-2?encoding=utf8')
  t.same(response.json(), { id: 'item-2', ts: NOW - 2000, value: 'value 2' })
  t.equal(response.headers['freshet-as-of'], String(NOW))
  const problem = isProblem(t, await app.inject('/v1/feeds/latest/items/nobody'), 404, 'ITEM_UNKNOWN')
  t.match(problem, { feed: 'latest', id: 'nobody' })
})

t.test('the count of live items', async (t) => {
  const { app } = createReader(t, { latest: five() })
  const response = await app.inject('/v1/feeds/latest/count')
  t.same(response.json(), { count: 5, exact: true, asOf: NOW })
  t.equal(response.headers['freshet-lag-ms'], '12')
})

t.test('values that are not valid in the encoding come as base64 and are marked', async (t) => {
  const values = {
    text: 'plain "text"\n',
    bytes: Buffer.from([0xff, 0x00, 0xfe]),
    price: '{ "price": 1.10, "big": 12345678901234567890 }',
    lines: '{\n  "a": "x\\ny",\r\n  "b": [1.0,\n 2]\n}',
    empty: '',
    number: '1e400'
  }
  const { app } = createReader(t, { latest: Object.entries(values).map(([id, value]) => item(id, NOW, value)) })
  const at = async (id, encoding) => (await app.inject(`/v1/feeds/latest/items/${id}?encoding=${encoding}`)).body
  t.equal(await at('text', 'utf8'), `{"id":"text","ts":${NOW},"value":"plain \\"text\\"\\n"}`)
  t.equal(await at('bytes', 'utf8'), `{"id":"bytes","ts":${NOW},"value":"/wD+","encoding":"base64"}`)
  t.equal(await at('text', 'json'), `{"id":"text","ts":${NOW},"value":"cGxhaW4gInRleHQiCg==","encoding":"base64"}`)
  t.equal(await at('empty', 'json'), `{"id":"empty","ts":${NOW},"value":"","encoding":"base64"}`)
  t.equal(await at('empty', 'utf8'), `{"id":"empty","ts":${NOW},"value":""}`)
  t.equal(await at('number', 'json'), `{"id":"number","ts":${NOW},"value":1e400}`, 'numbers keep their digits')
  t.match(await at('price', 'json'), '{ "price": 1.10, "big": 12345678901234567890 }')
  const multiline = await at('lines', 'json')
  t.notMatch(multiline, /[\r\n]/, 'one line')
  t.same(JSON.parse(multiline).value, { a: 'x\ny', b: [1, 2] })
})

t.test('NDJSON has one item per line and the cursor in a header', async (t) => {
  const { app } = createReader(t, { latest: five() })
  const response = await app.inject({ url: '/v1/feeds/latest/items?limit=3&encoding=utf8', headers: { accept: 'application/x-ndjson' } })
  t.equal(response.headers['content-type'], 'application/x-ndjson; charset=utf-8')
  t.equal(response.headers['freshet-as-of'], String(NOW))
  const lines = response.body.split('\n')
  t.equal(lines.pop(), '')
  t.same(lines.map((line) => JSON.parse(line).value), ['value 1', 'value 2', 'value 3'])
  const rest = await app.inject({
    url: `/v1/feeds/latest/items?after=${response.headers['freshet-next']}`, headers: { accept: 'application/x-ndjson' }
  })
  t.equal(rest.body.split('\n').length, 3)
  t.equal(rest.headers['freshet-next'], undefined, 'the feed ended')
})

t.test('Accept chooses the format by its weights', async (t) => {
  const { app } = createReader(t, { latest: five() })
  const typeOf = async (accept) =>
    String((await app.inject({ url: '/v1/feeds/latest/items', headers: { accept } })).headers['content-type']).split(';')[0]
  t.equal(await typeOf('*/*'), 'application/json')
  t.equal(await typeOf('text/html,*/*;q=0.8'), 'application/json')
  t.equal(await typeOf('application/x-ndjson, */*'), 'application/x-ndjson')
  t.equal(await typeOf('Application/X-NDJSON; q=0.5'), 'application/x-ndjson')
  t.equal(await typeOf('application/json, application/x-ndjson;q=0.5'), 'application/json')
  t.equal(await typeOf('application/x-ndjson;q=0'), 'application/json')
})

t.test('a JSON page of large values ends near 16 MiB, with the cursor of the rest', async (t) => {
  const value = Buffer.alloc(1024 * 1024, 'x')
  const { app } = createReader(t, { latest: Array.from({ length: 20 }, (_, n) => item(`big-${n}`, NOW - n, value)) })
  const first = await app.inject('/v1/feeds/latest/items')
  t.ok(first.rawPayload.length < 18 * 1024 * 1024, `${first.rawPayload.length} bytes`)
  const { items, next } = first.json()
  t.ok(items.length > 5 && items.length < 20, `${items.length} items`)
  const second = (await app.inject(`/v1/feeds/latest/items?after=${next}`)).json()
  t.equal(second.items[0].id, `big-${items.length}`)
  t.equal(items.length + second.items.length, 20)
})

t.test('invalid query parameters are refused by name, with the bound', async (t) => {
  const { app } = createReader(t, { latest: five(), other: five() })
  const refused = async (query, ...parts) => {
    const problem = isProblem(t, await app.inject(`/v1/feeds/latest/items?${query}`), 400, 'REQUEST_INVALID')
    for (const part of parts) t.match(problem.detail, part, `${query}: ${problem.detail}`)
    return problem
  }
  const bound = 'an integer from 1 to 10,000'
  await refused('limit=0', 'limit: 0', bound)
  await refused('limit=10001', bound)
  await refused('limit=abc', 'limit: abc', bound)
  await refused('limit=1e3', bound)
  await refused('limit=', 'limit: no value', bound)
  await refused('limit=5&limit=6', 'limit: given 2 times', bound)
  await refused('since=-1', 'since: -1', 'an integer from 0 to 2,199,023,255,551')
  await refused('since=1.5', 'since: 1.5')
  await refused('encoding=hex', 'base64 | utf8 | json')
  await refused('after=a&after=b', 'after: given 2 times')
  await refused('limt=5', 'limt: an unknown field', 'limit, since, after, id, encoding')
  await refused('__proto__=5', '__proto__: an unknown field')
  await refused('id=%zz', 'percent sign')
  await refused('id=%ff', 'percent sign')
  t.equal((await refused('limit=0&since=x&sort=up')).faults.length, 3, 'all faults at once')
  await refused(Array.from({ length: 1001 }, (_, n) => `id=${n}`).join('&'), 'id: given 1001 times', 'at most 1,000 times')
  const lines = await app.inject({ url: '/v1/feeds/latest/items?limit=1000001', headers: { accept: 'application/x-ndjson' } })
  t.match(isProblem(t, lines, 400, 'REQUEST_INVALID').detail, 'an integer from 1 to 1,000,000')
  for (const path of ['/v1/feeds?x=1', '/v1/feeds/latest?x=1', '/v1/feeds/latest/count?x=1', '/v1/feeds/latest/items/a?limit=1']) {
    isProblem(t, await app.inject(path), 400, 'REQUEST_INVALID')
  }
})

t.test('bad names, ids and cursors have their own codes', async (t) => {
  const { app } = createReader(t, { latest: five(), other: five() })
  for (const name of ['Latest', '-a', 'a'.repeat(65), 'a%20b', 'a%2Fb', '%7Ba%7D']) {
    isProblem(t, await app.inject(`/v1/feeds/${name}`), 400, 'FEED_NAME_INVALID')
    isProblem(t, await app.inject(`/v1/feeds/${name}/items`), 400, 'FEED_NAME_INVALID')
  }
  for (const path of ['', '/items', '/items/a', '/count']) isProblem(t, await app.inject(`/v1/feeds/nowhere${path}`), 404, 'FEED_UNKNOWN')
  isProblem(t, await app.inject('/v1/feeds/__proto__'), 400, 'FEED_NAME_INVALID')
  isProblem(t, await app.inject('/v1/feeds/constructor'), 404, 'FEED_UNKNOWN')
  isProblem(t, await app.inject('/v1/feeds/latest/items?id='), 400, 'ITEM_ID_INVALID')
  isProblem(t, await app.inject(`/v1/feeds/latest/items/${'a'.repeat(129)}`), 400, 'ITEM_ID_INVALID')
  isProblem(t, await app.inject('/v1/feeds/latest/items/a%0Ab'), 400, 'ITEM_ID_INVALID')
  isProblem(t, await app.inject('/v1/feeds/latest/items?after=nonsense'), 400, 'CURSOR_INVALID')
  isProblem(t, await app.inject('/v1/feeds/latest/items?after='), 400, 'CURSOR_INVALID')
  const foreign = encodeCursor('other', { ts: NOW, seq: 0, id: Buffer.from('a') })
  isProblem(t, await app.inject(`/v1/feeds/latest/items?after=${foreign}`), 400, 'CURSOR_INVALID')
})
