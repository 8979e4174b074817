import fc from 'fast-check'
import t from 'tap'
import { ReplyFrames } from '../../src/store/reply-frames.js'
import { holds } from '../properties.js'

/** Some are shorter than their head, some longer than a piece. */
const part = fc.letrec((tie) => ({
  any: fc.oneof({ depthSize: 'small', maxDepth: 4 }, fc.stringMatching(/^[+-][ -~]{0,40}$/).map((text) => `${text}\r\n`),
    fc.integer().map((number) => `:${number}\r\n`),
    fc.constantFrom('$-1\r\n', '*-1\r\n', '*0\r\n', '$0\r\n\r\n', '$2\r\n\r\n\r\n', ':+1\r\n'),
    fc.stringMatching(/^[\r\n$*a-z]{0,60}$/).map((text) => `$${text.length}\r\n${text}\r\n`),
    fc.array(tie('any'), { minLength: 1, maxLength: 5 }).map((parts) => `*${parts.length}\r\n${parts.join('')}`))
})).any

/** @param {ReplyFrames} frames @param {Buffer} bytes @param {number} size of a piece */
function replies (frames, bytes, size) {
  let found = 0
  for (let at = 0; at < bytes.length; at += size) found += frames.take(bytes.subarray(at, at + size))
  return found
}

t.test('replies are counted, however they are cut', async (t) => {
  await holds(t, fc.property(fc.array(/** @type {fc.Arbitrary<string>} */ (part), { minLength: 1 }), fc.integer({ min: 1, max: 80 }),
    (parts, size) => {
      const frames = new ReplyFrames()
      return replies(frames, Buffer.from(parts.join('')), size) === parts.length && frames.partBytes === 0
    }), { runs: 500 })
})

t.test('the bytes of a reply that is not whole are counted', async (t) => {
  const frames = new ReplyFrames()
  t.equal(frames.take(Buffer.from('+OK\r\n*2\r\n$5\r\nab')), 1)
  t.equal(frames.partBytes, 10)
  t.equal(frames.take(Buffer.from('cde\r')), 0)
  t.equal(frames.partBytes, 14)
  t.equal(frames.take(Buffer.from('\n:1\r\n')), 1)
  t.equal(frames.partBytes, 0)
})

t.test('what no Valkey or Redis sends is an error, whole or a byte at a time', async (t) => {
  for (const text of ['HTTP/1.1 400', '\x15\x03\x01', '$1e9\r\n', '$-5\r\n', '*x\r\n', '*-2\r\n', '*\r\n', '$\r\n', ':\r\n', ':-\r\n',
    '_\r\n', '>1\r\n_\r\n', '%1\r\n', '$3\r\nabcde\r\n', '$3\r\nabc\n\r', '+OK\rno', ':12345678901234567890123\r\n',
    `+${'x'.repeat(100_000)}`,
    '*1\r\n'.repeat(40), '*1048577\r\n', '*1000000\r\n*100000\r\n', '$70000000\r\n']) {
    for (const size of [1, 1_000_000]) {
      t.throws(() => replies(new ReplyFrames(), Buffer.from(text, 'latin1'), size),
        { message: /its replies are not those|a reply has/ }, JSON.stringify(text.slice(0, 20)))
    }
  }
})
