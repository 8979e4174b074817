/** A planned switchover behind one address, which ends no connection: writers, gateways and readers find the new primary by themselves. */
import t from 'tap'
import { setRetention } from '../../src/feeds/definitions.js'
import { ackOf } from '../../src/pipeline/acks.js'
import { watchNodes } from '../../src/store/node-watch.js'
import { startGateway } from '../commands.js'
import { engineName, eventually, openWriterFor, testEngines } from '../servers.js'
import { startSwitchable } from './switching.js'

const bytes = (/** @type {string} */ text) => Buffer.from(text)

t.jobs = 2
for (const engine of await testEngines()) {
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
        const writer = await openWriterFor(t, { redisUrl: servers.url, name: 'busy', layout, ack, maxItems: 100, windowMs: 3_600_000, deadlineMs: 10_000 })
        let n = 0
        const timer = setInterval(() => { for (let i = 0; i < 20; i++) writer.pipeline.append(bytes(`id-${n++}`), Date.now(), bytes(`value ${n}`)) }, 5)
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
          await eventually(async () => await servers.clientsNamed('busy:control') === 1 && await servers.clientsNamed('busy:items') === ackOf(ack).lanes)
        }
        clearInterval(timer)
        await writer.pipeline.flush()
        t.match(writer.pipeline.account, { offered: n, items: n, failed: 0, dropped: 0 })
        await eventually(() => writer.status().ready)
      })
    }

    await t.test('a gateway that nobody asks goes along, and answers by the new primary', async (t) => {
      const servers = await startSwitchable(t, { engine, nodes: 2 })
      const { post, send, command } = await startGateway(t, { redisUrl: servers.url })
      t.match(await post('/v1/feeds/one/items', [{ id: 'a', value: 1 }]), { status: 200 })
      await servers.switchOver()
      const control = `freshet-gateway-${command.pid}:control`
      await eventually(async () => await servers.clientsNamed(control) === 1)
      await eventually(async () => (await send('GET', '/readyz')).status === 200)
      await eventually(async () => (await post('/v1/feeds/one/items', [{ id: 'b', value: 1 }])).status === 200)
      t.equal(await servers.admin.send('ZCARD', 'fr:{one:0}:ids'), 2)
    })

    await t.test('figures of nodes are those of the new primary and its replicas', async (t) => {
      const servers = await startSwitchable(t, { engine, nodes: 3 })
      const nodes = await watchNodes({ primaryUrl: servers.url, replicaUrls: null, withReplicas: true, name: 'test', deadlineMs: 5000 })
      t.teardown(() => nodes.close())
      const roles = async () => (await nodes.figures()).map(({ role }) => role)
      t.same(await roles(), ['primary', 'replica', 'replica'])
      await servers.switchOver()
      await eventually(async () => String(await roles()) === 'primary,replica,replica')
      t.equal((await nodes.figures())[0].fullSyncs >= 0, true)
    })
  })
}
