import fc from 'fast-check'
import t from 'tap'
import { holds } from '../properties.js'
import { cutMember, eachElement, endOfValue, skipSpace } from '../../writers/gateway/raw-json.js'
import { anySpace, objectText, valueText } from './json-text.js'

/** @param {Buffer} bytes @param {number} from @param {number} to */
const textOf = (bytes, from, to) => bytes.toString('utf8', from, to)

t.test('a value is found exactly, whatever surrounds it', (t) => holds(t, fc.property(valueText, anySpace, anySpace, fc.constantFrom(',',
  ']', '}', ''), (text, before, after, mark) => {
  const bytes = Buffer.from(before + text + after + mark)
  const from = skipSpace(bytes, 0)
  return textOf(bytes, from, endOfValue(bytes, from)) === text
}), { runs: 1000 }))

t.test('every element of an array is found exactly', (t) => holds(t, fc.property(fc.array(fc.tuple(valueText, anySpace, anySpace),
  { maxLength: 8 }), (elements) => {
  const bytes = Buffer.from(`[${elements.map(([text, before, after]) => before + text + after).join(',')}]`)
  JSON.parse(bytes.toString())
  const found = []
  eachElement(bytes, 0, (at) => {
    const end = endOfValue(bytes, at)
    found.push(textOf(bytes, at, end))
    return end
  })
  return found.length === elements.length && found.every((text, i) => text === elements[i][0])
}), { runs: 500 }))

t.test('the value of a member is found exactly among others, and members are counted', (t) => holds(t, fc.property(
  fc.array(fc.tuple(fc.constantFrom('id', 'ts', 'valu', 'values', 'Value', '', 'é'), valueText), { maxLength: 4 }), valueText, fc.nat(4),
  anySpace, (others, text, at, space) => {
    const members = /** @type {[string, string][]} */ (others).toSpliced(at, 0, ['value', text])
    const bytes = Buffer.from(objectText(members, space) + ' ,x')
    const cut = cutMember(bytes, 0, 'value')
    return cut.members === members.length && textOf(bytes, cut.from, cut.to) === text && cut.end === bytes.length - 3
  }), { runs: 500 }))

t.test('names may have escapes, and only equal names match', async (t) => {
  /** @param {string} text */
  const found = (text) => {
    const bytes = Buffer.from(text)
    const { from, to } = cutMember(bytes, 0, 'value')
    return from === -1 ? null : textOf(bytes, from, to)
  }
  t.equal(found('{"\\u0076alue":1.10}'), '1.10')
  t.equal(found('{"v\\u0061l\\u0075e" : {"value":2}}'), '{"value":2}')
  t.equal(found('{"a":{"value":1}}'), null, 'not that of an inner object')
  t.equal(found('{"a":"\\"value\\":1"}'), null, 'not within a string')
  t.equal(found('{"\\\\value":1,"value\\n":2,"valuf":3}'), null)
  t.equal(found('{}'), null)
  t.equal(found('{"value":1,"value":2}'), '2')
})

t.test('deep nesting needs no stack', async (t) => {
  const deep = '['.repeat(500_000) + ']'.repeat(500_000)
  const bytes = Buffer.from(`{"value":${deep},"id":1}`)
  const cut = cutMember(bytes, 0, 'value')
  t.equal(cut.to - cut.from, deep.length)
  t.equal(cut.end, bytes.length)
})

t.test('on invalid text every loop ends', (t) => holds(t, fc.property(
  fc.array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', ' ', 'a', '1', 'value'), { maxLength: 30 }).map((parts) =>
    Buffer.from(parts.join(''))), (bytes) => {
    try {
      cutMember(bytes, 0, 'value')
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error // of a name with a backslash
    }
    eachElement(bytes, 0, (at) => endOfValue(bytes, at))
    return endOfValue(bytes, 0) <= Math.max(1, bytes.length)
  }), { runs: 2000 }))
