import fc from 'fast-check'
import t from 'tap'
import { readItems } from '../../writers/gateway/read-items.js'
import { TIMES } from '../item/times.js'
import { anyAcceptedTs, anyId, holds } from '../properties.js'
import { anySpace, objectText, valueText } from './json-text.js'

const NOW = 1_800_000_000_000
const ARRAY = 'application/json'
const LINES = 'application/x-ndjson'

/** @param {string | Buffer} text @param {any} [reading] */
function read (text, { type = ARRAY, ...reading } = {}) {
  /** @type {import('../../writers/gateway/read-items.js').Item[]} */
  const items = []
  const faults = readItems({ type, bytes: Buffer.from(text) }, { base64: false, nowMs: NOW, ...reading }, (item) => items.push(item))
  return { items, faults }
}

/** What is reported about a body. @param {Parameters<typeof read>} given */
function factsOf (...given) {
  const { faults } = read(...given)
  const { code, message, faultCount, faults: listed } = /** @type {any} */ (faults.error())
  return { code, message, faultCount, faults: listed }
}

/** @param {any} of */
const plain = ({ id, ts, value }) => ({ id: id.toString(), ts, value: value.toString() })

const anyItem = fc.record({
  id: anyId.map(String),
  ts: fc.option(anyAcceptedTs),
  text: valueText,
  space: anySpace,
  order: fc.shuffledSubarray(['id', 'ts', 'value'], { minLength: 3 })
})
/** @param {any} item @returns {string} */
const textOf = ({ id, ts, text, space, order }) => objectText(
  order.filter((name) => name !== 'ts' || ts !== null).map((name) => [name, { id: JSON.stringify(id), ts: String(ts), value: text }[name]]),
  space)
/** @param {any} item */
const expectedOf = ({ id, ts, text }) => ({ id, ts: ts ?? NOW, value: text })

t.test('values of an array of items are kept as they were sent', (t) => holds(t, fc.property(fc.array(anyItem,
  { maxLength: 6 }), anySpace, (items, space) => {
  const { items: found, faults } = read(`${space}[${items.map((item) => space + textOf(item)).join(',')}${space}]${space}`)
  return faults.count === 0 && JSON.stringify(found.map(plain)) === JSON.stringify(items.map(expectedOf))
}), { runs: 500 }))

t.test('so are values of items one per line, with any line end and empty lines', (t) => holds(t, fc.property(fc.array(fc.tuple(anyItem,
  fc.constantFrom('\n', '\r\n', '\n\n', '\r\n\n\r\n')), { maxLength: 6 }), fc.boolean(), (lines, ended) => {
  // white space within an item is on its line
  const text = lines.map(([item, end]) => textOf(item).replace(/[\r\n]/g, ' ') + end).join('')
  const { items, faults } = read(ended ? text : text.trimEnd(), { type: LINES })
  return faults.count === 0 && JSON.stringify(items.map(plain)) ===
    JSON.stringify(lines.map(([item]) => ({ ...expectedOf(item), value: item.text.replace(/[\r\n]/g, ' ') })))
}), { runs: 500 }))

t.test('digits, order of keys, escapes and inner white space of values are kept', async (t) => {
  const values = ['1.10', '12345678901234567890', '1e400', '-0', '{"b":1,"a":2,"10":3,"2":4}', '"\\u00e9\\/\\ud83d\\ude00"', '"é😀"',
    '{ "a" : [ 1 , 2 ] }', 'null', 'false', '""', '"\\ud800"', '{"a":1,"a":2}', '{"__proto__":{"id":"x"},"constructor":1}']
  const { items } = read(`[${values.map((value) => `{"id":"a","value":   ${value}  }`).join(', ')}]`)
  t.same(items.map(({ value }) => value.toString()), values)
})

t.test('items without ts get the time of the request', async (t) => {
  const { items } = read('[{"id":"a","value":1},{"id":"b","value":1,"ts":0},{"id":"a","value":1,"ts":1.8e12}]')
  t.same(items.map(({ ts }) => ts), [NOW, 0, 1_800_000_000_000])
})

