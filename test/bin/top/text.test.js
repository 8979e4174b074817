/** Text from outside on a terminal: it has no effect and takes the expected cells. */
import fc from 'fast-check'
import t from 'tap'
import { cut, fit, valueText, widthOf } from '../../../bin/top/text.js'
import { visible } from '../../../src/runtime/index.js'

const RAW = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\p{Cs}/u

t.test('a character takes zero, one or two cells', async (t) => {
  /** @type {[string, number][]} */
  const widths = [['', 0], ['abc', 3], ['é', 1], ['e\u0301', 1], ['東京', 4], ['한국', 4], ['\u1112\u1161\u11ab', 2], ['ｱ', 1], ['Ａ', 2],
    ['😀', 2], ['👨‍👩‍👧', 2], ['👍🏽', 2], ['🇩🇪', 2], ['❤️', 2], ['1️⃣', 2], ['█▏…–', 4], ['␛', 1], ['ไทย', 3], ['אב', 2]]
  for (const [text, cells] of widths) t.equal(widthOf(text), cells, text)
})

t.test('text is cut between characters, with an ellipsis', async (t) => {
  /** @type {[string, number, string][]} */
  const texts = [['abcdef', 6, 'abcdef'], ['abcdef', 5, 'abcd…'], ['東京都', 6, '東京都'], ['東京都', 5, '東京…'], ['東京都', 4, '東…'],
    ['a👨‍👩‍👧b', 4, 'a👨‍👩‍👧b'], ['a👨‍👩‍👧b', 3, 'a…'], ['👨‍👩‍👧', 1, '…'], ['abc', 1, '…'], ['abc', 0, ''],
    ['a' + '\u0301'.repeat(200) + 'b', 3, 'a…']]
  for (const [text, cells, wanted] of texts) t.equal(cut(text, cells), wanted)
  t.equal(fit('東京', 6), '東京  ')
  t.equal(fit('7', 3, 'right'), '  7')
})

t.test('any text is harmless and fits its cells', async (t) => {
  const seed = Number(process.env.FRESHET_TEST_SEED) || Date.now()
  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')))
  fc.assert(fc.property(texts, fc.integer({ min: 0, max: 40 }), (text, cells) => {
    const shown = visible(text)
    const short = cut(shown, cells)
    return !RAW.test(shown) && widthOf(short) <= cells && widthOf(fit(shown, cells)) === cells && (short === '' || !/\n/.test(short))
  }), { seed, numRuns: 500 })
  t.comment(`seed ${seed}`)
})

t.test('a value is text if it is UTF-8, even when cut, else base64', async (t) => {
  t.equal(valueText('text', 10), 'text')
  t.equal(valueText(Buffer.from('é東'), 10), 'é東')
  t.equal(valueText(new Uint8Array([0xff, 0xfe, 0]), 10), 'base64 //4A')
  t.equal(valueText(new Uint8Array(0), 10), '')
  const long = Buffer.from('x' + '東'.repeat(100_000))
  t.match(valueText(long, 10), /^x東{20,}$/, 'only the needed part is decoded')
  t.ok(valueText(long, 10).length < 1000)
})
