/** Replicas of another primary: their offsets cannot be compared, and their replication id shows it. */
import t from 'tap'
import { connectFor, engineName, eventually, startDeployment } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { answeredBy, deploymentFor, nodeOf } from './deployments.js'

t.jobs = 2
for (const engine of await scopedEngines()) {
  t.test(engineName(engine), { buffered: true }, async (t) => {
    await t.test('a replica of another primary is left until it follows this one, even if its offset is near', async (t) => {
      const [{ primary, replicas: [own] }, { primary: other, replicas: [foreign] }] =
        await Promise.all([startDeployment(t, { engine, replicas: 1 }), startDeployment(t, { engine, replicas: 1 })])
      const [onOwn, onForeign, onOther] = await Promise.all([own, foreign, other].map(({ url }) => connectFor(t, url)))
      for (let n = 0; n < 100; n++) await onOther.send('SET', 'theirs', 'x'.repeat(1000))
      const deployment = await deploymentFor(t, primary, { replicaUrls: [own.url, foreign.url] })
      const onlyOwn = await deploymentFor(t, primary, { replicaUrls: [own.url] })
      await answeredBy(deployment, own)
      await eventually(() => nodeOf(deployment, foreign)?.state === 'of another primary')
      t.equal(nodeOf(deployment, foreign)?.lagMs, null)
      await onForeign.send('REPLICAOF', '127.0.0.1', primary.port)
      await answeredBy(deployment, own, foreign)
      await onOwn.send('REPLICAOF', '127.0.0.1', other.port)
      await answeredBy(deployment, foreign)
      await eventually(() => nodeOf(onlyOwn, own)?.state === 'of another primary')
      t.throws(() => onlyOwn.pick(), { code: 'REPLICAS_GONE', message: /none of 1 replicas can answer \(of another primary\)/ })
      await onOwn.send('REPLICAOF', '127.0.0.1', foreign.port)
      await answeredBy(deployment, own, foreign)
      t.equal(await onOwn.send('EXISTS', 'theirs'), 0, 'one behind another replica is one of this primary')
    })

    await t.test('after a failover the replicas of the new primary answer', async (t) => {
      const { primary, replicas: [heir, other] } = await startDeployment(t, { engine })
      const deployment = await deploymentFor(t, heir, { replicaUrls: [primary.url, other.url] })
      await eventually(() => nodeOf(deployment, heir)?.state === 'not a primary')
      await answeredBy(deployment, other)
      const [onHeir, onOther, onPrimary] = await Promise.all([heir, other, primary].map(({ url }) => connectFor(t, url)))
      await onHeir.send('REPLICAOF', 'NO', 'ONE')
      await eventually(() => nodeOf(deployment, other)?.state === 'of another primary')
      await Promise.all([onOther, onPrimary].map((node) => node.send('REPLICAOF', '127.0.0.1', heir.port)))
      await answeredBy(deployment, primary, other)
    })
  })
}
