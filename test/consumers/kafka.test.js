/** Kafka between outbox and effects: order, repetitions, outages, owners that change, a topic that loses entries. */
import t from 'tap'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Kafka, logLevel } from 'kafkajs'
import { pino } from 'pino'
import { topicOf } from '../../src/consumers/index.js'
import { messageOf } from '../../src/consumers/kafka/message.js'
import { findKafka, startBroker } from '../../lab/kafka/broker.js'
import { isNight, nightTest } from '../scope.js'
import { connectFor, eventually, startServer, testEngines } from '../servers.js'
import { keysOf, openTransport, PARTITIONS } from './kafka-transport.js'

const cacheDir = process.env.FRESHET_CACHE_DIR || fileURLToPath(new URL('../../.freshet', import.meta.url))
const why = isNight ? await findKafka({ cacheDir }) : null
const OWNER = fileURLToPath(new URL('kafka-owner.js', import.meta.url))
const numbers = (/** @type {number} */ from, /** @type {number} */ to) => Array.from({ length: to - from }, (_, i) => String(from + i))
const distinct = (/** @type {string[]} */ all) => [...new Set(all)]

t.test('without kafkajs the error says what to install', async (t) => {
  const hook = 'export const resolve = async (name, context, next) => { if (name !== "kafkajs") return next(name, context);' +
    'throw Object.assign(new Error("absent"), { code: "ERR_MODULE_NOT_FOUND" }) }'
  const program = `import { register } from 'node:module'
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hook)}`)})
    const { createKafkaTransport } = await import(${JSON.stringify(new URL('../../src/consumers/index.js', import.meta.url).href)})
    await createKafkaTransport({ brokers: ['127.0.0.1:1'], system: 'a', partitions: 1 })
      .catch(({ code, exitStatus, message }) => console.log(code, exitStatus, message))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  t.match(stdout, /^KAFKA_MISSING 2 .*npm install kafkajs@2\.2\.4/)
})

