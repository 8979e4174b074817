/**
 * Group commit: while one call of a partition is in flight, later commands wait, and when it returns up to 256 of them go in the
 * next. So a call has one command when little comes in, without any delay, and more under contention.
 *
 *     submit -> queue -> [ a call in flight ] -> decision
 *
 * A command that has waited longer than its deadline is dropped before it is sent, never after: what was sent may be stored.
 *
 * @typedef {import('./admit.js').Admitted} Admitted
 * @typedef {import('./commands.js').Command} Command
 * @typedef {import('./commands.js').Decision & { generation: string, now: number }} Answer
 * @typedef {{ command: Command, dueMs: number, sinceMs: number, resolve: (answer: Answer) => void,
 *   reject: (error: Error) => void }} Waiting
 */
import { FreshetError } from './errors.js'
import { MAX_COMMANDS } from './commands.js'

const MAX_WAITING = 10_000

/** @typedef {ReturnType<typeof createBatcher>} Batcher of one partition */

/**
 * @param {object} parts
 * @param {(commands: Command[]) => Promise<Admitted>} parts.send one call
 * @param {number} parts.deadlineMs of a command, until it is sent
 * @param {{ sent: (commands: number) => void, waited: (ms: number) => void, dropped: (why: 'full' | 'late') => void }} parts.metrics
 * @param {number} [parts.maxCommands] of a call; 1 = no batches
 * @param {number} [parts.maxWaiting]
 */
export function createBatcher ({ send, deadlineMs, metrics, maxCommands = MAX_COMMANDS, maxWaiting = MAX_WAITING }) {
  /** @type {Waiting[]} the oldest first */
  const queue = []
  let isBusy = false

  /** @returns {Waiting[]} those of the next call */
  function take () {
    const nowMs = performance.now()
    const late = queue.findIndex(({ dueMs }) => dueMs > nowMs)
    for (const { reject } of queue.splice(0, late < 0 ? queue.length : late)) {
      metrics.dropped('late')
      reject(new FreshetError('ADMISSION_LATE', `not sent within ${deadlineMs} ms, because the servers are slow; try again`))
    }
    return queue.splice(0, maxCommands)
  }

  async function run () {
    if (isBusy) return
    isBusy = true
    for (let batch = take(); batch.length > 0; batch = take()) {
      const nowMs = performance.now()
      for (const { sinceMs } of batch) metrics.waited(nowMs - sinceMs)
      metrics.sent(batch.length)
      try {
        const { generation, now, decisions } = await send(batch.map(({ command }) => command))
        batch.forEach(({ resolve }, i) => resolve({ ...decisions[i], generation, now }))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    isBusy = false
  }

  return {
    get waiting () { return queue.length },

    /**
     * @param {Command} command
     * @returns {Promise<Answer>}
     * @throws {FreshetError} ADMISSION_FULL, ADMISSION_LATE: not sent; errors of `send`: outcome unknown
     */
    async submit (command) {
      if (queue.length >= maxWaiting) {
        metrics.dropped('full')
        throw new FreshetError('ADMISSION_FULL', `${maxWaiting.toLocaleString('en')} commands of this partition wait already; try again`)
      }
      const sinceMs = performance.now()
      const answer = /** @type {Promise<Answer>} */ (new Promise((resolve, reject) => {
        queue.push({ command, dueMs: sinceMs + deadlineMs, sinceMs, resolve, reject })
      }))
      run()
      return answer
    }
  }
}
