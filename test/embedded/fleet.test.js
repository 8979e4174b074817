import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { allGone, infoOf, leftIn, makeCheckout, pidOf, pidsOf, startCommand, until, useServers } from './checkout.js'

t.test('a supervisor killed with -9 leaves no server, its commands get an error, and the next one takes over', async (t) => {
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

t.test('a killed replica restarts on its address and gets in sync, and its commands get messages', async (t) => {
  const root = await makeCheckout(t)
  /** @type {string[]} */
  const lines = []
  const servers = await useServers(t, root, { report: (/** @type {string} */ line) => lines.push(line) })
  const [url] = servers.replicas
  const pid = await pidOf(url)
  process.kill(pid, 'SIGKILL')
  await until(async () => (await infoOf(url)).master_link_status === 'up')
  t.not(await pidOf(url), pid)
  await until(() => lines.length >= 2)
  t.match(lines.join('\n'), /replica .* ended by SIGKILL; restarting it\n.* in sync again/)
  const pids = await pidsOf(servers)
  process.kill(servers.supervisorPid, 'SIGKILL')
  await allGone(...pids)
})

t.test('when the primary is killed, everything ends with one error message', async (t) => {
  const root = await makeCheckout(t)
  /** @type {any[]} */
  const failures = []
  const command = await startCommand(t, root)
  const servers = await command.next()
  await useServers(t, root, { onFailure: (/** @type {Error} */ error) => failures.push(error) })
  const pids = await pidsOf(servers)
  process.kill(pids[0], 'SIGKILL')
  const failure = await command.next()
  t.equal(failure.code, 'SERVERS_FAILED')
  t.match(failure.message, /^the primary of the embedded servers .* ended by SIGKILL, .*run the command again/)
  await until(() => failures.length === 1)
  t.equal(failures[0].message, failure.message)
  await allGone(...pids, servers.supervisorPid)
  await until(async () => (await leftIn(root)).length === 0)
})

t.test('a supervisor that gets SIGTERM stops the servers and reports it', async (t) => {
  const root = await makeCheckout(t)
  const command = await startCommand(t, root)
  const servers = await command.next()
  const pids = await pidsOf(servers)
  process.kill(servers.supervisorPid, 'SIGTERM')
  t.match(await command.next(), { code: 'SERVERS_FAILED', message: /received SIGTERM/ })
  await allGone(...pids)
})

t.test('the error of servers that cannot start has their last lines', async (t) => {
  const root = await makeCheckout(t)
  const program = join(root, 'valkey-server')
  await writeFile(program, '#!/bin/sh\n[ "$1" = --version ] && echo "Server v=9.9.9" || { echo no memory today; exit 3; }\n')
  await chmod(program, 0o755)
  await t.rejects(useServers(t, root, { named: program }), { code: 'SERVERS_FAILED', message: /ended with status 3 .*\nno memory today/ })
  await until(async () => (await leftIn(root)).length === 0)
})
