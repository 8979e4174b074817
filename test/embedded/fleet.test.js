import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { allGone, infoOf, leftIn, makeCheckout, pidOf, pidsOf, startCommand, until, useServers } from './checkout.js'

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
  await until(async () => (await leftIn(root)).length === 0)
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
  await until(async () => (await leftIn(root)).length === 0)
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

t.test('servers that cannot start are told with their last words', async (t) => {
  const root = await makeCheckout(t)
  const program = join(root, 'valkey-server')
  await writeFile(program, '#!/bin/sh\n[ "$1" = --version ] && echo "Server v=9.9.9" || { echo no memory today; exit 3; }\n')
  await chmod(program, 0o755)
  await t.rejects(useServers(t, root, { named: program }), { code: 'SERVERS_FAILED', message: /ended with status 3 .*\nno memory today/ })
  await until(async () => (await leftIn(root)).length === 0)
})
