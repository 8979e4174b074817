/** A planned switchover behind one address, which ends no connection: writers, gateways and readers find the new primary by themselves. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { setRetention } from '../../src/feeds/definitions.js'
import { ackOf } from '../../src/pipeline/acks.js'
import { startProxy } from '../../test/proxy.js'
import { engineName, eventually, openWriterFor, startDeployment } from '../../test/servers.js'
import { startGateway } from '../../test/services.js'
import { openViews } from '../../test/view/viewing.js'
import { startSwitchable } from '../../test/faults/switching.js'
import { scopedEngines } from '../../test/scope.js'
import { nodesFor } from '../../test/store/deployments.js'

const bytes = (/** @type {string} */ text) => Buffer.from(text)

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  await t.test('an idle writer goes along, there and back', async (t) => {
    const servers = await startSwitchable(t, { engine, nodes: 2 })
    const writer = await openWriterFor(t, { redisUrl: servers.url, name: 'idle', maxItems: 1000 })
    writer.pipeline.append(bytes('a'), Date.now(), bytes('v'))
    await writer.pipeline.flush()
    for (let turn = 1; turn <= 2; turn++) {
      await servers.switchOver()
      await eventually(async () => await servers.clientsNamed('idle:control') === 1)
      await setRetention(servers.admin, 'fr:', 'latest', { maxItems: 1000 + turn })
      await eventually(() => writer.definition.maxItems === 1000 + turn)
      await eventually(() => writer.status().ready)
      writer.pipeline.append(bytes(`b-${turn}`), Date.now(), bytes('v'))
      await writer.pipeline.flush()
      t.equal(await servers.admin.send('ZCARD', 'fr:{latest:0}:ids'), turn + 1)
    }
    t.match(writer.pipeline.account, { offered: 3, items: 3, failed: 0 })
  })

  for (const [layout, ack] of [['ids', 'replica'], ['segments', 'primary']]) {
    await t.test(`${layout}, ack: ${ack}: a busy writer goes along, and its feed is trimmed on`, async (t) => {
      const servers = await startSwitchable(t, { engine, nodes: 2 })
      const writer = await openWriterFor(t,
        { redisUrl: servers.url, name: 'busy', layout, ack, maxItems: 100, windowMs: 3_600_000, deadlineMs: 10_000 })
      let n = 0
      const timer =
        setInterval(() => { for (let i = 0; i < 20; i++) writer.pipeline.append(bytes(`id-${n++}`), Date.now(), bytes(`value ${n}`)) }, 5)
      t.teardown(() => clearInterval(timer))
      for (let turn = 1; turn <= 2; turn++) {
        const { items } = writer.pipeline.account
        await eventually(() => writer.pipeline.account.items > items + 500)
        await servers.switchOver()
        const { items: before } = writer.pipeline.account
        await eventually(() => writer.pipeline.account.items > before + 500)
        const { trimmed } = writer
        await eventually(() => writer.trimmed > trimmed)
        await eventually(async () => String(await servers.admin.send('GET', 'fr:{latest:0}:trimmer')).startsWith('busy-'))
        await eventually(async () =>
          await servers.clientsNamed('busy:control') === 1 && await servers.clientsNamed('busy:items') === ackOf(ack).stripes)
      }
      clearInterval(timer)
      await writer.pipeline.flush()
      t.match(writer.pipeline.account, { offered: n, items: n, failed: 0, dropped: 0 })
      await eventually(() => writer.status().ready)
    })
  }

  await t.test('an idle gateway follows the switchover, and then writes to the new primary', async (t) => {
    const servers = await startSwitchable(t, { engine, nodes: 2 })
    const { post, send } = await startGateway(t, { redisUrl: servers.url })
    t.match(await post('/v1/feeds/one/items', [{ id: 'a', value: 1 }]), { status: 200 })
    await servers.switchOver()
    const control = `freshet-gateway-${process.pid}:control`
    await eventually(async () => await servers.clientsNamed(control) === 1)
    await eventually(async () => (await send('GET', '/readyz')).status === 200)
    await eventually(async () => (await post('/v1/feeds/one/items', [{ id: 'b', value: 1 }])).status === 200)
    t.equal(await servers.admin.send('ZCARD', 'fr:{one:0}:ids'), 2)
  })

  for (const readFrom of /** @type {const} */ (['replica', 'primary'])) {
    for (const nodes of [2, 3]) {
      await t.test(`a reader from ${readFrom} goes along with ${nodes} nodes, and so do its views`, async (t) => {
        const servers = await startSwitchable(t, { engine, nodes })
        const writer = await openWriterFor(t, { redisUrl: servers.url, feed: 'read', layout: 'segments' })
        const readers = await openViews(t, { primary: servers, readFrom, deadlineMs: 5000 })
        const write = async (/** @type {number} */ count) => {
          writer.pipeline.append(bytes(`id-${count}`), Date.now(), bytes('v'))
          await writer.pipeline.flush()
          await eventually(async () => (await readers.queries.count('read')).count === count)
          await eventually(async () => (await readers.views.count('read')).count === count)
          await eventually(() => (readers.views.revision('read')?.lagMs ?? null) !== null)
        }
        await eventually(() => readers.deployment.pick())
        await write(1)
        for (let turn = 1; turn <= nodes; turn++) {
          await servers.switchOver()
          await eventually(async () => await servers.clientsNamed('test-reader:primary') === 1)
          await eventually(() => {
            const [primary, ...replicas] = readers.deployment.nodes()
            return primary.state === 'up' && replicas.length === nodes - 1 &&
              replicas.every(({ state, lagMs }) => state === 'connected' && lagMs !== null)
          })
          await eventually(() => readers.deployment.pick())
          await write(turn + 1)
          const isAtPrimary = readFrom === 'primary'
          await eventually(async () => (await servers.clientsNamed('test-reader:view-read') > 0) === isAtPrimary)
        }
        t.equal(readers.countsOf('read')?.skipped.duplicate, 0)
        t.same(readers.views.status().reasons, [])
      })
    }
  }

  await t.test('while the address leads to a replica, a reader looks once a second whether it leads elsewhere', async (t) => {
    const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
    const proxy = await startProxy(t, replica.port)
    const { deployment } = await openViews(t, { primary: proxy, readFrom: 'primary', mode: 'none' })
    const sinceMs = performance.now()
    const before = proxy.accepted
    await pause(2500)
    t.throws(() => deployment.pick(), { code: 'SERVER_UNREACHABLE', retryable: true })
    const made = proxy.accepted - before
    t.ok(made > 0 && made <= (performance.now() - sinceMs) / 1000 + 1, `${made} connections`)
    proxy.switchTo(primary.port)
    await eventually(() => deployment.pick())
  })

  await t.test('figures of nodes are those of the new primary and its replicas', async (t) => {
    const servers = await startSwitchable(t, { engine, nodes: 3 })
    const nodes = await nodesFor(t, servers)
    t.teardown(() => nodes.close())
    const roles = async () => (await nodes.figures()).map(({ role }) => role)
    t.same(await roles(), ['primary', 'replica', 'replica'])
    await servers.switchOver()
    await eventually(async () => String(await roles()) === 'primary,replica,replica')
    t.equal((await nodes.figures())[0].fullSyncs >= 0, true)
  })
})
