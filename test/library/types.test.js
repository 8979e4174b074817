/**
 * The published types: what a user sees of the library, compiled as a user does. regression/library/package.test.js does the same
 * with the installed package, also with skipLibCheck.
 */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { SETTINGS } from '../../settings.js'
import { layoutNames } from '../../src/layouts/index.js'
import { ENCODINGS } from '../../src/options.js'
import { ackNames } from '../../src/pipeline/index.js'
import { ROOT } from '../architecture/source.js'
import { CLIENT_PROGRAMS, LIBRARY_PROGRAMS } from './programs.js'
import { nightTest } from '../scope.js'

const folder = await mkdtemp(join(tmpdir(), 'freshet-types-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const description = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
const published = description.files.filter((/** @type {string} */ name) => name.startsWith('types/'))

/** @type {Record<string, string>} by file, relative to the root */
const declarations = {}
const emit = emitter()
const installed = join(folder, 'node_modules/freshet-feed')
await write(join(installed, 'package.json'), JSON.stringify(description))
for (const name of published) await write(join(installed, name), declarationOf(name))
for (const name of ['@types/node', 'undici-types']) {
  await mkdir(dirname(join(folder, 'node_modules', name)), { recursive: true })
  await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
}
const programs = { ...LIBRARY_PROGRAMS, ...CLIENT_PROGRAMS }
for (const [name, text] of Object.entries(programs)) await write(join(folder, name), text)
await write(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))

/** @param {string} file @param {string} text */
async function write (file, text) {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

/** What `npm run prepack` writes. @param {string} name relative to the root @returns {string} */
function declarationOf (name) {
  declarations[name] ??= emit(name)
  return declarations[name]
}

/** @returns {(name: string) => string} of any file that the entries of the package need: all of them take seconds */
function emitter () {
  const { options } = ts.convertCompilerOptionsFromJson(
    JSON.parse(ts.sys.readFile(join(ROOT, 'jsconfig.json')) ?? '').compilerOptions, ROOT)
  const entries = ['src/index', 'src/client', 'src/systems/index', 'src/systems/prices/library', 'readers/handler']
  const program = ts.createProgram(entries.map((name) => join(ROOT, `${name}.js`)),
    { ...options, composite: false, declaration: true, noCheck: true, rootDir: ROOT, outDir: join(ROOT, 'types') })
  return (name) => {
    let text = ''
    const source = program.getSourceFile(join(ROOT, name.replace(/^types\//, '').replace(/\.d\.ts$/, '.js')))
    if (source) program.emit(source, (file, written) => { if (relative(ROOT, file) === name) text = written })
    return text
  }
}

/** The compiler's own declarations and those of Node take it most of its time: programs with the same modules share what is parsed. */
const parsed = /** @type {Map<string, ts.SourceFile | undefined>} */ (new Map())

/** @param {string[]} names @param {ts.CompilerOptions} options */
function programOf (names, options) {
  const all = { noEmit: true, strict: true, target: ts.ScriptTarget.ES2023, types: [], ...options }
  const host = ts.createCompilerHost(all)
  const { getSourceFile } = host
  host.getSourceFile = (file, how, ...more) => {
    const format = typeof how === 'object' ? how.impliedNodeFormat : how
    const key = `${all.module} ${format} ${file}`
    if (!parsed.has(key)) parsed.set(key, getSourceFile(file, how, ...more))
    return parsed.get(key)
  }
  return ts.createProgram(names.map((name) => join(folder, name)), all, host)
}

/** @param {ts.Program} program @returns {string[]} of files of ours: types of other packages are theirs */
const errorsOf = (program) => [program.getOptionsDiagnostics(), ...program.getSourceFiles()
  .filter(({ fileName }) => fileName.startsWith(folder))
  .map((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])].flat()
  .map(({ file, start, messageText }) =>
    `${file && basename(file.fileName)}:${file && file.getLineAndCharacterOfPosition(start ?? 0).line + 1} ` +
      ts.flattenDiagnosticMessageText(messageText, '\n'))

const MODULES = {
  nodenext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
  bundler: { module: ts.ModuleKind.Preserve, moduleResolution: ts.ModuleResolutionKind.Bundler }
}
const LIBS = ['lib.es2024.d.ts']

for (const resolution of /** @type {const} */ (['nodenext', 'bundler'])) {
  // the compiler takes seconds for each; regression/library/package.test.js resolves as bundlers do, with skipLibCheck
  const test = resolution === 'nodenext' ? t.test.bind(t) : nightTest
  test(`programs of users compile, resolved as ${resolution}, without skipLibCheck`, async (t) => {
    // of a bundler there is no CommonJS
    const names = Object.keys(LIBRARY_PROGRAMS).filter((name) => resolution === 'nodenext' || name.endsWith('.mts'))
    t.same(errorsOf(programOf(names, { ...MODULES[resolution], skipLibCheck: false, lib: LIBS })), [])
  })
}

t.test('exports name declarations first, and files that are published', async (t) => {
  const { exports, files } = description
  for (const [path, target] of Object.entries(exports).filter(([, one]) => typeof one === 'object')) {
    // the first that applies is taken: what loads ES modules with require must not come to the file for what does not
    t.same(Object.keys(target), ['types', 'module-sync', 'module', 'require', 'default'], path)
    t.ok(files.includes(target.types.slice(2)), target.types)
    t.ok(files.some((/** @type {string} */ name) => target.default.startsWith(`./${name}/`)), target.default)
    const { default: module } = target
    t.match(target, { 'module-sync': module, module, require: module.replace(/\.js$/, '.cjs') })
  }
})

t.test('the client compiles without types of Node', async (t) => {
  const program = programOf(Object.keys(CLIENT_PROGRAMS), { ...MODULES.nodenext, skipLibCheck: true, lib: [...LIBS, 'lib.dom.d.ts'] })
  t.same(errorsOf(program), [])
  t.same(program.getSourceFiles().filter(({ fileName }) => fileName.includes('@types/node')), [])
})

t.test('the types that are published are those that the entries need, and have nothing that is inside', async (t) => {
  const needed = new Set()
  /** @param {string} name */
  function visit (name) {
    if (needed.has(name)) return
    needed.add(name)
    for (const [, to] of declarationOf(name).matchAll(/(?:from |import\()["'](\.[^"']+)\.js["']/g)) visit(join(dirname(name), `${to}.d.ts`))
  }
  const entries = ['.', './client', './prices', './reader', './systems']
  for (const { types } of entries.map((entry) => description.exports[entry])) visit(join(types))
  t.same([...needed].sort(), published.toSorted())
  for (const name of published) {
    if (name.endsWith('/errors.d.ts')) continue
    t.notMatch(declarations[name].replace(/\/\*\*[\s\S]*?\*\//g, ''), /pipeline|Views|Deployment|Writer|writer|Serving|dueMs/, name)
  }
})

/** @param {ts.Type} type @returns {string[]} values of a union of texts, and names of other types */
const partsOf = (type) => (type.isUnion() ? type.types : [type]).filter(({ flags }) => !(flags & ts.TypeFlags.Undefined)).map((one) => {
  if (one.isStringLiteral()) return one.value
  if (one.flags & ts.TypeFlags.BooleanLike) return 'boolean'
  return one.flags & ts.TypeFlags.Number ? 'number' : 'other'
})

t.test('options and their values are those of the settings', async (t) => {
  const program = programOf(['program.mts'], { ...MODULES.nodenext, lib: LIBS })
  const checker = program.getTypeChecker()
  const entry = program.getSourceFile(join(installed, 'types/src/index.d.ts'))
  const types = Object.fromEntries(checker.getExportsOfModule(/** @type {any} */ (checker.getSymbolAtLocation(/** @type {any} */ (entry))))
    .map((symbol) => [symbol.name, checker.getDeclaredTypeOfSymbol(symbol)]))
  /** @param {string} of @returns {Record<string, string[]>} */
  const optionsOf = (of) => Object.fromEntries(types[of].getProperties().map((property) =>
    [property.name, [...new Set(partsOf(checker.getTypeOfSymbol(property)))].sort()]))

  const known = { command: 'library', layouts: layoutNames(), acks: ackNames() }
  /** @param {typeof SETTINGS[number]} row @returns {string[]} */
  function wanted ({ check: { expects }, default: unset }) {
    const words = (typeof expects === 'string' ? expects : expects(known)).replace(/a number of [^|]+$/, 'number')
    if (words === 'true | false') return ['boolean']
    if (/^\S+( \| \S+)+$/.test(words)) return words.split(' | ').sort()
    return typeof unset === 'number' ? ['number'] : ['other']
  }
  const TEXT = ['redisUrl', 'replicaUrl', 'keyPrefix']
  const OWN = ['log', 'clock', 'onFlush', 'onBehind', 'onRefused']
  const rows = SETTINGS.filter(({ uses }) => uses.includes('library'))
  const fromRows = (/** @type {typeof rows} */ of) => of.map((row) => [row.name, TEXT.includes(row.name) ? ['other'] : wanted(row)])
  const own = OWN.map((name) => [name, ['other']])
  t.same(optionsOf('FeedOptions'), Object.fromEntries([...fromRows(rows), ...own, ['encoding', ['bytes']]]))
  t.same(optionsOf('JsonFeedOptions'), Object.fromEntries([...fromRows(rows), ...own, ['encoding', ['json']]]))
  const ofReader = rows.filter(({ uses }) => uses.includes('reader'))
  t.same(optionsOf('ServerOptions'), Object.fromEntries([...fromRows(ofReader), ['log', ['other']]]))
  t.same(partsOf(types.Layout).sort(), layoutNames().sort())
  t.same(ENCODINGS, ['bytes', 'json'])
})

t.test('every method is described: what it does, what it returns, and the codes of its errors', async (t) => {
  let methods = 0
  for (const name of ['feed', 'reading', 'reader', 'index']) {
    const text = declarations[`types/src/${name}.d.ts`]
    const member = name === 'index' ? /^export function (\w+)/gm : /^ {4}(\w+): (?:<|\{|\()/gm
    for (const found of text.matchAll(member)) {
      methods++
      const before = text.slice(0, found.index).trimEnd()
      t.ok(before.endsWith('*/'), `${found[1]} has a comment`)
      const comment = before.slice(before.lastIndexOf('/**'))
      t.match(comment, /^\/\*\*\s+\* [A-Z][^@]{15,}/, `${found[1]}: what it does`)
      t.match(comment, /@returns|@type/, `${found[1]}: what it returns`)
      const mayFail = found[1] !== 'status' && !(name === 'reader' && found[1] === 'close')
      if (mayFail) t.match(comment, /@throws \{.*FreshetError\}[^@]*([A-Z]+_[A-Z]+|as `)/, `${found[1]}: its errors`)
    }
  }
  t.ok(methods >= 18, `${methods} methods`)
})
