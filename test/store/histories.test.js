/** Replicas of another primary: their offsets cannot be compared, and their replication id shows it. */
import t from 'tap'
import { createDeployment } from '../../src/store/deployment.js'
import { connectFor, engineName, eventually, silentLog, startDeployment } from '../servers.js'
import { scopedEngines } from '../scope.js'

/** @typedef {ReturnType<typeof createDeployment>} Deployment */

/** @param {import('tap').Test} t @param {{ url: string }} primary @param {{ replicaUrls: string[] }} options */
async function deploymentFor (t, primary, { replicaUrls }) {
  const deployment =
    createDeployment({ primaryUrl: primary.url, replicaUrls, readFrom: 'replica', name: 'test-reader', deadlineMs: 800, log: silentLog })
  t.teardown(() => deployment.close())
  await deployment.ready
  return deployment
}

/** @param {Deployment} deployment @param {...{ port: number }} servers those that answer, in turns */
const answeredBy = (deployment, ...servers) => eventually(() => {
  const answering = [...new Set(Array.from({ length: 6 }, () => deployment.pick().connection.address))].sort()
  return String(answering) === String(servers.map(({ port }) => `127.0.0.1:${port}`).sort())
})

/** @param {Deployment} deployment @param {{ port: number }} server */
const nodeOf = (deployment, { port }) => deployment.nodes().find(({ address }) => address === `127.0.0.1:${port}`)

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
