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
import { eventsOf, fieldsOf, isAtOrAfter } from './outbox.js'

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
    const [state, events, ends, [lineage, n]] = await connectionOf(partition, isPrimary).runScript('read-key', keys, [tail])
    const fields = fieldsOf(state)
    return {
      end: ends.length > 0 ? String(ends[0][0]) : '0-0',
      stored: fields[exists] === undefined
        ? null
        : {
            key,
            partition,
            generation: `${lineage}.${n}`,
            fields,
            events: eventsOf(events).reverse()
          }
    }
  }

  /**
   * @param {string} key @param {string} position of the outbox that the node must have reached
   * @returns {Promise<KeyState | null>} null: the primary does not have it
   */
  async function read (key, position) {
    const partition = partitionOf(key)
    for (let i = 0; i < MAX_READS; i++) {
      const { end, stored } = await readOnce(key, partition, false)
      if (stored && isAtOrAfter(end, position)) return stored
      if (!stored) break
      await sleep(READ_AGAIN_MS)
    }
    // replicas lag, or do not have it
    return (await readOnce(key, partition, true)).stored
  }

  return {
    read,
    /** @param {string} key */
    fromPrimary: async (key) => (await readOnce(key, partitionOf(key), true)).stored
  }
}
