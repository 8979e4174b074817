import fc from 'fast-check'
import t from 'tap'
import { isJson } from '../../writers/gateway/json-check.js'
import { holds } from '../properties.js'
import { valueText } from './json-text.js'

/** @param {string} text */
function isParsed (text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const agrees = (/** @type {string} */ text) => isJson(Buffer.from(text)) === isParsed(Buffer.from(text).toString())

t.test('what JSON.parse takes is JSON', (t) => holds(t, fc.property(valueText, (text) => isJson(Buffer.from(text)) && agrees(text)), { runs: 500 }))

t.test('it agrees about text that was changed somewhere', (t) => holds(t, fc.property(
  valueText, fc.nat(), fc.nat({ max: 3 }), fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', 'e', 'E', 'u', 'null', ' ', '\t', '\u0001', '\u00a0', '\ufeff'),
  (text, where, cut, put) => {
    const at = where % (text.length + 1)
    return agrees(text.slice(0, at) + put + text.slice(at + cut))
  }), { runs: 3000 }))

t.test('and about texts made of its marks', (t) => holds(t, fc.property(
  fc.array(fc.constantFrom('"', '"a"', '\\', '\\u00e9', '{', '}', '[', ']', ',', ':', '0', '1', '-', '.', 'e', '+', 'true', 'null', ' ', '\n'), { maxLength: 8 }),
  (marks) => agrees(marks.join(''))), { runs: 5000 }))

t.test('and about the odd ones', async (t) => {
  for (const text of ['', ' ', '0', '-0', '01', '1.', '.5', '1e5', '1e', '-', '"', '"\\x"', '"\\u12g4"', '"\\u12', '"a\nb"', '{"a":1,}', '[1,]', '[,]', '{,}', '{"a"}', '{"a":}', '{1:1}', 'nul', 'nulll', 'truefalse', '[]]', '[}', '1 2', '{"a":1}{', '\ufeff1', '"\ufeff"', '"é😀"', '{"a":[{}],"b":[[],{"c":null}]}']) {
    t.ok(agrees(text), JSON.stringify(text))
  }
  t.ok(isJson(Buffer.from('['.repeat(100_000) + ']'.repeat(100_000))), 'however deep')
})