t.test('a byte order mark and blank lines are skipped, as on standard input', async (t) => {
  const item = '{"id":"a","value":"\ufeff"}'
  for (const [text, type] of [[`\ufeff[${item}]`, ARRAY], [`\ufeff${item}\n`, LINES], [`\ufeff\n \t \n\t\r\n${item}\r\n   `, LINES]]) {
    t.same(read(text, { type }).items.map(plain), [{ id: 'a', ts: NOW, value: '"\ufeff"' }])
  }
  t.same(factsOf(`\ufeff \n\t\n${item}\n\ufeff${item}\n\u0000\n`, { type: LINES }).faults.map(({ line }) => line), [4, 5],
    'a mark elsewhere is none')
  t.throws(() => read(`\ufeff\ufeff[${item}]`), { code: 'REQUEST_INVALID' })
})

t.test('an empty array, and a body of no lines, are no items', async (t) => {
  for (const [text, type] of [['[]', ARRAY], [' [ ] ', ARRAY], ['', LINES], ['\n\r\n\n', LINES], ['', 'application/jsonl']]) {
    const { items, faults } = read(text, { type })
    t.same(items, [])
    t.equal(faults.count, 0)
  }
})

t.test('faults of items have place, code and reason', async (t) => {
  /** @type {[item: string, code: string, reason: RegExp][]} */
  const faulty = [
    ['1', 'REQUEST_INVALID', /^a number; expected an object with id, ts, value/],
    ['null', 'REQUEST_INVALID', /^null; /],
    ['[]', 'REQUEST_INVALID', /^an array; /],
    ['{}', 'ITEM_ID_INVALID', /^an id of type undefined; .*\. value is missing; expected any JSON value/],
    ['{"id":"","value":1}', 'ITEM_ID_INVALID', /^an id of 0 bytes/],
    ['{"id":7,"value":1}', 'ITEM_ID_INVALID', /^an id of type number/],
    ['{"id":null,"value":1}', 'ITEM_ID_INVALID', /^an id of type null/],
    ['{"id":"a\\u0000","value":1}', 'ITEM_ID_INVALID', /control character/],
    ['{"id":"\\ud800","value":1}', 'ITEM_ID_INVALID', /surrogate/],
    [`{"id":"${'é'.repeat(65)}","value":1}`, 'ITEM_ID_INVALID', /^an id of 130 bytes/],
    ['{"id":"a"}', 'REQUEST_INVALID', /^value is missing/],
    ['{"id":"a","value":1,"ts":1.5}', 'ITEM_TS_INVALID', /^ts 1\.5; expected milliseconds since 1970 below 2\^41, or ISO 8601/],
    ['{"id":"a","value":1,"ts":-1}', 'ITEM_TS_INVALID', /^ts -1;/],
    ['{"id":"a","value":1,"ts":2199023255552}', 'ITEM_TS_INVALID', /^ts 2199023255552;/],
    ['{"id":"a","value":1,"ts":1700000000}', 'ITEM_TS_INVALID', /^ts 1700000000 looks like seconds; multiply by 1000$/],
    ['{"id":"a","value":1,"ts":"soon"}', 'ITEM_TS_INVALID', /^ts "soon";/],
    ['{"id":"a","value":1,"ts":null}', 'ITEM_TS_INVALID', /^ts null;/],
    ['{"id":"a","value":1,"ts":[1]}', 'ITEM_TS_INVALID', /^ts an array;/],
    ['{"id":"a","value":1,"time":5}', 'REQUEST_INVALID', /^unknown field "time"; expected id, ts, value/],
    ['{"id":"a","value":1,"__proto__":{"ts":5}}', 'REQUEST_INVALID', /^unknown field "__proto__"/],
    ['{"id":"a","value":1,"id":"b"}', 'REQUEST_INVALID', /^id is given twice; expected each field once/],
    ['{"id":"a","value":1,"v\\u0061lue":2}', 'REQUEST_INVALID', /^value is given twice/],
    ['{"id":"","value":1,"ts":-1,"x":1}', 'REQUEST_INVALID', /^unknown field "x".*\. an id of 0 bytes.*\. ts -1;/]
  ]
  for (const [item, code, reason] of faulty) {
    t.match(factsOf(`[{"id":"a","value":1},${item}]`), { code: 'REQUEST_INVALID', faultCount: 1, faults: [{ index: 1, code, reason }] },
      item)
    t.match(factsOf(`{"id":"a","value":1}\n\n${item}\r\n`, { type: LINES }), { faultCount: 1, faults: [{ line: 3, code, reason }] }, item)
  }
  t.match(factsOf('{"id":"a"\n,"value":1}', { type: LINES }),
    { faultCount: 2, faults: [{ line: 1, code: 'REQUEST_INVALID', reason: /^not JSON \(/ }, { line: 2 }] })
})

t.test('times follow the rules of event-time.js', async (t) => {
  for (const [given, expected] of TIMES) {
    const text = JSON.stringify([{ id: 'a', ts: given, value: 1 }])
    if (typeof expected === 'number') t.equal(read(text).items[0].ts, expected)
    else t.match(factsOf(text).faults, [{ code: 'ITEM_TS_INVALID', reason: `ts ${expected}` }])
  }
})

t.test('the first ten faults are listed; those of JSON are counted', async (t) => {
  const lines = Array.from({ length: 5000 }, (_, i) => i % 2
    ? `{"id":"${i}","value":1}`
    : [i < 15 ? 'x' : '[]', '{}', `{"id":"${i}","value":1,"time":${i}}`, '{"id":"","value":"............"}'][i % 4 + (i % 3 ? 1 : 0)])
  const facts = factsOf(lines.join('\n'), { type: LINES })
  t.equal(facts.faultCount, 2500)
  t.same(facts.faults.map(({ line }) => line), [1, 3, 5, 7, 9, 11, 13, 15, 17, 19])
  t.match(facts.message, /^2500 lines have faults, so nothing was taken; the first, line 1: /)
  t.match(factsOf(`[${Array(300).fill('0').join(',')}]`), { faultCount: 300, faults: { length: 10 }, message: /^300 items have faults/ })
})

t.test('reading ends at a line that is not JSON when ten faults are listed', async (t) => {
  t.equal(factsOf('{}\n'.repeat(20) + 'x\n' + '{}\n'.repeat(20), { type: LINES }).faultCount, 21)
  t.equal(factsOf('x\n'.repeat(500_000), { type: LINES }).faultCount, 10)
})

t.test('items that the feed refuses are listed in order', async (t) => {
  const refusalOf = (/** @type {{ ts: number }} */ { ts }) => ts < 10 ? 'ITEM_TOO_OLD' : ts > 20 ? 'ITEM_FROM_FUTURE' : null
  const facts = factsOf(
    '[{"id":"a","value":1,"ts":5},{"id":"b","value":1,"ts":15},{"id":"","value":1,"ts":15},{"id":"c","value":1,"ts":25}]',
    { refusalOf, ageAdvice: 'the window is 1 ms' }
  )
  t.same(facts.faults, [
    { index: 0, code: 'ITEM_TOO_OLD', reason: 'ts 5: the ts is older than the window of the feed; the window is 1 ms' },
    { index: 2, code: 'ITEM_ID_INVALID', reason: 'an id of 0 bytes; expected 1-128 bytes of UTF-8 without control characters' },
    { index: 3, code: 'ITEM_FROM_FUTURE', reason: 'ts 25: the ts is further in the future than maxFutureMs allows' }
  ])
})

t.test('with base64 values are bytes, in canonical base64 only', async (t) => {
  const { items } = read('[{"id":"a","value":""},{"id":"b","value":"AP/+"},{"id":"c","value":"\\/w=="}]', { base64: true })
  t.same(items.map(({ value }) => [...value]), [[], [0, 255, 254], [255]])
  for (const value of ['"AP_-"', '"/w"', '"/x=="', '"/w==\\n"', '" /w=="', '"é"', '1', 'null', '{}', '["/w=="]']) {
    t.match(factsOf(`[{"id":"a","value":${value}}]`, { base64: true }),
      { faultCount: 1, faults: [{ index: 0, code: 'REQUEST_INVALID', reason: /^value is .*; expected text in base64, padded$/ }] }, value)
  }
  t.match(factsOf('[{"id":"a"}]', { base64: true }).faults[0].reason, /^value is missing/)
})

t.test('base64 round-trips', (t) => holds(t, fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
  const { items: [{ value }] } = read(JSON.stringify([{ id: 'a', value: Buffer.from(bytes).toString('base64') }]), { base64: true })
  return value.equals(bytes)
})))

