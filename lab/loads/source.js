/**
 * The items of one writer of the synthetic workload, in order.
 *
 * @typedef {ReturnType<typeof createSource>} Source
 * @typedef {{ at: number, id: Buffer, ts: number, seq: number, value: Buffer }} Item `at`: index of the writer's id. The object and
 *   its value are reused: they are valid until the next item
 */
import { createSequence } from '../../src/item/index.js'
import { LATE_MS, isLateId, makeIds, makeValue, NUMBERED_VALUE_BYTES, WHOLE_VALUE_BYTES } from '../../src/synthetic.js'
import { FreshetError } from '../errors.js'

/** The shortest values that identify items. @param {number} writers @returns {number} bytes */
export const leastValueBytes = (writers) => writers > 1 ? WHOLE_VALUE_BYTES : NUMBERED_VALUE_BYTES

/** @param {{ valueBytes: number, writers: number }} settings @throws {FreshetError} LOAD_FAILED: values do not identify items */
export function needIdentifying ({ valueBytes, writers }) {
  if (valueBytes >= leastValueBytes(writers)) return
  throw new FreshetError('LOAD_FAILED',
    `valueBytes ${valueBytes}: expected at least ${leastValueBytes(writers)}, because only the values identify items`)
}

/**
 * @param {{ ids: number, valueBytes: number, valueChange: 'always' | 'never', lateEvery?: number, writers: number }} settings
 * @param {number} index of the writer
 */
export function createSource ({ ids: distinct, valueBytes, valueChange, lateEvery = 0, writers }, index) {
  const ids = makeIds(distinct, index, writers)
  const repeatAfter = valueChange === 'never' ? ids.length : Infinity
  const { value, change } = makeValue(valueBytes, index, repeatAfter)
  const sequence = createSequence()
  /** @type {Item} */
  const item = { at: -1, id: ids[0], ts: 0, seq: 0, value }
  let isFirst = true

  return {
    ids,

    /** Index of the next id. */
    get nextAt () { return item.at + 1 === ids.length ? 0 : item.at + 1 },

    /** @param {number} dueMs since 1970 @returns {Item} */
    next (dueMs) {
      item.at = item.at + 1 === ids.length ? 0 : item.at + 1
      item.id = ids[item.at]
      item.ts = Math.floor(dueMs) - (!isFirst && isLateId(item.at, lateEvery) ? LATE_MS : 0)
      if (item.at === ids.length - 1) isFirst = false
      item.seq = sequence(item.ts)
      change()
      return item
    },

    /** The values of all ids as separate objects, where values never change. @returns {Buffer[]} */
    allValues () {
      const same = makeValue(valueBytes, index, repeatAfter)
      return ids.map(() => {
        same.change()
        return Buffer.from(same.value)
      })
    }
  }
}
