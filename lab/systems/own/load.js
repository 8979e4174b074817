/** The load of one measurement of a rule: users who submit, each the next command after a reply; then replies are compared with states. */
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { percentilesOf } from '../../analysis/percentiles.js'
import { result } from '../invariants.js'
import { openWindow, requestSummary } from '../window.js'
import { keyOf, KEYS, SUBJECTS } from './subjects.js'

const ACCEPTED = ['accepted', 'sold', 'held', 'released']

/**
 * @param {Pick<import('../plan.js').Contention, 'technique' | 'users'>} load
 * @param {Omit<import('../load-process.js').How, 'rate' | 'settings'>} how
 */
export async function runRule ({ technique, users }, { redisUrl, keyPrefix, warmUpSeconds, seconds, signal, onMeasuring, onMeasured }) {
  const subject = await SUBJECTS[technique]({ redisUrl, keyPrefix })
  /** in their order @type {{ n: number, code: string, ms: number }[]} */
  const replies = []
  const over = new AbortController()
  signal.addEventListener('abort', () => over.abort(), { once: true })
  let next = 0

  async function use () {
    while (!over.signal.aborted) {
      const [n, sentMs] = [next++, performance.now()]
      const code = await subject.submit(n).then((decision) => decision.code, (error) => String(error.code ?? error.message))
      replies.push({ n, code, ms: performance.now() - sentMs })
      // replies from memory must not keep others from being read
      await turn()
    }
  }

  const using = Promise.all(Array.from({ length: users }, use))
  await sleep(warmUpSeconds * 1000)
  await onMeasuring()
  const [from, window] = [replies.length, openWindow()]
  await sleep(seconds * 1000, undefined, { signal }).catch(() => {})
  const [used, measured] = [window(), replies.slice(from)]
  await onMeasured()
  over.abort()
  await using
  const invariants = technique === 'noop' ? [] : await checked(subject, replies)
  await subject.close()
  return { ...used, measured, invariants, history: replies.filter(({ code }) => !ACCEPTED.includes(code)) }
}

/** @param {Pick<import('./subjects.js').Subject, 'versionOf'>} subject @param {{ n: number, code: string }[]} replies to all commands */
export async function checked ({ versionOf }, replies) {
  const accepted = Array.from({ length: KEYS }, () => 0)
  for (const { n, code } of replies) if (ACCEPTED.includes(code)) accepted[n % KEYS]++
  const versions = await Promise.all(accepted.map((_, n) => versionOf(keyOf(n))))
  return [
    result('every command is accepted', replies.flatMap(({ n, code }) => ACCEPTED.includes(code) ? [] : [`command ${n}: ${code}`])),
    // each key was created by a command, too
    result('states have as many versions', accepted.flatMap((count, n) =>
      versions[n] === count + 1 ? [] : [`${keyOf(n)}: ${versions[n]}, not ${count + 1}`]))
  ]
}

/** @type {import('../load-process.js').System} */
export const SYSTEM = Object.freeze({
  run: runRule,
  historyText: (refused) => JSON.stringify(refused) + '\n',
  summaryOf ({ measured, ...rest }) {
    const latencyMs = percentilesOf(measured.map((/** @type {{ ms: number }} */ { ms }) => ms))
    const all = { answered: measured.length, sent: measured.length, failed: 0, calls: 0, cpuSeconds: 0 }
    return requestSummary(rest, { ...all, latencyMs })
  }
})
