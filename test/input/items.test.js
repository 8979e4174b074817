import t from 'tap'
import { createItemReader } from '../../writers/input/items.js'
import { TIMES } from '../item/times.js'

const fields = { idField: 'id', tsField: 'ts', valueField: null }
const entryOf = (text) => ({ place: 1, record: JSON.parse(text), text: Buffer.from(text), raw: Buffer.from(text), fault: null })
/** @returns {any} */
const readText = (text, options = {}) => createItemReader({ ...fields, ...options })(entryOf(text))

t.test('without a value field the value is the whole record as it was read', async (t) => {
  const entry = entryOf('{"id":"a", "ts":1700000000000}')
  const item = /** @type {any} */ (createItemReader(fields)(entry))
  t.same({ ...item, value: null }, { id: 'a', ts: 1_700_000_000_000, value: null })
  t.equal(item.value, entry.text)
})

t.test('an id is a string, or a number or boolean converted to one', async (t) => {
  for (const [id, expected] of [['"a"', 'a'], ['""', ''], ['7', '7'], ['-0.5', '-0.5'], ['9007199254740991', '9007199254740991'],
    ['true', 'true'], ['false', 'false']]) {
    t.equal(readText(`{"id":${id},"ts":1700000000000}`).id, expected)
  }
})

t.test('objects, missing values and unsafe integers are no ids', async (t) => {
  t.same(readText('{"ts":1700000000000}'), { code: 'ITEM_ID_INVALID', reason: 'id field id is missing; --id-field names it, one of ts' })
  for (const [id, shown] of [['null', 'null'], ['{}', 'an object'], ['[1]', 'an array'], ['9007199254740993', '9007199254740992'],
    ['1e999', 'Infinity']]) {
    t.equal(readText(`{"id":${id},"ts":1700000000000}`).reason,
      `id field id is ${shown}; expected text, a number within the safe integers, or true or false`)
  }
})

t.test('times follow the rules of event-time.js, and small numbers are none', async (t) => {
  for (const [given, everywhere, expected = everywhere] of TIMES) {
    const item = readText(JSON.stringify({ id: 'a', ts: given }))
    if (typeof expected === 'number') t.equal(item.ts, expected)
    else t.same(item, { code: 'ITEM_TS_INVALID', reason: `time field ts: ${expected}` })
  }
})

t.test('other formats of a time are named', async (t) => {
  for (const [given, fault] of [
    ['"1900"', 'a year; write it as 1900-01-01'], ['2099', 'a year; write it as 2099-01-01'],
    ['"199912"', 'a month; write it as 1999-12-01'], ['093015', 'a time of day; write it as YYYY-MM-DDT09:30:15'],
    ['93015', 'a time of day; write it as YYYY-MM-DDT09:30:15'], ['"000000"', 'a time of day; write it as YYYY-MM-DDT00:00:00'],
    ['45658.5', 'a spreadsheet day; write it as 2025-01-01T12:00:00'],
    ['"45658.333333333"', 'a spreadsheet day; write it as 2025-01-01T08:00:00'],
    ['25569', 'a spreadsheet day; write it as 1970-01-01'], ['20240131123015', 'a date and time; write it as 2024-01-31T12:30:15'],
    ['"202401312359"', 'a date and time; write it as 2024-01-31T23:59'], ['20240131', 'a date; write it as 2024-01-31'],
    ['1700000000', 'seconds; multiply by 1000']
  ]) {
    const text = /^0/.test(given) ? `"${given}"` : given
    t.same(readText(`{"id":"a","ts":${text}}`), { code: 'ITEM_TS_INVALID', reason: `time field ts: ${text} looks like ${fault}` })
  }
  for (const given of ['1845', '"236060"', '202660', '99999', '"0002024"', '2460000']) {
    t.match(readText(`{"id":"a","ts":${given}}`).reason,
      /^time field ts: .* would be 1970-01-01T\d\d:\S+; expected milliseconds since 1970, from 1973 on,/)
  }
  t.equal(readText('{"id":"a","ts":200113010000}').ts, 200_113_010_000, 'no date has a 13th month: milliseconds of 1976')
})

t.test('times of a replay may count from any beginning', async (t) => {
  for (const ts of [0, 250, 2024, 1_000_000]) t.equal(readText(`{"id":"a","ts":${ts}}`, { replay: 1 }).ts, ts)
  t.match(readText('{"id":"a","ts":1700000000}', { replay: 1 }).reason, /looks like seconds/)
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
    t.equal(readText(`{"id":"a","ts":1700000000000,"v":${value}}`, { valueField: 'v' }).value.toString(), expected)
  }
})

t.test('a missing, malformed or too deeply nested value is refused', async (t) => {
  t.same(readText('{"id":"a","ts":1700000000000}', { valueField: 'v' }),
    { code: 'ITEM_VALUE_INVALID', reason: 'value field v is missing; --value-field names it, one of id, ts' })
  t.match(readText('{"id":"a","ts":1700000000000,"v":"x\\ud800"}', { valueField: 'v' }).reason, /^value field v is "x\\ud800"; expected well-formed text/)
  t.match(readText(`{"id":"a","ts":1700000000000,"v":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, { valueField: 'v' }).reason,
    /^value field v is an array; .*less nesting/)
})

t.test('a dotted path is a key of that name, else nested keys', async (t) => {
  const paths = { idField: 'p.id', tsField: 'p.q.ts', valueField: 'p.q' }
  t.same(readText('{"p":{"id":"a","q":{"ts":1700000000005}}}', paths),
    { id: 'a', ts: 1_700_000_000_005, value: Buffer.from('{"ts":1700000000005}') })
  t.same(readText('{"p.id":"b","p.q.ts":1700000000006,"p":{"id":"a","q":{"ts":1700000000005}},"p.q":"v"}', paths),
    { id: 'b', ts: 1_700_000_000_006, value: Buffer.from('v') })
  t.match(readText('{"p":"text"}', paths).reason, 'id field p.id is missing')
  t.match(readText('{"p":null}', paths).reason, 'id field p.id is missing')
})

t.test('only own properties are fields', async (t) => {
  for (const idField of ['constructor.name', '__proto__.x', 'toString', 'list.length', 'text.length']) {
    t.match(readText('{"ts":1700000000000,"list":[1],"text":"x"}', { idField }).reason, `id field ${idField} is missing; `)
  }
  t.equal(readText('{"__proto__":{"id":"a"},"ts":1700000000000}', { idField: '__proto__.id' }).id, 'a')
})

t.test('an entry with a fault is refused with its reason', async (t) => {
  t.same(createItemReader(fields)({ place: 3, record: null, text: null, raw: null, fault: 'not a JSON object' }),
    { code: 'INPUT_INVALID', reason: 'not a JSON object' })
})
