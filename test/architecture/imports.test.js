/**
 * The arrows between the folders, as the design has them.
 */
import t from 'tap'
import { basename, dirname } from 'node:path'
import { folders, importsOf, sourceFiles } from './source.js'

/** What a folder may import of ours beside its own files and folders. */
const ARROWS = /** @type {Record<string, string[]>} */ ({
  'src/item': ['src/errors.js'],
  'src/layouts': ['src/errors.js', 'src/item'],
  'src/store': ['src/errors.js'],
  'src/feeds': ['src/errors.js', 'src/item', 'src/layouts', 'src/store'],
  'src/pipeline': ['src/errors.js', 'src/item', 'src/layouts', 'src/feeds', 'src/store'],
  'src/view': ['src/errors.js', 'src/item', 'src/layouts', 'src/feeds', 'src/store'],
  'src/metrics': ['src/errors.js', 'src/pipeline'],
  'src/push': ['src/errors.js', 'src/item', 'src/layouts', 'src/view', 'src/http', 'src/metrics'],
  'src/figures': ['src/errors.js', 'src/item', 'src/feeds'],
  'src/http': ['src/errors.js', 'src/item', 'src/metrics'],
  'src/lab': ['src/errors.js', 'src/clock.js', 'src/crew.js', 'src/lifecycle.js', 'src/index.js', 'src/synthetic.js', 'src/item', 'src/layouts', 'src/feeds', 'src/store', 'src/pipeline', 'src/view'],
  src: ['lua', 'settings.js'],
  bin: ['settings.js', 'src', 'writers', 'readers', 'charts'],
  writers: ['settings.js', 'src'],
  readers: ['settings.js', 'src'],
  charts: [],
  experiments: [],
  infra: [],
  'src/settings': [],
  'settings.js': ['src/settings']
})

const isOurs = (/** @type {string} */ name) => name.includes('/') ? /^(src|bin|writers|readers|experiments|charts|infra)\//.test(name) : name === 'settings.js'
const isIn = (/** @type {string} */ file, /** @type {string} */ place) => file === place || file.startsWith(place + '/')

const sources = await sourceFiles()
const edges = sources.flatMap((source) => importsOf(source).map((to) => ({ from: source.file, to })))

t.test('the reader of imports sees them', async (t) => {
  t.ok(sources.length > 40)
  t.ok(edges.length > 150)
  t.ok(edges.some(({ from, to }) => from === 'src/view/ask.js' && to === 'src/feeds/definitions.js'))
  t.same(importsOf({ file: 'src/a/b.js', text: 'import x, {\n  y\n} from \'../c.js\'\nexport * from "./d.js"\nimport \'pkg\'\nawait import(\'../../bin/e.js\')\n// import \'f\'\n/** @type {import(\'g\')} */' }),
    ['src/c.js', 'src/a/d.js', 'pkg', 'bin/e.js'])
})

for (const [place, allowed] of Object.entries(ARROWS)) {
  t.test(`${place} imports of ours only ${[...allowed, 'its own'].join(', ')}`, async (t) => {
    const wrong = edges.filter(({ from, to }) => isIn(from, place) && isOurs(to) && !isIn(to, place) && !allowed.some((one) => isIn(to, one)))
    t.same(wrong, [])
  })
}

t.test('every folder of src has its arrows', async (t) => {
  const places = [...new Set(sources.map(({ file }) => /^src\/[^/]+(?=\/)/.exec(file)?.[0]).filter((place) => place !== undefined))]
  t.same(places.filter((place) => !(place in ARROWS)), [], 'add it to ARROWS')
})

t.test('settings.js is imported by process files, and by the face of the library', async (t) => {
  const isProcessFile = (/** @type {string} */ file) => ['bin', 'writers', 'readers'].includes(dirname(file))
  t.same(edges.filter(({ from, to }) => to === 'settings.js' && from !== 'src/index.js' && !isProcessFile(from)), [])
  t.same(edges.filter(({ from, to }) => isIn(to, 'settings') && from !== 'settings.js' && !isIn(from, 'settings')), [], 'what is behind it by nobody else')
})

t.test('the client library is imported in src/store only', async (t) => {
  const clients = edges.filter(({ to }) => /^(ioredis|redis|iovalkey|@valkey\/)/.test(to))
  t.same([...new Set(clients.map(({ from }) => dirname(from)))], ['src/store'])
})

t.test('the core does not wait for fastify: only src/http, readers and what the lab compares them with do', async (t) => {
  const may = ['src/http', 'src/lab/serving', 'readers', 'writers']
  const wrong = edges.filter(({ from, to }) => /^@?fastify/.test(to) && !may.some((place) => isIn(from, place)))
  t.same(wrong, [])
})

t.test('every import leads to a file', async (t) => {
  const files = new Set(sources.map(({ file }) => file))
  t.same(edges.filter(({ to }) => isOurs(to) && !files.has(to)), [])
})

t.test('no import comes back to where it began', async (t) => {
  const next = new Map(sources.map(({ file }) => [file, edges.filter(({ from }) => from === file)]))
  /** @type {string[]} */
  const rounds = []
  const done = new Set()
  /** @param {string} file @param {string[]} path */
  const visit = (file, path) => {
    if (path.includes(file)) return rounds.push([...path.slice(path.indexOf(file)), file].join(' > '))
    if (done.has(file)) return
    for (const { to } of next.get(file) ?? []) if (isOurs(to)) visit(to, [...path, file])
    done.add(file)
  }
  for (const { file } of sources) visit(file, [])
  t.same(rounds, [])
})

t.test('no folder is named for nothing', async (t) => {
  const names = ['utils', 'util', 'helpers', 'helper', 'common', 'lib', 'libs', 'misc', 'shared', 'types']
  t.same((await folders()).filter((folder) => names.includes(basename(folder))), [])
})
