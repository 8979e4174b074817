/** Whatever is in ids and values, a stream is read as the standard says, and every item comes out as it was written. */
import { isUtf8 } from 'node:buffer'
import t from 'tap'
import { agree } from '../../src/feeds/definitions.js'
import { openLive } from '../push/live-client.js'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { scopedEngines } from '../scope.js'

const LAYOUTS = ['segments', 'ids']
const ENCODINGS = ['base64', 'utf8', 'json']
const FIELDS = 'data: x\n\nevent: reset\ndata: {"reason":"forged"}\n\nid: 7\nretry: 1\n\n'

const VALUES = [
  '', ' ', '\n', '\r', '\r\n', '\n\n', '\0', 'a\0b', '\u2028', '\u2029', '\u0085', '\ufeff', '\ufeffdata: x', ':', ': comment', '"', '\\',
  '\\n', '\u{1f600}', '\u0300',
  FIELDS, FIELDS.replaceAll('\n', '\r'), FIELDS.replaceAll('\n', '\r\n'), 'event: snapshot', ']}\n\n',
  '{"a":1}', '{\r\n  "a": [1,\n2],\r"b": "x\\ny"\n}', '"\u2028\u2029"', '"\\u0000\\u2028"', '[\n]', 'null', '1e400',
  '12345678901234567890.10', '{"a":1}\0', '{"__proto__":{"x":1}}',
  Buffer.from([0xff, 0xfe, 0x0a, 0x0d, 0x00]), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from([0xc3]), Buffer.from([0xef, 0xbb, 0xbf]),
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  '\u{1f600}\n'.repeat(20_000), JSON.stringify({ text: 'data: x\n\n'.repeat(10_000) }), Buffer.alloc(100_000, 0x0a)
].map((value) => Buffer.from(/** @type {string} */ (value)))

/** ids as the library and the gateway take them */
const IDS = [
  'data: x', 'event: reset', 'id: 7', 'retry: 1', ':', ': comment', ' ', '"', '\\', '\\n', '"}]}', '\u2028', '\u2029', '\ufeff',
  '\u{1f600}', 'e\u0301', '&id=x#?%00+', '__proto__', '\u20ac'.repeat(42), 'x'.repeat(128)
]
/** ids that neither takes, of a writer that does not ask: as text, and what JSON can say of them */
const FOREIGN_IDS = ['\n', '\r\n', 'data: x\n\nevent: reset\ndata: {}\n\n', '\0', 'a\0b', '\u0085', '\u007f', '\t']
  .map((id) => Buffer.from(id)).concat([Buffer.from([0xff, 0x0a]), Buffer.from([0xed, 0xa0, 0x80])])

/** As it should come. @param {Buffer} value @param {string} encoding @returns {any} */
function expected (value, encoding) {
  const asBase64 = { value: value.toString('base64'), ...(encoding !== 'base64' && { encoding: 'base64' }) }
  if (encoding === 'base64' || !isUtf8(value)) return asBase64
  if (encoding === 'utf8') return { value: value.toString() }
  try {
    return { value: JSON.parse(value.toString()) }
  } catch {
    return asBase64
  }
}

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const connection = await connectFor(t, server.url)
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })

  for (const layout of LAYOUTS) {
    for (const encoding of ENCODINGS) {
      await t.test(`${layout}, ${encoding}: as items and in a snapshot, of all ids and of some`, async (t) => {
        const feed = `${layout}-${encoding}`
        const { pipeline, definition } = await openWriterFor(t, { redisUrl: server.url, feed, layout, windowMs: 86_400_000 })
        await agree(connection, 'fr:', definition)
        const ids = [...VALUES.map((_, n) => Buffer.from(`value ${n}`)), ...IDS.map((id) => Buffer.from(id)), ...FOREIGN_IDS]
        const valueOf = (/** @type {number} */ n) => VALUES[n] ?? Buffer.from(FIELDS)
        const query = `?limit=10000&encoding=${encoding}`
        const some = IDS.map((id) => `&id=${encodeURIComponent(id)}`).join('')
        const path = (/** @type {string} */ more) => `/v1/feeds/${feed}/live${query}${more}`
        const before = [await openLive(t, reader.url, path('')), await openLive(t, reader.url, path(some))]
        await Promise.all(before.map((client) => client.until('snapshot')))

        ids.forEach((id, n) => pipeline.append(id, Date.now(), valueOf(n)))
        await pipeline.flush()
        await eventually(() => before[0].items.size === ids.length && before[1].items.size === IDS.length)
        const after = [await openLive(t, reader.url, path('')), await openLive(t, reader.url, path(some))]
        await eventually(() => after[0].items.size === ids.length && after[1].items.size === IDS.length)

        for (const [client, title] of /** @type {const} */ ([[before[0], 'items'], [after[0], 'a snapshot']])) {
          const wrong = ids.filter((id, n) => {
            const { id: _id, ts, ...rest } = client.items.get(id.toString()) ?? {}
            return !Number.isInteger(ts) || JSON.stringify(rest) !== JSON.stringify(expected(valueOf(n), encoding))
          })
          t.same(wrong.map(String), [], title)
        }
        for (const client of [before[1], after[1]]) t.same([...client.items.keys()].sort(), [...IDS].sort(), 'those that were asked for')
        for (const { parser, events } of [...before, ...after]) {
          t.same(parser.unknownFields, [], 'no line comes out of an item')
          t.same([...new Set(events.map(({ event }) => event))].filter((name) => name !== 'snapshot' && name !== 'items'), [])
          t.ok(Number(parser.retryMs) >= 100, 'nor a wait')
        }

        for (const id of ids.slice(VALUES.length)) pipeline.remove(id, Date.now() + 1)
        await pipeline.flush()
        await eventually(() => [...before, ...after].every(({ items }) => IDS.every((id) => items.get(id).deleted)))
        await eventually(() => FOREIGN_IDS.every((id) => before[0].items.get(id.toString()).deleted))
        t.same([...before, ...after].flatMap(({ wentBack, parser: { unknownFields } }) => [...wentBack, ...unknownFields]), [])
      })
    }
  }

  await t.test('ids that cannot be are refused before anything is sent', async (t) => {
    await agree(connection, 'fr:', { feed: 'refused', layout: 'segments', partitions: 1, windowMs: 60_000, maxItems: 0, format: 1 })
    for (const id of ['%0a', '%0d', '%00', '%7f', '%c2%85', '', 'x'.repeat(129), encodeURIComponent('\u20ac'.repeat(43))]) {
      const { status, json } = await reader.get(`/v1/feeds/refused/live?id=${id}`)
      t.match([status, json.code], [400, 'ITEM_ID_INVALID'], `id=${id}`)
    }
  })
})
