/**
 * `ack: replica`: what goes over the wire, what counts as an answer, and that nothing is acknowledged before.
 */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { ackNames, ackOf } from '../../src/pipeline/acks.js'
import { connectFor, engineName, eventually, openWriterFor, startDeployment, startServer } from '../servers.js'
import { startGateway } from '../services.js'
import { scopedEngines } from '../scope.js'

const engines = await scopedEngines()

/** how long WAIT waits for a replica: half of the deadline */
const WAIT_MS = 5000

const batch = (/** @type {string} */ name) => /** @type {any} */ ({ name })

/** @param {(commands: any[][]) => any[]} answer */
function build (answer) {
  /** @type {any[]} */
  const sent = []
  const connection = /** @type {any} */ ({
    address: 'here',
    async sendAll (/** @type {any[][]} */ commands) {
      sent.push(...commands)
      return answer(commands)
    }
  })
  let unconfirmed = 0
  const context = {
    append: async (/** @type {any} */ _, /** @type {any} */ { name }) => {
      sent.push(name)
      return { late: name.length }
    },
    marker: { key: 'm', value: 41 },
    waitMs: 500,
    onUnconfirmed: () => { unconfirmed++ }
  }
  return { sent, connection, context, unconfirmed: () => unconfirmed }
}

t.test('the acks are primary and replica', async (t) => t.same(ackNames(), ['primary', 'replica']))

t.test('a group ends with a marker write and WAIT, and its answers are those of its batches', async (t) => {
  const { sent, connection, context } = build(() => [null, 1])
  t.same(await ackOf('replica').send(connection, [batch('a'), batch('bb')], context), [{ late: 1 }, { late: 2 }])
  t.same(sent, ['a', 'bb', ['SET', 'm', 42, 'PX', 60_000, 'GET'], ['WAIT', 1, 500]])
})

t.test('without a replica WAIT is sent again, with another marker and without the batches', async (t) => {
  const replies = [0, 0, 2]
  const { sent, connection, context, unconfirmed } = build(([[, , value]]) => [value === 42 ? null : value - 1, replies.shift()])
  await ackOf('replica').send(connection, [batch('a')], context)
  t.same(sent.filter((one) => one[0] === 'SET').map((one) => one[2]), [42, 43, 44])
  t.equal(sent.filter((one) => one === 'a').length, 1)
  t.equal(unconfirmed(), 2)
})

t.test('a number of replicas is that of WAIT, and fewer do not acknowledge', async (t) => {
  const replies = [1, 1, 2]
  const { sent, connection, context, unconfirmed } = build(([[, , value]]) => [value === 42 ? null : value - 1, replies.shift()])
  await ackOf('2').send(connection, [batch('a')], context)
  t.same(sent.filter((one) => one[0] === 'WAIT'), [['WAIT', 2, 500], ['WAIT', 2, 500], ['WAIT', 2, 500]])
  t.equal(unconfirmed(), 2)
  t.match(ackOf('1'), { stripes: ackOf('replica').stripes, replicas: 1 })
})

t.test('a server whose marker is not the last one lost writes: the session ends', async (t) => {
  const { connection, context } = build(() => [null, 0])
  await t.rejects(ackOf('replica').send(connection, [batch('a')], context),
    { code: 'SERVER_LOST', outcome: 'over', message: /lost writes/ })
})

