import t from 'tap'
import { createItemReader } from '../../writers/input/items.js'

const fields = { idField: 'id', tsField: 'ts', valueField: null }
const entryOf = (text) => ({ place: 1, record: JSON.parse(text), text: Buffer.from(text), fault: null })
/** @returns {any} */
const readText = (text, options = {}) => createItemReader({ ...fields, ...options })(entryOf(text))

t.test('without a value field the value is the whole record as it was read', async (t) => {
  const entry = entryOf('{"id":"a", "ts":1}')
  const item = /** @type {any} */ (createItemReader(fields)(entry))
  t.same({ ...item, value: null }, { id: 'a', ts: 1, value: null })
  t.equal(item.value, entry.text)
})

t.test('an id is a string, or a number or boolean converted to one', async (t) => {
  for (const [id, expected] of [['"a"', 'a'], ['""', ''], ['7', '7'], ['-0.5', '-0.5'], ['9007199254740991', '9007199254740991'],
    ['true', 'true'], ['false', 'false']]) {
    t.equal(readText(`{"id":${id},"ts":1}`).id, expected)
  }
})

t.test('objects, missing values and unsafe integers are no ids', async (t) => {
  t.equal(readText('{"ts":1}'), 'id field id is missing')
  for (const [id, shown] of [['null', 'null'], ['{}', 'an object'], ['[1]', 'an array'], ['9007199254740993', '9007199254740992'],
    ['1e999', 'Infinity']]) {
    t.equal(readText(`{"id":${id},"ts":1}`), `id field id is ${shown}; expected text, a number within the safe integers, or true or false`)
  }
})

t.test('a time is an integer, or text that event-time.js accepts', async (t) => {
  for (const [ts, expected] of [['1700000000000', 1700000000000], ['-5', -5], ['"1700000000000"', 1700000000000],
    ['"2012-01-01"', 1325376000000]]) {
    t.equal(readText(`{"id":"a","ts":${ts}}`).ts, expected)
  }
})

t.test('other values are no times', async (t) => {
  t.equal(readText('{"id":"a"}'), 'time field ts is missing')
  for (const [ts, shown] of [['1.5', '1.5'], ['1e300', '1e+300'], ['null', 'null'], ['true', 'true'], ['{}', 'an object'], ['""', '""'],
    ['"-5"', '"-5"'], ['"99999999999999999999"', '"99999999999999999999"'], ['"' + 'x'.repeat(99) + '"', '"' + 'x'.repeat(40) + '..."']]) {
    t.equal(readText(`{"id":"a","ts":${ts}}`), `time field ts is ${shown}; expected epoch milliseconds or ISO 8601`)
  }
})

t.test('a value is the bytes of a string, or the JSON text of any other value', async (t) => {
  for (const [value, expected] of [['"é"', 'é'], ['""', ''], ['{"b": [1, null]}', '{"b":[1,null]}'], ['null', 'null'], ['1.50', '1.5'],
    ['false', 'false']]) {
    t.equal(readText(`{"id":"a","ts":1,"v":${value}}`, { valueField: 'v' }).value.toString(), expected)
  }
})

t.test('a missing, malformed or too deeply nested value is refused', async (t) => {
  t.equal(readText('{"id":"a","ts":1}', { valueField: 'v' }), 'value field v is missing')
  t.match(readText('{"id":"a","ts":1,"v":"x\\ud800"}', { valueField: 'v' }), /^value field v is "x\\ud800"; expected well-formed text/)
  t.match(readText(`{"id":"a","ts":1,"v":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, { valueField: 'v' }),
    /^value field v is an array; .*less nesting/)
})

t.test('a dotted path is a key of that name, else nested keys', async (t) => {
  const paths = { idField: 'p.id', tsField: 'p.q.ts', valueField: 'p.q' }
  t.same(readText('{"p":{"id":"a","q":{"ts":5}}}', paths), { id: 'a', ts: 5, value: Buffer.from('{"ts":5}') })
  t.same(readText('{"p.id":"b","p.q.ts":6,"p":{"id":"a","q":{"ts":5}},"p.q":"v"}', paths), { id: 'b', ts: 6, value: Buffer.from('v') })
  t.equal(readText('{"p":"text"}', paths), 'id field p.id is missing')
  t.equal(readText('{"p":null}', paths), 'id field p.id is missing')
})

t.test('only own properties are fields', async (t) => {
  for (const idField of ['constructor.name', '__proto__.x', 'toString', 'list.length', 'text.length']) {
    t.equal(readText('{"ts":1,"list":[1],"text":"x"}', { idField }), `id field ${idField} is missing`)
  }
  t.equal(readText('{"__proto__":{"id":"a"},"ts":1}', { idField: '__proto__.id' }).id, 'a')
})

t.test('an entry with a fault is refused with its reason', async (t) => {
  t.equal(createItemReader(fields)({ place: 3, record: null, text: null, fault: 'not a JSON object' }), 'not a JSON object')
})
