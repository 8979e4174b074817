import fc from 'fast-check'
import t from 'tap'
import { holds } from '../properties.js'
import { eachElement, eachMember, endOfValue, expectEnd, JsonFault, MAX_DEPTH, skipSpace } from '../../writers/gateway/raw-json.js'
import { anySpace, stringText, valueText } from './json-text.js'

/** @param {Buffer} bytes @param {number} from @param {number} to */
const textOf = (bytes, from, to) => bytes.toString('utf8', from, to)

/** @param {string} text @returns {string | null} what is wrong with it */
function faultOf (text) {
  const bytes = Buffer.from(text)
  try {
    expectEnd(bytes, endOfValue(bytes, skipSpace(bytes, 0)))
    return null
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return error.message
  }
}

/** @param {string} text */
function isParsed (text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

t.test('a value is found exactly, whatever surrounds it', (t) => holds(t, fc.property(valueText, anySpace, anySpace, fc.constantFrom(',',
  ']', '}', ''), (text, before, after, mark) => {
  const bytes = Buffer.from(before + text + after + mark)
  const from = skipSpace(bytes, 0)
  return textOf(bytes, from, endOfValue(bytes, from)) === text
}), { runs: 1000 }))

const pieces = fc.array(fc.oneof(
  fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', ' ', '\n', '\u0000', '\u000b', '\u00a0', '\ufeff', '0', '1', '01', '-', '+',
    '.', 'e', 'E', 'é', '\\u', '\\u00e', '\\u00E9', '\\x', 'true', 'tru', 'nul', 'null', 'falsey', 'NaN', "'", '"a"', '"a":', '1e5',
    '1.', '.5', '-0', '1e+', '\t', '"\t"', '"\u007f"'),
  valueText), { maxLength: 8 }).map((parts) => parts.join(''))

t.test('text is accepted exactly when JSON.parse accepts it', (t) => holds(t, fc.property(pieces, (text) =>
  (faultOf(text) === null) === isParsed(text)), { runs: 20_000 }))

t.test('so is text of which one character was removed or replaced', (t) => holds(t, fc.property(valueText, fc.nat(), fc.constantFrom('',
  ' ', '"', ',', '0', '\\', ']', '\n', 'e'), (text, at, other) => {
  const cut = at % text.length
  const changed = text.slice(0, cut) + other + text.slice(cut + 1)
  return !changed.isWellFormed() || (faultOf(changed) === null) === isParsed(changed)
}), { runs: 20_000 }))

t.test('what is wrong is said with its place', async (t) => {
  for (const [text, fault] of [
    ['', 'not JSON (it ends early, at byte 0)'],
    ['[1, 2', 'not JSON (it ends early, at byte 5)'],
    ['[1, x]', 'not JSON (unexpected x at byte 4)'],
    ['{"é":1,}', 'not JSON (unexpected } at byte 8)'],
    ['"a\nb"', 'not JSON (unexpected byte 0x0a at byte 2)'],
    ['1 2', 'not JSON (unexpected 2 at byte 2)'],
    ['truE', 'not JSON (unexpected E at byte 3)']
  ]) t.equal(faultOf(text), fault, JSON.stringify(text))
})

t.test('a value may be nested 64 deep', async (t) => {
  for (const [open, close] of [['[', ']'], ['{"a":', '}'], ['[{"a":', '}]']]) {
    const levels = MAX_DEPTH / (open.includes('[{') ? 2 : 1)
    const nested = (/** @type {number} */ n) => open.repeat(n) + '1' + close.repeat(n)
    t.equal(faultOf(nested(levels)), null)
    t.equal(faultOf(nested(levels + 1)), `nested more than 64 deep at byte ${open.length * levels}`)
    t.equal(faultOf(`[${`${nested(levels - 1)},`.repeat(3)}1]`), null, 'depth ends with what is nested')
  }
  t.equal(faultOf('['.repeat(1_000_000)), 'nested more than 64 deep at byte 64')
  t.equal(faultOf(`{"a":"${'['.repeat(1000)}"}`), null, 'brackets in strings do not count')
})

t.test('every element of an array is found exactly', (t) => holds(t, fc.property(fc.array(fc.tuple(valueText, anySpace, anySpace),
  { maxLength: 8 }), (elements) => {
  const bytes = Buffer.from(`[${elements.map(([text, before, after]) => before + text + after).join(',')}]`)
  /** @type {string[]} */
  const found = []
  const end = eachElement(bytes, 0, (_bytes, at) => {
    const to = endOfValue(bytes, at)
    found.push(textOf(bytes, at, to))
    return to
  })
  return end === bytes.length && found.length === elements.length && found.every((text, i) => text === elements[i][0])
}), { runs: 500 }))

t.test('every member of an object is found exactly', (t) => holds(t, fc.property(fc.array(fc.tuple(stringText, valueText, anySpace),
  { maxLength: 8 }), (members) => {
  const bytes = Buffer.from(`{${members.map(([key, text, space]) => space + key + space + ':' + space + text + space).join(',')}}`)
  /** @type {string[][]} */
  const found = []
  const end = eachMember(bytes, 0, (_bytes, at, _depth, keyAt, keyEnd) => {
    const to = endOfValue(bytes, at)
    found.push([textOf(bytes, keyAt, keyEnd), textOf(bytes, at, to)])
    return to
  })
  return end === bytes.length && JSON.stringify(found) === JSON.stringify(members.map(([key, text]) => [key, text]))
}), { runs: 500 }))
