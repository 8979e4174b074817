/** Readers that reply with other types than expected, and with text that acts on a terminal. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import fc from 'fast-check'
import t from 'tap'
import { changesIn, feedsIn, figuresIn, itemsIn, problemIn } from '../../../bin/top/replies.js'
import { merged } from '../../../bin/top/newest.js'
import { drawScreen, drawText } from '../../../bin/top/screen.js'
import { endOf } from '../../commands.js'
import { actingIn, inTerminal, noTerminal } from '../../in-terminal.js'
import { holds } from '../../properties.js'
import { top } from './feeds.js'
import { NOW, shownOf } from './shown.js'

const ACTING = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/u
const WRONG = /NaN|undefined|null|Infinity|Invalid|\[object/

const text = fc.string({ unit: fc.constantFrom(...'\x1b[2J\x9b\x07\r\n\u202e\u2066\u200f\u061c東-') })
const number = fc.oneof(fc.double(),
  fc.constantFrom(0, -1, 0.5, 1e-300, 1e21, 1e308, 2 ** 53, 8.64e15, 8.7e15, NOW, NOW - 1000, NOW + 1e12))
/** of any type but that of a real reply */
const anything = fc.oneof(number, text, fc.constantFrom(null, true, false, '17', [], {}, [[]], [null], ['1', 2]),
  fc.array(fc.oneof(number, text), { maxLength: 3 }))
const objectWith = (/** @type {string[]} */ keys, /** @type {Record<string, fc.Arbitrary<unknown>>} */ parts = {}) =>
  fc.record(Object.fromEntries(keys.map((key) => [key, fc.oneof(anything, parts[key] ?? anything)])), { requiredKeys: [] })
const anyBody = fc.oneof({ weight: 1, arbitrary: anything }, {
  weight: 9,
  arbitrary: objectWith(['asOf', 'layout', 'partitions', 'windowMs', 'ready', 'reasons', 'writers', 'itemsPerSecond', 'count', 'exact',
    'newestTs', 'nodes', 'history', 'items', 'feeds', 'code', 'detail'], {
    nodes: fc.array(objectWith(['role', 'address', 'engine', 'state', 'lagMs', 'cpu'], { role: fc.constantFrom('primary', 'replica') })),
    history: fc.array(objectWith(['at', 'itemsPerSecond'], { at: number }), { maxLength: 20 }),
    items: fc.array(objectWith(['id', 'ts', 'value', 'encoding', 'deleted'], { id: text, ts: number, encoding: fc.constant('base64') })),
    feeds: fc.array(objectWith(['feed'], { feed: text }))
  })
})
/** As JSON brings it: 1e309 and NaN are null. */
const json = (/** @type {unknown} */ body) => JSON.parse(JSON.stringify(body) ?? 'null')

t.test('no reply crashes the screen, acts on the terminal or shows what is no figure', async (t) => {
  const size = fc.record({ columns: fc.integer({ min: 1, max: 130 }), rows: fc.integer({ min: 1, max: 40 }) })
  await holds(t, fc.property(anyBody, size, text, (raw, { columns, rows }, message) => {
    const body = json(raw)
    const items = merged(itemsIn(body), changesIn(body?.items))
    const feeds = feedsIn(body)
    const { detail = null } = problemIn(body) ?? {}
    const figures = figuresIn(body, NOW)
    const shown = {
      ...shownOf({}, { feeds, feed: feeds[0] ?? null, items, troubles: [message, detail ?? ''], itemsTrouble: detail }),
      figures,
      now: figures.asOf
    }
    const lines = [
      ...drawScreen(shown, { columns, rows, color: false, jumps: false }), ...drawText({ ...shown, typed: null }, { columns, items: 10 })
    ]
    return lines.every((line) => !ACTING.test(line) && !WRONG.test(line))
  }), { runs: 1000 })
})

t.test('what has the right type is shown, beside what has not', async (t) => {
  t.match(figuresIn({ asOf: NOW, count: 5, writers: '2', nodes: [{ role: 'primary', cpu: 0.5, lagMs: '3' }, null] }, 0), {
    asOf: NOW, count: 5, writers: null, layout: null, nodes: [{ role: 'primary', cpu: 0.5, lagMs: null }, { role: 'unknown' }]
  })
  const items = [{ id: 'a', ts: 1, value: 'x' }, { id: 7, ts: 1, value: 'x' }, { id: 'b', ts: '1' }, { id: 'c', ts: 2, value: 5 }]
  t.same(itemsIn({ items }), [{ id: 'a', ts: 1, value: 'x' }, { id: 'c', ts: 2, value: '' }])
  t.same(changesIn([{ id: 'a', deleted: true }, { deleted: true }, 'b', { id: 'b', ts: 1, value: '' }]),
    [{ id: 'a', deleted: true }, { id: 'b', ts: 1, value: '' }])
})

/**
 * A server that replies the same to every request of a kind.
 * @param {import('tap').Test} t @param {Record<string, string>} bodies by the end of the path @param {number} [status]
 */
async function startFalseReader (t, bodies, status = 200) {
  const server = createServer(({ url = '' }, response) => {
    const [, kind = 'feeds'] = /\/(figures|items|live)\?/.exec(url + '?') ?? []
    const body = bodies[kind] ?? 'null'
    response.writeHead(status, { 'content-type': kind === 'live' ? 'text/event-stream' : 'application/json' }).end(body)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

const WRONG_TYPES = {
  feeds: JSON.stringify({ feeds: [{ feed: 'latest' }, null, { feed: 5 }] }),
  figures: JSON.stringify({
    asOf: 'now', itemsPerSecond: '5', nodes: { a: 1 }, history: 'x', engine: [], reasons: [{}, 'why\x1b[2J\u202e'], count: -1
  }),
  items: JSON.stringify({ items: [null, { id: 5 }, { id: 'bus\x9b', ts: 1, value: { a: 1 } }] }),
  live: 'event: snapshot\ndata: {"items":"abc"}\n\nevent: items\ndata: {"items":[{"id":[],"ts":{}},{"id":"bus-7\u202e","ts":1}]}\n\n'
}

t.test('wrong types as text', async (t) => {
  const { code, stdout, stderr } = await endOf(t, ['top', '--once', '--url', await startFalseReader(t, WRONG_TYPES)])
  t.equal(code, 0, stderr)
  t.match(stdout, /^latest {2}layout unknown/)
  t.match(stdout, /\nnot ready: why␛\[2J\ufffd\n/)
  t.equal(actingIn(stdout), '')
  t.notMatch(stdout, WRONG)
  for (const [bodies, status] of /** @type {[Record<string, string>, number][]} */ ([
    [{ feeds: '<html>hello</html>' }, 200], [{ feeds: '{"code":"NOT_READY","detail":{}}' }, 503]
  ])) {
    const ended = await endOf(t, ['top', '--once', '--url', await startFalseReader(t, bodies, status)])
    t.equal(ended.code, 1)
    t.match(ended.stderr, /^freshet top: [^\n]+\n$/)
    t.notMatch(ended.stderr, WRONG)
  }
})

t.test('wrong types in a terminal', { skip: noTerminal }, async (t) => {
  const terminal = inTerminal(t, top(await startFalseReader(t, WRONG_TYPES)))
  t.notMatch(await terminal.until(/not ready: why␛[^]* q {2}quit /), WRONG)
  terminal.press('/bus\r')
  await terminal.until(/bus/)
  terminal.press('q')
  t.match(await terminal.ended(), { status: 0, isRestored: true })
  t.equal(actingIn(terminal.output), '')
})
