/** docs/architecture.md describes the tree, the arrows and the rules of the lab as they are. */
import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { ARROWS } from './arrows.js'
import { ROOT } from './source.js'

const page = await readFile(join(ROOT, 'docs/architecture.md'), 'utf8')
const UNLISTED =
  /^(LICENSE|(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md|eslint\.config\.js|((types\.)?jsconfig|package|package-lock)\.json|node_modules|types)$/

/** @param {string} mark @returns {string[][]} the cells of the table behind a mark, without its head */
const tableAfter = (mark) => page.slice(page.indexOf(`<!-- ${mark}`)).split('\n\n', 1)[0].split('\n')
  .filter((line) => line.startsWith('| ')).slice(1).map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()))

/** @param {string} folder @returns {Promise<string[]>} what it holds, folders with a slash */
async function listed (folder) {
  const entries = await readdir(join(ROOT, folder), { withFileTypes: true })
  return entries.filter(({ name }) => !name.startsWith('.') && !UNLISTED.test(name) && !name.endsWith('.tgz'))
    .map((entry) => entry.isDirectory() ? `${entry.name}/` : entry.name).sort()
}

t.test('the tree is that of the project', async (t) => {
  const [, tree] = page.split('## Tree')[1].split('```')
  const names = (/** @type {RegExp} */ line) => [...tree.matchAll(line)].map(([, name]) => name).sort()
  t.same(names(/^(\S+)/gm), await listed('.'))
  for (const folder of ['src', 'lab']) {
    const [, part] = /** @type {RegExpExecArray} */ (new RegExp(`^${folder}/.*\\n((?: .*\\n)*)`, 'm').exec(tree))
    const found = [...part.matchAll(/^ {2}((?:\S+ )*?\S+)(?: {2}|$)/gm)].flatMap(([, some]) => some.split(' ')).sort()
    t.same(found, await listed(folder), folder)
  }
})

t.test('the arrows are those that the imports are tested against', async (t) => {
  const rows = tableAfter('arrows').map((cells) => cells.map((cell) => cell.replaceAll('`', '')))
    .map(([place, may]) => [place, may.split(' ').filter(Boolean)])
  t.same(Object.fromEntries(rows), ARROWS)
})

t.test('the rules of the lab are numbered, and kept where the page says', async (t) => {
  const rows = tableAfter('rules')
  t.same(rows.map(([rule]) => rule), Array.from({ length: 18 }, (_, i) => `L${i + 1}`))
  for (const [rule, , place] of rows) {
    const [, file] = /^`(.+)`$/.exec(place) ?? []
    if (file) t.match(await readFile(join(ROOT, file), 'utf8'), new RegExp(`\\b${rule}\\b`), `${rule}: ${file} names it`)
  }
})

t.test('files that the page names exist', async (t) => {
  const files = [...page.matchAll(/`((?:src|lab|test|lua|readers|writers)\/[\w/.-]+\.\w+)`/g)].map(([, file]) => file)
  t.ok(files.length > 15)
  for (const file of files) await t.resolves(access(join(ROOT, file)), file)
})
