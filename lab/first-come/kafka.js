/**
 * A queue with Kafka in front of the sale, the transport of the published study on a real broker: joining writes a message, a consumer
 * claims in the order of the topic, and people wait for the outcome. What decides is our engine, so the topic is what differs.
 */
import { randomUUID } from 'node:crypto'
import { openEngineArm } from './engine.js'

export const KAFKA_ARMS = Object.freeze(['queue-kafka'])
const DECIDED_BY = 'batched+cache'
const TOPIC = 'lab-sales'
const FETCH_MS = 10
const ALL_REPLICAS = -1

/**
 * @param {{ redisUrl: string, keyPrefix: string, holdMs: number, broker: string }} place `broker`: its address
 * @returns {Promise<import('./techniques.js').Technique>}
 */
export async function openKafkaArm ({ broker, ...place }) {
  const engine = await openEngineArm(DECIDED_BY, place)
  const { Kafka, logLevel, Partitioners } = await import('kafkajs')
  const kafka = new Kafka({ clientId: 'lab', brokers: [broker], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic: TOPIC, numPartitions: 1 }] })
  await admin.disconnect()
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner })
  const consumer = kafka.consumer({ groupId: randomUUID(), maxWaitTimeInMs: FETCH_MS })
  await Promise.all([producer.connect(), consumer.connect()])
  /** @type {Map<string, PromiseWithResolvers<import('./techniques.js').Reply>>} by sale and user */
  const outcomes = new Map()
  /** @type {import('kafkajs').Message[]} */
  let unsent = []
  /** @type {Promise<unknown> | null} */
  let sending = null

  /** @param {string} name of sale and user */
  function outcomeOf (name) {
    let outcome = outcomes.get(name)
    if (outcome === undefined) outcomes.set(name, outcome = withResolvers())
    return outcome
  }

  /** Messages that come while others are sent share the next request. */
  async function flush () {
    const messages = unsent
    unsent = []
    await producer.send({ topic: TOPIC, acks: ALL_REPLICAS, messages })
  }

  /** @param {import('kafkajs').Message} message */
  async function send (message) {
    unsent.push(message)
    await sending?.catch(() => {})
    if (!unsent.includes(message)) return sending
    sending = flush()
    return sending
  }

  /** @param {import('kafkajs').KafkaMessage} message */
  async function decide ({ key, value }) {
    const [sale, user] = String(key).split(' ')
    const told = engine.claim(sale, user, null, String(value)).then(({ body }) => ({ status: 'sold', seq: body.seq }),
      ({ code }) => ({ status: code.replace('SALE_', '').toLowerCase() }))
    outcomeOf(String(key)).resolve({ status: 200, body: await told })
  }

  await consumer.subscribe({ topic: TOPIC, fromBeginning: true })
  const joined = new Promise((resolve) => { consumer.on(consumer.events.GROUP_JOIN, resolve) })
  await consumer.run({ eachBatch: async ({ batch }) => { await Promise.all(batch.messages.map(decide)) } })
  await joined

  return {
    create: engine.create,
    claim: engine.claim,

    async join (sale, user, requestId) {
      await send({ key: `${sale} ${user}`, value: requestId })
      return { status: 200, body: { status: 'waiting', ticket: user } }
    },

    place: (sale, user) => outcomeOf(`${sale} ${user}`).promise,
    stored: engine.stored,

    async close () {
      await Promise.all([consumer.disconnect(), producer.disconnect()])
      await engine.close()
    }
  }
}

/** @returns {PromiseWithResolvers<any>} as Promise.withResolvers of Node 22 */
function withResolvers () {
  /** @type {any} */
  const parts = {}
  parts.promise = new Promise((resolve, reject) => { Object.assign(parts, { resolve, reject }) })
  return parts
}
