/**
 * One call of lua/admit.lua: up to 256 commands of a partition, one reply each, which decisionOf of the rules reads.
 *
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {import('./commands.js').Prepared} Prepared
 * @typedef {{ replicationId: string, requestMs: number, keepMs: number, maxOutbox?: number, maxWaitMs?: number, isRead?: boolean,
 *   own?: import('./our-rules.js').Rules, log?: Pick<import('pino').Logger, 'warn'>, restore?: () => Promise<unknown>,
 *   turnBack?: () => Promise<void>,
 *   agreeIn: (key: (part: string) => string, rules: string[]) => Promise<void> }} Terms
 *   `replicationId` of the primary; `requestMs`: how long a request is kept; `keepMs`: how long an ended key is kept; `maxOutbox`: entries
 *   that may wait for consumers; `maxWaitMs`: wait of the oldest work above which commands that start some are refused, 0 = no bound;
 *   `isRead`: the outbox is kept until consumers have read it, also before there are any; `own`: rules of a user, else ours; `restore`
 *   stores the system again if a new primary does not have it; `turnBack` when its clock went back; `agreeIn` on versions of rules
 * @typedef {{ generation: string, now: number, replies: Buffer[], waitMs: number | null, confirmed?: Promise<void> }} Admitted
 *   `generation`: `<lineage>.<n>`; `now`: ms since 1970; `waitMs`: how long the oldest work of the partition has waited for the process
 *   that drives it, null = none does; `confirmed` when it counts as acknowledged, without it that is to be asked (durability.js)
 */
import { randomBytes } from 'node:crypto'
import { FreshetError } from './errors.js'
import { MAX_COMMANDS } from './commands.js'
import { OUR_RULES } from './our-rules.js'

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
    const [generation, now, ...lines] = await connection.runScript((options.own ?? OUR_RULES).script, keys, args)
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
function encodeCall (key, { replicationId, requestMs, keepMs, maxOutbox = 0, maxWaitMs = 0, own = OUR_RULES }, commands) {
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
    numbered.push(isTask && own.isDueOnly ? -number : number)
    args.push(encoded)
  }
  args[4] = JSON.stringify([targets, numbered])
  const starting = maxWaitMs === 0 ? [] : commands.flatMap(({ startsWork }, i) => startsWork ? [i + 1] : [])
  args.push(starting.length === 0 ? '' : JSON.stringify([maxWaitMs, ...starting]))
  for (const [rule, name] of targets) for (const part of [...PARTS, ...own.partsOf(rule)]) keys.push(key(`${part}:${name}`))
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
