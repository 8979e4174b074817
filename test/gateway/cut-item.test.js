import fc from 'fast-check'
import t from 'tap'
import { readId } from '../../src/item/index.js'
import { holds } from '../properties.js'
import { cutItem } from '../../writers/gateway/read-items.js'
import { anySpace, objectText, stringText, valueText } from './json-text.js'

/** @param {string} text */
function cut (text) {
  const bytes = Buffer.from(text)
  const { from, to, ...rest } = cutItem(bytes, 0)
  return { ...rest, value: from === -1 ? null : bytes.toString('utf8', from, to) }
}

t.test('the value is found exactly among other members', (t) => holds(t, fc.property(
  fc.array(fc.tuple(fc.constantFrom('id', 'ts', 'valu', 'values', 'Value', '', 'é'), valueText), { maxLength: 4 }), valueText, fc.nat(4),
  anySpace, (others, text, at, space) => {
    const members = /** @type {[string, string][]} */ (others).toSpliced(at, 0, ['value', text])
    const object = objectText(members, space)
    const { value, end, unknown } = cut(object + ' ,x')
    return value === text && end === Buffer.byteLength(object) &&
      unknown === (others.find(([name]) => name !== 'id' && name !== 'ts')?.[0] ?? null)
  }), { runs: 500 }))

t.test('names may have escapes, and only equal names match', async (t) => {
  t.match(cut('{"\\u0076alue":1.10,"\\u0069d":"a\\u0062","ts":5}'), { value: '1.10', id: 'ab', ts: 5, unknown: null, twice: null })
  t.match(cut('{"\\u0076\\u0061\\u006c\\u0075\\u0065" : {"value":2}}'), { value: '{"value":2}', id: undefined, ts: undefined })
  t.match(cut('{"a":{"value":1}}'), { value: null, unknown: 'a' }, 'not that of an inner object')
  t.match(cut('{"id":"\\"value\\":1"}'), { value: null, id: '"value":1' }, 'not within a string')
  t.match(cut('{"\\\\value":1,"value\\n":2,"valuf":3}'), { value: null, unknown: '\\value' })
  t.match(cut('{"__proto__":1}'), { unknown: '__proto__' })
  t.match(cut('{}'), { value: null, end: 2, unknown: null })
})

t.test('a field that is given twice is noticed, whatever its values are', async (t) => {
  for (const [text, twice] of [['{"value":1,"value":1}', 'value'], ['{"id":null,"i\\u0064":1}', 'id'],
    ['{"ts":1,"id":"a","ts":{}}', 'ts']]) {
    t.equal(cut(text).twice, twice)
  }
  t.equal(cut('{"a":1,"a":1}').twice, null)
})

t.test('ids and times are read as JSON.parse and the check of ids read them', (t) => holds(t, fc.property(stringText, fc.oneof(
  fc.integer().map(String),
  fc.constantFrom('0', '-0', '1.5', '1e3', '999999999999999', '1000000000000000', '12345678901234567890', '"5"', 'null')),
(idText, tsText) => {
  const { id, ts } = cut(`{"id":${idText},"ts":${tsText}}`)
  const expected = readId(JSON.parse(idText))
  return Object.is(ts, JSON.parse(tsText)) && (Buffer.isBuffer(id) ? id.equals(Buffer.from(expected)) : id === JSON.parse(idText))
}), { runs: 2000 }))
