import t from 'tap'
import { createServers } from '../../src/store/servers.js'
import { connectFor, engineName, eventually, freePort, silentLog, startDeployment, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { answeredBy, answering, deploymentFor, nodeOf } from './deployments.js'

/** A log, and its messages of a level. */
function createLines () {
  /** @type {string[][]} */
  const written = []
  const take = (/** @type {string} */ level) => (/** @type {any[]} */ ...args) => { written.push([level, args.at(-1)]) }
  const log = /** @type {any} */ ({ info: take('info'), warn: take('warn'), error: take('error') })
  return { log, lines: (/** @type {string} */ level) => written.filter(([one]) => one === level).map(([, line]) => line) }
}

t.jobs = 2
for (const engine of await scopedEngines()) {
  t.test(engineName(engine), { buffered: true }, async (t) => {
    // Cases that restore all nodes share these servers.
    const { primary, replicas } = await startDeployment(t, { engine })
    const [one, other] = replicas

    await t.test('replicas are found through the primary and answer in turns', async (t) => {
      const deployment = await deploymentFor(t, primary)
      await answeredBy(deployment, ...replicas)
      const [first, ...others] = deployment.nodes()
      t.match(first, { role: 'primary', address: `127.0.0.1:${primary.port}`, state: 'up', engine: engineName(engine), lagMs: 0 })
      for (const node of others) t.match(node, { role: 'replica', state: 'connected', engine: engineName(engine), lagMs: Number })
      t.ok(deployment.pick().lagMs !== null)
      const { connection } = deployment.pick()
      t.notOk(deployment.pick({ but: connection }).connection === connection, 'not the one that has just failed')
      const figures = await deployment.figures()
      t.same(figures.map(({ role }) => role), ['primary', 'replica', 'replica'])
    })

    await t.test('a replica that is added later is found', async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 0 })
      const deployment = await deploymentFor(t, primary)
      t.throws(() => deployment.pick(), { code: 'REPLICAS_GONE', message: /^the primary has no replicas; use --read-from primary .*, or add one$/ })
      const late = await startServer(t, { engine, replicaOf: primary })
      await answeredBy(deployment, late)
    })

    await t.test('without a choice, the primary is read until it has a replica, and never again', async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 0 })
      const { lines, log } = createLines()
      const deployment = await deploymentFor(t, primary, { readFrom: null, log })
      await answeredBy(deployment, primary)
      t.equal(deployment.pick().lagMs, 0)
      const own = await deployment.openSeparate('view', { isForLog: false, signal: new AbortController().signal })
      t.teardown(() => own.end(null))
      t.notOk(own.isLeft())
      t.same(lines('warn'), ['the primary has no replicas: it is read itself, until one is in sync; --read-from replica forbids that'])

      const late = await startServer(t, { engine, replicaOf: primary })
      await answeredBy(deployment, late)
      t.ok(own.isLeft(), 'views move, too')
      t.same(lines('info'), ['the primary has a replica now: replicas are read'])

      await late.kill()
      await eventually(() => throwsCode(() => deployment.pick(), 'REPLICAS_GONE'))
      await eventually(() => deployment.nodes().length === 1)
      t.throws(() => deployment.pick(), { code: 'REPLICAS_GONE' }, 'nor when the primary does not list it any more')
      t.equal(lines('info').length, 1)
      await late.restart()
      await answeredBy(deployment, late)
    })

    await t.test('without a choice, replicas that are down from the start are not replaced by the primary', async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 0 })
      const url = `redis://127.0.0.1:${await freePort()}`
      const { lines, log } = createLines()
      const deployment = await deploymentFor(t, primary, { readFrom: null, replicaUrls: [url], log })
      t.throws(() => deployment.pick(), { code: 'REPLICAS_GONE', message: /none of 1 replicas can answer \(down\)/ })
      t.same(lines('warn').filter((line) => /no replicas/.test(line)), [])
    })

    await t.test('a killed replica is left, and returns after a restart', async (t) => {
      const deployment = await deploymentFor(t, primary)
      await answeredBy(deployment, one, other)
      await one.kill()
      await answeredBy(deployment, other)
      await one.restart()
      await answeredBy(deployment, one, other)
    })

    await t.test('a frozen replica is left, and returns', async (t) => {
      const deployment = await deploymentFor(t, primary)
      await answeredBy(deployment, one, other)
      t.teardown(() => one.thaw())
      one.freeze()
      await answeredBy(deployment, other)
      one.thaw()
      await answeredBy(deployment, one, other)
    })

    await t.test('a replica without its primary, or promoted, is left until it is in sync', async (t) => {
      const deployment = await deploymentFor(t, primary, { replicaUrls: [one.url, other.url] })
      await answeredBy(deployment, one, other)
      const control = await connectFor(t, one.url)
      await control.send('REPLICAOF', 'NO', 'ONE')
      await answeredBy(deployment, other)
      t.equal(nodeOf(deployment, one)?.state, 'not a replica')
      await control.send('REPLICAOF', '127.0.0.1', await freePort())
      await eventually(() => nodeOf(deployment, one)?.state.startsWith('connect'))
      t.same(answering(deployment), [`127.0.0.1:${other.port}`])
      await control.send('REPLICAOF', '127.0.0.1', primary.port)
      await answeredBy(deployment, one, other)
    })

    await t.test('a replica that loads data is left until it has loaded', async (t) => {
      const deployment = await deploymentFor(t, primary, { replicaUrls: [one.url, other.url] })
      await answeredBy(deployment, one, other)
      const writing = await connectFor(t, primary.url)
      await writing.send('MSET', ...Array.from({ length: 6000 }, (_, i) => i % 2 ? 'x'.repeat(100) : `key-${i}`))
      const control = await connectFor(t, one.url)
      await control.send('CONFIG', 'SET', 'key-load-delay', 500, 'loading-process-events-interval-bytes', 1024)
      await control.send('REPLICAOF', 'NO', 'ONE')
      await control.send('REPLICAOF', '127.0.0.1', primary.port)
      await writing.send('INCR', 'n')
      await eventually(async () => String(await control.send('INFO', 'persistence')).includes('loading:1'))
      await answeredBy(deployment, other)
      await control.send('CONFIG', 'SET', 'key-load-delay', 0)
      await answeredBy(deployment, one, other)
      t.ok(String(await control.send('INFO', 'persistence')).includes('loading:0'))
    })

    await t.test('without the primary the replicas answer, with unknown lag', async (t) => {
      const deployment = await deploymentFor(t, primary)
      await answeredBy(deployment, ...replicas)
      await primary.kill()
      await eventually(() => nodeOf(deployment, primary)?.state === 'down')
      await answeredBy(deployment, ...replicas)
      await eventually(() => deployment.pick().lagMs === null)
      await primary.restart()
      await eventually(() => nodeOf(deployment, primary)?.state === 'up')
      await answeredBy(deployment, ...replicas)
      await eventually(() => deployment.pick().lagMs !== null)
    })

    await t.test('a frozen primary counts as gone', async (t) => {
      const deployment = await deploymentFor(t, primary)
      await answeredBy(deployment, ...replicas)
      t.teardown(() => primary.thaw())
      primary.freeze()
      await eventually(() => nodeOf(deployment, primary)?.state === 'down')
      await answeredBy(deployment, ...replicas)
      await eventually(() => deployment.pick().lagMs === null)
      primary.thaw()
      await eventually(() => deployment.pick().lagMs !== null)
    })

    await t.test('without any replica there is no node to pick', async (t) => {
      const { primary, replicas } = await startDeployment(t, { engine })
      const deployment = await deploymentFor(t, primary, { replicaUrls: replicas.map(({ url }) => url) })
      await Promise.all(replicas.map((replica) => replica.kill()))
      await eventually(() => throwsCode(() => deployment.pick(), 'REPLICAS_GONE'))
      t.throws(() => deployment.pick(), { code: 'REPLICAS_GONE', retryable: true, message: /none of 2 replicas can answer \(down, down\)/ })
    })

    await t.test('with given replicas, the primary may be down from the start', async (t) => {
      const { primary, replicas } = await startDeployment(t, { engine })
      await primary.kill()
      const deployment = await deploymentFor(t, primary, { replicaUrls: replicas.map(({ url }) => url) })
      await answeredBy(deployment, ...replicas)
      t.equal(deployment.pick().lagMs, null)
      const unnamed =
        createServers({ redisUrl: primary.url, replicaUrls: null, readFrom: 'replica', name: 'test', deadlineMs: 800, log: silentLog })
      t.teardown(() => unnamed.close())
      await t.rejects(unnamed.ready, { code: 'SERVER_UNREACHABLE' })
    })

    await t.test('a node that refuses a request is left until it answers that request', async (t) => {
      const [onOne, onOther, onPrimary] = await Promise.all([one, other, primary].map(({ url }) => connectFor(t, url)))
      const allow = (/** @type {typeof onOne} */ node, /** @type {string[]} */ ...rules) => node.send('ACL', 'SETUSER', 'asking', ...rules)
      for (const node of [onOne, onOther, onPrimary]) await allow(node, 'on', '>canary-4711', '~*', '+@all')
      const deployment = await deploymentFor(t, { url: primary.url.replace('//', '//asking:canary-4711@') })
      await answeredBy(deployment, one, other)

      await allow(onOne, '-get')
      await eventually(async () => {
        await deployment.pick().connection.send('GET', 'a').catch(() => {})
        return nodeOf(deployment, one)?.state === 'refused'
      })
      t.same(answering(deployment), [`127.0.0.1:${other.port}`])
      await onOne.send('ACL', 'LOG', 'RESET')
      await new Promise((resolve) => setTimeout(resolve, 2000))
      t.equal(nodeOf(deployment, one)?.state, 'refused', 'it was opened again and asked the same')
      t.match((await onOne.send('ACL', 'LOG')).map(String).join(), /get/)

      await allow(onOther, '-@all')
      await eventually(() => throwsCode(() => deployment.pick(), 'SERVER_REFUSED'))
      t.throws(() => deployment.pick(),
        { retryable: false, message: /none of 2 replicas can answer \(refused, refused\): 127.0.0.1:\d+: the user may not run [a-z]+$/ })
      for (const node of [onOne, onOther]) await allow(node, '+@all')
      await answeredBy(deployment, one, other)
    })

    await t.test('the error of readers of a primary that refuses says so', async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 0 })
      const control = await connectFor(t, primary.url)
      await control.send('ACL', 'SETUSER', 'asking', 'on', '>canary-4711', '~*', '+@all')
      const deployment = await deploymentFor(t, { url: primary.url.replace('//', '//asking:canary-4711@') }, { readFrom: 'primary' })
      t.ok(deployment.pick())
      await control.send('ACL', 'SETUSER', 'asking', '-@all')
      await eventually(() => throwsCode(() => deployment.pick(), 'SERVER_REFUSED'))
      t.equal(nodeOf(deployment, primary)?.state, 'refused')
      await control.send('ACL', 'SETUSER', 'asking', '+@all')
      await eventually(() => deployment.pick())
    })

    await t.test('reading from the primary uses only the primary', async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 1 })
      const deployment = await deploymentFor(t, primary, { readFrom: 'primary' })
      t.same(answering(deployment), [`127.0.0.1:${primary.port}`])
      t.equal(deployment.pick().lagMs, 0)
      await primary.kill()
      await eventually(() => throwsCode(() => deployment.pick(), 'SERVER_UNREACHABLE'))
    })

    await t.test('closing leaves no connection, at any time', async (t) => {
      const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
      const control = await connectFor(t, replica.url)
      const deployment = await deploymentFor(t, primary)
      await answeredBy(deployment, replica)
      await deployment.close()
      const early = createServers({
        redisUrl: primary.url, replicaUrls: null, readFrom: 'replica', name: 'test-reader', deadlineMs: 800, log: silentLog
      })
      await early.close()
      await eventually(() => early.ready.then(() => true, () => true))
      await eventually(async () => !String(await control.send('CLIENT', 'LIST')).includes('test-reader'))
    })
  })
}

/** @param {() => unknown} call @param {string} code */
function throwsCode (call, code) {
  try {
    call()
    return false
  } catch (error) {
    if (error.code !== code) throw error
    return true
  }
}
