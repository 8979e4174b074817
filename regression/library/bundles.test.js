/**
 * The package in bundlers, and in Jest: a program is built as docs/library.md shows, in a project that has no optional peer,
 * and runs on a server away from it. The tools are fetched into a folder of their own. esbuild runs in CI; Next.js, Bun and Jest at night.
 */
import { execFile, spawn } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { freePort } from '../../src/embedded/server-process.js'
import { openFeed } from 'freshet-feed'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { exampleOf, ROOT } from '../../test/docs/examples.js'
import { eventually, startDeployment } from '../../test/servers.js'
import { isNight, nightTest, scopedEngines } from '../../test/scope.js'

const run = promisify(execFile)
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(FRESHET_|npm_|NODE_OPTIONS$)/i.test(name))),
  NEXT_TELEMETRY_DISABLED: '1'
}
const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
const OURS = Object.entries(dependencies).map(([name, version]) => `${name}@${version}`)
const TOOLS = ['esbuild@0.28.2', ...isNight ? [...OURS, 'bun@1.4.5', 'jest@30.5.2', 'next@16.4.6', 'react@19', 'react-dom@19'] : []]

const USE = `
  const feed = await openFeed('buses', { redisUrl, readFrom: 'primary', encoding: 'json', deadlineMs: 10_000 })
  feed.append({ id: 'bus-7', value: { stop: 12 } })
  await feed.flush()
  const { value } = await feed.get('bus-7')
  await feed.close()
  const lua = "return function () return 'held', {}, {} end"
  const chairs = await openSystem({ name: 'chairs', rules: { chair: { lua } } }, { redisUrl, deadlineMs: 10_000 })
  const { code } = await chairs.submit({ rule: 'chair', key: 'a', args: [] })
  await chairs.close()
`
const MODULE = `
import { createRequire } from 'node:module'
import { openFeed } from 'freshet-feed'
import { openSystem } from 'freshet-feed/systems'
async function use (redisUrl) {${USE}  return JSON.stringify([value.stop, code, typeof createRequire])
}
use(process.argv[2]).then((text) => console.log(text))
`
const COMMONJS = `
const { openFeed } = require('freshet-feed')
const { openSystem } = require('freshet-feed/systems')
async function use (redisUrl) {${USE}  return JSON.stringify([value.stop, code])
}
use(process.argv[2]).then((text) => console.log(text))
`
const JEST = `
const { openFeed, FreshetError } = require('freshet-feed')
const { openSystem } = require('freshet-feed/systems')
const { follow } = require('freshet-feed/client')

test('a feed and a system', async () => {
  const redisUrl = process.env.REDIS_URL${USE}  expect(value).toEqual({ stop: 12 })
  expect(code).toBe('held')
  await expect(openFeed('buses', {})).rejects.toBeInstanceOf(FreshetError)
  await expect(openFeed('buses', {})).rejects.toThrow(/redisUrl is missing/)
  expect(typeof follow).toBe('function')
})
`
const NEXT = {
  'app/layout.js': 'export default function Layout ({ children }) { return <html><body>{children}</body></html> }\n',
  'app/page.js': `import { Trams } from './trams'

export default function Page () { return <Trams /> }
`,
  'app/bus/route.js': `import { openFeed } from 'freshet-feed'
import { openSystem } from 'freshet-feed/systems'

export const dynamic = 'force-dynamic'

export async function GET () {
  const redisUrl = process.env.REDIS_URL${USE}  return Response.json([value.stop, code])
}
`
}

const folder = await mkdtemp(join(tmpdir(), 'freshet-bundles-'))
t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
const away = join(folder, 'away')
await mkdir(away)
await write('package.json', JSON.stringify({ name: 'user', private: true }))
await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', ...TOOLS], { cwd: folder, env })
await unpack()
const [engine] = await scopedEngines()
const { primary: { url } } = await startDeployment(t, { engine, replicas: 0 })

/** @param {string} name @param {string} text */
async function write (name, text) {
  await mkdir(join(folder, name, '..'), { recursive: true })
  await writeFile(join(folder, name), text)
}

/** The package without its types, beside the dependency that the library has. */
async function unpack () {
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT, env })
  const packed = JSON.parse(stdout)
  const [{ filename }] = Array.isArray(packed) ? packed : Object.values(packed)
  const own = join(folder, 'node_modules/freshet-feed')
  await mkdir(own, { recursive: true })
  await run('tar', ['-xzf', join(folder, filename), '-C', own, '--strip-components', '1'])
  // Next.js takes no package from outside its project
  if (!isNight) await symlink(join(ROOT, 'node_modules/ioredis'), join(folder, 'node_modules/ioredis'))
}

