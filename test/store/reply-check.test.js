/** What a server may say passes, however it is cut; what none says does not, before anything is kept of it. */
import fc from 'fast-check'
import t from 'tap'
import { ReplyRefused, createReplyCheck } from '../../src/store/reply-check.js'
import { holds } from '../properties.js'
import { createReplies } from '../resp.js'

const ANY = Number.MAX_SAFE_INTEGER

const bytes = fc.uint8Array({ maxLength: 50 }).map((array) => Buffer.from(array))
const line = fc.string({ maxLength: 30 }).map((text) => text.replace(/[\r\n]/g, ' '))
const { reply } = fc.letrec((tie) => ({
  reply: fc.oneof({ maxDepth: 5 },
    line.map((text) => Buffer.from(`+${text}\r\n`)),
    line.map((text) => Buffer.from(`-ERR ${text}\r\n`)),
    fc.integer().map((number) => Buffer.from(`:${number}\r\n`)),
    bytes.map((value) => Buffer.concat([Buffer.from(`$${value.length}\r\n`), value, Buffer.from('\r\n')])),
    fc.constantFrom('$-1\r\n', '*-1\r\n', '*0\r\n', ':+1\r\n', '+\r\n').map((text) => Buffer.from(text)),
    fc.array(/** @type {fc.Arbitrary<Buffer>} */ (tie('reply')), { maxLength: 5 }).map((parts) => Buffer.concat([Buffer.from(`*${parts.length}\r\n`), ...parts])))
}))

/** @param {Buffer} whole @param {number[]} cuts @returns {Buffer[]} */
function cut (whole, cuts) {
  const at = [0, ...cuts.map((one) => one % (whole.length + 1)), whole.length].sort((a, b) => a - b)
  return at.slice(1).map((end, i) => whole.subarray(at[i], end))
}

t.test('replies pass, however they are cut, and one more than asked for does not', async (t) => {
  await holds(t, fc.property(fc.array(/** @type {fc.Arbitrary<Buffer>} */ (reply), { minLength: 1, maxLength: 5 }), fc.array(fc.nat()), (replies, cuts) => {
    const pieces = cut(Buffer.concat(replies), cuts)
    const check = createReplyCheck()
    for (const piece of pieces) check(piece, replies.length)
    const strict = createReplyCheck()
    try {
      for (const piece of pieces) strict(piece, replies.length - 1)
      return false
    } catch (error) {
      return /nobody asked for/.test(error.message)
    }
  }))
})

t.test('any bytes pass or are refused, at the same place however they are cut', async (t) => {
  const noise = fc.array(fc.oneof(bytes, fc.constantFrom('\r\n', '+', '$', '*', ':', '-', '1', '$3\r\n', '*2\r\n', '$-1\r\n', '*-1\r\n', 'abc\r\n').map((text) => Buffer.from(text))))
    .map((parts) => Buffer.concat(parts))
  /** @param {Buffer[]} pieces @returns {string | number} */
  const outcome = (pieces) => {
    const check = createReplyCheck()
    try {
      for (const piece of pieces) check(piece, ANY)
      return createReplies().ends(Buffer.concat(pieces)).length
    } catch (error) {
      if (!(error instanceof ReplyRefused)) throw error
      return error.message
    }
  }
  await holds(t, fc.property(noise, fc.array(fc.nat()), (whole, cuts) => outcome([whole]) === outcome(cut(whole, cuts))), { runs: 1000 })
})

/** @type {[string, string | Buffer, RegExp][]} */
const REFUSED = [
  ['a string longer than any', '$999999999999\r\n', /announced a reply of more than 536870912 bytes/],
  ['strings that are too long together', '*2\r\n$5\r\nabcde\r\n$536870910\r\n', /more than 536870912 bytes/],
  ['an array longer than any', '*4294967295\r\n', /announced a reply of 4294967295 parts/],
  ['arrays that are too long together', '*1000000\r\n*1000000\r\n', /parts/],
  ['a length beyond all numbers', `*${'9'.repeat(400)}\r\n`, /number that is none/],
  ['arrays in arrays', '*1\r\n'.repeat(33), /more than 32 deep/],
  ['a line without an end', '+' + 'x'.repeat(70_000), /line of more than 65536 bytes/],
  ['a number without an end', ':' + '1'.repeat(21), /number that is none/],
  ['no length', '$\r\n', /number that is none/],
  ['only a sign', ':-\r\n', /number that is none/],
  ['a length below zero', '$-2\r\n', /below zero/],
  ['a length with a fraction', '*1.5\r\n', /sent byte 46/],
  ['a line that ends in a half', '+OK\rx', /sent byte 120/],
  ['a string that is longer than announced', '$3\r\nabcd\r\n', /sent byte 100/],
  ['RESP3', '%1\r\n+a\r\n+b\r\n', /sent byte 37/],
  ['HTTP', 'HTTP/1.1 400 Bad Request\r\n', /sent byte 72/],
  ['TLS', Buffer.from([21, 3, 1, 0, 2]), /speaks TLS: give its address as rediss:/]
]

for (const [title, text, message] of REFUSED) {
  t.test(`${title} is refused`, async (t) => {
    const whole = Buffer.from(text)
    t.throws(() => createReplyCheck()(whole, ANY), message)
    const check = createReplyCheck()
    t.throws(() => { for (let at = 0; at < whole.length; at++) check(whole.subarray(at, at + 1), ANY) }, message)
  })
}
