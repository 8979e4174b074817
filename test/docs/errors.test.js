/** docs/errors.md has every code as the registry has it, with what to do. */
import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { definedErrors } from '../../src/errors.js'
import '../../src/http/errors.js'
import '../../readers/errors.js'
import '../../writers/gateway/errors.js'
import '../../lab/errors.js'
import '../../src/admission/errors.js'
import '../../src/consumers/errors.js'
import '../../src/sql/errors.js'
import { loadSystems } from '../../src/systems/list.js'

await loadSystems()
const PAGE = new URL('../../docs/errors.md', import.meta.url)
const page = await readFile(PAGE, 'utf8')
const sections = Object.fromEntries(page.split('\n## ').slice(1).map((section) => [section.split('\n', 1)[0].toLowerCase(), section]))

/** @param {string} section @returns {string[][]} cells of the rows that begin with a code */
const rowsOf = (section) => section.split('\n').filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()))

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
