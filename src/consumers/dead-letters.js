/**
 * Dead letters: entries that failed permanently, in a stream of each partition, until they are replayed or discarded.
 *
 * To replay puts the entry back into the outbox, where its consumers find it again; their effects are idempotent. Readers ignore events
 * whose sequence number they have.
 *
 * @typedef {import('../admission/index.js').Entry} Entry
 * @typedef {{ id: string, consumer: string, key: string, entry: string, reason: string, attempts: number, at: number,
 *   fields: Record<string, string> }} Letter `id`: partition and id of the stream; `entry`: id in the outbox; `at`: ms since 1970
 */
import { fieldsOf } from '../admission/index.js'
import { cutText } from '../errors.js'
import { FreshetError } from './errors.js'

const ID = /^(\d{1,4}):(\d{1,15}-\d{1,6})$/

/** @typedef {ReturnType<typeof createDeadLetters>} DeadLetters */

/**
 * @param {{ connectionOf: (partition: number) => import('../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, partitions: number,
 *   isNeeded?: (letter: Letter, state: Record<string, string>) => boolean }} parts `connectionOf` the primary; `isNeeded`: whether a letter
 *   must not be discarded, by it and the state of its key
 */
export function createDeadLetters ({ connectionOf, keyOf, partitions, isNeeded = () => false }) {
  /** @param {string} id @returns {{ partition: number, stream: string }} @throws {FreshetError} DEAD_LETTER_UNKNOWN */
  function partsOf (id) {
    const [, partition, stream] = ID.exec(id) ?? []
    if (stream !== undefined && Number(partition) < partitions) return { partition: Number(partition), stream }
    throw new FreshetError('DEAD_LETTER_UNKNOWN', `${id}: not the id of a dead letter; expected one of the list, such as 3:1764000000000-0`)
  }

  return {
    /** @param {number} partition @param {{ consumer: string, entry: Entry, reason: string, attempts: number }} letter */
    async deadLetter (partition, { consumer, entry: { id, rule, key, fields }, reason, attempts }) {
      const flat = ['rule', rule, 'key', key, ...Object.entries(fields).flat()]
      await connectionOf(partition).send('XADD', keyOf(partition)('dead'), '*', 'consumer', consumer, 'entry', id, 'key', key,
        'reason', cutText(reason), 'attempts', attempts, 'fields', JSON.stringify(flat))
    },

    /**
     * The oldest of each partition first.
     * @param {{ after: string | null, limit: number }} page @returns {Promise<{ items: Letter[], next: string | null }>}
     */
    async list ({ after, limit }) {
      const from = after === null ? { partition: 0, stream: '-' } : partsOf(after)
      /** @type {Letter[]} */
      const items = []
      for (let partition = from.partition; partition < partitions && items.length <= limit; partition++) {
        const start = partition === from.partition && from.stream !== '-' ? `(${from.stream}` : '-'
        const entries = await connectionOf(partition).send('XRANGE', keyOf(partition)('dead'), start, '+', 'COUNT', limit + 1)
        for (const [id, flat] of entries) items.push(letterOf(partition, String(id), flat))
      }
      const page = items.slice(0, limit)
      return { items: page, next: items.length > limit ? /** @type {Letter} */ (page.at(-1)).id : null }
    },

    /** @param {string} id @throws {FreshetError} DEAD_LETTER_UNKNOWN, also when another process replayed or discarded it */
    async replay (id) {
      const { partition, stream } = partsOf(id)
      const keys = ['dead', 'outbox', 'generation'].map(keyOf(partition))
      if (await connectionOf(partition).runScript('replay-letter', keys, [stream]) !== 1) throw gone(id)
    },

    /** @param {string} id @throws {FreshetError} DEAD_LETTER_UNKNOWN, DEAD_LETTER_BLOCKS_KEY */
    async discard (id) {
      const { partition, stream } = partsOf(id)
      const [connection, key] = [connectionOf(partition), keyOf(partition)]
      const [entry] = await connection.send('XRANGE', key('dead'), stream, stream)
      if (entry === undefined) throw gone(id)
      const letter = letterOf(partition, stream, entry[1])
      const state = fieldsOf(await connection.send('HGETALL', key(`state:${letter.key}`)))
      if (isNeeded(letter, state)) {
        throw new FreshetError('DEAD_LETTER_BLOCKS_KEY',
          `${letter.key} is parked until its letter ${id} is replayed; fix its cause, then replay it`)
      }
      if (Number(await connection.send('XDEL', key('dead'), stream)) !== 1) throw gone(id)
    },

    /** How many there are. @param {readonly number[]} [some] partitions @returns {Promise<number>} */
    count: async (some = Array.from({ length: partitions }, (_, partition) => partition)) => (await Promise.all(
      some.map((partition) => connectionOf(partition).send('XLEN', keyOf(partition)('dead'))))).reduce((sum, n) => sum + Number(n), 0)
  }
}

/** @param {string} id */
const gone = (id) => new FreshetError('DEAD_LETTER_UNKNOWN', `there is no dead letter ${id}; it may have been replayed or discarded`)

/** @param {number} partition @param {string} id @param {unknown[]} flat @returns {Letter} */
function letterOf (partition, id, flat) {
  const { consumer, key, entry, reason, attempts, fields } = fieldsOf(flat)
  return {
    id: `${partition}:${id}`,
    consumer,
    key,
    entry,
    reason,
    attempts: Number(attempts),
    at: Number(id.split('-')[0]),
    fields: fieldsOf(JSON.parse(fields))
  }
}
