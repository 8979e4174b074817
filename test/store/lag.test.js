/** Replication lag: a replica that lags is left, and an unknown lag does not count. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { connectFor, engineName, eventually, freePort, inSync, startDeployment, startServer } from '../servers.js'
import { createLagClock } from '../../src/store/node.js'
import { scopedEngines } from '../scope.js'
import { answeredBy, deploymentFor, nodeOf } from './deployments.js'

t.test('a replica that was asked before the primary had replied is not behind by less than nothing', async (t) => {
  const clock = createLagClock()
  clock.add(500, 10)
  t.equal(clock.lagMs(10, 100), 0)
  t.equal(clock.lagMs(10, 700), 200)
})

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    await t.test('a replica that lags is left until it has caught up', async (t) => {
      const primary = await startServer(t, { engine })
      const other = await startServer(t, { engine, replicaOf: primary })
      const wire = await stallableWire(t, primary.port)
      const lagging = await startServer(t, { engine, replicaOf: wire })
      await Promise.all([inSync(other), inSync(lagging)])
      const deployment = await deploymentFor(t, primary)
      await answeredBy(deployment, other, lagging)
      wire.stall()
      const writing = await connectFor(t, primary.url)
      await writing.send('INCR', 'n')
      await answeredBy(deployment, other)
      await eventually(() => nodeOf(deployment, lagging)?.state === 'lagging')
      t.ok(/** @type {number} */ (nodeOf(deployment, lagging)?.lagMs) > 1000)
      await other.kill()
      // the primary may no longer name it
      await eventually(() => (nodeOf(deployment, other)?.state ?? 'down') === 'down')
      t.throws(() => deployment.pick(), { code: 'REPLICAS_GONE', message: /lagging/ })
      lagging.freeze()
      await eventually(() => nodeOf(deployment, lagging)?.state === 'down')
      lagging.thaw()
      wire.flow()
      await answeredBy(deployment, lagging)
    })

    await t.test('a replica without an offset does not lag, and the lag of a node that is down is unknown', async (t) => {
      const { primary, replicas: [one, other] } = await startDeployment(t, { engine })
      /** @type {string[]} */
      const lines = []
      const log = pino({ level: 'debug' }, { write: (line) => { lines.push(line) } })
      const deployment = await deploymentFor(t, primary, { replicaUrls: [one.url, other.url], log })
      await answeredBy(deployment, one, other)
      // otherwise an unknown lag would seem as large as the age of the oldest sample
      await pause(1500)
      const control = await connectFor(t, one.url)
      await control.send('REPLICAOF', 'NO', 'ONE')
      await eventually(() => nodeOf(deployment, one)?.state === 'not a replica')
      t.equal(nodeOf(deployment, one)?.lagMs, null)
      await control.send('REPLICAOF', '127.0.0.1', await freePort())
      await eventually(() => nodeOf(deployment, one)?.state.startsWith('connect'))
      t.equal(nodeOf(deployment, one)?.lagMs, null)
      for (const server of [other, primary]) {
        await server.kill()
        await eventually(() => nodeOf(deployment, server)?.state === 'down')
        t.equal(nodeOf(deployment, server)?.lagMs, null)
      }
      t.notMatch(lines.join(''), /replica lags/)
    })
  })
}

/** A proxy that can be paused. @param {import('tap').Test} t @param {number} port */
async function stallableWire (t, port) {
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  const wire = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    near.pipe(far).pipe(near)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => {
        near.destroy()
        far.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(wire, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    wire.close()
  })
  return {
    port: /** @type {import('node:net').AddressInfo} */ (wire.address()).port,
    stall: () => { for (const socket of sockets) socket.pause() },
    flow: () => { for (const socket of sockets) socket.resume() }
  }
}
