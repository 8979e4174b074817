import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:net'
import t from 'tap'
import { endOf } from '../commands.js'
import { startFlow } from '../flow/flow.js'
import { connectFor, startServer, testEngines } from '../servers.js'

const MIB = 1024 * 1024
const NOWHERE = 'redis://127.0.0.1:1'
const [engine] = await testEngines()

/** @param {import('tap').Test} t @param {import('../commands.js').Ended} ended @param {number} code @param {RegExp[]} sentences */
function isPlain (t, { code: given, stdout, stderr }, code, ...sentences) {
  t.equal(given, code)
  for (const sentence of sentences) t.match(stderr, sentence)
  t.notMatch(stderr, /^\s+at /m, 'no stack trace')
  t.equal(stdout, '')
}

t.test('settings that cannot be used are told all at once, each with its origin, and nothing starts', async (t) => {
  const bad = await endOf(t, ['writer', '--redis-url', NOWHERE, '--rate', '-1', '--layout', 'heap', '--feed', 'Not A Name', '--writers', '0', '--colour', 'red'], { env: { FRESHET_IDS: 'many' } })
  isPlain(t, bad, 2, /rate: -1 \(--rate\); expected a number from 0/, /layout: heap \(--layout\); expected ids/, /feed: Not A Name \(--feed\); expected a name/,
    /writers: 0 \(--writers\)/, /ids: many \(FRESHET_IDS\)/, /--colour is unknown/)
  isPlain(t, await endOf(t, ['reader', '--port', '70000']), 2, /port: 70000 \(--port\)/)
  isPlain(t, await endOf(t, ['feed', 'show', 'UPPER', '--redis-url', NOWHERE]), 2, /feed name "UPPER"; expected a-z/)
  isPlain(t, await endOf(t, ['feed', 'destroy', '--redis-url', NOWHERE]), 2, /destroy is not something to do; expected list/)
  isPlain(t, await endOf(t, ['wirter']), 2, /there is no command wirter/)
})

t.test('a flag that npm swallowed is told with the line that was meant', async (t) => {
  const { code, stderr } = await endOf(t, ['writer', '--rate', '50000'], { npm: true })
  t.equal(code, 2)
  t.match(stderr, /^ +npm start writer -- --rate 50000$/m)
  t.notMatch(stderr, /^\s+at /m)
})

t.test('a server that cannot be used is told plainly and soon', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  const chatty = createServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1')
  t.teardown(() => [silent, chatty].map((server) => server.close()))
  await Promise.all([silent, chatty].map((server) => once(server, 'listening')))
  const portOf = (/** @type {import('node:net').Server} */ server) => /** @type {import('node:net').AddressInfo} */ (server.address()).port
  const frozen = await startServer(t, { engine })
  frozen.freeze()
  const locked = await startServer(t, { engine, args: ['--requirepass', 'the-right-one'] })
  const primary = await startServer(t, { engine })
  const replica = await startServer(t, { engine, replicaOf: primary })
  const admin = await connectFor(t, primary.url)
  await admin.send('ACL', 'SETUSER', 'mute', 'on', '>password-of-mute', '~*', '+@all', '-info', '-role')

  /** @type {[string, string, RegExp, string[]?][]} the last: commands that can be used with it nevertheless */
  const cases = [
    ['nobody listens', NOWHERE, /no server answers at 127\.0\.0\.1:1 \(ECONNREFUSED\)/],
    ['it accepts and says nothing', `redis://127.0.0.1:${portOf(silent)}`, /no server answers at/],
    ['it is frozen', frozen.url, /no server answers at/],
    ['it speaks another protocol', `redis://127.0.0.1:${portOf(chatty)}`, /is not one of Valkey or Redis/],
    ['its name is not known', 'redis://no-such-host.invalid', /no server answers at no-such-host\.invalid:6379/],
    ['the password is wrong', locked.url.replace('//', '//:the-wrong-one@'), /WRONGPASS/],
    ['the password is missing', locked.url, /NOAUTH/],
    ['the user may not ask', primary.url.replace('//', '//mute:password-of-mute@'), /NOPERM|permission/, ['feed']],
    ['it is a replica', replica.url, /is a replica; give the address of its primary/, ['feed', 'reader']]
  ]
  for (const [what, url, sentence, usable = []] of cases) {
    const commands = [['writer', '--items', '10'], ['reader', '--port', '0'], ['feed', 'list']].filter(([name]) => !usable.includes(name))
    for (const ended of await Promise.all(commands.map((words) => endOf(t, [...words, '--redis-url', url])))) {
      t.equal(ended.code, 1, what)
      t.match(ended.stderr, sentence)
      t.notMatch(ended.stderr, /^\s+at /m, 'no stack trace')
      t.notMatch(ended.stderr, /the-wrong-one|password-of-mute/, 'no password')
      t.ok(ended.seconds < 15, `${what}: ended after ${ended.seconds.toFixed(1)} s`)
      if (ended.seconds >= 5) t.comment(`${what}: ${ended.seconds.toFixed(1)} s, more than 5`)
    }
  }
})

