import t from 'tap'
import { createItemReader } from '../../writers/input/items.js'
import { TIMES } from '../item/times.js'

const fields = { idField: 'id', tsField: 'ts', valueField: null }
const entryOf = (text) => ({ place: 1, record: JSON.parse(text), text: Buffer.from(text), raw: Buffer.from(text), fault: null })
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
  t.same(readText('{"ts":1}'), { code: 'ITEM_ID_INVALID', reason: 'id field id is missing; --id-field names it, one of ts' })
  for (const [id, shown] of [['null', 'null'], ['{}', 'an object'], ['[1]', 'an array'], ['9007199254740993', '9007199254740992'],
    ['1e999', 'Infinity']]) {
    t.equal(readText(`{"id":${id},"ts":1}`).reason,
      `id field id is ${shown}; expected text, a number within the safe integers, or true or false`)
  }
})

t.test('times follow the rules of event-time.js', async (t) => {
  for (const [given, expected] of TIMES) {
    const item = readText(JSON.stringify({ id: 'a', ts: given }))
    if (typeof expected === 'number') t.equal(item.ts, expected)
    else t.same(item, { code: 'ITEM_TS_INVALID', reason: `time field ts: ${expected}` })
  }
})

t.test('a record without a time has none; with replay it is refused with the fix', async (t) => {
  t.equal(readText('{"id":"a"}').ts, null)
  t.same(readText('{"id":"a"}', { replay: 1, tsField: 'seen' }), {
    code: 'ITEM_TS_INVALID', reason: 'time field seen is missing; name the field of the time with --ts-field, or omit --replay'
  })
})

t.test('a value is the bytes of a string, or the JSON text of any other value', async (t) => {
  for (const [value, expected] of [['"é"', 'é'], ['""', ''], ['{"b": [1, null]}', '{"b":[1,null]}'], ['null', 'null'], ['1.50', '1.5'],
    ['false', 'false']]) {
    t.equal(readText(`{"id":"a","ts":1,"v":${value}}`, { valueField: 'v' }).value.toString(), expected)
  }
})

t.test('a missing, malformed or too deeply nested value is refused', async (t) => {
  t.same(readText('{"id":"a","ts":1}', { valueField: 'v' }),
    { code: 'ITEM_VALUE_INVALID', reason: 'value field v is missing; --value-field names it, one of id, ts' })
  t.match(readText('{"id":"a","ts":1,"v":"x\\ud800"}', { valueField: 'v' }).reason, /^value field v is "x\\ud800"; expected well-formed text/)
  t.match(readText(`{"id":"a","ts":1,"v":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, { valueField: 'v' }).reason,
    /^value field v is an array; .*less nesting/)
})

t.test('a dotted path is a key of that name, else nested keys', async (t) => {
  const paths = { idField: 'p.id', tsField: 'p.q.ts', valueField: 'p.q' }
  t.same(readText('{"p":{"id":"a","q":{"ts":5}}}', paths), { id: 'a', ts: 5, value: Buffer.from('{"ts":5}') })
  t.same(readText('{"p.id":"b","p.q.ts":6,"p":{"id":"a","q":{"ts":5}},"p.q":"v"}', paths), { id: 'b', ts: 6, value: Buffer.from('v') })
  t.match(readText('{"p":"text"}', paths).reason, 'id field p.id is missing')
  t.match(readText('{"p":null}', paths).reason, 'id field p.id is missing')
})

t.test('only own properties are fields', async (t) => {
  for (const idField of ['constructor.name', '__proto__.x', 'toString', 'list.length', 'text.length']) {
    t.match(readText('{"ts":1,"list":[1],"text":"x"}', { idField }).reason, `id field ${idField} is missing; `)
  }
  t.equal(readText('{"__proto__":{"id":"a"},"ts":1}', { idField: '__proto__.id' }).id, 'a')
})

t.test('an entry with a fault is refused with its reason', async (t) => {
  t.same(createItemReader(fields)({ place: 3, record: null, text: null, raw: null, fault: 'not a JSON object' }),
    { code: 'INPUT_INVALID', reason: 'not a JSON object' })
})
