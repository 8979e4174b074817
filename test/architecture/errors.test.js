/** The source makes errors of the registry, whose texts are short; docs/errors.md: test/docs/errors.test.js. */
import t from 'tap'
import { asError, cutText, define, definedErrors, ERRORS, FreshetError, kindOf, SettingsInvalid } from '../../src/errors.js'
import '../../src/http/errors.js'
import '../../readers/errors.js'
import '../../writers/gateway/errors.js'
import '../../lab/errors.js'
import '../../src/admission/errors.js'
import '../../src/consumers/errors.js'
import '../../src/sql/errors.js'
import { loadSystems } from '../../src/systems/list.js'
import { sourceFiles, withoutComments } from './source.js'

await loadSystems()

t.test('texts of errors, and each fault of settings, have at most 4 KiB of whole characters, and say how long they were', async (t) => {
  for (const one of ['x', 'ä', '\u20ac', '😀']) {
    for (const length of [1, 1364, 1365, 1366, 2048, 4096, 4097, 50_000]) {
      const text = one.repeat(length)
      const cut = cutText(text)
      t.ok(Buffer.byteLength(cut) <= 4096)
      if (Buffer.byteLength(text) <= 4096) t.equal(cut, text)
      else t.match(cut, new RegExp(`^(${one})+\\.\\.\\. \\(${text.length} characters\\)$`, 'u'))
    }
  }
  const long = 'x'.repeat(10_000)
  t.ok(new FreshetError('SERVER_LOST', long).message.length <= 4096)
  const invalid = new SettingsInvalid([long, 'second', long])
  t.same(invalid.faults.map(({ length }) => length <= 4096), [true, true, true])
  t.equal(invalid.message, invalid.faults.join('\n'))
  const error = new Error('short')
  t.equal(asError(error), error)
  t.match(asError({ message: 'as an error', code: 'X', retryable: true }), { message: 'as an error', code: 'X', retryable: true })
})

t.test('the source makes errors of the registry, and every code has its use', async (t) => {
  const made = []
  let source = ''
  for (const { file, text } of await sourceFiles()) {
    const code = withoutComments(text)
    // it defines a class of its own code, too; the keys of a table have no quotes
    if (!file.endsWith('errors.js') || file === 'src/errors.js') source += code
    for (const [, name] of code.matchAll(/new FreshetError\(\s*'([^']*)'/g)) made.push({ file, name })
  }
  t.ok(made.length > 20)
  for (const { file, name } of made) t.ok(kindOf(name), `${file}: ${name}`)
  // fastify's own errors get the codes of HTTP by their status
  const byStatus = definedErrors().filter(({ domain, status }) => domain === 'http' && Number(status) < 500).map(({ code }) => code)
  const isUsed = (/** @type {string} */ code) => byStatus.includes(code) || source.includes(`'${code}'`) || source.includes(`.${code}.`)
  for (const { code } of definedErrors()) t.ok(isUsed(code), `${code} is used`)
})

t.test('a code belongs to one domain', async (t) => {
  t.throws(() => define('other', { FEED_UNKNOWN: { meaning: 'again' } }), /FEED_UNKNOWN is defined twice, in core and other/)
  t.equal(ERRORS.FEED_UNKNOWN, kindOf('FEED_UNKNOWN'))
})

t.test('an error carries its kind and its facts', async (t) => {
  const cause = new Error('why')
  const error = new FreshetError('SERVER_LOST', 'gone', { outcome: 'over', cause })
  t.match(error, { name: 'FreshetError', code: 'SERVER_LOST', message: 'gone', retryable: true, exitStatus: 1, outcome: 'over', cause })
  t.equal(new FreshetError('SERVER_LOST', 'gone').cause, undefined)
  t.throws(() => new FreshetError('NO_SUCH', 'x'), TypeError)
})
