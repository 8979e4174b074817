/**
 * Writes messages to the topic, idempotently: what kafkajs repeats by itself is stored once.
 *
 * A producer that failed is never used again. Its next batch would have the sequence numbers of the failed one, which the broker may have
 * stored, and the broker would then drop the batch as a repetition.
 */

/** One request at a time: the sequence numbers of a partition must arrive in order. */
const INFLIGHT = 1
const ALL_REPLICAS = -1
const REPLICAS_WITHIN_MS = 5000

/** @typedef {ReturnType<typeof createProducer>} Producer */

/**
 * @param {{ kafka: import('kafkajs').Kafka, topic: string, createPartitioner: import('kafkajs').ICustomPartitioner }} parts
 *   `createPartitioner`: must respect the partition that a message names
 */
export function createProducer ({ kafka, topic, createPartitioner }) {
  /** @type {Promise<import('kafkajs').Producer> | null} */
  let connected = null

  async function connect () {
    const producer = kafka.producer({
      idempotent: true, maxInFlightRequests: INFLIGHT, allowAutoTopicCreation: false, createPartitioner
    })
    await producer.connect()
    return producer
  }

  /** @param {Promise<import('kafkajs').Producer>} mine */
  async function discard (mine) {
    if (connected === mine) connected = null
    await mine.then((producer) => producer.disconnect()).catch(() => {})
  }

  return {
    /** @param {import('kafkajs').Message[]} messages of one partition, in order @throws when it is unknown whether they were stored */
    async send (messages) {
      const mine = connected ??= connect()
      try {
        await (await mine).send({ topic, acks: ALL_REPLICAS, timeout: REPLICAS_WITHIN_MS, messages })
      } catch (error) {
        discard(mine)
        throw error
      }
    },

    async close () { if (connected) await discard(connected) }
  }
}
