/** The package `freshet-client`: packed and alone in an empty project, it is the client that `freshet-feed/client` is. */
import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { makeClient } from '../../build/client/index.js'
import { ROOT } from '../../test/docs/examples.js'
import { CLIENT_PROGRAMS } from '../../test/library/programs.js'
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

t.test('its types are those of freshet-feed/client', async (t) => {
  const names = Object.keys(CLIENT_PROGRAMS)
  await Promise.all(Object.entries(CLIENT_PROGRAMS).map(([name, text]) =>
    writeFile(join(project, name), text.replaceAll('freshet-feed/client', 'freshet-client'))))
  const flags = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2023', '--lib', 'es2024,dom', '--module', 'nodenext']
  const tsc = join(ROOT, 'node_modules/typescript-7/bin/tsc')
  const { stdout } = await run('node', [tsc, ...flags, ...names], { cwd: project, env }).catch((error) => error)
  t.equal(stdout, '')
})
