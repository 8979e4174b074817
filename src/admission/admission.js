/**
 * Commands of one system, from this process: each goes to the batcher of its partition, and its decision comes back.
 *
 *     submit(command) -> partition of its key -> batcher -> admit -> decision
 */
import { partitionOf } from '../item/index.js'
import { admit } from './admit.js'
import { createBatcher } from './batcher.js'
import { prepare } from './commands.js'
import { admissionKey } from './keys.js'
import { agreeOnSystem } from './system.js'

/** @typedef {ReturnType<typeof createAdmission>} Admission */

/**
 * @param {object} options
 * @param {ReturnType<typeof import('../store/index.js').createRoutes>['route']} options.route
 * @param {string} options.keyPrefix @param {string} options.system such as `auctions` @param {number} options.partitions
 * @param {number} options.requestMs how long the decision of an accepted request is kept
 * @param {number} options.deadlineMs of a command, until it is sent
 * @param {boolean} [options.batches] false: each command is sent at once, in a call of its own
 * @param {Parameters<typeof createBatcher>[0]['metrics']} options.metrics
 */
export function createAdmission ({ route, keyPrefix, system, partitions, requestMs, deadlineMs, batches = true, metrics }) {
  let isAgreed = false

  /** @param {number} partition */
  const batcherOf = (partition) => createBatcher({
    async send (commands) {
      const { connection, replicationId } = route(partition)
      if (!isAgreed) {
        await agreeOnSystem(connection, { keyPrefix, system, partitions })
        isAgreed = true
      }
      return admit(connection, admissionKey(keyPrefix, system, partition), { replicationId, requestMs }, commands)
    },
    deadlineMs,
    metrics,
    ...(batches ? {} : { maxCommands: 1, maxCalls: Infinity })
  })
  const batchers = Array.from({ length: partitions }, (_, partition) => batcherOf(partition))

  return {
    /** @param {string} key */
    partitionOf: (key) => partitionOf(Buffer.from(key), partitions),

    /**
     * @param {import('./commands.js').Command} command
     * @returns {Promise<import('./batcher.js').Answer>}
     * @throws {import('../errors.js').FreshetError} ADMISSION_FULL, ADMISSION_LATE; SERVER_LOST: outcome unknown
     */
    submit (command) {
      return batchers[this.partitionOf(command.key)].submit(prepare(command))
    }
  }
}
