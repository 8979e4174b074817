/**
 * Commands of one system, from this process: each goes to the batcher of its partition, and its decision comes back.
 *
 *     submit(command) -> batcher of its partition -> certainly rejected? -> admit -> confirmed? -> decision
 */
import { randomBytes } from 'node:crypto'
import { createRouter, retryWhileMoved } from '../store/index.js'
import { createBatcher, MAX_COMMANDS, prepare } from './batcher.js'
import { FreshetError } from './errors.js'
import { fieldsOf } from './outbox.js'
import { OUR_RULES } from './rules.js'

/**
 * One call of lua/admit.lua: up to 256 commands of a partition, one reply each, which decisionOf of the rules reads.
 *
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {import('./batcher.js').Prepared} Prepared
 * @typedef {{ replicationId: string, requestMs: number, keepMs: number, maxOutbox?: number, maxWaitMs?: number, isRead?: boolean,
 *   ruleSet?: import('./rules.js').Rules, log?: Pick<import('pino').Logger, 'warn'>, restore?: () => Promise<unknown>,
 *   turnBack?: () => Promise<void>,
 *   agreeIn: (key: (part: string) => string, rules: string[]) => Promise<void> }} Terms
 *   `replicationId` of the primary; `requestMs`: how long a request is kept; `keepMs`: how long an ended key is kept; `maxOutbox`: entries
 *   that may wait for consumers; `maxWaitMs`: wait of the oldest work above which commands that start some are refused, 0 = no bound;
 *   `isRead`: the outbox is kept until consumers have read it, also before there are any; `ruleSet`: rules of a user, else ours; `restore`
 *   stores the system again if a new primary does not have it; `turnBack` when its clock went back; `agreeIn` on versions of rules
 * @typedef {{ generation: string, now: number, replies: Buffer[], waitMs: number | null }} Admitted `generation`: `<lineage>.<n>`; `now`:
 *   ms since 1970; `waitMs`: how long the oldest work of the partition has waited for the process that drives it, null = none does
 */

const LINEAGE_BYTES = 6
/** The same commands are sent so often at most: a lineage begins, the clock went back, rules are stored, the outbox is trimmed. */
const MAX_CALLS = 5
/** Every rule gets these parts of a key. */
const PARTS = Object.freeze(['state', 'events'])

/**
 * @param {Connection} connection to the primary of the partition
 * @param {(part: string) => string} key of the partition
 * @param {Terms} options
 * @param {Prepared[]} commands at most 256
 * @returns {Promise<Admitted>}
 * @throws {FreshetError} LINEAGE_DIFFERS, ADMISSION_BACKLOG, RULE_DIFFERS, and as Connection.send
 */
export async function admit (connection, key, options, commands) {
  if (commands.length > MAX_COMMANDS) throw new RangeError(`${commands.length} commands; expected at most ${MAX_COMMANDS}`)
  const { keys, args } = encodeCall(key, options, commands)
  for (let i = 0; i < MAX_CALLS; i++) {
    const [generation, now, ...lines] = await connection.runScript((options.ruleSet ?? OUR_RULES).script, keys, args)
    const first = String(lines[0])
    // the first call on this primary
    if (now === undefined) {
      await options.restore?.()
      await beginLineage(connection, key, options, String(generation))
    } else if (first === 'back') await options.turnBack?.()
    else if (first === 'rules') {
      await options.agreeIn(key, [...new Set(commands.map(({ rule }) => rule))])
    } else if (first !== 'backlog') {
      const [waitMs, ...mended] = lines.slice(commands.length).map(String)
      for (const line of mended) logMended(options.log, line)
      return {
        generation: String(generation),
        now: Number(now),
        replies: lines.slice(0, commands.length),
        waitMs: waitMs === '' ? null : Number(waitMs)
      }
    } else {
      throw new FreshetError('ADMISSION_BACKLOG', `more than ${options.maxOutbox} entries of this partition wait for consumers; try again`)
    }
  }
  throw new FreshetError('LINEAGE_DIFFERS', 'other processes see another primary of this partition; try again')
}

/** @param {Terms['log']} log @param {string} line */
function logMended (log, line) {
  const [rule, key, stateSeq, seq] = line.split('\n')
  log?.warn({ rule, key, stateSeq: Number(stateSeq), seq: Number(seq) }, 'the events of a key were ahead of its state, because a call ' +
    'failed between its writes or another program wrote them; it goes on behind them')
}

/**
 * Commands of the same key share a target, so its keys are sent once.
 * @param {(part: string) => string} key @param {Terms} options @param {Prepared[]} commands
 */
function encodeCall (key, { replicationId, requestMs, keepMs, maxOutbox = 0, maxWaitMs = 0, ruleSet = OUR_RULES }, commands) {
  /** @type {Map<string, number>} numbers, from 1, by rule and key */
  const numbers = new Map()
  const targets = /** @type {[rule: string, key: string][]} */ ([])
  const numbered = /** @type {number[]} */ ([])
  const requests = key('request:')
  const keys = [key('outbox'), key('tasks'), key('generation')]
  const args = [replicationId, String(requestMs), String(keepMs), String(maxOutbox), '']
  for (const { rule, key: name, request, encoded, isTask } of commands) {
    const target = `${rule} ${name}`
    let number = numbers.get(target)
    if (number === undefined) {
      number = targets.push([rule, name])
      numbers.set(target, number)
    }
    keys.push(requests + request)
    numbered.push(isTask && ruleSet.isDueOnly ? -number : number)
    args.push(encoded)
  }
  args[4] = JSON.stringify([targets, numbered])
  const starting = maxWaitMs === 0 ? [] : commands.flatMap(({ startsWork }, i) => startsWork ? [i + 1] : [])
  args.push(starting.length === 0 ? '' : JSON.stringify([maxWaitMs, ...starting]))
  for (const [rule, name] of targets) for (const part of [...PARTS, ...ruleSet.partsOf(rule)]) keys.push(key(`${part}:${name}`))
  return { keys, args }
}

