import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { lookAtEmbeddedServers } from '../../src/store/embedded/client.js'
import { allGone, infoOf, isRunning, leftIn, makeCheckout, pidOf, startCommand, until, useServers } from './checkout.js'

/** @param {{ primaryUrl: string, replicaUrls: string[] }} servers */
const pidsOf = (servers) => Promise.all([servers.primaryUrl, ...servers.replicaUrls].map(pidOf))

t.test('a command gets a primary with two replicas in sync, and nothing is left after its release', async (t) => {
  const root = await makeCheckout(t)
  const servers = await useServers(t, root)
  t.match(servers.engine, { name: /^(valkey|redis)$/, version: /^\d+\.\d+\.\d+$/ })
  t.match(await infoOf(servers.primaryUrl), { role: 'master', connected_slaves: '2', maxmemory_policy: 'noeviction' })
  for (const url of servers.replicaUrls) t.match(await infoOf(url), { role: 'slave', master_link_status: 'up' })
  t.match(await lookAtEmbeddedServers({ root }), { primary: servers.primaryUrl, replicas: servers.replicaUrls })
  const pids = await pidsOf(servers)
  await servers.release()
  for (const pid of pids) t.notOk(await isRunning(pid))
  await allGone(servers.supervisorPid)
  t.same(await leftIn(root), [])
  t.equal(await lookAtEmbeddedServers({ root }), null)
})

t.test('commands that start at once share one supervisor, and the servers stay until the last has released', async (t) => {
  const root = await makeCheckout(t)
  const commands = await Promise.all(Array.from({ length: 5 }, () => startCommand(t, root)))
  const all = await Promise.all(commands.map((command) => command.next()))
  t.same(new Set(all.map((servers) => servers.supervisorPid)).size, 1)
  t.same(new Set(all.map((servers) => servers.primaryUrl)).size, 1)
  const pids = await pidsOf(all[0])
  for (const command of commands) {
    for (const pid of pids) t.ok(await isRunning(pid))
    command.child.kill('SIGTERM')
    await command.next()
    t.same(await command.next(), { released: true })
  }
  for (const pid of pids) t.notOk(await isRunning(pid))
  await allGone(all[0].supervisorPid)
  t.same(await leftIn(root), [])
})