// a broker alone takes more than ten seconds of processor time
nightTest('with a broker', { skip: why === null ? false : `not measured here: ${why}` }, async (t) => {
  const [engine] = await testEngines()
  const server = await startServer(t, { engine })
  const connection = await connectFor(t, server.url)
  const broker = await startBroker({ cacheDir })
  t.teardown(broker.stop)
  const kafka = new Kafka({ brokers: [broker.address], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  t.teardown(() => admin.disconnect())

  /** @param {string} system @param {number} partition @param {string[]} ns */
  async function append (system, partition, ns) {
    const key = keysOf(system)(partition)('outbox')
    const ids = await connection.sendAll(ns.map((n) => ['XADD', key, '*', 'rule', 'bounded', 'key', `k${Number(n) % 7}`, 'ts', '1',
      'request', 'r', 'n', n, 'seq', n, 'text', 'naïve "…"']))
    return ids.map(String)
  }

  /** @param {import('tap').Test} t @param {string} system */
  async function open (t, system) {
    /** @type {Record<string, any>[]} */
    const lines = []
    const log = pino({ level: 'info' }, { write: (line) => { lines.push(JSON.parse(line)) } })
    const transport = await openTransport({ url: server.url, broker: broker.address, system, log })
    t.teardown(transport.close)
    return { transport, lines }
  }

  /** @returns {{ taken: string[], take: (entries: import('../../src/consumers/transport.js').Entry[]) => Promise<void> }} */
  const taker = () => {
    /** @type {string[]} */
    const taken = []
    return { taken, take: async (entries) => { taken.push(...entries.map(({ fields }) => fields.n)) } }
  }
  const inTopic = async (/** @type {string} */ system) =>
    (await admin.fetchTopicOffsets(topicOf(system))).reduce((sum, { high }) => sum + Number(high), 0)

  await t.test('each partition gives its entries in order, as they are in the outbox', async (t) => {
    const { transport, lines } = await open(t, 'order')
    const [first] = await append('order', 0, ['0'])
    const takers = numbers(0, PARTITIONS).map(taker)
    /** @type {any[]} */
    const whole = []
    takers.forEach(({ take }, partition) => transport.follow(partition, '0-0', async (entries) => {
      whole.push(...entries)
      await take(entries)
    }))
    for (let from = 1; from < 1001; from += 250) {
      for (let partition = 0; partition < PARTITIONS; partition++) await append('order', partition, numbers(from, from + 250))
    }
    await eventually(() => takers.every(({ taken }) => taken.at(-1) === '1000'))
    takers.forEach(({ taken }, partition) => t.same(taken, numbers(partition === 0 ? 0 : 1, 1001), `partition ${partition}`))
    t.same(whole.find(({ id }) => id === first),
      { id: first, rule: 'bounded', key: 'k0', seq: 0, fields: { ts: '1', request: 'r', n: '0', seq: '0', text: 'naïve "…"' } })
    t.equal(await inTopic('order'), 4001)
    t.same(lines, [])
  })

  await t.test('what is relayed twice is taken once', async (t) => {
    const [one, two] = [await open(t, 'twice'), await open(t, 'twice')]
    const [first, second] = [taker(), taker()]
    const ids = await append('twice', 0, numbers(0, 300))
    one.transport.follow(0, '0-0', first.take)
    await eventually(() => first.taken.length === 300)
    // another owner, which knows that 100 are finished
    two.transport.follow(0, ids[99], second.take)
    await eventually(() => second.taken.length === 200)
    await append('twice', 0, numbers(300, 310))
    await eventually(() => first.taken.length >= 310 && second.taken.length >= 210)
    await sleep(300)
    t.same(first.taken, numbers(0, 310))
    t.same(second.taken, numbers(100, 310))
    t.equal(await inTopic('twice'), 300 + 200 + 10 + 10)
  })

  await t.test('a former owner that writes ahead hides nothing', async (t) => {
    const { transport } = await open(t, 'ahead')
    const { taken, take } = taker()
    transport.follow(1, '0-0', take)
    await append('ahead', 1, ['0'])
    await eventually(() => taken.length === 1)
    const producer = kafka.producer({ createPartitioner: () => ({ message }) => Number(message.partition) })
    await producer.connect()
    const far = Date.now() + 60_000
    const entryOf = (/** @type {number} */ i) => ({ id: `${far}-${i}`, rule: 'r', key: 'k', seq: 0, fields: { n: `far ${i}` } })
    await producer.send({ topic: topicOf('ahead'), messages: [2, 3].map((i) => messageOf(1, entryOf(i), `${far}-${i - 1}`)) })
    await producer.disconnect()
    await append('ahead', 1, numbers(1, 50))
    await eventually(() => taken.length === 50)
    t.same(taken, numbers(0, 50))
  })

  await t.test('entries that the topic lost are relayed again', async (t) => {
    const { transport } = await open(t, 'lost')
    const { taken, take } = taker()
    let free = () => {}
    const held = /** @type {Promise<void>} */ (new Promise((resolve) => { free = resolve }))
    transport.follow(0, '0-0', async (entries) => {
      await take(entries)
      await held
    })
    await append('lost', 0, ['0'])
    await eventually(() => taken.length === 1)
    await append('lost', 0, numbers(1, 100))
    await eventually(async () => await inTopic('lost') === 100)
    await admin.deleteTopicRecords({ topic: topicOf('lost'), partitions: [{ partition: 0, offset: '100' }] })
    free()
    await sleep(300)
    t.equal(taken.length, 1)
    await append('lost', 0, ['100'])
    await eventually(() => taken.length === 101)
    t.same(taken, numbers(0, 101))
  })

  await t.test('a partition that takes long holds up no other; one that is left gets nothing more', async (t) => {
    const { transport } = await open(t, 'slow')
    const [slow, quick] = [taker(), taker()]
    transport.follow(0, '0-0', async (entries) => {
      await slow.take(entries)
      await new Promise(() => {})
    })
    transport.follow(1, '0-0', quick.take)
    await append('slow', 0, ['0'])
    await eventually(() => slow.taken.length === 1)
    await append('slow', 0, ['1'])
    await append('slow', 1, numbers(0, 100))
    await eventually(() => quick.taken.length === 100)
    transport.leave(1)
    await append('slow', 1, ['100'])
    await sleep(300)
    t.equal(quick.taken.length, 100)
    t.equal(slow.taken.length, 1)
  })

  await t.test('the next process continues after the position of one that was killed', async (t) => {
    const words = () => [OWNER, server.url, broker.address, 'moves']
    const ids = await append('moves', 0, numbers(0, 2000))
    const child = spawn(process.execPath, [...words(), '0-0'], { stdio: 'inherit' })
    t.teardown(() => { child.kill('SIGKILL') })
    await eventually(async () => await connection.send('EXISTS', 'position') === 1)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const position = String(await connection.send('GET', 'position'))
    const before = (await connection.send('LRANGE', 'taken', 0, -1)).map(String)
    t.ok(before.length < 2000, `${before.length} were taken before`)
    const { transport } = await open(t, 'moves')
    const { taken, take } = taker()
    transport.follow(0, position, take)
    await eventually(() => taken.at(-1) === '1999')
    t.same(taken, numbers(ids.indexOf(position) + 1, 2000))
    t.same(distinct([...before, ...taken]), numbers(0, 2000))
  })

  await t.test('a broker that is away for seconds: nothing is lost, and the log says it once', async (t) => {
    const { transport, lines } = await open(t, 'away')
    const takers = numbers(0, PARTITIONS).map(taker)
    takers.forEach(({ take }, partition) => transport.follow(partition, '0-0', take))
    const appendAll = async (/** @type {string[]} */ ns) => {
      for (let partition = 0; partition < PARTITIONS; partition++) await append('away', partition, ns)
    }
    await appendAll(numbers(0, 100))
    await eventually(() => takers.every(({ taken }) => taken.length === 100))
    const restarting = broker.kill().then(() => sleep(3000)).then(broker.restart)
    for (let from = 100; from < 1000; from += 100) {
      await appendAll(numbers(from, from + 100))
      await sleep(200)
    }
    // a partition that moves in the meantime
    transport.leave(3)
    transport.follow(3, '0-0', takers[3].take)
    await restarting
    const upMs = performance.now()
    await appendAll(numbers(1000, 1100))
    await eventually(() => takers.every(({ taken }) => taken.at(-1) === '1099'), { deadlineMs: 30_000 })
    t.comment(`everything was taken ${Math.round(performance.now() - upMs)} ms after the broker listened`)
    for (const { taken } of takers.slice(0, 3)) t.same(taken, numbers(0, 1100))
    t.same(distinct(takers[3].taken), numbers(0, 1100))
    await eventually(() => lines.length === 2)
    t.match(lines, [{ level: 40, code: 'KAFKA_DOWN', brokers: broker.address }, { level: 30, msg: 'Kafka answers again' }])
  })
})
