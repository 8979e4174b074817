/**
 * Commands of one system, from this process: each goes to the batcher of its partition, and its decision comes back.
 *
 *     submit(command) -> batcher of its partition -> certainly rejected? -> admit -> confirmed? -> decision
 */
import { partitionOf } from '../item/index.js'
import { admit } from './admit.js'
import { createBatcher } from './batcher.js'
import { prepare } from './commands.js'
import { admissionKey } from './keys.js'
import { fieldsOf } from './outbox.js'
import { agreeOnSystem, newSecret, restoreSystem } from './system.js'

/** @typedef {ReturnType<typeof createAdmission>} Admission */
/** @typedef {import('./batcher.js').Answer} Answer */

const NEVER = Object.freeze({ answer: () => null, note () {} })

/**
 * @param {object} options
 * @param {ReturnType<typeof import('../store/index.js').createRoutes>['route']} options.route
 * @param {string} options.keyPrefix @param {string} options.system such as `auctions` @param {number} options.partitions
 * @param {number} options.requestMs how long the decision of an accepted request is kept
 * @param {number} options.keepMs how long an ended key is kept
 * @param {number} [options.maxOutbox] entries of a partition that may wait for consumers
 * @param {boolean} [options.isRead] the outbox is kept until consumers have read it, also before there are any
 * @param {number} options.deadlineMs of a command, until it is sent
 * @param {boolean} [options.batches] false: each command is sent at once, in a call of its own
 * @param {Pick<import('./rejections.js').Rejections, 'answer' | 'note'>} [options.rejections] without it every command is sent
 * @param {(partition: number) => ReturnType<typeof import('./durability.js').createConfirm>} [options.confirmOf] what confirms the
 *   decisions of a partition
 * @param {import('./own-rules.js').OwnRules} [options.own] rules of a user
 * @param {number} [options.maxWaiting] commands of a partition
 * @param {import('./system.js').KeepSecret} [options.keepSecret] keeps the secret of the system outside of the servers
 * @param {Parameters<typeof createBatcher>[0]['metrics']} options.metrics
 */
export function createAdmission ({
  route, keyPrefix, system, partitions, requestMs, keepMs, maxOutbox, isRead, deadlineMs, batches = true, rejections = NEVER,
  confirmOf = () => async () => {}, keepSecret = async (secret) => secret, own, maxWaiting, metrics
}) {
  const place = { keyPrefix, system }
  /** @type {Promise<import('./system.js').System> | null} */
  let agreed = null
  const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, system, partition)

  /** @param {import('../store/index.js').Connection} connection */
  function agree (connection) {
    agreed ??= agreeOnSystem(connection, { ...place, partitions, secretOf: () => keepSecret(newSecret()) })
    agreed.catch(() => { agreed = null })
    return agreed
  }
  let isAgreed = false
  /** the secret that `refresh` found last */
  let kept = ''

  /** @param {number} partition */
  function batcherOf (partition) {
    const confirm = confirmOf(partition)
    const batcher = createBatcher({
      async send (commands) {
        const { connection, replicationId } = route(partition)
        if (!isAgreed) {
          await agree(connection)
          isAgreed = true
        }
        const terms = { replicationId, requestMs, keepMs, maxOutbox, isRead, own }
        const calling = admit(connection, keyOf(partition), terms, commands)
        const admitted = await (own ? own.watch(calling) : calling).catch((error) => {
          // it is no longer the primary, or is unusable
          if (error.outcome === 'over') connection.close(error.message)
          throw error
        })
        rejections.note(partition, admitted.generation)
        return admitted
      },
      answer: (command) => rejections.answer(command, partition),
      decode: own?.decisionOf,
      deadlineMs,
      maxWaiting,
      metrics,
      ...(batches ? {} : { maxCommands: 1, maxCalls: Infinity })
    })
    return { batcher, confirm }
  }
  const all = Array.from({ length: partitions }, (_, partition) => batcherOf(partition))
  const partitionOfKey = (/** @type {string} */ key) => partitionOf(Buffer.from(key), partitions)

  return {
    partitions,
    keyOf,
    partitionOf: partitionOfKey,

    /** From the primary; empty if there is none. @param {string} key @returns {Promise<import('./rules/index.js').Fields>} */
    async stateOf (key) {
      const partition = partitionOfKey(key)
      return fieldsOf(await route(partition).connection.send('HGETALL', keyOf(partition)(`state:${key}`)))
    },

    /** What the rule remembers, from the primary. @param {string} key @param {string} field @returns {Promise<string | null>} */
    async memberOf (key, field) {
      const partition = partitionOfKey(key)
      const member = await route(partition).connection.send('HGET', keyOf(partition)(`members:${key}`), field)
      return member === null ? null : String(member)
    },

    /** @returns {Promise<import('./system.js').System>} @throws {import('../errors.js').FreshetError} SYSTEM_DIFFERS */
    agreed: () => agreed ?? agree(route(0).connection),

    /**
     * Stores the system again if the servers have lost it, and agrees with others on its secret: the one that is kept, else the stored one.
     * @throws {import('../errors.js').FreshetError} SYSTEM_DIFFERS, or why the primary, or what keeps the secret, does not answer
     */
    async refresh () {
      const { connection } = route(0)
      const { secret: own } = await agree(connection)
      const stored = await agreeOnSystem(connection, { ...place, partitions, secretOf: async () => own })
      if (stored.secret === kept) return
      const secret = await keepSecret(stored.secret)
      if (secret !== stored.secret) await restoreSystem(connection, place, { ...stored, secret })
      agreed = Promise.resolve({ ...stored, secret })
      kept = secret
    },

    /**
     * @param {import('./commands.js').Command} command
     * @returns {Promise<Answer>}
     * @throws {import('../errors.js').FreshetError} ADMISSION_FULL, ADMISSION_LATE: not sent; SERVER_LOST, NOT_CONFIRMED: outcome unknown
     */
    async submit (command) {
      const { batcher, confirm } = all[partitionOfKey(command.key)]
      const answer = await batcher.submit(prepare(command))
      // a rejection too: the state that it rests on must last as long
      await confirm(answer.generation)
      return answer
    }
  }
}
