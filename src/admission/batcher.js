/**
 * Group commit: while one call of a partition is in flight, later commands wait, and when it returns up to 256 of them go in the
 * next. So a call has one command when little comes in, without any delay, and more under contention.
 *
 *     submit -> queue -> [ a call in flight ] -> decision
 *
 * A command that has waited longer than its deadline is dropped before it is sent, never after: what was sent may be stored.
 *
 * @typedef {import('./admission.js').Admitted} Admitted
 * @typedef {Decision & { generation: string, now: number, waitMs?: number | null, accepted?: boolean }} Answer `waitMs` of a command that
 *   starts work, as Admitted; `accepted`: of rules of users
 * @typedef {{ command: Prepared, sinceMs: number, resolve: (reply: { admitted: Admitted, i: number } | Answer) => void,
 *   reject: (error: Error) => void }} Waiting
 */
import { hash } from 'node:crypto'
import { FreshetError } from './errors.js'

/**
 * A command, its decision, and how both cross to the server (lua/admit.lua).
 *
 * @typedef {object} Command
 * @property {string} rule one of rules/
 * @property {string} key of one state, such as an auction
 * @property {string} scope the user who asks, or empty; the same request id of another user is another request
 * @property {string} requestId empty: the decision is not stored, because the command is harmless when it is sent again
 * @property {string[]} args of the rule; numbers as texts of whole numbers
 * @property {boolean} [isTask] a scheduled task; one of a rule of a user is decided only while it is due
 * @property {boolean} [startsWork] of the consumer that drives the system: refused while older work of the partition waits too long
 *
 * @typedef {{ rule: string, key: string, args: string[], request: string, encoded: string, isTask?: boolean, startsWork?: boolean }}
 *   Prepared `request`: digest of what makes a request the same, or empty; `encoded`: its arguments, as a JSON array
 *
 * @typedef {object} Decision
 * @property {string} code of the rule; `other_body`: the request id was accepted with other arguments; `failed`: the script could not
 *   decide, and `details.reason` says why
 * @property {number} seq of the last event of the key @property {number} version of its state
 * @property {boolean} [accepted] false or absent: it was rejected, and nothing is stored
 * @property {boolean} isReplay the decision of an earlier call with the same request
 * @property {Record<string, string>} details
 */

/** Most commands in one call. */
export const MAX_COMMANDS = 256
const SEPARATOR = '\0'
const LINE = '\n'

/** @param {Command} command @returns {Prepared} */
export const prepare = ({ rule, key, scope, requestId, args, isTask, startsWork }) => ({
  rule,
  key,
  args,
  isTask,
  startsWork,
  request: requestId && hash('sha256', rule + SEPARATOR + key + SEPARATOR + scope + SEPARATOR + requestId, 'base64url'),
  encoded: JSON.stringify(args)
})

/** @param {string} reply lines @returns {Decision} */
export function decisionOf (reply) {
  const [status, code, seq, version, details] = reply.split(LINE)
  if (status === 'failed') return { code: 'failed', seq: 0, version: 0, isReplay: false, details: { reason: code } }
  if (status === 'other_body') return { code: 'other_body', seq: 0, version: 0, isReplay: false, details: {} }
  const isReplay = status === 'replay'
  const accepted = isReplay || status === 'accepted'
  return { code, accepted, seq: Number(seq), version: Number(version), isReplay, details: details ? JSON.parse(details) : {} }
}

/**
 * The decision of a command that was accepted, by its request id.
 * @param {import('../store/index.js').Connection} connection to the primary
 * @param {(part: string) => string} key of the partition @param {Omit<Command, 'args'>} command
 * @returns {Promise<Decision>} @throws {FreshetError} REQUEST_NOT_ACCEPTED
 */
export async function decisionOfRequest (connection, key, command) {
  const stored = await connection.send('GET', key(`request:${prepare({ ...command, args: [] }).request}`))
  if (stored === null) {
    throw new FreshetError('REQUEST_NOT_ACCEPTED',
      `no request ${command.requestId} was accepted so far, or it has expired; repeat the command with the same key to settle it`)
  }
  return { ...decisionOf(String(stored)), isReplay: true }
}

const MAX_WAITING = 10_000
/** The reply for a command that starts work while older work waits too long. */
const REFUSED = 'refused'
const BACKLOG = 'ADMISSION_BACKLOG'
const LEAST_RETRY_MS = 1000
/** With its half on top, the longest one is 30 s. */
const MOST_BASE_MS = 20_000

/**
 * @param {{ admitted: Admitted, i: number }} reply @param {Prepared} command
 * @param {{ decode: (reply: string) => Decision, metrics: { dropped: (why: 'backlog') => void } }} parts
 * @returns {Answer} @throws {FreshetError} ADMISSION_BACKLOG
 */
function answerOf ({ admitted: { replies, generation, now, waitMs }, i }, command, { decode, metrics }) {
  if (String(replies[i]) === REFUSED) throw refusal(Number(waitMs), metrics)
  return { ...decode(String(replies[i])), generation, now, ...command.startsWork && { waitMs } }
}

