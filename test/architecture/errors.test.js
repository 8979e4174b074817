/**
 * docs/errors.md and the source name the same codes.
 */
import t from 'tap'
import { readFile } from 'node:fs/promises'
import { ERRORS, FreshetError } from '../../src/errors.js'
import { HTTP_ERRORS } from '../../src/http/problem.js'
import { sourceFiles, withoutComments } from './source.js'

const page = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8')
const [core, http] = page.split('\n## ').slice(1)

/** @param {string} section @returns {string[][]} cells of the rows that begin with a code */
const rowsOf = (section) => section.split('\n').filter((line) => line.startsWith('| `')).map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()))

t.test('docs/errors.md has the codes of the core, with meaning, whether to try again, and what to do', async (t) => {
  const wanted = Object.entries(ERRORS).map(([code, { meaning, retryable }]) => [`\`${code}\``, meaning, retryable ? 'yes' : 'no'])
  t.same(rowsOf(core).map((cells) => cells.slice(0, 3)), wanted)
  for (const [code, , , advice] of rowsOf(core)) t.ok(advice.length > 10, code)
})

t.test('docs/errors.md has the codes of HTTP, with status, meaning and what to do', async (t) => {
  const wanted = Object.entries(HTTP_ERRORS).map(([code, { status, meaning }]) => [`\`${code}\``, String(status), meaning])
  t.same(rowsOf(http).map((cells) => cells.slice(0, 3)), wanted)
  for (const [code, , , advice] of rowsOf(http)) t.ok(advice.length > 10, code)
})

t.test('the source makes errors of the list, and every code of the list has its use', async (t) => {
  const made = []
  let source = ''
  for (const { file, text } of await sourceFiles()) {
    const code = withoutComments(text)
    if (file !== 'src/errors.js') source += code
    for (const [, name] of code.matchAll(/new FreshetError\(\s*'([^']*)'/g)) made.push({ file, name })
  }
  t.ok(made.length > 20)
  for (const { file, name } of made) t.ok(Object.hasOwn(ERRORS, name), `${file}: ${name}`)
  for (const name of Object.keys(ERRORS)) t.ok(source.includes(`'${name}'`), `${name} is used`)
})

t.test('an error carries its kind and its facts', async (t) => {
  const cause = new Error('why')
  const error = new FreshetError('SERVER_LOST', 'gone', { outcome: 'over', cause })
  t.match(error, { name: 'FreshetError', code: 'SERVER_LOST', message: 'gone', retryable: true, exitStatus: 1, outcome: 'over', cause })
  t.equal(new FreshetError('SERVER_LOST', 'gone').cause, undefined)
  t.throws(() => new FreshetError('NO_SUCH', 'x'), TypeError)
})
