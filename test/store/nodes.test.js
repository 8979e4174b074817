import t from 'tap'
import { capabilities, nodeFigures, replicaUrls } from '../../src/store/nodes.js'
import { connectFor, engineName, eventually, startDeployment, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { nodesFor } from './deployments.js'

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { primary, replicas } = await startDeployment(t,
      { engine, replicas: 2, args: ['--requirepass', 'sesame', '--masterauth', 'sesame'], password: 'sesame' })
    const withPassword = (/** @type {{ port: number }} */ { port }) => `redis://:sesame@127.0.0.1:${port}`
    const connection = await connectFor(t, withPassword(primary))

    await t.test('a node reports its figures', async (t) => {
      t.match(await nodeFigures(connection),
        { address: `127.0.0.1:${primary.port}`, engine: engineName(engine), role: 'primary', linkUp: true, loading: false, fullSyncs: 2 })
      const onReplica = await connectFor(t, withPassword(replicas[0]))
      const figures = await nodeFigures(onReplica)
      t.match(figures, { engine: engineName(engine), role: 'replica', linkUp: true, loading: false })
      for (const number of [figures.cpuSeconds, figures.usedMemoryBytes, figures.offset]) t.ok(number >= 0, String(number))
    })

    await t.test('MSETEX is detected', async (t) => {
      t.same(await capabilities(connection), { msetex: engine.hasMsetex })
    })

    await t.test('a missing permission is distinguished from a missing command, also on a replica and on a full server', async (t) => {
      const control = await connectFor(t, withPassword(primary))
      await control.send('ACL', 'SETUSER', 'without', 'on', '>word', '~*', '+@all', ...(engine.hasMsetex ? ['-msetex'] : []))
      const without = await connectFor(t, `redis://without:word@127.0.0.1:${primary.port}`)
      t.same(await capabilities(without), { msetex: engine.hasMsetex ? null : false })
      t.same(await capabilities(await connectFor(t, withPassword(replicas[0]))), { msetex: engine.hasMsetex }, 'on a replica')
      await control.send('SET', 'large', Buffer.alloc(1000))
      await control.send('CONFIG', 'SET', 'maxmemory', 1)
      t.same(await capabilities(connection), { msetex: engine.hasMsetex }, 'on a full server')
      await control.send('CONFIG', 'SET', 'maxmemory', 0)
      t.equal(String(await connection.send('PING')), 'PONG', 'MULTI is over')
      await control.send('ACL', 'SETUSER', 'without', '-discard')
      await t.rejects(capabilities(await connectFor(t, `redis://without:word@127.0.0.1:${primary.port}`)),
        { code: 'SERVER_REFUSED', outcome: 'forbidden' }, 'otherwise later commands would be queued')
    })

    await t.test('a primary names its replicas, with the credentials of its own address', async (t) => {
      t.same((await replicaUrls(connection)).sort(), replicas.map(withPassword).sort())
      t.same(await replicaUrls(await connectFor(t, withPassword(replicas[0]))), [], 'a replica names none')
    })

    await t.test('figures come from the nodes that answer', async (t) => {
      const nodes = await nodesFor(t, { url: withPassword(primary) })
      t.same((await nodes.figures()).map(({ role }) => role), ['primary', 'replica', 'replica'])
      await replicas[1].kill()
      await eventually(async () => (await nodes.figures()).length === 2)
    })

    await t.test('replicas that come and go are followed', async (t) => {
      const { primary, replicas: [first] } = await startDeployment(t, { engine, replicas: 1 })
      const nodes = await nodesFor(t, primary)
      const addresses = async () => (await nodes.figures()).map(({ address }) => address)
      t.same(await addresses(), [primary, first].map(({ port }) => `127.0.0.1:${port}`))
      const second = await startServer(t, { engine, replicaOf: primary })
      await eventually(async () => (await addresses()).includes(`127.0.0.1:${second.port}`))
      await first.stop()
      await eventually(async () => (await addresses()).join() === [primary, second].map(({ port }) => `127.0.0.1:${port}`).join())
      const third = await startServer(t, { engine, port: first.port })
      t.same((await addresses()).length, 2, 'a former replica is not asked')
      await third.stop()
    })
  })
}
