/** README and docs: their size, the files, scripts, commands, settings and layouts that they name. */
import { execFile } from 'node:child_process'
import { access, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { SETTINGS, flagOf } from '../../settings.js'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { readPage, ROOT } from './examples.js'

const run = promisify(execFile)
const docs = (await readdir(join(ROOT, 'docs'))).filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`)
const decisions = (await readdir(join(ROOT, 'docs/decisions'))).map((name) => `docs/decisions/${name}`)
const names = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...docs, 'docs/acl/README.md', ...decisions]
const pages = await Promise.all(names.map(async (name) => ({ name, text: await readPage(name) })))

t.test('README is one page', async (t) => {
  const lines = pages[0].text.split('\n').length
  t.ok(lines <= 150, `${lines} lines`)
})

/** words by kind */
const MOST_WORDS = Object.freeze({ docs: 28_000, decisions: 8_000, studies: 15_000 })
/** written from the code, or compared with it row by row by other tests */
const GENERATED = /<!-- (parts|settings|api|alerts|routes|statements):[\s\S]*?<!-- \/\1 -->/g
/** @type {Record<string, RegExp>} */
const COMPARED = {
  'docs/errors.md': /^\| `[A-Z].*$/gm,
  'docs/metrics.md': /^\| `(freshet|process|nodejs)_.*$/gm,
  'docs/architecture.md': /^```[\s\S]*?^```|^\| (`|L\d).*$/gm
}

t.test('there are not more words by hand than someone reads: docs, decisions, and pages of experiments', async (t) => {
  const studies = (await readdir(join(ROOT, 'experiments'), { recursive: true })).filter((name) => /(README|statements)\.md$/.test(name))
  const kinds = {
    docs: pages.filter(({ name }) => /^docs\/([^/]+|acl\/README)\.md$/.test(name)),
    decisions: pages.filter(({ name }) => name.startsWith('docs/decisions/')),
    studies: await Promise.all(studies.map(async (name) => ({ name, text: await readPage(`experiments/${name}`) })))
  }
  for (const [kind, most] of Object.entries(MOST_WORDS)) {
    const words = kinds[/** @type {keyof typeof kinds} */ (kind)]
      .reduce((sum, { name, text }) => sum + text.replace(GENERATED, '').replace(COMPARED[name] ?? /^$/, '').trim().split(/\s+/).length, 0)
    t.comment(`${kind}: ${words} words`)
    t.ok(words <= most, `${kind}: ${words} words, at most ${most}`)
  }
})

t.test('links lead to files and headings', async (t) => {
  for (const { name, text } of pages) {
    for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      const [file, heading] = target.split('#')
      const path = file ? join(dirname(name), file) : name
      await t.resolves(access(join(ROOT, path)), `${name}: ${target}`)
      if (heading) t.ok(headingsOf(await readPage(path)).includes(heading), `${name}: ${target}`)
    }
  }
})

/** @param {string} text @returns {string[]} anchors as GitHub makes them */
const headingsOf = (text) => [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
  heading.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-'))

t.test('scripts, commands and settings that pages name exist', async (t) => {
  const { scripts } = JSON.parse(await readPage('package.json'))
  const { stdout: usage } = await run('node', ['bin/freshet.js', '--help'], { cwd: ROOT })
  const flags = new Set(SETTINGS.map(({ name }) => `--${flagOf(name)}`))
  for (const { name, text } of pages) {
    for (const [, script] of text.matchAll(/`npm run ([a-z:]+)/g)) t.ok(scripts[script], `${name}: npm run ${script}`)
    for (const [, command] of text.matchAll(/npm start (?:-s )?([a-z]+)/g)) {
      t.match(usage, new RegExp(`npm start ${command}\\b`), `${name}: ${command}`)
    }
    for (const [, flag] of text.matchAll(/`(--[a-z][a-z-]+)/g)) t.ok(flags.has(flag) || NOT_OURS.includes(flag), `${name}: ${flag}`)
  }
})

/** flags of other programs, and of the setting that the type of a setting has as its example */
const NOT_OURS = ['--help', '--', '--hold-ms']

t.test('docs/layouts.md and README have every layout, with what it promises', async (t) => {
  const [readme, page] = await Promise.all(['README.md', 'docs/layouts.md'].map(readPage))
  for (const name of layoutNames()) {
    const { versions } = layoutOf(name).describe()
    t.ok(readme.includes(`\`${name}\``), name)
    t.match(page, new RegExp(`^\\| \`${name}\`.* \\| .+ \\| ${versions === 'one' ? 'one' : 'all'} \\| .+ \\|$`, 'm'), name)
  }
})