/**
 * A new lineage, unless another process wrote one since: facts that were known before do not hold.
 * @param {Connection} connection @param {(part: string) => string} key @param {Terms} terms @param {string} before the generation that
 *   was found
 */
async function beginLineage (connection, key, { replicationId, isRead = false }, before) {
  const lineage = randomBytes(LINEAGE_BYTES).toString('hex')
  await connection.runScript('begin-lineage', [key('generation')], [replicationId, before, lineage, isRead ? 1 : 0])
}

/** @typedef {ReturnType<typeof createAdmission>} Admission */
/** @typedef {import('./batcher.js').Answer} Answer */

const NEVER = Object.freeze({ answer: () => null, note () {} })
const UNSEEN = Object.freeze({ see () {}, turnBack: async () => {} })

/**
 * Rejections too: the state that they rest on must last as long. Calls of which another primary decided one are of two lineages.
 * @param {(generation: string) => Promise<unknown>} confirm @param {Answer[]} answers of one partition
 */
async function confirmAll (confirm, answers) {
  const lineages = new Map(answers.map(({ generation }) => [generation.split('.')[0], generation]))
  await Promise.all([...lineages.values()].map((generation) => confirm(generation)))
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
 * @param {boolean} [options.batches] false, in the lab: each command is sent at once, in a call of its own
 * @param {Pick<import('./rejections.js').Rejections, 'answer' | 'note'>} [options.rejections] without it every command is sent
 * @param {(partition: number) => (generation: string) => Promise<unknown>} [options.confirmOf] what confirms the decisions of a partition
 * @param {import('./rules.js').Rules} [options.ruleSet] rules of a user; without them, ours
 * @param {Pick<import('./partition-clock.js').PartitionClock, 'see' | 'turnBack'>} [options.clock]
 * @param {number} [options.maxWaiting] commands of a partition
 * @param {import('pino').Logger} [options.log]
 * @param {Parameters<typeof createBatcher>[0]['metrics'] & { ruleFailed?: (how: 'failed' | 'stopped') => void }} options.metrics
 */
export function createAdmission ({
  route, agreement, requestMs, keepMs, maxOutbox, maxWaitMs, isRead, deadlineMs, batches = true, rejections = NEVER,
  confirmOf = () => async () => {}, ruleSet = OUR_RULES, clock = UNSEEN, maxWaiting, metrics, log
}) {
  const router = createRouter((key) => route(String(key)).connection, (connection) => connection.close('it cannot answer'))
  const { agreed, agreeIn, restore, refresh, keyOf, partitionOf, partitions } = agreement
  /** @param {number} partition @param {import('./batcher.js').Prepared[]} commands */
  async function call (partition, commands) {
    const key = keyOf(partition)
    const { connection, replicationId } = route(key(''))
    const turnBack = () => clock.turnBack(partition, connection)
    const terms = { replicationId, requestMs, keepMs, maxOutbox, maxWaitMs, isRead, ruleSet, log, restore, turnBack, agreeIn }
    const sentMs = performance.now()
    return admit(connection, key, terms, commands).then((admitted) => {
      clock.see(partition, admitted.now, sentMs)
      return admitted
    }).catch((error) => {
      // it is no longer the primary, or is unusable
      if (error.outcome === 'over') connection.close(error.message)
      throw ruleSet.meaningOf(error)
    })
  }

  /** @param {number} partition */
  function batcherOf (partition) {
    const confirm = confirmOf(partition)
    const batcher = createBatcher({
      async send (commands) {
        await agreed()
        const admitted = await retryWhileMoved(() => call(partition, commands), deadlineMs)
        rejections.note(partition, admitted.generation)
        return admitted
      },
      answer: (command) => rejections.answer(command, partition),
      decode: ruleSet.decisionOf,
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
     * @param {import('./batcher.js').Command} command
     * @returns {Promise<Answer>}
     * @throws {import('../errors.js').FreshetError} ADMISSION_FULL, ADMISSION_LATE: not sent; ADMISSION_BACKLOG: refused; SERVER_LOST,
     *   NOT_CONFIRMED: outcome unknown
     */
    async submit (command) {
      const { batcher, confirm } = all[partitionOf(command.key)]
      const answer = await batcher.submit(prepare(command)).catch(countFailure)
      await confirmAll(confirm, [answer])
      return answer
    },

    /**
     * Commands of one key, in order, in one call.
     * @param {import('./batcher.js').Command[]} commands @returns {Promise<Answer[]>}
     * @throws {import('../errors.js').FreshetError} as submit
     */
    async submitAll (commands) {
      const { batcher, confirm } = all[partitionOf(commands[0].key)]
      const answers = await batcher.submitAll(commands.map(prepare)).catch(countFailure)
      await confirmAll(confirm, answers)
      return answers
    }
  }
}
