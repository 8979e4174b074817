/** The examples of README, docs/writing.md, docs/library.md, docs/prices.md and docs/own-systems.md print what they show. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import ts from 'typescript'
import { connectFor, eventually, startServer } from '../servers.js'
import { startConsumers, startGateway, startReader } from '../services.js'
import { openFeed } from 'freshet-feed'
import { openPrices } from 'freshet-feed/prices'
import { exampleOf, patternOf, readPage, ROOT } from './examples.js'
import { scoped, scopedEngines } from '../scope.js'

const run = promisify(execFile)
const [engine] = await scopedEngines()
const primary = await startServer(t, { engine })
const control = await connectFor(t, primary.url)
t.beforeEach(() => control.send('FLUSHALL'))

t.test('files that are loaded from standard input', async (t) => {
  const reader = await startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })
  const rows = (await readPage('docs/writing.md')).matchAll(/^\| (`.*?`) \| .+ \|$/gm)
  const fields = [...rows].flatMap(([, cell]) => cell.replaceAll('`', '').split(', '))
  for (const name of ['weather', 'quakes']) {
    const [write, summary, query, answer] = await exampleOf('docs/writing.md', name)
    const { stdout } = await run('bash', ['-c', write], { cwd: ROOT, env: { ...process.env, FRESHET_REDIS_URL: primary.url } })
    t.match(stdout.trim(), patternOf(summary), `${name}: the summary`)
    for (const field of Object.keys(JSON.parse(stdout))) t.ok(fields.includes(field), `docs/writing.md explains ${field}`)
    const response = await fetch(/'(.*)'/.exec(query)?.[1].replace('http://127.0.0.1:8080', reader.url) ?? '')
    t.match(await response.text(), patternOf(answer), `${name}: the answer`)
  }
})

t.test('a compressed file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'compressed-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const path = join(folder, 'weather.csv.gz')
  await writeFile(path, gzipSync(await readPage('examples/data/weather.csv')))
  const [write] = await exampleOf('docs/writing.md', 'compressed')
  const { stdout } = await run('bash', ['-c', write.replace('weather.csv.gz', path)],
    { cwd: ROOT, env: { ...process.env, FRESHET_REDIS_URL: primary.url } })
  t.match(JSON.parse(stdout), { offered: 2922, items: 2922 })
})

t.test('items that are sent over HTTP', async (t) => {
  const [gateway, reader] = await Promise.all([
    startGateway(t, { redisUrl: primary.url }), startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })])
  const [write, accepted, query, answer] = await exampleOf('README.md', 'positions')
  const { stdout } = await run('bash', ['-c', write.replace('curl', 'curl -s').replace('http://127.0.0.1:8081', gateway.url)])
  t.equal(stdout.trim(), accepted.trim())
  const response = await fetch(/'(.*)'/.exec(query)?.[1].replace('http://127.0.0.1:8080', reader.url) ?? '')
  t.match(await response.text(), patternOf(answer, ['asOf', 'ts']))
})

t.test('an auction and a bid', async (t) => {
  const gateway = await startGateway(t, { redisUrl: primary.url })
  const [commands, printed] = await exampleOf('README.md', 'auction')
  const shell = commands.replaceAll('curl', 'curl -s -w "\\n"').replaceAll('http://127.0.0.1:8081', gateway.url)
  const { stdout } = await run('bash', ['-c', shell])
  t.equal(stdout.trim().replace(/"bidder":"[\w-]+"/, ''), printed.trim().replace(/"bidder":"[\w-]+"/, ''))
})

t.test('a sale and a claim', async (t) => {
  const gateway = await startGateway(t, { redisUrl: primary.url })
  const [commands, printed] = await exampleOf('docs/sales.md', 'sale')
  const shell = commands.replaceAll('curl', 'curl -s -w "\\n"').replaceAll('http://127.0.0.1:8081', gateway.url)
  const { stdout } = await run('bash', ['-c', shell])
  const withoutId = (/** @type {string} */ text) => text.trim().replace(/"claimId":"[\w-]+"/, '')
  t.equal(withoutId(stdout), withoutId(printed))
})

t.test('programs with the library, in JavaScript and in TypeScript', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-examples-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  // regression/library/package.test.js runs the first example of each library, as installed
  const first = scoped([], [['README.md', 'short'], ['docs/own-systems.md', 'own']])
  for (const [page, name] of [...first, ['docs/library.md', 'library'], ['docs/library.md', 'typed']]) {
    await control.send('FLUSHALL')
    const [code, printed] = await exampleOf(page, name)
    const program = ts.transpile(code, { target: ts.ScriptTarget.ES2023, module: ts.ModuleKind.ESNext })
      .replace('\'freshet-feed\'', `'${pathToFileURL(join(ROOT, 'src/index.js'))}'`)
      .replace('\'freshet-feed/systems\'', `'${pathToFileURL(join(ROOT, 'src/systems/index.js'))}'`)
      .replace('redis://127.0.0.1:6379', primary.url)
    await writeFile(join(folder, 'program.mjs'), program)
    t.same(await run(process.execPath, ['program.mjs'], { cwd: folder }), { stdout: printed, stderr: '' }, `${page}: ${name}`)
  }
})

t.test('a reader in a server of the user', async (t) => {
  const [code] = await exampleOf('docs/library.md', 'handler')
  const program = code
    .replace('\'freshet-feed/reader\'', `'${pathToFileURL(join(ROOT, 'readers/handler.js'))}'`)
    .replace('redis://127.0.0.1:6379', primary.url)
  const folder = t.testdir({ 'program.mjs': program })
  const feed = await openFeed('positions', { redisUrl: primary.url })
  t.teardown(() => feed.close())
  feed.append({ id: 'bus-7', value: '' })
  await feed.flush()
  const { stdout, stderr } = await run(process.execPath, ['program.mjs'], { cwd: folder })
  t.match(stdout, /^\{"count":1,"exact":true,"asOf":\d+\}\n403\n$/)
  t.equal(stderr, '')
})

t.test('a source of a user, and its prices in a program', async (t) => {
  const [source, , code, printed] = await exampleOf('docs/prices.md', 'mine')
  const program = code
    .replace('\'freshet-feed/prices\'', `'${pathToFileURL(join(ROOT, 'src/systems/prices/library.js'))}'`)
    .replace('redis://127.0.0.1:6379', primary.url)
  const folder = t.testdir({ 'mine.js': source, 'program.mjs': program })
  const [gateway] = await Promise.all([
    startGateway(t, { redisUrl: primary.url }),
    startConsumers(t, { redisUrl: primary.url, flags: ['--systems', 'prices', '--exchanges', join(folder, 'mine.js')] })
  ])
  t.match(await gateway.send('PUT', '/v1/assets/btc-usd'), { status: 201 })
  const prices = openPrices({ redisUrl: primary.url, deadlineMs: 10_000 })
  t.teardown(prices.close)
  await eventually(() => prices.get('btc-usd').catch(({ code }) => { throw new Error(code) }))
  t.same(await run(process.execPath, ['program.mjs'], { cwd: folder }), { stdout: printed, stderr: '' })
})
