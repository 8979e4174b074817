/**
 * The recipes of docs/recipes.md run: curl and Fastify by day, Express and Python in `npm run regression`, Go by night where it is there.
 */
import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { installPackage } from '../npm.js'
import { installPython } from '../python.js'
import { nightTest, wholeTest } from '../scope.js'
import { eventually, freePort } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { exampleOf, ROOT } from './examples.js'

const run = promisify(execFile)
const PAGE = 'docs/recipes.md'
const EXPRESS_VERSION = '5.3.0'
const HTTPX_VERSION = '0.28.1'
const HTTPX_SSE_VERSION = '0.4.3'
const hasGo = await run('go', ['version']).then(() => true, () => false)

const { primary, keyPrefix } = await sharedDeployment(t)
const on = { redisUrl: primary.url, keyPrefix }
const [gateway, reader] = await Promise.all([startGateway(t, on), startReader(t, { ...on, flags: ['--read-from', 'primary'] })])

/** With the addresses of this test. @param {string} text */
const here = (text) => text.replaceAll('http://127.0.0.1:8080', reader.url).replaceAll('http://127.0.0.1:8081', gateway.url)

/** Without what is another each time. @param {string} text */
const timeless = (text) => text.replace(/"ts":\d{13}/g, '"ts":T').replace(/^(id|retry): \S+$/gm, '$1: …').trim()

/** @param {string} name */
const codeOf = async (name) => (await exampleOf(PAGE, name))[0]

/**
 * Output of a program that runs until the test ends.
 * @param {import('tap').Test} t @param {string} program @param {string[]} args @param {any} [options]
 */
function start (t, program, args, options = {}) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
  const out = { text: '' }
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => { out.text += text })
  const ended = new Promise((resolve) => child.once('close', resolve))
  t.teardown(() => {
    child.kill('SIGKILL')
    return ended
  })
  return out
}

/** @param {number} stop */
const send = (stop) => gateway.post('/v1/feeds/trams/items', JSON.stringify([{ id: 'tram-1', value: { stop } }]))

/** A server of the page on a free port. @param {import('tap').Test} t @param {string} name @param {Record<string, string>} [packages] */
async function serve (t, name, packages = {}) {
  const port = await freePort()
  const modules = { 'freshet-feed': 'src/index.js', 'freshet-feed/reader': 'readers/handler.js' }
  const files = { ...packages, ...Object.fromEntries(Object.entries(modules).map(([module, file]) => [module, join(ROOT, file)])) }
  let program = (await codeOf(name)).replace('\'redis://127.0.0.1:6379\'', `'${primary.url}'`).replaceAll('3000', String(port))
    .replace('openReaderHandler({', `openReaderHandler({ keyPrefix: '${keyPrefix}', readFrom: 'primary',`)
    .replace('openFeed(\'trams\', {', `openFeed('trams', { keyPrefix: '${keyPrefix}',`)
  for (const [module, file] of Object.entries(files)) program = program.replace(`from '${module}'`, `from '${pathToFileURL(file)}'`)
  start(t, process.execPath, [join(t.testdir({ 'server.mjs': program }), 'server.mjs')])
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => { await fetch(url) })
  return url
}

t.test('curl writes, reads and follows', async (t) => {
  const [commands, printed] = await exampleOf(PAGE, 'curl')
  // a busy machine needs more than a second for a snapshot
  const unhurried = here(commands).replace('--max-time 1', '--max-time 5')
  const { stdout } = await run('bash', ['-c', unhurried.replace(/^curl/gm, 'curl -s -w "\\n"')])
  t.equal(timeless(stdout).replace('}\n\nretry', '}\nretry'), timeless(printed))
})

wholeTest('a reader and a writer in a server of Express', async (t) => {
  const url = await serve(t, 'express', { express: join(await installPackage('express', EXPRESS_VERSION), 'index.js') })
  const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"stop":7}' }
  t.equal((await fetch(`${url}/trams/tram-2`, sent)).status, 204)
  const item = await fetch(`${url}/feeds/v1/feeds/trams/items/tram-2?encoding=json`)
  t.match(await item.json(), { id: 'tram-2', value: { stop: 7 } })
  t.equal((await fetch(`${url}/feeds/v1/feeds/buses/count`)).status, 403)
})

t.test('a reader in a server of Fastify', async (t) => {
  await send(12)
  const url = await serve(t, 'fastify', { fastify: join(ROOT, 'node_modules/fastify/fastify.js') })
  const item = await fetch(`${url}/feeds/v1/feeds/trams/items/tram-1?encoding=json`)
  t.match(await item.json(), { id: 'tram-1', value: { stop: 12 } })
  t.equal((await fetch(`${url}/elsewhere`)).status, 404)
})

/** @param {{ text: string }} out */
async function checkFollows (out) {
  await eventually(() => out.text.includes('snapshot'))
  await send(21)
  await eventually(() => /items .*21/.test(out.text))
}

wholeTest('Python follows a feed', async (t) => {
  await send(20)
  const folder = await installPython(`httpx-sse-${HTTPX_SSE_VERSION}`, [`httpx==${HTTPX_VERSION}`, `httpx-sse==${HTTPX_SSE_VERSION}`])
  const program = join(t.testdir({ 'follow.py': here(await codeOf('python')) }), 'follow.py')
  await checkFollows(start(t, 'python3', [program], { env: { ...process.env, PYTHONPATH: folder } }))
})

nightTest('Go follows a feed', { skip: !hasGo && 'no go on PATH' }, async (t) => {
  await send(20)
  const folder = t.testdir({ 'follow.go': here(await codeOf('go')) })
  await run('go', ['build', '-o', 'follow', 'follow.go'], { cwd: folder, env: { ...process.env, GO111MODULE: 'off' } })
  await checkFollows(start(t, join(folder, 'follow'), []))
})
