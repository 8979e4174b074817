import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openOwnServers } from '../../lab/servers/own.js'
import { allGone, infoOf, makeCheckout, pidOf, pidsOf } from '../embedded/checkout.js'
import { connectFor, engineName, eventually } from '../servers.js'
import { scopedEngines } from '../scope.js'

const LAB = fileURLToPath(new URL('servers-process.js', import.meta.url))

/** @param {import('tap').Test} t @param {Parameters<typeof openOwnServers>[0]} options */
async function openFor (t, options) {
  const servers = await openOwnServers(options)
  t.teardown(() => servers.close())
  return servers
}

const [anEngine] = await scopedEngines()

const [engine] = await scopedEngines()
const { program } = engine
t.test(engineName(engine), async (t) => {
  await t.test('servers are in sync and empty when they are open, and nothing is left when they are closed', async (t) => {
    const folder = await makeCheckout(t, 'lab')
    const servers = await openFor(t, { program, folder })
    t.equal(servers.engine, engineName(engine))
    t.ok(servers.ownsAll)
    t.match(servers.keyPrefix, /^lab-[0-9a-f]{8}:$/)
    t.same((await Promise.all(servers.replicaUrls.map(infoOf))).map((info) => info.master_link_status), ['up', 'up'])
    t.match(await infoOf(servers.primaryUrl), { connected_slaves: '2', maxmemory_policy: 'noeviction', aof_enabled: '0' })
    await servers.assertEmpty()
    const pids = await pidsOf(servers)
    await servers.close()
    await servers.close()
    await allGone(...pids)
    t.same(await readdir(folder), [])
  })

  await t.test('L1: a key in any database of any node is found before a measurement', async (t) => {
    const servers = await openFor(t, { program, replicas: 1, folder: await makeCheckout(t) })
    const primary = await connectFor(t, servers.primaryUrl)
    await primary.send('SELECT', 3)
    await primary.send('SET', 'left', 'over')
    await t.rejects(servers.assertEmpty(), { code: 'LAB_NOT_EMPTY', message: /127\.0\.0\.1:\d+ should be empty .* db3: keys=1/ })
    await primary.send('DEL', 'left')
    await servers.assertEmpty()
    const replica = await connectFor(t, servers.replicaUrls[0])
    await replica.send('REPLICAOF', 'NO', 'ONE')
    await replica.send('SET', 'left', 'over')
    await t.rejects(servers.assertEmpty(), { code: 'LAB_NOT_EMPTY' }, 'on a replica')
  })

  await t.test('a node that ends is reported in words, and none is started again', async (t) => {
    for (const which of [0, 1]) {
      const folder = await makeCheckout(t)
      const servers = await openFor(t, { program, replicas: 1, folder })
      const urls = [servers.primaryUrl, ...servers.replicaUrls]
      const pids = await pidsOf(servers)
      process.kill(pids[which], 'SIGKILL')
      t.equal(await servers.died, `the ${['primary', 'replica'][which]} ${urls[which]} ended by SIGKILL`)
      await t.rejects(pidOf(urls[which]), { code: 'SERVER_UNREACHABLE' })
      await servers.close()
      await allGone(...pids)
      t.same(await readdir(folder), [])
    }
  })
})

t.test('two sets of servers are apart, each with a run id of its own', async (t) => {
  const folder = await makeCheckout(t)
  const [one, other] = await Promise.all([1, 2].map(() => openFor(t, { program: anEngine.program, replicas: 0, folder })))
  t.not(one.keyPrefix, other.keyPrefix)
  t.same([one.replicaUrls, other.replicaUrls], [[], []])
  await (await connectFor(t, one.primaryUrl)).send('SET', 'key', 'value')
  await other.assertEmpty()
  await one.close()
  t.equal((await readdir(folder)).length, 1)
  t.ok(await pidOf(other.primaryUrl))
})

t.test('a lab that is killed with -9 leaves no server', async (t) => {
  const folder = await makeCheckout(t)
  const lab = spawn(process.execPath, [LAB, anEngine.program, folder],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } })
  t.teardown(() => lab.kill('SIGKILL'))
  const [line] = await once(lab.stdout, 'data')
  const pids = JSON.parse(String(line))
  t.equal(pids.length, 2)
  lab.kill('SIGKILL')
  await allGone(...pids)
})

t.test('stopping while servers start gives an error, and nothing is left', async (t) => {
  const folder = await makeCheckout(t)
  for (const wait of [null, () => eventually(async () => (await readdir(folder)).length > 0),
    () => eventually(async () => (await readdir(folder, { recursive: true })).some((file) => file.endsWith('.log')))]) {
    const stopping = new AbortController()
    if (!wait) stopping.abort()
    const opened = openOwnServers({ program: anEngine.program, folder, signal: stopping.signal }).then(() => null, (error) => error)
    await wait?.()
    stopping.abort()
    t.match(await opened, { code: 'SERVERS_FAILED', message: /stopped before/ })
    t.same(await readdir(folder), [])
  }
})

t.test('a program that cannot start is reported with its last words', async (t) => {
  const folder = await makeCheckout(t)
  const program = join(folder, 'valkey-server')
  await writeFile(program, '#!/bin/sh\necho no memory today; exit 3\n')
  await chmod(program, 0o755)
  await t.rejects(openOwnServers({ program, folder: join(folder, 'lab') }),
    { code: 'SERVERS_FAILED', message: /ended with status 3 .*\nno memory today/ })
  t.same(await readdir(join(folder, 'lab')), [])
})
