/**
 * Reads partitions of the topic from given offsets, and gives each entry once, in order and without gaps.
 *
 * kafkajs assigns partitions by consumer groups only, while ours belong to leases. So each process has a group of its own, as its single
 * member: it is assigned everything, pauses what it does not own, and no rebalance follows when partitions move. While a batch is taken,
 * its partition is paused, so one slow partition holds up no other. Offsets are kept here and are not committed.
 *
 * A consumer that crashed, as it does in an outage, is replaced by one in another group: in its own group it would wait until the session
 * of its former self has ended.
 *
 * @typedef {{ position: string, offset: string, take: import('../transport.js').Take, onGap: (position: string) => void }} Place
 *   `position`: id of the last entry given; `offset`: the next to read; `onGap`: the topic lacks the entries after `position`
 * @typedef {Place & { isBusy: boolean, isBehindGap: boolean }} Followed
 */
import { randomUUID } from 'node:crypto'
import { isAtOrAfter } from '../../admission/index.js'
import { entryIn } from './message.js'

const FETCH_MS = 50
const MAX_BATCH_BYTES = 262_144
const SESSION_MS = 10_000

/**
 * @param {{ kafka: import('kafkajs').Kafka, topic: string, partitions: number, onCrash: () => void, log: import('pino').Logger }} parts
 *   `onCrash`: nothing is read until it is started again
 */
export function createReader ({ kafka, topic, partitions, onCrash, log }) {
  /** @type {Map<number, Followed>} by partition */
  const followed = new Map()
  /** @type {import('kafkajs').Consumer | null} */
  let consumer = null

  /**
   * Tells the consumer whether to read a partition, and with `isMoved` from where.
   * @param {number} partition @param {boolean} isMoved
   */
  function align (partition, isMoved) {
    const one = followed.get(partition)
    try {
      if (one && isMoved) consumer?.seek({ topic, partition, offset: one.offset })
      consumer?.[one && !one.isBusy ? 'resume' : 'pause']([{ topic, partitions: [partition] }])
    } catch (error) {
      // the next one aligns all partitions when it has joined its group
      log.debug({ partition, reason: error.message }, 'the consumer is not running')
    }
  }

  /** @param {import('kafkajs').EachBatchPayload} payload */
  async function eachBatch ({ batch, resolveOffset }) {
    const { partition } = batch
    const one = followed.get(partition)
    if (!one || one.isBusy) return
    one.offset = String(BigInt(batch.lastOffset()) + 1n)
    resolveOffset(batch.lastOffset())
    const entries = batch.messages.map(entryIn).filter(({ entry, previous }) => isNext(one, entry.id, previous))
    if (entries.length === 0) return
    one.isBusy = true
    align(partition, false)
    one.take(entries.map(({ entry }) => entry)).then(() => { one.isBusy = false }, (error) => {
      // it stays busy: later entries would move the position past these; the next owner begins with them
      log.error({ partition, code: error.code, reason: error.message }, 'entries were not taken')
    }).finally(() => { if (followed.get(partition) === one) align(partition, false) })
  }

  return {
    /** Begins to read; called again after a failure or a crash. */
    async start () {
      consumer?.disconnect().catch(() => {})
      const mine = kafka.consumer({
        groupId: `${topic}.${randomUUID()}`,
        allowAutoTopicCreation: false,
        sessionTimeout: SESSION_MS,
        maxWaitTimeInMs: FETCH_MS,
        maxBytesPerPartition: MAX_BATCH_BYTES,
        retry: { restartOnFailure: async () => false }
      })
      consumer = mine
      mine.on(mine.events.GROUP_JOIN, () => { for (let partition = 0; partition < partitions; partition++) align(partition, true) })
      mine.on(mine.events.CRASH, () => { if (consumer === mine) onCrash() })
      await mine.connect()
      await mine.subscribe({ topic, fromBeginning: true })
      await mine.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        async eachBatch (payload) { if (consumer === mine) await eachBatch(payload) }
      })
    },

    /** @param {number} partition @param {Place} place */
    follow (partition, place) {
      followed.set(partition, { ...place, isBusy: false, isBehindGap: false })
      align(partition, true)
    },

    /** @param {number} partition */
    leave (partition) {
      followed.delete(partition)
      align(partition, false)
    },

    async close () {
      const mine = consumer
      consumer = null
      await mine?.disconnect()
    }
  }
}

/**
 * Whether an entry is the one after the position, which then moves. An earlier one is a repetition; a later one is behind a gap.
 * @param {Followed} one @param {string} id @param {string} previous
 */
function isNext (one, id, previous) {
  if (isAtOrAfter(one.position, id)) return false
  const fits = isAtOrAfter(one.position, previous)
  if (fits) one.position = id
  else if (!one.isBehindGap) one.onGap(one.position)
  one.isBehindGap = !fits
  return fits
}
