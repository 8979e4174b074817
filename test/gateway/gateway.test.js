/** The gateway and a reader on real servers: what is sent in is what comes out. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { eventually } from '../servers.js'
import { isProblem, MAX_BODY_BYTES, startBoth } from './requests.js'

/** Everything of a small feed as it was stored, newest first. @param {any} reader @param {string} feed */
const stored = async (reader, feed) =>
  (await reader.ask(`/v1/feeds/${feed}/items?encoding=utf8&limit=10000`)).json.items?.map((item) => [item.id, item.ts, item.value])

/**
 * Asks until it is answered so: a replica has it a moment later.
 * @param {import('tap').Test} t
 * @param {() => Promise<unknown>} ask
 * @param {unknown} expected
 */
async function becomes (t, ask, expected) {
  await eventually(async () => JSON.stringify(await ask()) === JSON.stringify(expected)).catch(() => {})
  t.same(await ask(), expected)
}

t.test('what is sent in is what comes out', async (t) => {
  const { gateway, reader } = await startBoth(t)
  const { post, postLines, remove, send } = gateway
  const now = Date.now()
  const idsOf = async (/** @type {string} */ feed) => (await stored(reader, feed))?.map(([id]) => id)
  const countOf = async (/** @type {string} */ feed) => (await reader.ask(`/v1/feeds/${feed}/count`)).json.count

  await t.test('items are stored as they were sent, from arrays and from lines', async (t) => {
    const array = await post('/v1/feeds/plain/items',
      `[ {"id":"a","ts":${now},"value": {"price":1.10, "n":12345678901234567890} },{"value":"\\u00e9","id":"b/%","ts":${now - 1}} ]`)
    t.match(array, { status: 200, json: { accepted: 2 } })
    t.match(array.headers.get('content-type'), 'application/json')
    t.same(Object.keys(array.json), ['accepted'])
    t.match(await postLines('/v1/feeds/plain/items', [`{"id":"c","ts":${now - 2},"value":null}`, '',
      `{"id":"d","ts":${now - 3},"value":[ ]}\r`, '']), { status: 200, json: { accepted: 2 } })
    t.match(await postLines('/v1/feeds/plain/items', [`{"id":"e","ts":${now - 4},"value":0}`],
      { 'content-type': 'application/jsonl; charset=utf-8' }), { status: 200, json: { accepted: 1 } })
    await becomes(t, () => stored(reader, 'plain'), [
      ['a', now, '{"price":1.10, "n":12345678901234567890}'], ['b/%', now - 1, '"\\u00e9"'], ['c', now - 2, 'null'],
      ['d', now - 3, '[ ]'], ['e', now - 4, '0']
    ])
    t.match((await reader.ask('/v1/feeds/plain')).json, { layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 1_000_000 })
  })

  await t.test('bytes go in as base64', async (t) => {
    const bytes = Buffer.from([0, 255, 10, 34, 92])
    t.match(await post('/v1/feeds/bytes/items?encoding=base64',
      [{ id: 'a', ts: now, value: bytes.toString('base64') }, { id: 'b', ts: now - 1, value: '' }]), { json: { accepted: 2 } })
    await becomes(t, async () => (await reader.ask('/v1/feeds/bytes/items')).json.items,
      [{ id: 'a', ts: now, value: bytes.toString('base64') }, { id: 'b', ts: now - 1, value: '' }])
  })

  await t.test('without ts an item gets the current time; of an id sent twice the later one stays; no items are ' +
    'accepted too', async (t) => {
    const before = Date.now()
    t.match(await post('/v1/feeds/times/items', [{ id: 'a', value: 1 }, { id: 'b', value: 1 }, { id: 'a', value: 2 }]),
      { json: { accepted: 3 } })
    await becomes(t, async () => (await stored(reader, 'times'))?.length, 2)
    const [[first, ts, value], [second, otherTs]] = await stored(reader, 'times')
    t.same([first, second, value], ['a', 'b', '2'])
    t.equal(ts, otherTs, 'one clock reading a request')
    t.ok(ts >= before && ts <= Date.now())
    t.match(await post('/v1/feeds/nothing/items', []), { status: 200, json: { accepted: 0 } })
    t.match(await postLines('/v1/feeds/nothing/items', []), { status: 200, json: { accepted: 0 } })
    t.equal((await reader.get('/v1/feeds/nothing')).status, 404, 'and creates no feed')
  })

  await t.test('a deletion hides an item, may be repeated, and is superseded by newer versions', async (t) => {
    await post('/v1/feeds/gone/items', [{ id: 'a/b', value: 1 }, { id: 'kept', value: 1 }])
    await becomes(t, () => idsOf('gone'), ['kept', 'a/b'])
    for (let n = 0; n < 2; n++) {
      t.match(await remove('/v1/feeds/gone/items/a%2Fb'), { status: 200, json: { accepted: 1 } })
      await becomes(t, () => idsOf('gone'), ['kept'])
    }
    t.equal((await reader.ask('/v1/feeds/gone/items/a%2Fb')).status, 404)
    t.match(await remove(`/v1/feeds/gone/items/never?ts=${now}`), { status: 200, json: { accepted: 1 } }, 'an id that is not there')
    t.match(await post('/v1/feeds/gone/items', [{ id: 'a/b', value: 2 }]), { status: 200 })
    await becomes(t, () => idsOf('gone'), ['a/b', 'kept'])

    isProblem(t, await remove('/v1/feeds/unknown/items/a'), 404, 'FEED_UNKNOWN')
    t.equal((await reader.get('/v1/feeds/unknown')).status, 404, 'a deletion creates no feed')
    isProblem(t, await remove('/v1/feeds/gone/items/a?ts=5'), 400, 'ITEM_TOO_OLD')
    isProblem(t, await remove(`/v1/feeds/gone/items/a?ts=${now + 3_600_000}`), 400, 'ITEM_FROM_FUTURE')
    isProblem(t, await remove('/v1/feeds/gone/items/a?ts=1.5'), 400, 'ITEM_TS_INVALID')
    t.match(isProblem(t, await remove('/v1/feeds/gone/items/a?ts=1700000000'), 400, 'ITEM_TS_INVALID').detail, /looks like seconds/)
    t.match(await remove(`/v1/feeds/gone/items/never?ts=${new Date(now).toISOString()}`), { status: 200, json: { accepted: 1 } })
    isProblem(t, await remove('/v1/feeds/gone/items/a?at=5'), 400, 'REQUEST_INVALID')
    isProblem(t, await remove(`/v1/feeds/gone/items/${'x'.repeat(129)}`), 400, 'ITEM_ID_INVALID')
    isProblem(t, await remove('/v1/feeds/gone/items'), 405, 'METHOD_NOT_ALLOWED')
  })

  await t.test('a body with faults is refused as a whole, with all faults', async (t) => {
    await post('/v1/feeds/strict/items', [{ id: 'first', value: 0 }])
    const problem = isProblem(t, await post('/v1/feeds/strict/items', [
      { id: 'a', value: 1 }, { id: '', value: 1 }, { id: 'b', ts: 5, value: 1 }, { id: 'c', ts: now + 3_600_000, value: 1 },
      { id: 'd', value: 1, at: 7 }, { id: 'e' }
    ]), 400, 'REQUEST_INVALID')
    t.equal(problem.faultCount, 5)
    t.same(problem.faults.map(({ index, code }) => [index, code]),
      [[1, 'ITEM_ID_INVALID'], [2, 'ITEM_TOO_OLD'], [3, 'ITEM_FROM_FUTURE'], [4, 'REQUEST_INVALID'], [5, 'REQUEST_INVALID']])
    const lines = isProblem(t, await postLines('/v1/feeds/strict/items',
      ['{"id":"a","value":1}', 'nonsense', ...Array(20).fill('{"id":"b","ts":5,"value":1}')]), 400, 'REQUEST_INVALID')
    t.equal(lines.faultCount, 21)
    t.same(lines.faults.map(({ line }) => line), [2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    const mixed = isProblem(t, await postLines('/v1/feeds/strict/items',
      [...Array(15).fill('{}'), '{"id":"a","value":1}', ...Array(20).fill('{"id":"b","ts":5,"value":1}')]), 400, 'REQUEST_INVALID')
    t.equal(mixed.faultCount, 35, 'items that the feed refuses are counted beyond those listed')
    isProblem(t, await post('/v1/feeds/strict/items', '[{"id":"a","value":1},'), 400, 'REQUEST_INVALID')
    t.match(isProblem(t, await post('/v1/feeds/strict/items', { id: 'a', valeu: 1 }), 400, 'REQUEST_INVALID').faults,
      [{ index: 0, reason: /^unknown field "valeu"/ }])
    isProblem(t, await post('/v1/feeds/strict/items', Buffer.from([...Buffer.from('[{"id":"a","value":"'), 0xff, ...Buffer.from('"}]')])),
      400, 'REQUEST_INVALID')
    isProblem(t, await post('/v1/feeds/strict/items?encoding=utf8', []), 400, 'REQUEST_INVALID')
    isProblem(t, await post('/v1/feeds/strict/items?window=5', []), 400, 'REQUEST_INVALID')
    isProblem(t, await post('/v1/feeds/Strict/items', []), 400, 'FEED_NAME_INVALID')
    isProblem(t, await post('/v1/feeds/new/items', [{ id: 'a', value: 1 }, { id: 'b' }]), 400, 'REQUEST_INVALID')
    t.equal((await reader.get('/v1/feeds/new')).status, 404, 'a refused body creates no feed')
    t.match(await post('/v1/feeds/strict/items', [{ id: 'last', value: 0 }]), { status: 200 })
    await becomes(t, () => idsOf('strict'), ['last', 'first'])
    t.match((await send('GET', '/metrics')).body, /^freshet_refused_total\{feed="strict",reason="too_old"\} 41$/m)
  })

  await t.test('other types, other compression, no body, and too large ones are refused', async (t) => {
    const path = '/v1/feeds/typed/items'
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
      t.match(isProblem(t, await post(path, '[]', { 'content-type': type }), 415, 'MEDIA_TYPE_UNSUPPORTED').detail,
        'expected Content-Type: application/json or application/x-ndjson')
    }
    isProblem(t, await post(path, '[]', { 'content-type': 'nonsense' }), 415, 'MEDIA_TYPE_UNSUPPORTED')
    for (const encoding of ['deflate', 'br', 'identity, gzip']) {
      isProblem(t, await post(path, '[]', { 'content-encoding': encoding }), 415, 'MEDIA_TYPE_UNSUPPORTED')
    }
    t.equal((await post(path, '[]', { 'content-encoding': 'identity' })).status, 200)
    isProblem(t, await send('POST', path), 400, 'REQUEST_INVALID')
    isProblem(t, await send('POST', path, Buffer.from('[]')), 415, 'MEDIA_TYPE_UNSUPPORTED')

    const value = (/** @type {number} */ bytes) => `[{"id":"a","value":"${'x'.repeat(bytes - 23)}"}]`
    t.equal(Buffer.byteLength(value(MAX_BODY_BYTES)), MAX_BODY_BYTES)
    t.match(await post(path, value(MAX_BODY_BYTES)), { status: 200, json: { accepted: 1 } })
    t.match(isProblem(t, await post(path, value(MAX_BODY_BYTES + 1)), 413, 'PAYLOAD_TOO_LARGE').detail,
      'a body of 1,048,577 bytes; expected at most 1,048,576 bytes per request')
    const unannounced = (/** @type {number} */ bytes) => fetch(gateway.url + path, /** @type {any} */ ({
      method: 'POST', headers: { 'content-type': 'application/json' }, duplex: 'half', body: new Blob([value(bytes)]).stream()
    }))
    const tooLarge = await unannounced(2 * MAX_BODY_BYTES)
    t.match(await tooLarge.json(), { status: 413, code: 'PAYLOAD_TOO_LARGE', detail: /^a body of more than 1,048,576 bytes;/ })
    for (const bytes of [100, 100_000, MAX_BODY_BYTES]) {
      t.match(await (await unannounced(bytes)).json(), { accepted: 1 }, `${bytes} bytes that were not announced`)
    }
    await becomes(t, async () => (await reader.ask(`${path}/a?encoding=json`)).json.value?.length, MAX_BODY_BYTES - 23)
  })

  await t.test('a single item, and bodies in gzip, whose bytes are bounded as those of others', async (t) => {
    const path = '/v1/feeds/packed/items'
    const gzip = { 'content-encoding': 'gzip' }
    t.match(await post(path, { id: 'single', value: 1 }), { status: 200, json: { accepted: 1 } })
    t.match(await post(path, gzipSync('[{"id":"array","value":1}]'), gzip), { status: 200, json: { accepted: 1 } })
    const halves = Buffer.concat(['{"id":"line-1","value":1}\n', '{"id":"line-2","value":1}'].map((half) => gzipSync(half)))
    t.match(await send('POST', path, halves, { 'content-type': 'application/x-ndjson', 'content-encoding': 'GZIP' }),
      { status: 200, json: { accepted: 2 } })
    await becomes(t, async () => (await idsOf('packed')).sort(), ['array', 'line-1', 'line-2', 'single'])

    const fits = `[{"id":"a","value":"${'x'.repeat(MAX_BODY_BYTES - 23)}"}]`
    t.match(await post(path, gzipSync(fits), gzip), { status: 200, json: { accepted: 1 } })
    t.match(isProblem(t, await post(path, gzipSync(fits + ' '), gzip), 413, 'PAYLOAD_TOO_LARGE').detail, /^a body of more than 1,048,576/)
    const bomb = Buffer.concat(Array(500).fill(gzipSync(Buffer.alloc(MAX_BODY_BYTES))))
    t.ok(bomb.length < MAX_BODY_BYTES)
    const before = process.cpuUsage()
    await Promise.all([1, 2, 3, 4].map(async () => isProblem(t, await post(path, bomb, gzip), 413, 'PAYLOAD_TOO_LARGE')))
    const { user } = process.cpuUsage(before)
    t.ok(user < 1e6, `${user} us of processor time, where all of them would take seconds`)
    for (const broken of [Buffer.from('[]'), gzipSync('[]').subarray(0, -9), Buffer.from([0x1f, 0x8b, 8, 0])]) {
      t.match(isProblem(t, await post(path, broken, gzip), 400, 'REQUEST_INVALID').detail, 'the body is not gzip')
    }
    isProblem(t, await post(path, gzipSync(Buffer.from([0x22, 0xff, 0x22])), gzip), 400, 'REQUEST_INVALID')
  })

  await t.test('1,000 items per request from 20 concurrent clients are all stored', async (t) => {
    const [clients, items] = [20, 1000]
    const answers = await Promise.all(Array.from({ length: clients }, (_, client) =>
      post('/v1/feeds/many/items', Array.from({ length: items }, (_, n) => ({ id: `${client}-${n}`, value: n })))))
    t.equal(answers.reduce((sum, { json }) => sum + json.accepted, 0), clients * items)
    await becomes(t, () => countOf('many'), clients * items)
    const { body } = await send('GET', '/metrics')
    t.match(body, new RegExp(`^freshet_items_total\\{feed="many"\\} ${clients * items}$`, 'm'))
    const batches = [...body.matchAll(/^freshet_batches_total\{feed="many",form="\w+"\} (\d+)$/gm)]
      .reduce((sum, [, count]) => sum + Number(count), 0)
    t.ok(batches > 0 && batches < clients * 4, `${batches} batches: requests share them`)
  })

  await t.test('single items from 50 concurrent clients are all stored', async (t) => {
    /** @type {string[]} */
    const answers = []
    const send = async (/** @type {number} */ client) => {
      for (let n = 0; n < 20; n++) {
        const { status, body } = await post('/v1/feeds/few/items', [{ id: `${client}-${n}`, value: n }])
        answers.push(`${status} ${body}`)
      }
    }
    await Promise.all(Array.from({ length: 50 }, (_, client) => send(client)))
    t.same(answers, Array(1000).fill('200 {"accepted":1}'))
    await becomes(t, () => countOf('few'), 1000)
  })

  t.equal(await gateway.service.stop(), 0)
})
