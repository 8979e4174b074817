/** Which folder imports which. */
import t from 'tap'
import { basename, dirname, join, normalize } from 'node:path'
import { ARROWS } from './arrows.js'
import { SYSTEM_NAMES, SYSTEMS } from '../../src/systems/list.js'
import { folders, importsOf, sourceFiles, withoutComments } from './source.js'

const isOurs = (/** @type {string} */ name) =>
  name === 'settings.js' || /^(src|lab|bin|demo|writers|readers|experiments|charts|infra)\//.test(name)
const isIn = (/** @type {string} */ file, /** @type {string} */ place) => file === place || file.startsWith(place + '/')

const sources = await sourceFiles()
const typeEdges = sources.flatMap(({ file, text }) => [...text.matchAll(/(?:import\(|@import .* from )'(\.[^']+)'/g)]
  .map(([, to]) => ({ from: file, to: normalize(join(dirname(file), to)) })))
const edges = sources.flatMap((source) => importsOf(source).map((to) => ({ from: source.file, to })))

t.test('the test reads all imports', async (t) => {
  t.ok(sources.length > 40)
  t.ok(edges.length > 150)
  t.ok(edges.some(({ from, to }) => from === 'src/view/queries.js' && to === 'src/feeds/index.js'))
  const text = 'import x, {\n  y\n} from \'../c.js\'\nexport * from "./d.js"\nimport \'pkg\'\nawait import(\'../../bin/e.js\')\n' +
    '// import \'f\'\n/** @type {import(\'g\')} */'
  t.same(importsOf({ file: 'src/a/b.js', text }),
    ['src/c.js', 'src/a/d.js', 'pkg', 'bin/e.js'])
})

for (const [place, allowed] of Object.entries(ARROWS)) {
  t.test(`${place} imports only its own files${allowed.map((one) => `, ${one}`).join('')}`, async (t) => {
    const mayImport = (/** @type {string} */ file) => [place, ...allowed].some((one) => isIn(file, one))
    const wrong = edges.filter(({ from, to }) => isIn(from, place) && isOurs(to) && !mayImport(to))
    t.same(wrong, [])
  })
}

t.test('every folder of src has its arrows', async (t) => {
  const places = [...new Set(sources.map(({ file }) => /^src\/[^/]+(?=\/)/.exec(file)?.[0]).filter((place) => place !== undefined))]
  t.same(places.filter((place) => !(place in ARROWS)), [], 'add it to ARROWS')
})

t.test('folders of src are entered by their index', async (t) => {
  const place = (/** @type {string} */ file) => /^src\/[^/]+(?=\/)/.exec(file)?.[0]
  // src/systems/index.js is that of users
  const isEntry = (/** @type {string} */ file) => file.endsWith('/index.js') || /^src\/systems\/(list|names|settings|inside)\.js$/.test(file)
  const wrong = [...edges, ...typeEdges].filter(({ from, to }) => place(to) !== undefined && place(from) !== place(to) && !isEntry(to))
  t.same(wrong, [])
})

t.test('a system imports no other system, and only the list and the settings know them all', async (t) => {
  const systemOf = (/** @type {string} */ file) => /^src\/systems\/([^/]+)\//.exec(file)?.[1]
  const wrong = [...edges, ...typeEdges].filter(({ from, to }) =>
    isIn(from, 'src') && systemOf(to) !== undefined && systemOf(from) !== systemOf(to) &&
    !/^src\/systems\/(list|settings)\.js$/.test(from))
  t.same(wrong, [])
})

t.test('systems import freshet-feed/systems, packages and their own files only, as those of users do', async (t) => {
  for (const system of SYSTEM_NAMES) {
    const place = `src/systems/${system}`
    const own = [...edges, ...typeEdges].filter(({ from }) => isIn(from, place))
    t.ok(own.some(({ to }) => to === 'freshet-feed/systems'), system)
    t.same(own.filter(({ to }) => to !== 'freshet-feed/systems' && !/^(node:|jose$|prom-client$|@opentelemetry\/api$|@aws-sdk\/client-dynamodb$)/.test(to) && !isIn(to, place)), [], system)
  }
})

t.test('no process and no part of the engine knows a system by its name', async (t) => {
  const isGeneric = (/** @type {string} */ file) => /^(src|readers|writers)\//.test(file) &&
    !/^(src\/systems\/|src\/settings-table\.js|readers\/page\/)/.test(file)
  const named = new RegExp(`(['"\`])(${SYSTEM_NAMES.join('|')})\\1|systems/(${SYSTEM_NAMES.join('|')})/`)
  t.same(sources.filter(({ file, text }) => isGeneric(file) && named.test(withoutComments(text))).map(({ file }) => file), [])
})

t.test('settings.js is imported by process files, and its table also by the options of the library', async (t) => {
  const isProcessFile = (/** @type {string} */ file) => ['bin', 'demo', 'writers', 'readers'].includes(dirname(file))
  t.same(edges.filter(({ from, to }) => to === 'settings.js' && !isProcessFile(from)), [])
  t.same(edges.filter(({ to }) => to === 'src/settings-table.js').map(({ from }) => from), ['settings.js', 'src/options.js'])
})

t.test('the names of the systems are those of the list', async (t) => {
  t.same(Object.keys(SYSTEMS), SYSTEM_NAMES)
})

t.test('the client of each kind of server is imported in one folder', async (t) => {
  const places = [['ioredis', 'src/store'], ['pg', 'src/sql'], ['@aws-sdk/client-dynamodb', 'src/systems/prices/store'],
    ['@platformatic/kafka', 'src/consumers']]
  for (const [name, place] of places) {
    const loads = new RegExp(`(from |import |import\\(|require\\()'${name}'`)
    const from = sources.filter(({ file, text }) => isIn(file, 'src') && loads.test(withoutComments(text))).map(({ file }) => dirname(file))
    t.same([...new Set(from)], [place], name)
  }
  t.same(edges.filter(({ from, to }) => !isIn(from, 'src') && /^(ioredis|redis|iovalkey|@valkey\/)/.test(to)), [])
})

t.test('only src/http, readers, writers, lab/serving and demo/local import fastify', async (t) => {
  const may = ['src/http', 'lab/serving', 'readers', 'writers', 'demo/local']
  const wrong = edges.filter(({ from, to }) => /^@?fastify/.test(to) && !may.some((place) => isIn(from, place)))
  t.same(wrong, [])
})

t.test('every import leads to a file', async (t) => {
  const files = new Set(sources.map(({ file }) => file))
  t.same(edges.filter(({ to }) => isOurs(to) && !files.has(to)), [])
})

t.test('imports have no cycles', async (t) => {
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

t.test('folders are named after their subjects', async (t) => {
  const names = ['utils', 'util', 'helpers', 'helper', 'common', 'lib', 'libs', 'misc', 'shared', 'types']
  t.same((await folders()).filter((folder) => names.includes(basename(folder))), [])
})
