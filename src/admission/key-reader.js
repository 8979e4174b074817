/**
 * Reads a key from a node: its state, its newest events, and the end of its outbox, in one script.
 *
 * The outbox is followed on another connection, perhaps to another replica. So a read counts only if its node is as far as the outbox
 * was; a replica that lags is asked again, then the primary.
 *
 * @typedef {import('./rules/index.js').Fields} Fields
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
 *   exists: string }} parts `tail`: events; `exists`: a field that each state has
 */
export function createKeyReader ({ connectionOf, keyOf, partitionOf, tail, exists }) {
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
      const found = await readOnce(key, partition, isPrimary || isLast).catch((error) => {
        if (isLast || error.code !== 'SERVER_LOST') throw error
      })
      if (found && (isPrimary || isLast || (found.stored && isAtOrAfter(found.end, position ?? '')))) return found.stored
      const isAbsent = found?.stored === null
      isPrimary = position === undefined || isAbsent
      if (!isAbsent) await sleep(READ_AGAIN_MS)
    }
  }
}
