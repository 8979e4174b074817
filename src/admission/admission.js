/**
 * Commands of one system, from this process: each goes to the batcher of its partition, and its decision comes back.
 *
 *     submit(command) -> batcher of its partition -> certainly rejected? -> admit -> confirmed? -> decision
 */
import { createRouter, retryWhileMoved } from '../store/index.js'
import { admit } from './admit.js'
import { createBatcher } from './batcher.js'
import { prepare } from './commands.js'
import { OUR_RULES } from './our-rules.js'
import { fieldsOf } from './outbox.js'

/** @typedef {ReturnType<typeof createAdmission>} Admission */
/** @typedef {import('./batcher.js').Answer} Answer */

const NEVER = Object.freeze({ answer: () => null, note () {} })
const UNSEEN = Object.freeze({ see () {}, turnBack: async () => {} })

/**
 * Rejections too: the state that they rest on must last as long.
 * @param {import('./durability.js').Confirm} confirm @param {Answer[]} answers of one partition, in order @returns {Promise<Answer[]>}
 */
async function confirmAll (confirm, answers) {
  const waits = answers.flatMap(({ confirmed }) => confirm.deciding && confirmed ? [confirmed] : [])
  await (waits.length === answers.length ? Promise.all(waits) : confirm(answers[answers.length - 1].generation))
  return answers.map(({ confirmed, ...answer }) => answer)
}

/**
 * @param {object} options
 * @param {import('../store/index.js').Primaries['route']} options.route
 * @param {import('./system.js').Agreement} options.agreement of the system
 * @param {number} options.requestMs how long the decision of an accepted request is kept
 * @param {number} options.keepMs how long an ended key is kept
 * @param {number} [options.maxOutbox] entries of a partition that may wait for consumers
 * @param {number} [options.maxWaitMs] how long the oldest work may wait before commands that start some are refused, 0 = no bound
 * @param {boolean} [options.isRead] the outbox is kept until consumers have read it, also before there are any
 * @param {number} options.deadlineMs of a command, until it is sent
 * @param {boolean} [options.batches] false: each command is sent at once, in a call of its own
 * @param {Pick<import('./rejections.js').Rejections, 'answer' | 'note'>} [options.rejections] without it every command is sent
 * @param {(partition: number) => import('./durability.js').Confirm} [options.confirmOf] what confirms the decisions of a partition
 * @param {import('./our-rules.js').Rules} [options.own] rules of a user; without them, ours
 * @param {Pick<import('./partition-clock.js').PartitionClock, 'see' | 'turnBack'>} [options.clock]
 * @param {number} [options.maxWaiting] commands of a partition
 * @param {import('pino').Logger} [options.log]
 * @param {Parameters<typeof createBatcher>[0]['metrics'] & { ruleFailed?: (how: 'failed' | 'stopped') => void }} options.metrics
 */