t.test('a port in use is told by whoever wanted it', async (t) => {
  const { url, port } = await startServer(t, { engine })
  for (const [words, flag] of /** @type {[string[], string][]} */ ([
    [['reader', '--port', String(port)], '--port'],
    [['writer', '--metrics-port', String(port)], '--metrics-port'],
    [['writer', '--writers', '2', '--items', '10', '--metrics-port', String(port)], '--metrics-port']
  ])) {
    const { code, stderr } = await endOf(t, [...words, '--redis-url', url, '--read-from', 'primary'])
    t.equal(code, 1)
    t.match(stderr, new RegExp(`port ${port} on 127\\.0\\.0\\.1 is in use; .* give another ${flag}`))
    t.notMatch(stderr, /^\s+at /m)
  }
})

t.test('a key of the feed that holds something else ends the writer with its code', async (t) => {
  const { url } = await startServer(t, { engine })
  const admin = await connectFor(t, url)
  await admin.send('SET', 'fr:{latest:0}:ids', 'mine')
  const { code, stderr, summary } = await endOf(t, ['writer', '--redis-url', url, '--items', '10'])
  t.equal(code, 1)
  t.match(stderr, /"code":"KEY_HOLDS_OTHER".*WRONGTYPE/)
  t.notMatch(stderr, /^\s+at /m)
  t.match(summary, { offered: 10, items: 0, failed: 10 })
})

