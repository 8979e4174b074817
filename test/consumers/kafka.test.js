/** Entries for other programs in a topic of Kafka. */
import t from 'tap'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createKafkaEffect, topicOf } from '../../src/consumers/index.js'
import { findKafka, startBroker } from '../../lab/kafka/broker.js'
import { isNight, nightTest, wholeTest } from '../scope.js'
import { eventually } from '../servers.js'
import { readTopic } from './topic.js'

const cacheDir = process.env.FRESHET_CACHE_DIR || fileURLToPath(new URL('../../.freshet', import.meta.url))
const why = isNight ? await findKafka({ cacheDir }) : null
const PARTITIONS = 4

/** @param {import('tap').Test} t @param {string} broker @param {string} system its topic is that test's only */
async function open (t, broker, system) {
  const effect = await createKafkaEffect({ brokers: [broker], system, partitions: PARTITIONS })
  t.teardown(effect.close)
  return effect
}
/** @param {number} from @param {number} to */
const entries = (from, to) => Array.from({ length: to - from }, (_, i) => {
  const seq = from + i
  return { id: `1764000000000-${seq}`, rule: 'bounded', key: `k${seq % 7}`, seq, fields: { seq: String(seq), text: 'naïve "…"' } }
})
const ids = (/** @type {{ id: string }[]} */ all) => all.map(({ id }) => id)

t.test('without the client the error says what to install', async (t) => {
  const hook = 'export const resolve = async (name, context, next) => { if (name !== "@platformatic/kafka") return next(name, context);' +
    'throw Object.assign(new Error("absent"), { code: "ERR_MODULE_NOT_FOUND" }) }'
  const program = `import { register } from 'node:module'
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hook)}`)})
    const { createKafkaEffect } = await import(${JSON.stringify(new URL('../../src/consumers/index.js', import.meta.url).href)})
    await createKafkaEffect({ brokers: ['127.0.0.1:1'], system: 'a', partitions: 1 })
      .catch(({ code, exitStatus, message }) => console.log(code, exitStatus, message))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  t.match(stdout, /^KAFKA_MISSING 2 .*npm install @platformatic\/kafka@1\.22\.0/)
})

// loading the client alone takes a second of processor time
wholeTest('entries wait while no broker answers', async (t) => {
  const effect = await open(t, '127.0.0.1:1', 'none')
  await t.rejects(effect.write(entries(0, 1), 0), { code: 'KAFKA_DOWN', retryable: true, message: /127\.0\.0\.1:1 did not take/ })
})

// a broker alone takes more than ten seconds of processor time
nightTest('with a broker', { skip: why === null ? false : `not measured here: ${why}` }, async (t) => {
  const broker = await startBroker({ cacheDir })
  t.teardown(broker.stop)

  await t.test('each partition has its entries in order; a batch that is written again comes again, with the same ids', async (t) => {
    const effect = await open(t, broker.address, 'order')
    for (let partition = 0; partition < PARTITIONS; partition++) {
      await eventually(() => effect.write(entries(0, 200), partition))
      await effect.write(entries(200, 300), partition)
    }
    await effect.write(entries(200, 300), 0)
    const found = await readTopic(t, broker.address, topicOf('order'), (_, count) => count === PARTITIONS * 300 + 100)
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const own = found.filter((one) => one.partition === partition)
      t.same(ids(own.slice(0, 300)), ids(entries(0, 300)), `partition ${partition}`)
    }
    t.same(ids(found.filter((one) => one.partition === 0).slice(300)), ids(entries(200, 300)))
    t.match(found[0], { id: '1764000000000-0', rule: 'bounded', key: 'k0', fields: { seq: '0', text: 'naïve "…"' } })
  })

  await t.test('an entry that Kafka never takes is rejected; a topic with too few partitions is not used', async (t) => {
    const effect = await open(t, broker.address, 'refused')
    await eventually(() => effect.write(entries(0, 1), 0))
    const [large] = entries(1, 2)
    large.fields.text = 'x'.repeat(2_000_000)
    await t.rejects(effect.write([large], 0), { code: 'KAFKA_REFUSED', retryable: false })
    const wide = await createKafkaEffect({ brokers: [broker.address], system: 'refused', partitions: PARTITIONS + 1 })
    t.teardown(wide.close)
    await t.rejects(wide.write(entries(1, 2), 0), { code: 'KAFKA_DOWN', message: /has 4 partitions; expected 5/ })
  })

  await t.test('entries are written when the broker is back', async (t) => {
    const effect = await open(t, broker.address, 'away')
    await eventually(() => effect.write(entries(0, 1), 1))
    await broker.kill()
    await t.rejects(effect.write(entries(1, 2), 1), { code: 'KAFKA_DOWN' })
    await broker.restart()
    await eventually(() => effect.write(entries(1, 2), 1))
    t.same(ids(await readTopic(t, broker.address, topicOf('away'), (_, count) => count === 2)), ids(entries(0, 2)))
  })
})