export function createAdmission ({
  route, agreement, requestMs, keepMs, maxOutbox, maxWaitMs, isRead, deadlineMs, batches = true, rejections = NEVER,
  confirmOf = () => async () => {}, own = OUR_RULES, clock = UNSEEN, maxWaiting, metrics, log
}) {
  const router = createRouter((key) => route(String(key)).connection, (connection) => connection.close('it cannot answer'))
  const { agreed, agreeIn, restore, refresh, keyOf, partitionOf, partitions } = agreement
  /** @param {number} partition @param {import('./commands.js').Prepared[]} commands @param {import('./durability.js').Primary} primary */
  async function call (partition, commands, { connection, replicationId }) {
    const key = keyOf(partition)
    const turnBack = () => clock.turnBack(partition, connection)
    const terms = { replicationId, requestMs, keepMs, maxOutbox, maxWaitMs, isRead, own, log, restore, turnBack, agreeIn }
    const sentMs = performance.now()
    return admit(connection, key, terms, commands).then((admitted) => {
      clock.see(partition, admitted.now, sentMs)
      return admitted
    }).catch((error) => {
      // it is no longer the primary, or is unusable
      if (error.outcome === 'over') connection.close(error.message)
      throw own.meaningOf(error)
    })
  }

  /** @param {number} partition @param {import('./commands.js').Prepared[]} commands @returns {Promise<import('./admit.js').Admitted>} */
  async function decide (partition, commands) {
    // scripts of users may never end, and are stopped on connections of their own
    const confirm = own === OUR_RULES ? commands.find((one) => one.confirm?.deciding)?.confirm : undefined
    const admitted = await confirm?.deciding?.((primary) => call(partition, commands, primary))
    return admitted ?? call(partition, commands, route(keyOf(partition)('')))
  }

  /** @param {number} partition */
  function batcherOf (partition) {
    const confirm = confirmOf(partition)
    const batcher = createBatcher({
      async send (commands) {
        await agreed()
        const admitted = await retryWhileMoved(() => decide(partition, commands), deadlineMs)
        rejections.note(partition, admitted.generation)
        return admitted
      },
      answer: (command) => rejections.answer(command, partition),
      decode: own.decisionOf,
      deadlineMs,
      maxWaiting,
      metrics,
      ...(batches ? {} : { maxCommands: 1, maxCalls: Infinity })
    })
    return { batcher, confirm }
  }
  const all = Array.from({ length: partitions }, (_, partition) => batcherOf(partition))

  /** @param {any} error @returns {never} */
  function countFailure (error) {
    if (error.code === 'RULE_FAILED') metrics.ruleFailed?.(error.isStopped ? 'stopped' : 'failed')
    throw error
  }

  return {
    partitions,
    keyOf,
    partitionOf,

    /**
     * The state on the primary; empty if there is none.
     * @param {string} key @param {{ fields?: readonly string[] }} [only] names of fields, without which there are all
     * @returns {Promise<import('./rules.js').Fields>}
     */
    async stateOf (key, { fields: names } = {}) {
      await agreed()
      const state = keyOf(partitionOf(key))(`state:${key}`)
      if (names === undefined) return fieldsOf(await router.send('HGETALL', state))
      const values = await router.send('HMGET', state, ...names)
      return fieldsOf(names.flatMap((name, i) => values[i] === null ? [] : [name, values[i]]))
    },

    /** What the rule remembers of a member, on the primary. @param {string} key @param {string} field @returns {Promise<string | null>} */
    async memberOf (key, field) {
      await agreed()
      const member = await router.send('HGET', keyOf(partitionOf(key))(`members:${key}`), field)
      return member === null ? null : String(member)
    },

    agreed,
    refresh,

    /**
     * @param {import('./commands.js').Command} command
     * @returns {Promise<Answer>}
     * @throws {import('../errors.js').FreshetError} ADMISSION_FULL, ADMISSION_LATE: not sent; ADMISSION_BACKLOG: refused; SERVER_LOST,
     *   NOT_CONFIRMED: outcome unknown
     */
    async submit (command) {
      const { batcher, confirm } = all[partitionOf(command.key)]
      const [answer] = await confirmAll(confirm, [await batcher.submit({ ...prepare(command), confirm }).catch(countFailure)])
      return answer
    },

    /**
     * Commands of one key, in order, in one call.
     * @param {import('./commands.js').Command[]} commands @param {typeof confirmOf} [byOf] confirms these decisions instead
     * @returns {Promise<Answer[]>} @throws {import('../errors.js').FreshetError} as submit
     */
    async submitAll (commands, byOf) {
      const partition = partitionOf(commands[0].key)
      const { batcher, confirm: usual } = all[partition]
      const confirm = byOf?.(partition) ?? usual
      return confirmAll(confirm, await batcher.submitAll(commands.map((one) => ({ ...prepare(one), confirm }))).catch(countFailure))
    }
  }
}
