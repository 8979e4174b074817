/** Nodes are asked often while servers are used, and seldom at rest. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createPace } from '../../src/store/servers.js'
import { scopedEngines } from '../scope.js'
import { connectFor, eventually, startDeployment } from '../servers.js'
import { answeredBy, deploymentFor, nodeOf } from './deployments.js'

const USED_FOR_MS = 10_000

t.test('use, and an open stream, count for ten seconds', async (t) => {
  let nowMs = 0
  let wakes = 0
  const pace = createPace(() => nowMs)
  pace.onBusy(() => { wakes++ })
  t.equal(pace.ms, 100, 'the start is use')
  nowMs += USED_FOR_MS
  t.equal(pace.ms, 500)
  pace.use()
  pace.use()
  t.same([pace.ms, wakes], [100, 1], 'who waits is woken once')
  const release = pace.hold()
  nowMs += 10 * USED_FOR_MS
  t.equal(pace.ms, 100, 'a stream is open')
  release()
  release()
  t.equal(pace.ms, 500)
  pace.use()
  t.same([pace.ms, wakes], [100, 2])
  t.equal(createPace(() => nowMs, { isReading: false }).ms, 500, 'a process that only writes')
})

t.test('at rest a node is asked twice a second, and its loss is known all the same', async (t) => {
  const [engine] = await scopedEngines()
  const { primary, replicas: [replica, other] } = await startDeployment(t, { engine })
  const deployment = await deploymentFor(t, primary)
  await answeredBy(deployment, replica, other)
  const control = await connectFor(t, primary.url)
  const roles = async () => Number(/cmdstat_role:calls=(\d+)/.exec(String(await control.send('INFO', 'commandstats')))?.[1])
  await pause(USED_FOR_MS + 500)
  const [before, sinceMs] = [await roles(), performance.now()]
  await pause(3000)
  const asked = await roles() - before
  const seconds = (performance.now() - sinceMs) / 1000
  t.ok(asked <= 2 * seconds + 1, `${asked} in ${seconds} s`)
  await replica.kill()
  // the primary may have dropped it from its list by then
  await eventually(() => (nodeOf(deployment, replica)?.state ?? 'down') === 'down')
})
