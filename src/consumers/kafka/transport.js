/**
 * Kafka between outbox and effects. The owner of a partition relays its outbox to the topic, and reads what it relayed.
 *
 *     follow(partition, position): end of the topic's partition = E ─▶ read from E
 *                                  outbox after position ─▶ topic ─▶ first occurrence of each entry ─▶ take
 *
 * The outbox stays the truth, because it is kept until the effects of its entries are finished, and the position is an id of the outbox.
 * No offset is stored: a new owner relays everything after the position once more, behind E. So it does not matter what is in the topic
 * already, how long the topic keeps it, or whether an offset is still valid.
 *
 * Any owner may write to the topic: a former one that has not noticed, or this one a second time after a lost reply. Each message names
 * the entry before its own. Reading takes an entry only if its own id is after the position and the previous one is not, then moves the
 * position. So repetitions are skipped, and what a former owner writes ahead cannot hide the entries between. If the topic lost entries,
 * the ones behind them do not fit: then the outbox is relayed again from the position.
 *
 * @typedef {import('../transport.js').Transport} Transport
 */
import { createClient, loadKafkajs, within } from './client.js'
import { messageOf } from './message.js'
import { createProducer } from './producer.js'
import { createReader } from './reader.js'

const CLOSE_MS = 3000

/** @param {string} system @returns {string} */
export const topicOf = (system) => `freshet.${system}`

/**
 * @param {object} options
 * @param {string[]} options.brokers addresses, `host:port`
 * @param {string} options.system
 * @param {number} options.partitions of the system; the topic gets as many
 * @param {Transport} options.outbox reads the outboxes; closed with this transport
 * @param {import('pino').Logger} options.log
 * @returns {Promise<Transport>} at once, whether Kafka answers or not
 * @throws {import('../errors.js').FreshetError} KAFKA_MISSING
 */
export async function createKafkaTransport ({ brokers, system, partitions, outbox, log }) {
  const kafkajs = await loadKafkajs()
  const topic = topicOf(system)
  const { kafka, ask, withAdmin } = createClient({ kafkajs, brokers, log })
  const producer = createProducer({ kafka, topic, createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  const reader = createReader({ kafka, topic, partitions, onCrash: () => { read().catch(() => {}) }, log })
  /** @type {Map<number, AbortController>} by partition that is followed */
  const stops = new Map()
  const stop = new AbortController()

  /** It rejects only when this transport is closed. */
  const read = () => ask('reading', reader.start, stop.signal)
  const ready = ask('making the topic', () => withAdmin((admin) => makeTopic(admin, topic, partitions)), stop.signal).then(read)
  ready.catch(() => {})

  /** @param {number} partition @param {string} position @param {AbortSignal} signal */
  function relay (partition, position, signal) {
    let previous = position
    outbox.follow(partition, position, async (entries) => {
      const messages = entries.map((entry) => {
        const message = messageOf(partition, entry, previous)
        previous = entry.id
        return message
      })
      await ask('relaying', () => producer.send(messages), signal).catch((error) => { if (!signal.aborted) throw error })
    })
  }

  /** @param {number} partition @param {string} position @param {import('../transport.js').Take} take @param {AbortSignal} signal */
  async function begin (partition, position, take, signal) {
    await ready
    const ends = await ask('reading offsets', () => withAdmin((admin) => admin.fetchTopicOffsets(topic)), signal)
    signal.throwIfAborted()
    const { high } = /** @type {{ high: string }} */ (ends.find((end) => end.partition === partition))
    reader.follow(partition, { position, offset: high, take, onGap: (from) => relay(partition, from, signal) })
    relay(partition, position, signal)
  }

  /** @param {number} partition */
  function leave (partition) {
    stops.get(partition)?.abort()
    stops.delete(partition)
    outbox.leave(partition)
    reader.leave(partition)
  }

  return {
    follow (partition, position, take) {
      leave(partition)
      const own = new AbortController()
      stops.set(partition, own)
      const { signal } = own
      begin(partition, position, take, signal).catch((error) => {
        if (!signal.aborted) log.error({ partition, reason: error.message }, 'a partition cannot be followed')
      })
    },

    leave,

    async close () {
      stop.abort()
      for (const partition of [...stops.keys()]) leave(partition)
      await outbox.close()
      const closing = Promise.all([reader.close(), producer.close()])
      await within(closing, CLOSE_MS, 'closing').catch((error) => log.debug({ reason: error.message }, 'Kafka was left open'))
    }
  }
}

/** @param {import('kafkajs').Admin} admin @param {string} topic @param {number} partitions */
async function makeTopic (admin, topic, partitions) {
  const isMade = await admin.createTopics({ topics: [{ topic, numPartitions: partitions }] })
  if (isMade) return
  const { topics: [{ partitions: found }] } = await admin.fetchTopicMetadata({ topics: [topic] })
  // messages name their partition, so none moves
  if (found.length < partitions) await admin.createPartitions({ topicPartitions: [{ topic, count: partitions }] })
}
