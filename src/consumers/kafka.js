/**
 * Entries of an outbox for other programs, in the topic `freshet.<system>` of Kafka. Nothing here reads the topic: the outbox stays the
 * truth, and this consumer has an ordinary cursor.
 *
 *     partition  that of the system          headers  id    of the entry; within a partition they rise
 *     key        key of the entry                     rule
 *     value      its fields, as JSON
 *
 * Delivery is at least once. A batch whose reply was lost is written again, and so may a former owner do; a message whose id is not after
 * the last one of its partition is a repetition.
 */
import { FreshetError } from './errors.js'

const VERSION = '1.22.0'
/** The consumer repeats a batch, so the client does not. */
const LIMITS = Object.freeze({ retries: 0, connectTimeout: 2000, requestTimeout: 5000, timeout: 5000 })
const AS_THE_BROKER_SAYS = -1
/** Kafka rejects a message with one of these errors whenever it is sent. */
const REFUSED = Object.freeze(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD'])

/** @param {string} system @returns {string} */
export const topicOf = (system) => `freshet.${system}`

/**
 * @param {{ brokers: string[], system: string, partitions: number }} options `brokers`: addresses, `host:port`; the topic gets as many
 *   `partitions` as the system has, and is not changed if it is there
 * @returns {Promise<import('./consume.js').BatchEffect & { close: () => Promise<void> }>} at once, whether Kafka answers or not
 * @throws {FreshetError} KAFKA_MISSING
 */
export async function createKafkaEffect ({ brokers, system, partitions }) {
  const { Admin, Producer, ProduceAcks, stringSerializers } = await load()
  const topic = topicOf(system)
  const at = { clientId: 'freshet', bootstrapBrokers: brokers, ...LIMITS }
  const producer = new Producer({ ...at, acks: ProduceAcks.ALL, serializers: stringSerializers })
  /** @type {Promise<void> | null} */
  let made = null

  /** @throws if it cannot be made, or has too few partitions: the client would write to another one than a message names */
  async function makeTopic () {
    const admin = new Admin(at)
    try {
      await admin.createTopics({ topics: [topic], partitions, replicas: AS_THE_BROKER_SAYS }).catch((error) => {
        if (!error.findBy?.('apiId', 'TOPIC_ALREADY_EXISTS')) throw error
      })
      const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true })
      const partitionCount = topics.get(topic)?.partitionsCount ?? 0
      if (partitionCount < partitions) {
        throw new Error(`topic ${topic} has ${partitionCount} partitions; expected ${partitions}; add some, or delete it`)
      }
    } finally {
      admin.close().catch(() => {})
    }
  }

  return {
    name: 'kafka',

    async write (entries, partition) {
      const messages = entries.map(({ id, rule, key, fields }) =>
        ({ topic, partition, key, value: JSON.stringify(fields), headers: { id, rule } }))
      try {
        made ??= makeTopic()
        made.catch(() => { made = null })
        await made
        await producer.send({ messages })
      } catch (error) {
        throw errorOf(error, brokers)
      }
    },

    close: () => producer.close().catch(() => {})
  }
}

/** @returns {Promise<typeof import('@platformatic/kafka')>} @throws {FreshetError} KAFKA_MISSING */
async function load () {
  try {
    return await import('@platformatic/kafka')
  } catch (error) {
    // of import, or of require in a bundle
    if (!['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(error.code)) throw error
    throw new FreshetError('KAFKA_MISSING', `--kafka-brokers needs the Kafka client: npm install @platformatic/kafka@${VERSION}`)
  }
}

/** @throws {FreshetError} KAFKA_MISSING */
export const expectKafka = async () => { await load() }

/** @param {any} cause @param {string[]} brokers @returns {FreshetError} */
function errorOf (cause, brokers) {
  const reason = reasonOf(cause)
  return REFUSED.some((id) => cause.findBy?.('apiId', id))
    ? new FreshetError('KAFKA_REFUSED', `Kafka rejected the entry (${reason}); fix the cause, then replay its dead letter`, { cause })
    : new FreshetError('KAFKA_DOWN', `Kafka at ${brokers.join(', ')} did not take the entries, which are sent again: ${reason}`, { cause })
}

/** The innermost reason: the client wraps errors of several requests. @param {any} error @returns {string} */
const reasonOf = (error) => error.errors?.length > 0 ? reasonOf(error.errors[0]) : error.message