for (const engine of engines) {
  t.test(engineName(engine), async (t) => {
    const { primary, replicas } = await startDeployment(t, { engine })

    await t.test('items are on a replica when they are acknowledged', async (t) => {
      const writer = await openWriterFor(t, { redisUrl: primary.url, ack: 'replica', feed: 'acked', deadlineMs: 2 * WAIT_MS })
      const nodes = await Promise.all(replicas.map(({ url }) => connectFor(t, url)))
      for (let round = 0; round < 20; round++) {
        for (let i = 0; i < 500; i++) writer.pipeline.append(Buffer.from(`id-${round}-${i}`), Date.now(), Buffer.from('v'))
        await writer.pipeline.flush()
        const counts = await Promise.all(nodes.map((node) => node.send('ZCARD', 'fr:{acked:0}:ids')))
        t.ok(Math.max(...counts) >= 500 * (round + 1), counts.join(' '))
      }
      t.match(writer.pipeline.account, { offered: 10_000, items: 10_000, retried: 0 })
      t.same(writer.status(), { ready: true, reasons: [] })
    })

    await t.test('versions of one id stay in order over the connections', async (t) => {
      const writer = await openWriterFor(t, { redisUrl: primary.url, ack: 'replica', feed: 'ordered', batchItems: 7 })
      const connection = await connectFor(t, primary.url)
      for (let i = 0; i < 5000; i++) writer.pipeline.append(Buffer.from(`id-${i % 50}`), Date.now(), Buffer.from(String(i)))
      await writer.pipeline.flush()
      const values = await connection.send('MGET', ...Array.from({ length: 50 }, (_, i) => `fr:{ordered:0}:item:id-${i}`))
      t.same(values.map((/** @type {Buffer} */ one) => Number(one.subarray(8))), Array.from({ length: 50 }, (_, i) => 4950 + i))
    })

    await t.test('ack 3 with two replicas is refused when a feed is opened, and the error has their number', async (t) => {
      const options = { redisUrl: primary.url, feed: 'three' }
      await t.rejects(openFeed('three', { redisUrl: primary.url, ack: 3 }), {
        code: 'REPLICAS_TOO_FEW', retryable: true, exitStatus: 2, message: /127\.0\.0\.1:\d+ has 2 attached replicas, and --ack 3 needs 3/
      })
      await t.rejects(startGateway(t, { redisUrl: primary.url, flags: ['--ack', '3'] }), { code: 'REPLICAS_TOO_FEW' })
      await t.rejects(startGateway(t, { redisUrl: primary.url, flags: ['--durability', '3'] }),
        { code: 'REPLICAS_TOO_FEW', message: /--durability 3 needs 3/ })
      const writer = await openWriterFor(t, { ...options, ack: '2', deadlineMs: 2 * WAIT_MS })
      writer.pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v'))
      await writer.pipeline.flush()
      for (const { url } of replicas) t.equal(await (await connectFor(t, url)).send('ZCARD', 'fr:{three:0}:ids'), 1)
    })

    await t.test('with ack 2, nothing is acknowledged while one of two replicas is away, and the status has the number', async (t) => {
      // a frozen replica stays attached
      replicas[1].freeze()
      const writer = await openWriterFor(t, { redisUrl: primary.url, feed: 'away', ack: '2', deadlineMs: 2 * WAIT_MS })
      writer.pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v'))
      await eventually(() => writer.pipeline.account.unconfirmed > 0)
      t.match(writer.pipeline.account, { offered: 1, items: 0 })
      t.same(writer.status(), { ready: false, reasons: ['REPLICAS_GONE: fewer than 2 replicas confirm writes'] })
      replicas[1].thaw()
      await eventually(() => writer.pipeline.account.items === 1, { deadlineMs: 6 * WAIT_MS })
      t.same(writer.status(), { ready: true, reasons: [] })
    })

    await t.test('without a replica nothing is acknowledged, the status shows it, and writing resumes with a replica', async (t) => {
      const alone = await startServer(t, { engine })
      // a busy machine may delay the server past the deadline, which would open new connections
      const writer = await openWriterFor(t, { redisUrl: alone.url, ack: 'replica', deadlineMs: WAIT_MS * 2 })
      writer.pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v'))
      await t.rejects(writer.pipeline.flush({ deadlineMs: 100 }), { code: 'DEADLINE_PASSED' })
      await eventually(() => writer.pipeline.account.unconfirmed > 0)
      t.match(writer.pipeline.account, { offered: 1, items: 0, retried: 0 })
      t.match(writer.status(), { ready: false, reasons: [/^REPLICAS_GONE/] })
      await startServer(t, { engine, replicaOf: alone })
      await eventually(() => writer.pipeline.account.items === 1, { deadlineMs: 6 * WAIT_MS })
      t.same(writer.status(), { ready: true, reasons: [] })
      t.equal(writer.sessions, 4, 'all that on the first connections')
    })
  })
}