/** @param {number} deadlineMs @param {{ dropped: (why: 'late') => void }} metrics */
function lateBy (deadlineMs, metrics) {
  metrics.dropped('late')
  return new FreshetError('ADMISSION_LATE', `not sent within ${deadlineMs} ms, because the servers are slow; try again`)
}

/** @param {number} maxWaiting @param {{ dropped: (why: 'full') => void }} metrics */
function full (maxWaiting, metrics) {
  metrics.dropped('full')
  return new FreshetError('ADMISSION_FULL', `${maxWaiting.toLocaleString('en')} commands of this partition wait already; try again`)
}

/**
 * Work that has waited for long will take about as long again.
 * @param {number} waitMs of the oldest work @param {{ dropped: (why: 'backlog') => void }} metrics
 */
function refusal (waitMs, metrics) {
  metrics.dropped('backlog')
  const retryAfterMs = Math.round(Math.max(LEAST_RETRY_MS, Math.min(MOST_BASE_MS, waitMs) * (0.5 + Math.random())))
  return new FreshetError(BACKLOG, `older work of this partition has waited for ${(waitMs / 1000).toFixed(1)} s; ` +
    'repeat the request after retryAfterMs, with the same Idempotency-Key', { waitMs, retryAfterMs })
}

/**
 * @param {object} parts
 * @param {(commands: Prepared[]) => Promise<Admitted>} parts.send one call
 * @param {(command: Prepared) => Answer | null} [parts.answer] without the server, as late as possible: when the command would be sent
 * @param {(reply: string) => Decision} [parts.decode] a reply of the call
 * @param {number} parts.deadlineMs of a command, until it is sent
 * @param {{ sent: (commands: number) => void, waited: (ms: number) => void,
 *   dropped: (why: 'full' | 'late' | 'backlog') => void }} parts.metrics
 * @param {number} [parts.maxCommands] of a call
 * @param {number} [parts.maxCalls] in flight
 * @param {number} [parts.maxWaiting]
 */
export function createBatcher ({
  send, answer = () => null, decode = decisionOf, deadlineMs, metrics, maxCommands = MAX_COMMANDS, maxCalls = 1, maxWaiting = MAX_WAITING
}) {
  /** @type {Waiting[]} the oldest first */
  const queue = []
  let calls = 0
  /** @type {NodeJS.Timeout | null} */
  let timer = null

  function dropLate () {
    const nowMs = performance.now()
    const late = queue.findIndex(({ sinceMs }) => sinceMs + deadlineMs > nowMs)
    for (const { reject } of queue.splice(0, late < 0 ? queue.length : late)) reject(lateBy(deadlineMs, metrics))
  }

  /** A call may take longer than the deadline of those that wait for its end. */
  function watch () {
    timer ??= setTimeout(() => {
      timer = null
      dropLate()
      if (queue.length > 0) watch()
    }, deadlineMs).unref()
  }

  /** @returns {Waiting[]} those of the next call */
  function take () {
    dropLate()
    const batch = []
    let taken = 0
    while (batch.length < maxCommands && taken < queue.length) {
      const queued = queue[taken++]
      try {
        const cached = answer(queued.command)
        if (cached) queued.resolve(cached)
        else batch.push(queued)
      } catch (error) {
        queued.reject(error)
      }
    }
    queue.splice(0, taken)
    return batch
  }

  function run () {
    for (let batch; calls < maxCalls && (batch = take()).length > 0;) {
      calls++
      decide(batch)
    }
    if (queue.length > 0) watch()
  }

  /** @param {Waiting[]} batch */
  async function decide (batch) {
    const nowMs = performance.now()
    for (const { sinceMs } of batch) metrics.waited(nowMs - sinceMs)
    metrics.sent(batch.length)
    try {
      const admitted = await send(batch.map(({ command }) => command))
      // callers read their replies after the next call was sent
      batch.forEach(({ resolve }, i) => resolve({ admitted, i }))
    } catch (error) {
      if (error.code === BACKLOG) batch.forEach(() => metrics.dropped('backlog'))
      for (const { reject } of batch) reject(error)
    }
    calls--
    run()
  }

  /** @param {Prepared} command @returns {Promise<Answer>} once it is sent and decided */
  async function queued (command) {
    if (queue.length >= maxWaiting) throw full(maxWaiting, metrics)
    const sinceMs = performance.now()
    const reply = await new Promise((/** @type {Waiting['resolve']} */ resolve, reject) => {
      queue.push({ command, sinceMs, resolve, reject })
    })
    return 'code' in reply ? reply : answerOf(reply, command, { decode, metrics })
  }

  return {
    get waiting () { return queue.length },

    /**
     * @param {Prepared} command
     * @returns {Promise<Answer>}
     * @throws {FreshetError} ADMISSION_FULL, ADMISSION_LATE: not sent; ADMISSION_BACKLOG: refused; errors of `send`: outcome unknown
     */
    submit (command) {
      const answer = queued(command)
      run()
      return answer
    },

    /**
     * In the same call, if all fit into it, in order. One that is not sent may be followed by others that are.
     * @param {Prepared[]} commands @returns {Promise<Answer[]>} @throws {FreshetError} as submit, of the first that fails
     */
    submitAll (commands) {
      const answers = Promise.all(commands.map(queued))
      run()
      return answers
    }
  }
}
