/**
 * `npm run site`: the documentation as a site, in .freshet/site/out. VitePress is fetched once, so that only this command needs it. Pages
 * are the Markdown files of the repository, as they are; a link that leads nowhere fails the build.
 *
 *     .freshet/site/VERSION    VitePress and what it needs
 *     .freshet/site/pages      the pages, with README.md as index.md, and what they show
 *     .freshet/site/out        the site: a page, and beside it its Markdown; llms.txt lists them
 */
import { execFile } from 'node:child_process'
import { access, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, normalize, relative } from 'node:path'
import { promisify } from 'node:util'
import { fetchOnce } from '../../src/embedded/fetch-once.js'
import { configText } from './config.js'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')
const LOCK = new URL('pinned-lock.json', import.meta.url)
const DEADLINE_MS = 600_000
const FOLDERS = ['docs', 'experiments', 'charts', 'examples', 'infra']
const FILES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
const LINK = /(!?)\[([^\]]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)/g
/** code, in which nothing is a link */
const CODE = /(^```.*?^```$|`[^`\n]+`)/ms
/** with a page of their own, or shown by one */
const SHOWN = /\.(md|svg|png|json)$/

/**
 * @param {{ folder?: string, report?: (line: string) => void }} [options] `folder` for all files
 * @returns {Promise<string>} the folder of the site
 * @throws {Error} a link that leads nowhere; VitePress could not be fetched, or failed
 */
export async function buildSite ({ folder = join(ROOT, '.freshet', 'site'), report = () => {} } = {}) {
  const packages = await vitepress(folder, report)
  const [pages, out] = [join(folder, 'pages'), join(folder, 'out')]
  await Promise.all([pages, out].map((place) => rm(place, { recursive: true, force: true })))
  const files = await pageFiles()
  const texts = new Map(await Promise.all(files.map(async (file) =>
    /** @type {const} */ ([file, withLinks(file, await readFile(join(ROOT, file), 'utf8'), new Set(files))]))))
  await Promise.all([...texts].map(([file, text]) => write(join(pages, pageOf(file)), text)))
  await Promise.all([...new Set([...texts].flatMap(([file, text]) => assetsOf(file, text)))].map((file) =>
    cp(join(ROOT, file), join(pages, file), { recursive: true })))
  await symlink(join(packages, 'node_modules'), join(pages, 'node_modules'))
  await write(join(pages, '.vitepress', 'config.mjs'), configText(texts, out))
  await run(process.execPath, [join(packages, 'node_modules/vitepress/bin/vitepress.js'), 'build', pages],
    { timeout: DEADLINE_MS, maxBuffer: 2 ** 26 })
  await Promise.all([...texts].map(([file, text]) => write(join(out, pageOf(file)), text)))
  await writeFile(join(out, 'llms.txt'), listOf(texts))
  return out
}

/** @param {string} folder @param {(line: string) => void} report @returns {Promise<string>} the folder with node_modules */
async function vitepress (folder, report) {
  const lock = await readFile(LOCK, 'utf8')
  const { name, packages: { '': { dependencies } } } = JSON.parse(lock)
  const own = join(folder, dependencies.vitepress)
  return fetchOnce({
    folder: own,
    isThere: () => access(own).then(() => true, () => false),
    name: `VitePress ${dependencies.vitepress}`,
    megabytes: 30,
    instead: 'read the files of docs/ as they are',
    report,
    async fetch (workshop) {
      await writeFile(join(workshop, 'package.json'), JSON.stringify({ name, private: true, dependencies }))
      await writeFile(join(workshop, 'package-lock.json'), lock)
      await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'],
        { cwd: workshop, timeout: DEADLINE_MS })
      return workshop
    }
  })
}

/** @returns {Promise<string[]>} Markdown files, from the root, in the order of their names */
async function pageFiles () {
  const found = await Promise.all(FOLDERS.map(async (folder) =>
    (await readdir(join(ROOT, folder), { recursive: true })).map((file) => join(folder, file))))
  return [...FILES, ...found.flat().filter((file) => file.endsWith('.md') && !file.includes('node_modules')).sort()]
}

/** README.md of a folder is its first page. @param {string} file */
const pageOf = (file) => file.replace(/(^|\/)README\.md$/, '$1index.md')

/**
 * The text of a page, with links to the pages of the site. Of a link to what the site does not have (sources) its words stay.
 * @param {string} file @param {string} text @param {Set<string>} pages
 */
function withLinks (file, text, pages) {
  const linked = (/** @type {string} */ prose) => prose.replace(LINK, (_, mark, words, to, part = '') => {
    const target = normalize(join(dirname(file), to)).replace(/\/$/, '')
    const page = [target, join(target, 'README.md')].find((one) => pages.has(one))
    if (page) return `[${words}](${pathTo(file, pageOf(page))}${part})`
    return SHOWN.test(target) ? `${mark}[${words}](${pathTo(file, target)})` : words
  })
  return text.split(CODE).map((piece, i) => i % 2 ? piece : linked(piece)).join('')
}

/** @param {string} file @param {string} to */
function pathTo (file, to) {
  const path = relative(dirname(file), to)
  return path.startsWith('.') ? path : `./${path}`
}

/** @param {string} file @param {string} text @returns {string[]} images and raw samples that the page links to */
const assetsOf = (file, text) => [...text.matchAll(LINK)].map(([, , , to]) => normalize(join(dirname(file), to)))
  .filter((one) => SHOWN.test(one) && !one.endsWith('.md'))

/** @param {string} file @param {string} text */
async function write (file, text) {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

/** llms.txt, as of llmstxt.org. @param {Map<string, string>} texts */
function listOf (texts) {
  const lines = [...texts].filter(([file]) => /^(README|docs\/[^/]+|experiments\/[^/]+\/README)\.?(md)?$/.test(file))
    .map(([file, text]) => `- [${titleOf(text)}](/${pageOf(file)}): ${firstOf(text)}`)
  return `# Freshet\n\n> ${firstOf(texts.get('README.md') ?? '')}\n\n## Pages\n\n${lines.join('\n')}\n`
}

const titleOf = (/** @type {string} */ text) => /^# (.+)/m.exec(text)?.[1] ?? ''

/** Its first sentence. @param {string} text */
const firstOf = (text) => /^(?![#|<![`\s-]).+?[.?!](?=\s|$)/ms.exec(text)?.[0].replace(/\s+/g, ' ').replaceAll('**', '') ?? ''

if (import.meta.filename === process.argv[1]) {
  const report = (/** @type {string} */ line) => { process.stderr.write(`site: ${line}\n`) }
  const out = relative(process.cwd(), await buildSite({ report }))
  report(`written to ${out}; to look at it: python3 -m http.server --bind 127.0.0.1 --directory ${out}`)
}
