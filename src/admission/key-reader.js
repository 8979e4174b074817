/**
 * Reads a key from a node: its state, its newest events, and the end of its outbox, in one script.
 *
 * The outbox is followed on another connection, perhaps to another replica. So a read counts only if its node is as far as the outbox
 * was; a replica that lags is asked again, then the primary. A key that a replica does not have is looked up at the primary, together with
 * others (store/lookups.js).
 *
 * @typedef {import('./rules.js').Fields} Fields
 * @typedef {{ key: string, partition: number, generation: string, fields: Fields, events: Fields[] }} KeyState `events`: the newest, the
 *   oldest of them first
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { eventsOf, fieldsOf, generationOf, isAtOrAfter } from './outbox.js'

const READ_AGAIN_MS = 5
const MAX_READS = 40

/**
 * @param {{ connectionOf: (partition: number, isPrimary: boolean) => import('../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, partitionOf: (key: string) => number, tail: number,
 *   exists: string, lookUp?: import('../store/index.js').LookUp }} parts `tail`: events; `exists`: a field that each state has; `lookUp`:
 *   without it, a key that is absent is read from the primary
 */
export function createKeyReader ({ connectionOf, keyOf, partitionOf, tail, exists, lookUp }) {
  /** @param {string} key @param {number} partition @param {boolean} isPrimary */
  async function readOnce (key, partition, isPrimary) {
    const part = keyOf(partition)
    const keys = [`state:${key}`, `events:${key}`, 'outbox', 'generation'].map(part)
    const [state, events, ends, generation] = await connectionOf(partition, isPrimary).runScript('read-key', keys, [tail])
    const fields = fieldsOf(state)
    return {
      end: ends.length > 0 ? String(ends[0][0]) : '0-0',
      stored: fields[exists] === undefined
        ? null
        : {
            key,
            partition,
            generation: generationOf(generation),
            fields,
            events: eventsOf(events).reverse()
          }
    }
  }

  /** Whether the primary has what a replica does not have. @param {string} key @param {number} partition */
  const isStored = async (key, partition) =>
    lookUp === undefined || await lookUp(['HGET', keyOf(partition)(`state:${key}`), exists]) !== null

  /**
   * @param {string} key @param {number} partition @param {boolean} isPrimary @param {string} [position]
   * @returns {Promise<{ stored: KeyState | null } | 'behind' | 'absent'>} of a replica that is behind, or has no such key
   */
  async function attempt (key, partition, isPrimary, position = '') {
    const { end, stored } = await readOnce(key, partition, isPrimary)
    if (isPrimary || (stored && isAtOrAfter(end, position))) return { stored }
    if (stored) return 'behind'
    return await isStored(key, partition) ? 'absent' : { stored: null }
  }

  /**
   * A connection that ends with the read in flight, as when its slot moves, is no answer: it is read again.
   * @param {string} key @param {string} [position] of the outbox that the node must have reached; without one the primary is asked
   * @returns {Promise<KeyState | null>} null: the primary does not have it
   */
  return async (key, position) => {
    const partition = partitionOf(key)
    let isPrimary = position === undefined
    for (let i = 0; ; i++) {
      const isLast = i === MAX_READS
      const found = await attempt(key, partition, isPrimary || isLast, position).catch((error) => {
        if (isLast || error.code !== 'SERVER_LOST') throw error
        return /** @type {const} */ ('behind')
      })
      if (typeof found !== 'string') return found.stored
      isPrimary = position === undefined || found === 'absent'
      if (found === 'behind') await sleep(READ_AGAIN_MS)
    }
  }
}
