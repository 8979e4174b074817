import { chmod, mkdir, readdir, realpath, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { lookAtEmbeddedServers } from '../../src/embedded/client.js'
import { childrenOf } from '../commands.js'
import { scopedEngines, wholeTest } from '../scope.js'
import { allGone, infoOf, isRunning, leftIn, makeCheckout, pidsOf, startCommand, until, useServers } from './checkout.js'

for (const { program, name, version } of await scopedEngines()) {
  const title = `${name} ${version}: a command gets a primary with two replicas in sync, and nothing is left after its release`
  t.test(title, (t) => useAndRelease(t, program, { name, version }))
}

/** @param {import('tap').Test} t @param {string} program @param {{ name: string, version: string }} engine */
async function useAndRelease (t, program, engine) {
  const root = await makeCheckout(t)
  const servers = await useServers(t, root, { named: program, replicas: 2 })
  t.same(servers.engine, engine)
  t.match(await infoOf(servers.primaryUrl), { role: 'master', connected_slaves: '2', maxmemory_policy: 'noeviction' })
  for (const url of servers.replicas) t.match(await infoOf(url), { role: 'slave', master_link_status: 'up' })
  t.match(await lookAtEmbeddedServers({ root }),
    { servers: { primaries: [servers.primaryUrl], replicas: servers.replicas }, databaseUrl: null, dynamodbUrl: null })
  const pids = await pidsOf(servers)
  await servers.release()
  t.notOk(await isRunning(...pids))
  await allGone(servers.supervisorPid)
  await until(async () => (await leftIn(root)).length === 0)
  t.equal(await lookAtEmbeddedServers({ root }), null)
}

t.test('commands that start concurrently share one supervisor, and the servers stay until the last is gone, even by kill -9', async (t) => {
  const root = await makeCheckout(t)
  const commands = await Promise.all(Array.from({ length: 3 }, () => startCommand(t, root)))
  const all = await Promise.all(commands.map((command) => command.next()))
  t.same(new Set(all.map((servers) => servers.supervisorPid)).size, 1)
  t.same(new Set(all.map((servers) => servers.primaryUrl)).size, 1)
  const [{ supervisorPid }] = all
  const pids = await pidsOf(all[0])
  const children = await Promise.all(commands.map(({ child }) => childrenOf(/** @type {number} */ (child.pid))))
  const [starter] = commands.splice(children.findIndex((some) => some.includes(supervisorPid)), 1)
  t.ok(children.flat().includes(supervisorPid))
  const [stopped, killed] = commands
  // Ctrl-C reaches the command that started the servers, and not them
  process.kill(-(/** @type {number} */ (starter.child.pid)), 'SIGINT')
  t.same(await starter.next(), { role: 'master' })
  t.same(await starter.next(), { released: true })
  t.same(await starter.exited, [0, null])
  for (const pid of pids) t.ok(await isRunning(pid))
  stopped.child.kill('SIGTERM')
  t.same(await stopped.next(), { role: 'master' })
  t.same(await stopped.next(), { released: true })
  for (const pid of pids) t.ok(await isRunning(pid))
  killed.child.kill('SIGKILL')
  await allGone(...pids, supervisorPid)
  await until(async () => (await leftIn(root)).length === 0)
})

wholeTest('a command that starts while the servers stop gets new ones', async (t) => {
  const root = await makeCheckout(t)
  const first = await useServers(t, root, { replicas: 0 })
  const releasing = first.release()
  const second = await useServers(t, root, { replicas: 0 })
  await releasing
  t.not(second.supervisorPid, first.supervisorPid)
  t.match(await infoOf(second.primaryUrl), { role: 'master' })
  for (let i = 0; i < 5; i++) {
    const [one, other] = await Promise.all([useServers(t, root, { replicas: 0 }), useServers(t, root, { replicas: 0 })])
    t.equal(one.primaryUrl, second.primaryUrl)
    await Promise.all([one.release(), other.release()])
  }
})

wholeTest('a folder with a path too long for a socket works too', async (t) => {
  const root = await makeCheckout(t)
  const deep = join(root, 'node_modules', 'x'.repeat(120), 'freshet')
  await mkdir(deep, { recursive: true })
  const [one, other] = await Promise.all([useServers(t, deep), useServers(t, deep)])
  t.equal(one.primaryUrl, other.primaryUrl)
  await one.release()
  await other.release()
  t.same(await leftIn(deep), [])
})

t.test('running servers are shared, never changed', async (t) => {
  const root = await makeCheckout(t)
  await useServers(t, root, { replicas: 1 })
  await t.rejects(useServers(t, root, { replicas: 2 }), { code: 'SERVERS_DIFFER', message: /already run with 1 replicas, not 2/ })
})

t.test('without a server program the error has a code, and nothing is left', async (t) => {
  const root = await makeCheckout(t)
  const env = { ...process.env, PATH: root }
  await t.rejects(useServers(t, root, { env, cacheDir: join(root, 'empty') }),
    { code: 'ENGINE_MISSING', message: /could not be downloaded/ })
  await until(async () => (await leftIn(root)).length === 0)
})

wholeTest('a command that is stopped during the download of a server program leaves nothing', async (t) => {
  const root = await makeCheckout(t)
  const PATH = join(root, 'bin')
  const cache = join(root, 'cache')
  await mkdir(PATH)
  await writeFile(join(PATH, 'pip3'), '#!/bin/sh\n[ "$1" = --version ] || PATH=/bin:/usr/bin exec sleep 600\n')
  await chmod(join(PATH, 'pip3'), 0o755)
  const givingUp = new AbortController()
  const report = (/** @type {string} */ line) => { if (/^downloading valkey/.test(line)) givingUp.abort() }
  const using = useServers(t, root, { env: { ...process.env, PATH }, cacheDir: cache, report, signal: givingUp.signal })
  await t.rejects(using, { code: 'SERVERS_FAILED', message: /stopped before/ })
  await until(async () => (await leftIn(root)).length === 0)
  t.same(await readdir(join(cache, 'engines')), [])
})

t.test('other users of the machine cannot enter .freshet or use the socket, whatever the umask', async (t) => {
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  // the socket of a long path is in /tmp
  for (const below of ['', 'a-long-name-of-a-folder/'.repeat(5)]) {
    const root = await makeCheckout(t, below)
    const folder = join(root, '.freshet')
    await mkdir(folder, { recursive: true })
    t.equal((await stat(folder)).mode & 0o777, 0o777, 'as an earlier version left it')
    const { release } = await useServers(t, root, { replicas: 0 })
    t.equal((await stat(folder)).mode & 0o777, 0o700)
    const [link] = await readdir(join(folder, 'supervisors'))
    const socket = await realpath(join(folder, 'supervisors', link))
    t.equal(socket.startsWith(folder), below === '')
    t.equal((await stat(socket)).mode & 0o077, 0)
    await release()
  }
})
