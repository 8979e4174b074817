/**
 * What a program loads with the library: the client of the servers, and nothing of the processes and commands in the package.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { importsOf, ROOT, sourceFiles, withoutComments } from '../architecture/source.js'
import { sharedDeployment } from '../shared.js'

const run = promisify(execFile)
/** of debug, which loads it if another package has brought it */
const IF_PRESENT = ['has-flag', 'supports-color']

/** @param {string} url */
const isOurs = (url) => url.startsWith(String(pathToFileURL(ROOT))) && !url.includes('/node_modules/') && url.endsWith('.js')

const importing = (/** @type {string} */ entry) => `await import(${JSON.stringify(join(ROOT, entry))})`

/**
 * @param {string} program a module @param {string[]} [args]
 * @returns {Promise<{ packages: string[], files: number }>} what a process loads that runs it
 */
async function loadedBy (program, args = []) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-loaded-'))
  try {
    // the coverage of a process names every script that it loaded
    const env = { PATH: process.env.PATH, NODE_V8_COVERAGE: folder }
    await run(process.execPath, ['--input-type=module', '-e', program, ...args], { env })
    const reports = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
    const urls = reports.flatMap((text) => JSON.parse(text).result.map((/** @type {{ url: string }} */ { url }) => url))
    const packages = urls.flatMap((url) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])
    return { packages: [...new Set(packages)].sort(), files: urls.filter(isOurs).length }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @param {string} name @param {Set<string>} [found] @returns {Promise<Set<string>>} the package and all that it depends on */
async function withDependencies (name, found = new Set()) {
  if (found.has(name)) return found
  found.add(name)
  const { dependencies = {} } = JSON.parse(await readFile(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'))
  for (const one of Object.keys(dependencies)) await withDependencies(one, found)
  return found
}

const SYSTEM = `
  const { openSystem } = ${importing('src/systems/index.js')}
  const lua = "return function () return 'held', {}, { events = { { type = 'held' } } } end"
  const [redisUrl, keyPrefix] = process.argv.slice(1)
  const seats = await openSystem({ name: 'seats', rules: { seat: { lua } } }, { redisUrl, keyPrefix, partitions: 1, deadlineMs: 10_000 })
  await seats.submit({ rule: 'seat', key: 'a', args: [] })
  await new Promise((resolve) => { seats.consume('receipts', resolve) })
  await seats.close()`
const PROGRAMS = {
  'src/index.js': importing('src/index.js'), prices: importing('src/systems/prices/library.js'), 'a system that is used': SYSTEM
}

for (const [name, program] of Object.entries(PROGRAMS)) {
  t.test(`${name} loads ioredis and its dependencies, no other package`, async (t) => {
    const { primary: { url }, keyPrefix } = await sharedDeployment(t)
    const { packages, files } = await loadedBy(program, [url, keyPrefix])
    const allowed = [...await withDependencies('ioredis'), ...IF_PRESENT]
    t.ok(packages.includes('ioredis'))
    t.ok(files > 50, `${files} files of ours`)
    t.same(packages.filter((name) => !allowed.includes(name)), [])
  })
}

t.test('what a bundler reaches from the library is in the modules: no systems, no migrations, no files beside them', async (t) => {
  const sources = new Map((await sourceFiles()).map((source) => [source.file, source]))
  for (const [entry, ofSystems] of /** @type {const} */ ([['src/index.js', ['names']], ['src/systems/index.js', null]])) {
    const reached = new Set(/** @type {string[]} */ ([entry]))
    for (const file of reached) {
      const source = sources.get(file)
      if (source) importsOf(source).filter((to) => sources.has(to)).forEach((to) => reached.add(to))
    }
    const files = [...reached]
    t.ok(files.length > 50, `${files.length} files`)
    const systems = files.filter((file) => ofSystems ? file.startsWith('src/systems/') : /^src\/systems\/.+\//.test(file))
    t.same(systems, ofSystems?.map((name) => `src/systems/${name}.js`) ?? [], entry)
    t.same(files.filter((file) => /^(settings\.js$|src\/(sql|embedded|http|runtime)\/)/.test(file)), [], entry)
    // CommonJS has no import.meta, and the file that it names is not where a bundle is
    t.same(files.filter((file) => /import\.meta|createRequire/.test(withoutComments(sources.get(file)?.text ?? ''))), [], entry)
  }
})

t.test('the client loads nothing', async (t) => {
  t.same(await loadedBy(importing('src/client.js')), { packages: [], files: 1 })
})
