/** Text from outside that cannot act on a terminal. */
import fc from 'fast-check'
import t from 'tap'
import { visible, visibleJson, visibleLines } from '../../src/runtime/index.js'
import { holds } from '../properties.js'

const RAW = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/u
const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  fc.string({ unit: fc.constantFrom(...'\x1b\x9b\r\n\u061c\u200e\u200f\u202a\u202e\u2066\u2069a') }))

t.test('control characters, escape sequences and direction marks are replaced by visible ones', async (t) => {
  /** @type {[string, string][]} */
  const texts = [
    ['\x1b[2J\x1b]0;owned\x07', '␛[2J␛]0;owned␇'],
    ['a\tb\r\nc\0d\x7f', 'a␉b␍␊c␀d␡'],
    ['\x9b31m\x90q\x9c', '\ufffd31m\ufffdq\ufffd'],
    ['\u202eevil\u202c \u2066x\u2069 \u200f', '\ufffdevil\ufffd \ufffdx\ufffd \ufffd'],
    ['half \ud83d of a pair', 'half \ufffd of a pair'],
    ['\u0301begins with a mark', '◌\u0301begins with a mark'],
    ['plain, é, 東京, 👨‍👩‍👧', 'plain, é, 東京, 👨‍👩‍👧']
  ]
  for (const [text, wanted] of texts) t.equal(visible(text), wanted)
  t.equal(visibleLines('one\ntwo\r\x1b[A'), 'one\ntwo␍␛[A')
})

t.test('no text acts on a terminal', async (t) => {
  await holds(t, fc.property(anyText, (text) =>
    !RAW.test(visible(text)) && !RAW.test(visibleLines(text).replaceAll('\n', '')) && !RAW.test(visibleJson({ [text]: text }))))
})

t.test('JSON with escapes is the same value', async (t) => {
  t.equal(visibleJson({ feed: 'a\u202eb\x9b' }), '{"feed":"a\\u202eb\\u009b"}')
  await holds(t, fc.property(anyText, (text) => {
    const { text: back } = JSON.parse(visibleJson({ text }))
    return back === text
  }))
})