t.test('a body is an array or one item, else it is refused with what it is', async (t) => {
  for (const [text, message] of /** @type {[string, RegExp][]} */ ([
    ['', /^the body is not JSON \(/],
    ['[{"id":"a","value":1}', /^the body is not JSON \(/],
    ['[{"id":"a","value":1},]', /^the body is not JSON \(/],
    ['{"id":"a","value":1}\n{"id":"b","value":1}',
      /not JSON .*; expected an array of items, one item, or application\/x-ndjson with one item per line/],
    ['null', /^the body is null/],
    ['"[]"', /^the body is a string/]
  ])) t.throws(() => read(text), { code: 'REQUEST_INVALID', message }, text)
  t.same(read(' {"id":"a","value":1} ').items.map(({ value }) => String(value)), ['1'])
  t.match(factsOf('{"items":[]}'), { faultCount: 1, faults: [{ index: 0, reason: /^unknown field "items"/ }] })
})

t.test('a value that is nested more than 64 deep is refused with its place', async (t) => {
  const nested = (/** @type {number} */ n) => '['.repeat(n) + ']'.repeat(n)
  const item = (/** @type {number} */ n) => `{"id":"a","value":${nested(n)}}`
  t.equal(read(`[${item(64)},${item(64)}]`).items[1].value.toString(), nested(64))
  t.equal(read(`${item(64)}\n${item(64)}`, { type: LINES }).items[1].value.toString(), nested(64))
  t.throws(() => read(`[${item(64)},${item(65)}]`), {
    code: 'REQUEST_INVALID',
    message: 'the body is nested more than 64 deep at byte 231, in item 1; ' +
      'expected at most 64 arrays and objects within each other in a value'
  })
  t.match(factsOf(`${item(64)}\n${item(65)}\n${item(500_000)}\n${item(1)}`, { type: LINES }), {
    faultCount: 2,
    faults: [{ line: 2, code: 'REQUEST_INVALID', reason: /^nested more than 64 deep at byte 82; expected at most 64 arrays/ }, { line: 3 }]
  })
  t.throws(() => read(nested(500_000)), { code: 'REQUEST_INVALID', message: /^the body is nested more than 64 deep at byte 65, in item 0/ })
  t.throws(() => read('{"a":'.repeat(200_000)), { code: 'REQUEST_INVALID', message: /^the body is nested more than 64 deep at byte 325, in item 0;/ })
})

t.test('reading a body takes little memory, whatever its values are', async (t) => {
  const bytes = 1024 * 1024
  const fill = (/** @type {string} */ piece) => piece.repeat((bytes / piece.length) - 10)
  const keys = Array.from({ length: bytes / 16 }, (_, n) => `"k${n}":0`).join(',')
  for (const value of [`[${fill('[],')}1]`, `[${fill('{},')}1]`, `[${fill('['.repeat(60) + ']'.repeat(60) + ',')}1]`, `{${keys}}`,
    `{${fill('"a":1,')}"a":1}`, `"${fill('\\u00e9')}"`, fill('1'),
    `[${Array.from({ length: bytes / 16 }, (_, n) => `{"k${n}":0}`).join(',')}]`]) {
    const body = Buffer.from(`[{"id":"a","value":${value}}]`)
    global.gc?.()
    const before = process.memoryUsage().heapUsed
    let length = 0
    readItems({ type: ARRAY, bytes: body }, { base64: false, nowMs: NOW }, (item) => { length = item.value.length })
    const grown = process.memoryUsage().heapUsed - before
    t.equal(length, value.length)
    t.ok(grown < 512 * 1024, `${value.slice(0, 20)}... of ${value.length} bytes took ${grown} bytes of the heap`)
  }
})