/** Runs a bundle where there is no package. @param {string} bundle @param {string} [program] @returns {Promise<string>} */
async function runAway (bundle, program = process.execPath) {
  await copyFile(join(folder, bundle), join(away, bundle))
  const { stdout, stderr } = await run(program, [join(away, bundle), url], { cwd: away, env })
  return stdout + stderr
}

/** @param {import('tap').Test} t @param {string} bundle */
async function isSmall (t, bundle) {
  const { size } = await stat(join(folder, bundle))
  // 1.1 MB; with the systems of the package 4 MB
  t.ok(size < 1_400_000, `${bundle}: ${size} bytes`)
}

for (const [example, bundle, program] of [['esm', 'bundle.mjs', MODULE], ['cjs', 'bundle.cjs', MODULE], ['cjs', 'bundle.cjs', COMMONJS]]) {
  const test = program === MODULE ? t.test.bind(t) : nightTest
  test(`esbuild makes ${bundle} of ${program === MODULE ? 'import' : 'require'}, and it runs`, async (t) => {
    const [command] = await exampleOf('docs/library.md', example)
    await write('app.js', program)
    const { stderr } = await run('bash', ['-c', command], { cwd: folder, env })
    t.notMatch(stderr, /warning|error/i)
    t.match(await runAway(bundle), program === MODULE ? '[12,"held","function"]' : '[12,"held"]')
    await isSmall(t, bundle)
  })
}

nightTest('bun build makes bundles for Node.js and Bun, and they run', async (t) => {
  await write('app.js', MODULE)
  const bun = join(folder, 'node_modules/.bin/bun')
  for (const [target, program] of [['node', process.execPath], ['bun', bun]]) {
    await run(bun, ['build', 'app.js', `--target=${target}`, `--outfile=${target}.mjs`], { cwd: folder, env })
    t.match(await runAway(`${target}.mjs`, program), '[12,"held","function"]')
    await isSmall(t, `${target}.mjs`)
  }
})

nightTest('require loads the package in Jest as it is by default', async (t) => {
  await write('feed.test.js', JEST)
  const { stderr } = await run('npx', ['--no-install', 'jest', 'feed.test.js'], { cwd: folder, env: { ...env, REDIS_URL: url } })
  t.match(stderr, /Tests: +1 passed, 1 total/)
})

nightTest('next build takes a route with openFeed, and the recipe of docs/recipes.md, without settings', async (t) => {
  const [route, component] = await exampleOf('docs/recipes.md', 'next')
  const recipe = { 'pages/api/feeds/[...path].js': route, 'app/trams.js': component }
  for (const [name, text] of Object.entries({ ...NEXT, ...recipe })) await write(name, text)
  const next = join(folder, 'node_modules/.bin/next')
  await run(next, ['build'], { cwd: folder, env })
  const port = await freePort()
  const child = spawn(next, ['start', '--port', String(port)],
    { cwd: folder, env: { ...env, REDIS_URL: url, FRESHET_REDIS_URL: url }, stdio: 'ignore', detached: true })
  t.teardown(() => process.kill(-Number(child.pid), 'SIGKILL'))
  const get = (/** @type {string} */ path) => fetch(`http://127.0.0.1:${port}${path}`)
  await eventually(() => get('/').then(({ ok }) => ok, () => false))
  t.same(await (await get('/bus')).json(), [12, 'held'])
  t.match(await (await get('/')).text(), '<pre>{}</pre>')
  const trams = await openFeed('trams', { redisUrl: url, encoding: 'json', deadlineMs: 10_000 })
  t.teardown(() => trams.close())
  trams.append({ id: 'tram-1', value: { stop: 12 } })
  await trams.flush()
  t.match(await (await get('/api/feeds/v1/feeds/trams/count')).json(), { count: 1 })
  t.equal((await get('/api/feeds/v1/feeds/buses/count')).status, 403)

  await t.test('its component shows what changes', needsBrowser, async (t) => {
    const { page } = await openPage(t, await startBrowser(t))
    await page.goto(`http://127.0.0.1:${port}/`)
    await page.getByText('{"tram-1":{"stop":12}}').waitFor()
    trams.append({ id: 'tram-1', value: { stop: 13 } })
    await trams.flush()
    await page.getByText('{"tram-1":{"stop":13}}').waitFor()
  })
})
