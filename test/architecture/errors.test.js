/**
 * docs/errors.md and the source name the same codes.
 */
import t from 'tap'
import { readFile, writeFile } from 'node:fs/promises'
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
const PAGE = new URL('../../docs/errors.md', import.meta.url)
const page = await readFile(PAGE, 'utf8')
const sections = Object.fromEntries(page.split('\n## ').slice(1).map((section) => [section.split('\n', 1)[0].toLowerCase(), section]))

/** @param {string} section @returns {string[][]} cells of the rows that begin with a code */
const rowsOf = (section) => section.split('\n').filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()))

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

t.test('docs/errors.md has a section for each domain: its codes with status, meaning, whether to retry, and what to do', async (t) => {
  const domains = [...new Set(definedErrors().map(({ domain }) => domain))]
  // in the order of imports, which is another one where other files were imported before
  t.same(domains.toSorted(), ['admission', 'auctions', 'consumers', 'core', 'database', 'gateway', 'http', 'lab', 'orders', 'price store',
    'prices', 'reader', 'sales'])
  if (process.env.UPDATE_DOCS) return writeFile(PAGE, domains.reduce(withRows, page))
  for (const domain of domains) {
    const wanted = definedErrors().filter((one) => one.domain === domain).map(({ code, meaning, retryable, status }) =>
      [`\`${code}\``, String(status ?? (retryable ? 503 : 500)), meaning, retryable ? 'yes' : 'no'])
    const rows = rowsOf(sections[domain])
    t.same(rows.map((cells) => cells.slice(0, 4)), wanted, domain)
    for (const [code, , , , advice] of rows) t.ok(advice.length > 10, code)
  }
})

/**
 * The page with the rows of a domain as the registry has them; the advice is written by hand.
 * @param {string} text @param {string} domain
 */
function withRows (text, domain) {
  const advice = new Map(rowsOf(text).map((cells) => [cells[0], cells.slice(4).join(' | ')]))
  const rows = definedErrors().filter((one) => one.domain === domain).map(({ code, meaning, retryable, status }) => {
    const cells = [`\`${code}\``, status ?? (retryable ? 503 : 500), meaning, retryable ? 'yes' : 'no', advice.get(`\`${code}\``) ?? '']
    return `| ${cells.join(' | ')} |\n`
  })
  return text.replace(new RegExp(`(\\n## ${domain}\\n[^]*?\\n\\|---.*\\n)(?:\\|.*\\n)*`, 'i'), (_, head) => head + rows.join(''))
}

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