t.test('items', async (t) => {
  const { reader, write } = await startFlow(t, { engine })
  const now = Date.now()
  /** @param {string} feed @param {object[]} records @param {string[]} [flags] */
  const feedWith = (feed, records, flags = []) => write(t, ['--source', 'stdin', '--feed', feed, '--value-field', 'v', ...flags], { input: records.map((record) => JSON.stringify(record) + '\n').join('') })

  await t.test('ids that are none are refused, counted, and the code named', async (t) => {
    const bad = ['', 'x'.repeat(129), 'ü'.repeat(65), 'tab\tbed', 'nul\0', 'del\x7f', 'c1\x9f', 'half \ud800']
    const { code, stderr, summary } = await feedWith('bad-ids', [...bad.map((id) => ({ id, ts: now, v: '' })), { id: 'good', ts: now, v: 'v' }])
    t.equal(code, 3)
    t.match(summary, { offered: 9, items: 1, refused: 8, refusedBy: { id_invalid: 8 } })
    t.match(stderr, /^line 1: ITEM_ID_INVALID: an id of 0 bytes/m)
    t.match(stderr, /^line 2: ITEM_ID_INVALID: an id of 129 bytes/m)
    t.match(stderr, /^line 4: ITEM_ID_INVALID: an id with a control character/m)
    t.same((await reader.allItems('bad-ids')).map(({ id }) => id), ['good'])
  })

  await t.test('times that are none, too old or ahead of the clock are refused', async (t) => {
    const bad = [{ ts: 'NaN' }, { ts: null }, { ts: 1.5 }, { ts: -1 }, { ts: 2 ** 41 }, { ts: 2 ** 53 }, { ts: now - 3_700_000 }, { ts: now + 3_600_000 }]
    const { code, summary } = await feedWith('bad-times', [...bad.map((item, i) => ({ id: `${i}`, ...item, v: '' })), { id: 'good', ts: now, v: '' }], ['--window-ms', '3600000'])
    t.equal(code, 3)
    t.match(summary, { offered: 9, items: 1, refused: 8, refusedBy: { input_invalid: 4, ts_invalid: 2, too_old: 1, from_future: 1 } })
    const { stderr } = await feedWith('bad-times', bad.slice(4).map((item, i) => ({ id: `${i}`, ...item, v: '' })), ['--window-ms', '3600000'])
    t.match(stderr, /^line 1: ITEM_TS_INVALID: id 0, ts 2199023255552$/m)
    t.match(stderr, /^line 3: ITEM_TOO_OLD: id 2, ts \d+$/m)
    t.match(stderr, /^line 4: ITEM_FROM_FUTURE: id 3, ts \d+$/m)
    const edges = [{ id: 'first', ts: 0, v: '' }, { id: 'last', ts: 2 ** 41 - 1, v: '' }]
    t.equal((await feedWith('all-times', edges, ['--window-ms', '0', '--max-future-ms', String(2 ** 41 - 1)])).code, 0)
    t.same((await reader.allItems('all-times')).map(({ id, ts }) => [id, ts]), [['last', 2 ** 41 - 1], ['first', 0]])
  })

  await t.test('values of 0 bytes and of 1 MiB come back, above that they are refused', async (t) => {
    const sizes = [0, 1, MIB - 1, MIB, MIB + 1]
    const { code, stderr, summary } = await feedWith('sizes', sizes.map((size) => ({ id: `${size}`, ts: now, v: 'é'.repeat(size >> 1) + 'x'.repeat(size & 1) })))
    t.equal(code, 3)
    t.match(summary, { offered: 5, items: 4, refused: 1, refusedBy: { value_too_large: 1 }, bytes: 2 * MIB })
    t.match(stderr, /^line 5: ITEM_VALUE_TOO_LARGE: id 1048577/m)
    const items = await reader.allItems('sizes', 'encoding=utf8')
    t.same(items.map(({ id, value }) => [id, Buffer.byteLength(value)]), [MIB, MIB - 1, 1, 0].map((size) => [`${size}`, size]))
  })

  await t.test('every other id is plain data and comes back exactly', async (t) => {
    const odd = ['/', 'a/b', '%2F', '%', '%zz', '{}', '{latest:0}', '}{', '.', '..', '../..', '__proto__', 'constructor', 'toString', 'null', ' ', ' a ', '*', '?', '[a]', '#', '&', 'a=b', '+', '\\', '"', "'",
      '<b>', ',', ';', ':', '\u2028', '\u202e', '\ufeff', '\u200d', 'e\u0301', '\u00e9', '\u{1f469}\u200d\u{1f680}', '\u{10ffff}', '\uffff', 'x'.repeat(128), 'ü'.repeat(64), '\u{1f600}'.repeat(32)]
    const ids = [...new Set([...odd, ...everyLetter()])]
    const { code, summary } = await feedWith('odd', ids.map((id, i) => ({ id, ts: now - ids.length + i, v: id })))
    t.equal(code, 0)
    t.equal(summary.items, ids.length)
    const items = await reader.allItems('odd', 'encoding=utf8')
    t.same(items, ids.map((id, i) => ({ id, ts: now - ids.length + i, value: id })).reverse(), `${ids.length} ids with all letters of Unicode`)
    // not fetch: it rewrites paths with dots
    const byPath = await Promise.all(odd.map((id) => rawGet(reader.url, `/v1/feeds/odd/items/${encodeURIComponent(id)}?encoding=utf8`)))
    t.same(byPath.map(({ json }) => [json.id, json.value]), odd.map((id) => [id, id]))
    const some = odd.slice(0, 30)
    const byQuery = await reader.get(`/v1/feeds/odd/items?encoding=utf8&limit=100&${some.map((id) => 'id=' + encodeURIComponent(id)).join('&')}`)
    t.same(byQuery.json.items.map((/** @type {any} */ item) => item.id), some.toReversed())
  })

  await t.test('questions that make no sense are refused with a code', async (t) => {
    t.equal((await feedWith('other', [{ id: 'a', ts: now, v: '' }, { id: 'b', ts: now, v: '' }])).code, 0)
    const foreign = (await reader.get('/v1/feeds/other/items?limit=1')).json.next
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
      const answer = await reader.get(path)
      t.match([answer.status, answer.json.code], [status, code], path)
      t.match(answer.headers.get('content-type'), /^application\/problem\+json/)
    }
  })
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