t.test('a command that comes while the servers are being stopped gets new ones', async (t) => {
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

t.test('a command that is killed with -9 leaves nothing', async (t) => {
  const root = await makeCheckout(t)
  const command = await startCommand(t, root)
  const servers = await command.next()
  const pids = await pidsOf(servers)
  command.child.kill('SIGKILL')
  await allGone(...pids, servers.supervisorPid)
  t.same(await leftIn(root), [])
})

t.test('a supervisor that is killed with -9 leaves no server, its commands are told, and the next one takes over', async (t) => {
  const root = await makeCheckout(t)
  /** @type {any[]} */
  const failures = []
  const servers = await useServers(t, root, { onFailure: (/** @type {Error} */ error) => failures.push(error) })
  const pids = await pidsOf(servers)
  process.kill(servers.supervisorPid, 'SIGKILL')
  await allGone(...pids, servers.supervisorPid)
  await until(() => failures.length === 1)
  t.match(failures[0], { code: 'SERVERS_FAILED', message: /supervisor .* ended unexpectedly/ })
  t.equal((await leftIn(root)).length, 2, 'its socket and folders are still there')
  const next = await Promise.all([useServers(t, root), useServers(t, root), useServers(t, root)])
  t.equal(new Set(next.map((one) => one.supervisorPid)).size, 1)
  for (const one of next) await one.release()
  await allGone(next[0].supervisorPid)
  t.same(await leftIn(root), [])
})

t.test('a replica that is killed is started again on its address and gets in sync, and its commands are told', async (t) => {
  const root = await makeCheckout(t)
  /** @type {string[]} */
  const lines = []
  const servers = await useServers(t, root, { report: (/** @type {string} */ line) => lines.push(line) })
  const [url] = servers.replicaUrls
  const pid = await pidOf(url)
  process.kill(pid, 'SIGKILL')
  await until(async () => (await infoOf(url)).master_link_status === 'up')
  t.not(await pidOf(url), pid)
  await until(() => lines.length >= 2)
  t.match(lines.join('\n'), /replica .* ended by SIGKILL; it is started again\n.* in sync again/)
  const pids = await pidsOf(servers)
  process.kill(servers.supervisorPid, 'SIGKILL')
  await allGone(...pids)
})

t.test('a primary that is killed ends everything, with one plain sentence', async (t) => {
  const root = await makeCheckout(t)
  /** @type {any[]} */
  const failures = []
  const command = await startCommand(t, root)
  const servers = await command.next()
  await useServers(t, root, { onFailure: (/** @type {Error} */ error) => failures.push(error) })
  const pids = await pidsOf(servers)
  process.kill(pids[0], 'SIGKILL')
  const told = await command.next()
  t.equal(told.code, 'SERVERS_FAILED')
  t.match(told.message, /^the primary of the embedded servers .* ended by SIGKILL .*run the command again/)
  await until(() => failures.length === 1)
  t.equal(failures[0].message, told.message)
  await allGone(...pids, servers.supervisorPid)
  t.same(await leftIn(root), [])
})

t.test('Ctrl-C reaches the command and not its servers', async (t) => {
  const root = await makeCheckout(t)
  const command = await startCommand(t, root)
  const servers = await command.next()
  process.kill(-(/** @type {number} */ (command.child.pid)), 'SIGINT')
  t.same(await command.next(), { role: 'master' })
  t.same(await command.next(), { released: true })
  t.same(await command.exited, [0, null])
  await allGone(servers.supervisorPid)
})

t.test('a supervisor that is told to end stops the servers and says so', async (t) => {
  const root = await makeCheckout(t)
  const command = await startCommand(t, root)
  const servers = await command.next()
  const pids = await pidsOf(servers)
  process.kill(servers.supervisorPid, 'SIGTERM')
  t.match(await command.next(), { code: 'SERVERS_FAILED', message: /ended by SIGTERM/ })
  await allGone(...pids)
})

t.test('a folder too deep for a socket path works all the same', async (t) => {
  const root = await makeCheckout(t)
  const { mkdir } = await import('node:fs/promises')
  const deep = join(root, 'node_modules', 'x'.repeat(120), 'freshet')
  await mkdir(deep, { recursive: true })
  const [one, other] = await Promise.all([useServers(t, deep), useServers(t, deep)])
  t.equal(one.primaryUrl, other.primaryUrl)
  await one.release()
  await other.release()
  t.same(await leftIn(deep), [])
})

t.test('servers that run are shared, never changed', async (t) => {
  const root = await makeCheckout(t)
  await useServers(t, root, { replicas: 1 })
  await t.rejects(useServers(t, root), { code: 'SERVERS_FAILED', message: /run already with 1 replicas, not 2/ })
})

t.test('a server program that cannot be had is told with its code, and nothing is left', async (t) => {
  const root = await makeCheckout(t)
  const env = { ...process.env, PATH: root }
  await t.rejects(useServers(t, root, { env, cacheDir: join(root, 'empty') }), { code: 'ENGINE_MISSING', message: /could not be fetched/ })
  await until(async () => (await leftIn(root)).length === 0)
})

t.test('servers that cannot start are told with their last words', async (t) => {
  const root = await makeCheckout(t)
  const { chmod, writeFile } = await import('node:fs/promises')
  const program = join(root, 'valkey-server')
  await writeFile(program, '#!/bin/sh\n[ "$1" = --version ] && echo "Server v=9.9.9" || { echo no memory today; exit 3; }\n')
  await chmod(program, 0o755)
  await t.rejects(useServers(t, root, { named: program }), { code: 'SERVERS_FAILED', message: /ended with status 3 .*\nno memory today/ })
  await until(async () => (await leftIn(root)).length === 0)
  t.match(await readFile(join(root, '.freshet', 'supervisor.log'), 'utf8'), '')
  t.ok((await stat(join(root, '.freshet', 'supervisor.log'))).size < 10_000)
})
