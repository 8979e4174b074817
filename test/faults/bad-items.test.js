import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import { startFlow } from '../flow/flow.js'
import { scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'

const MIB = 1024 * 1024
const [engine] = await scopedEngines()
const { reader, write } = await startFlow(t, await sharedDeployment(t, { engine }))
const now = Date.now()
/** @param {import('tap').Test} t @param {string} feed @param {object[]} records @param {string[]} [flags] */
const feedWith = (t, feed, records, flags = []) => write(t, ['--source', 'stdin', '--feed', feed, '--value-field', 'v', ...flags],
  { input: records.map((record) => JSON.stringify(record) + '\n').join('') })

t.test('ids that are none are refused, counted, and the code named', async (t) => {
  const bad = ['', 'x'.repeat(129), 'ü'.repeat(65), 'tab\tbed', 'nul\0', 'del\x7f', 'c1\x9f', 'half \ud800']
  const { code, stderr, summary } = await feedWith(t, 'bad-ids',
    [...bad.map((id) => ({ id, ts: now, v: '' })), { id: 'good', ts: now, v: 'v' }])
  t.equal(code, 3)
  t.match(summary, { offered: 9, items: 1, refused: 8, refusedBy: { id_invalid: 8 } })
  t.match(stderr, /^line 1: ITEM_ID_INVALID: an id of 0 bytes/m)
  t.match(stderr, /^line 2: ITEM_ID_INVALID: an id of 129 bytes/m)
  t.match(stderr, /^line 3: ITEM_ID_INVALID: an id of 130 bytes/m)
  t.match(stderr, /^8 lines refused: ITEM_ID_INVALID$/m)
  t.same((await reader.allItems('bad-ids')).map(({ id }) => id), ['good'])
})

t.test('times that are none, too old or ahead of the clock are refused', async (t) => {
  const bad = [{ ts: 'NaN' }, { ts: null }, { ts: 1.5 }, { ts: -1 }, { ts: 2 ** 41 }, { ts: 2 ** 53 }, { ts: now - 3_700_000 },
    { ts: now + 3_600_000 }]
  const { code, summary } = await feedWith(t, 'bad-times',
    [...bad.map((item, i) => ({ id: `${i}`, ...item, v: '' })), { id: 'good', ts: now, v: '' }], ['--window-ms', '3600000'])
  t.equal(code, 3)
  t.match(summary, { offered: 9, items: 1, refused: 8, refusedBy: { ts_invalid: 6, too_old: 1, from_future: 1 } })
  const { stderr } = await feedWith(t, 'bad-times', bad.slice(4).map((item, i) => ({ id: `${i}`, ...item, v: '' })),
    ['--window-ms', '3600000'])
  t.match(stderr, /^line 1: ITEM_TS_INVALID: time field ts: 2199023255552; expected/m)
  t.match(stderr, /^line 3: ITEM_TOO_OLD: id 2, ts \d+: the ts is older than the window of the feed$/m)
  t.match(stderr, /^1 line refused: ITEM_TOO_OLD; the window is 3600000 ms; to change it: npx freshet feed set bad-times --window-ms N /m)
  t.match(stderr, /^line 4: ITEM_FROM_FUTURE: id 3, ts \d+: the ts is further in the future/m)
  const edges = [{ id: 'first', ts: 1e11, v: '' }, { id: 'last', ts: 2 ** 41 - 1, v: '' }]
  t.equal((await feedWith(t, 'all-times', edges, ['--window-ms', '0', '--max-future-ms', String(2 ** 41 - 1)])).code, 0)
  t.same((await reader.allItems('all-times')).map(({ id, ts }) => [id, ts]), [['last', 2 ** 41 - 1], ['first', 1e11]])
})

t.test('values of 0 bytes and of 1 MiB come back, above that they are refused', async (t) => {
  const sizes = [0, 1, MIB - 1, MIB, MIB + 1]
  const { code, stderr, summary } = await feedWith(t, 'sizes',
    sizes.map((size) => ({ id: `${size}`, ts: now, v: 'é'.repeat(size >> 1) + 'x'.repeat(size & 1) })))
  t.equal(code, 3)
  t.match(summary, { offered: 5, items: 4, refused: 1, refusedBy: { value_too_large: 1 }, bytes: 2 * MIB })
  t.match(stderr, /^line 5: ITEM_VALUE_TOO_LARGE: id 1048577/m)
  const items = await reader.allItems('sizes', 'encoding=utf8')
  t.same(items.map(({ id, value }) => [id, Buffer.byteLength(value)]), [MIB, MIB - 1, 1, 0].map((size) => [`${size}`, size]))
})

t.test('every other id is plain data and comes back exactly', async (t) => {
  const odd = ['/', 'a/b', '%2F', '%', '%zz', '{}', '{latest:0}', '}{', '.', '..', '../..', '__proto__', 'constructor', 'toString', 'null',
    ' ', ' a ', '*', '?', '[a]', '#', '&', 'a=b', '+', '\\', '"', "'",
    '<b>', ',', ';', ':', '\u2028', '\u202e', '\ufeff', '\u200d', 'e\u0301', '\u00e9', '\u{1f469}\u200d\u{1f680}', '\u{10ffff}', '\uffff',
    'x'.repeat(128), 'ü'.repeat(64), '\u{1f600}'.repeat(32)]
  const ids = [...new Set([...odd, ...everyLetter()])]
  const { code, summary } = await feedWith(t, 'odd', ids.map((id, i) => ({ id, ts: now - ids.length + i, v: id })))
  t.equal(code, 0)
  t.equal(summary.items, ids.length)
  const items = await reader.allItems('odd', 'encoding=utf8')
  t.same(items, ids.map((id, i) => ({ id, ts: now - ids.length + i, value: id })).reverse(),
    `${ids.length} ids with all letters of Unicode`)
  // not fetch: it rewrites paths with dots
  const byPath = await Promise.all(odd.map((id) => rawGet(reader.url, `/v1/feeds/odd/items/${encodeURIComponent(id)}?encoding=utf8`)))
  t.same(byPath.map(({ json }) => [json.id, json.value]), odd.map((id) => [id, id]))
  const some = odd.slice(0, 30)
  const byQuery =
    await reader.ask(`/v1/feeds/odd/items?encoding=utf8&limit=100&${some.map((id) => 'id=' + encodeURIComponent(id)).join('&')}`)
  t.same(byQuery.json.items.map((/** @type {any} */ item) => item.id), some.toReversed())
})

t.test('questions that make no sense are refused with a code', async (t) => {
  t.equal((await feedWith(t, 'other', [{ id: 'a', ts: now, v: '' }, { id: 'b', ts: now, v: '' }])).code, 0)
  const foreign = (await reader.ask('/v1/feeds/other/items?limit=1')).json.next
  t.ok(foreign)
  const forged = foreign.slice(0, -2) + (foreign.endsWith('AA') ? 'BB' : 'AA')
  for (const [path, status, code] of /** @type {[string, number, string][]} */ ([
    ['/v1/feeds/odd/items?limit=0', 400, 'REQUEST_INVALID'],
    ['/v1/feeds/odd/items?limit=abc', 400, 'REQUEST_INVALID'],
    ['/v1/feeds/odd/items?limit=-1', 400, 'REQUEST_INVALID'],
    ['/v1/feeds/odd/items?limit=10001', 400, 'REQUEST_INVALID'],
    ['/v1/feeds/odd/items?limt=5', 400, 'REQUEST_INVALID'],
    ['/v1/feeds/odd/items?since=yesterday', 400, 'REQUEST_INVALID'],
    [`/v1/feeds/odd/items?after=${foreign}`, 400, 'CURSOR_INVALID'],
    [`/v1/feeds/other/items?after=${forged}`, 400, 'CURSOR_INVALID'],
    ['/v1/feeds/other/items?after=', 400, 'CURSOR_INVALID'],
    ['/v1/feeds/UPPER/items', 400, 'FEED_NAME_INVALID'],
    ['/v1/feeds/absent/items', 404, 'FEED_UNKNOWN'],
    ['/v1/feeds/odd/items/absent', 404, 'ITEM_UNKNOWN'],
    [`/v1/feeds/odd/items/${'x'.repeat(129)}`, 400, 'ITEM_ID_INVALID'],
    ['/v1/feeds/odd/items/%01', 400, 'ITEM_ID_INVALID'],
    ['/v1/feeds/odd/nothing', 404, 'NOT_FOUND']
  ])) {
    const answer = await reader.ask(path)
    t.match([answer.status, answer.json.code], [status, code], path)
    t.match(answer.headers.get('content-type'), /^application\/problem\+json/)
  }
})

/** Ids with all letters and marks of Unicode, in every script. */
function everyLetter () {
  const ids = []
  let id = ''
  for (let point = 0x80; point <= 0x10ffff; point++) {
    if (point >= 0xd800 && point <= 0xdfff) continue
    const letter = String.fromCodePoint(point)
    if (!/[\p{L}\p{M}\p{N}]/u.test(letter)) continue
    if (Buffer.byteLength(id + letter) > 128) {
      ids.push(id)
      id = ''
    }
    id += letter
  }
  return [...ids, id]
}

/** @param {string} url @param {string} path sent as it is */
async function rawGet (url, path) {
  const { hostname, port } = new URL(url)
  const [response] = await once(request({ hostname, port, path, agent: false }).end(), 'response')
  return { status: response.statusCode, json: JSON.parse(Buffer.concat(await response.toArray()).toString()) }
}
