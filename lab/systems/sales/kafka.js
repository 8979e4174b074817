/**
 * A queue with Kafka in front of the sale, on a real broker: joining writes a message, a consumer claims in the order of the topic, and
 * people wait for the outcome.
 *
 *     queue-kafka      our engine decides, so the topic is what differs
 *     queue-kafka-db   the consumer takes one message after the other and writes the database
 *
 * The arm queue-timer-kafka (timer.js) has the topic behind its timer, as published.
 */
import { randomUUID } from 'node:crypto'
import { openDatabaseArm } from './database.js'
import { openEngineArm } from './engine.js'

/** what decides, by arm */
export const KAFKA_ARMS = Object.freeze(/** @type {Record<string, string>} */ ({
  'queue-kafka': 'batched+cache', 'queue-kafka-db': 'db-lock', 'queue-timer-kafka': 'db-lock'
}))
const TOPIC = 'lab-sales'
const FETCH_MS = 10
/** a broker that has just started has no coordinator, and the topic no leader */
const UNTIL_READY = Object.freeze({ retries: 50, retryDelay: 100 })

/**
 * A topic with one partition, and its only reader.
 * @param {string} broker its address @param {(message: { key: string, value: string }) => Promise<void>} decide
 * @param {boolean} isOneByOne each message waits until the one before it is decided
 */
export async function openTopic (broker, decide, isOneByOne) {
  const { Admin, Consumer, Producer, ProduceAcks, stringDeserializers, stringSerializers } = await import('@platformatic/kafka')
  const at = { clientId: 'lab', bootstrapBrokers: [broker], ...UNTIL_READY }
  const admin = new Admin(at)
  await admin.createTopics({ topics: [TOPIC], partitions: 1, replicas: 1 })
  await admin.close()
  const producer = new Producer({ ...at, acks: ProduceAcks.ALL, serializers: stringSerializers })
  const consumer = new Consumer({ ...at, groupId: randomUUID(), maxWaitTime: FETCH_MS, deserializers: stringDeserializers })
  /** @type {{ topic: string, partition: number, key: string, value: string }[]} */
  let unsent = []
  /** @type {Promise<unknown> | null} */
  let sending = null

  /** Messages that come while others are sent share the next request. */
  async function flush () {
    const messages = unsent
    unsent = []
    await producer.send({ messages })
  }

  const stream = await consumer.consume({ topics: [TOPIC], mode: 'earliest', autocommit: true })
  async function read () {
    for await (const message of stream) {
      const decided = decide(message)
      if (isOneByOne) await decided
    }
  }
  const reading = read()

  return {
    /** @param {string} key @param {string} value */
    async send (key, value) {
      const message = { topic: TOPIC, partition: 0, key, value }
      unsent.push(message)
      await sending?.catch(() => {})
      if (!unsent.includes(message)) return sending
      sending = flush()
      return sending
    },

    async close () {
      await consumer.close(true)
      await reading
      await producer.close()
    }
  }
}

/** @param {string} technique @param {import('./techniques.js').Place} place @returns {Promise<import('./techniques.js').Technique>} */
export async function openKafkaArm (technique, place) {
  const isPublished = technique === 'queue-kafka-db'
  const sale = await (isPublished ? openDatabaseArm : openEngineArm)(KAFKA_ARMS[technique], place)
  /** @type {Map<string, PromiseWithResolvers<import('./techniques.js').Reply>>} by sale and user */
  const outcomes = new Map()

  /** @param {string} name of sale and user */
  function outcomeOf (name) {
    let outcome = outcomes.get(name)
    if (outcome === undefined) outcomes.set(name, outcome = withResolvers())
    return outcome
  }

  const topic = await openTopic(String(place.broker), async ({ key, value }) => {
    const [name, user] = key.split(' ')
    const { code, seq } = await sale.claim(name, user, null, value).then(({ body }) => body, (error) => error)
    const body = code === undefined ? { status: 'sold', seq } : { status: code.replace('SALE_', '').toLowerCase() }
    outcomeOf(key).resolve({ status: 200, body })
  }, isPublished)

  return {
    create: sale.create,
    claim: sale.claim,

    async join (name, user, requestId) {
      await topic.send(`${name} ${user}`, requestId)
      return { status: 200, body: { status: 'waiting', ticket: user } }
    },

    place: (name, user) => outcomeOf(`${name} ${user}`).promise,
    stored: sale.stored,
    figures: sale.figures,

    async close () {
      await topic.close()
      await sale.close()
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
