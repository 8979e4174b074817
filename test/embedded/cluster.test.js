/** The embedded cluster, and servers with Sentinels: a killed node comes back as a replica of the node that took over. */
import { kill } from 'node:process'
import t from 'tap'
import { nodeRows } from '../../bin/doctor.js'
import { openFeed } from '../../src/index.js'
import { connectFor, eventually, silentLog } from '../servers.js'
import { allGone, leftIn, makeCheckout, pidOf, until, useServers } from './checkout.js'

t.setTimeout(180_000)

t.test('three primaries with a replica each, which other commands share', async (t) => {
  const root = await makeCheckout(t)
  const servers = await useServers(t, root, { form: 'cluster' })
  t.equal(servers.primaries.length, 3)
  t.equal(servers.replicas.length, 3)
  t.match(await useServers(t, root, { replicas: 2 }), { primaries: servers.primaries }, 'a command that asks for no cluster uses it')
  const feed = await openFeed('latest', { redisUrl: servers.primaryUrl, partitions: 6, log: silentLog, ack: 'replica' })
  for (let i = 0; i < 100; i++) feed.append({ id: `a-${i}`, value: 'x' })
  await feed.flush()

  const [, killed] = servers.primaries
  kill(await pidOf(killed), 'SIGKILL')
  for (let i = 0; i < 100; i++) feed.append({ id: `b-${i}`, value: 'x' })
  await feed.flush({ deadlineMs: 60_000 })
  t.equal((await feed.count()).count, 200)
  await eventually(async () => {
    const [role, , , state] = await (await connectFor(t, killed)).send('ROLE')
    return String(role) === 'slave' && String(state) === 'connected'
  })
  const rows = await nodeRows(servers)
  t.same(rows.map(([role]) => role), ['primary', 'primary', 'primary', 'replica', 'replica', 'replica'])
  t.equal(rows.find(([, url]) => url === killed)?.[0], 'replica', 'doctor shows roles as they are now')
  await feed.close()
  const pids = await Promise.all([...servers.primaries, ...servers.replicas].map(pidOf))
  await servers.release()
  t.ok(pids.length === 6)
})

t.test('a primary with two replicas, watched by Sentinels', async (t) => {
  const root = await makeCheckout(t)
  const servers = await useServers(t, root, { form: 'sentinels', replicas: 2 })
  t.match(servers.sentinel, /^redis\+sentinel:\/\/(127\.0\.0\.1:\d+,?){3}\/freshet$/)
  t.equal(servers.primaryUrl, servers.sentinel)
  const feed = await openFeed('latest', { redisUrl: servers.primaryUrl, log: silentLog, ack: 'replica' })
  feed.append({ id: 'a', value: 'x' })
  await feed.flush()
  const [killed] = servers.primaries
  kill(await pidOf(killed), 'SIGKILL')
  feed.append({ id: 'b', value: 'x' })
  await feed.flush({ deadlineMs: 60_000 })
  // the other replica may still be following the new primary
  await eventually(async () => (await feed.count()).count === 2)
  await eventually(async () => {
    const [role, , , state] = await (await connectFor(t, killed)).send('ROLE')
    return String(role) === 'slave' && String(state) === 'connected'
  })
  await feed.close()
  await servers.release()
})

t.test('a cluster beside other servers of this checkout is refused, with the way out', async (t) => {
  const root = await makeCheckout(t)
  const servers = await useServers(t, root)
  await t.rejects(useServers(t, root, { form: 'cluster' }), {
    code: 'SERVERS_DIFFER', exitStatus: 2, message: /already run as one primary with 1 replicas .* stop the commands that use them/
  })
  const pid = await pidOf(servers.primaryUrl)
  await servers.release()
  await allGone(pid)
  await until(async () => (await leftIn(root)).length === 0)
})
