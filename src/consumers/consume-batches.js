/**
 * One consumer of one partition whose effect is elsewhere, such as in DynamoDB or Kafka. No transaction joins effect and cursor: a batch is
 * written again after a crash, or by a former owner that has not noticed, so writing must be idempotent and older entries must not replace
 * newer ones. The cursor is fenced: a former owner cannot move it.
 *
 * @typedef {object} BatchEffect
 * @property {string} name
 * @property {(entries: import('./partition.js').Entry[], partition: number) => Promise<void>} write idempotent; repeated after a retryable
 *   error; any other one means that an entry of the batch is rejected for good
 */
import { followPartition } from './partition.js'

/**
 * @param {import('./partition.js').Target & { effect: BatchEffect }} parts
 * @returns {Promise<void>} when the partition is given back @throws {import('./errors.js').FreshetError} LEASE_LOST
 */
export const consumeBatches = ({ effect, ...target }) => followPartition(effect.name, target, {
  async write (entries, begin) {
    await begin()
    await effect.write(entries, target.owned.partition)
  }
})
