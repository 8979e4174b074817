import t from 'tap'
import fc from 'fast-check'
import { idBytes } from '../../src/item/id.js'
import { anyId, holds } from '../properties.js'

const LONE_HIGH = '\uD800'
const LONE_LOW = '\uDC00'

/** @type {[string, string][]} */
const ACCEPTED = [
  ['one byte', 'a'],
  ['a space', ' '],
  ['128 bytes', 'x'.repeat(128)],
  ['128 bytes in 64 characters', 'é'.repeat(64)],
  ['128 bytes in 32 pairs', '\u{1F600}'.repeat(32)],
  ['slashes', 'a/b//c/'],
  ['an escaped slash', 'a%2Fb'],
  ['braces', '{a}{b'],
  ['a dot', '.'],
  ['two dots', '..'],
  ['a name of an object', '__proto__'],
  ['glob characters', '*?[a-z]\\^'],
  ['quotes', '"\'`'],
  ['a line separator, which is no control character', '\u2028'],
  ['the character before the controls', '\u00A0'],
  ['a byte order mark', '\uFEFFa'],
  ['a character that is no character', '\uFFFF'],
  ['many scripts', 'поезд-東京-قطار-ट्रेन-🚆']
]

for (const [title, text] of ACCEPTED) {
  t.test(`${title} is an id`, async (t) => t.equal(idBytes(text).toString(), text))
}

/** @type {[string, any][]} */
const REFUSED = [
  ['no bytes', ''],
  ['129 bytes', 'x'.repeat(129)],
  ['129 bytes in 65 characters', 'é'.repeat(64) + 'x'],
  ['half of a pair', LONE_HIGH],
  ['the other half', 'a' + LONE_LOW + 'b'],
  ['a pair the wrong way round', LONE_LOW + LONE_HIGH],
  ['DEL', 'a\x7f'],
  ['a number', 7],
  ['null', null],
  ['undefined', undefined],
  ['a list', ['a']],
  ['bytes', Buffer.from('a')],
  ['a String object', Object('a')]
]

for (const [title, value] of REFUSED) {
  t.test(`${title} is not an id`, async (t) => {
    t.throws(() => idBytes(value), { code: 'ITEM_ID_INVALID', message: /1-128 bytes of UTF-8/ })
  })
}

t.test('every control character is refused, wherever it stands', async (t) => {
  for (let code = 0; code <= 0x9f; code++) {
    if (code > 0x1f && code < 0x7f) continue
    const character = String.fromCharCode(code)
    for (const text of [character, 'a' + character, character + 'a', `a${character}b`]) {
      t.throws(() => idBytes(text), { code: 'ITEM_ID_INVALID' }, `U+${code.toString(16).padStart(4, '0')}`)
    }
  }
})

t.test('the bytes of an id are its UTF-8', (t) => holds(t, fc.property(anyId, (id) => {
  const text = id.toString()
  return /\p{Cc}/u.test(text) || idBytes(text).equals(id)
})))
