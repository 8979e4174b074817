/** The package `freshet-client`: packed and alone in an empty project, it is the client that `freshet-feed/client` is. */
import { execFile, spawn } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { makeClient } from '../../build/client/index.js'
import { exampleOf, ROOT } from '../../test/docs/examples.js'
import { CLIENT_PROGRAMS } from '../../test/library/programs.js'
import { eventually } from '../../test/servers.js'
import { startGateway, startReader } from '../../test/services.js'
import { sharedDeployment } from '../../test/shared.js'

const run = promisify(execFile)
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_OPTIONS$)/i.test(name)))
const FOLLOW = `
import { follow } from 'freshet-client'
for await (const { event, items } of follow(process.argv[2], 'alone', { encoding: 'json' })) {
  console.log(event, JSON.stringify(items.map(({ id, value }) => [id, value])))
  break
}
`
const project = t.testdir({
  'package.json': '{"name":"user","private":true,"type":"module"}',
  'follow.js': FOLLOW,
  'follow.cjs': 'console.log(typeof require("freshet-client").follow)'
})
const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: makeClient(join(project, 'package')), env })
const [{ filename, files, unpackedSize }] = JSON.parse(stdout.slice(stdout.search(/^\[/m)))

t.test('it holds the client, its types and nothing else, and depends on nothing', async (t) => {
  const own = join(project, 'node_modules/freshet-client')
  await mkdir(own, { recursive: true })
  await run('tar', ['-xzf', join(project, filename), '-C', own, '--strip-components', '1'])
  t.same(files.map((/** @type {{ path: string }} */ { path }) => path).sort(),
    ['LICENSE', 'README.md', 'client.cjs', 'client.d.ts', 'client.js', 'package.json'])
  t.ok(unpackedSize < 50_000, `${unpackedSize} bytes`)
  const { dependencies, peerDependencies, version } = JSON.parse(await readFile(join(own, 'package.json'), 'utf8'))
  const feed = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  t.same([dependencies, peerDependencies, version], [undefined, undefined, feed.version])
  t.notOk('freshet-client' in feed.dependencies)
  t.equal(await readFile(join(own, 'client.js'), 'utf8'), await readFile(join(ROOT, 'src/client.js'), 'utf8'), 'the same file')
})

t.test('it follows a reader, as a module and with require', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const [gateway, reader] = await Promise.all([startGateway(t, on), startReader(t, { ...on, flags: ['--read-from', 'primary'] })])
  await gateway.post('/v1/feeds/alone/items', '[{"id":"bus-7","value":{"stop":12}}]')
  t.same(await run('node', ['follow.js', reader.url], { cwd: project, env }), { stdout: 'snapshot [["bus-7",{"stop":12}]]\n', stderr: '' })
  t.equal((await run('node', ['follow.cjs'], { cwd: project, env })).stdout, 'function\n')
})

t.test('the example of its README prints what changes', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const [gateway, reader] = await Promise.all([startGateway(t, on), startReader(t, { ...on, flags: ['--read-from', 'primary'] })])
  const send = (/** @type {number} */ stop) => gateway.post('/v1/feeds/positions/items', JSON.stringify([{ id: 'bus-7', value: { stop } }]))
  await send(12)
  const [code] = await exampleOf('build/client/README.md', 'client')
  await writeFile(join(project, 'example.js'), code.replace('http://127.0.0.1:8080', reader.url))
  const child = spawn('node', ['example.js'], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part) => { text += part })
  await eventually(() => text.includes('snapshot'))
  await send(13)
  await eventually(() => text.includes('items'))
  await gateway.remove('/v1/feeds/positions/items/bus-7')
  await eventually(() => text.includes('deleted'))
  t.equal(text, 'snapshot bus-7 { stop: 12 }\nitems bus-7 { stop: 13 }\nitems bus-7 deleted\n')
})

t.test('its types are those of freshet-feed/client', async (t) => {
  const names = Object.keys(CLIENT_PROGRAMS)
  await Promise.all(Object.entries(CLIENT_PROGRAMS).map(([name, text]) =>
    writeFile(join(project, name), text.replaceAll('freshet-feed/client', 'freshet-client'))))
  const flags = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2023', '--lib', 'es2024,dom', '--module', 'nodenext']
  const tsc = join(ROOT, 'node_modules/typescript-7/bin/tsc')
  const { stdout } = await run('node', [tsc, ...flags, ...names], { cwd: project, env }).catch((error) => error)
  t.equal(stdout, '')
})
