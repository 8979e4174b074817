/** A system with a rule that never ends, and a process that calls it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { setTimeout as pause } from 'node:timers/promises'
import { ruleOf } from './seats.js'

export const NEVER = {
  name: 'never',
  rules: {
    seat: {
      lua: ruleOf(`if args[1] == 'ever' then while true do pcall(function () while true do end end) end end
        return 'counted', {}, { events = { { type = 'counted' } } }`)
    }
  }
}

/** A user that may not stop its rule, so that others must. */
export const CALLER = ['caller', 'on', '>word', '~*', '+@all', '-function|kill', '-function|stats']

/**
 * Starts a process that calls the rule as CALLER, and kills it while the rule runs.
 * @param {import('tap').Test} t @param {{ redisUrl: string, keyPrefix: string, runs: () => Promise<boolean> }} options `runs`: whether the
 *   rule runs now
 */
export async function callAndEnd (t, { redisUrl, keyPrefix, runs }) {
  const child = fork(fileURLToPath(new URL('never-process.js', import.meta.url)), [redisUrl.replace('//', '//caller:word@'), keyPrefix])
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'message')
  while (!await runs()) await pause(20)
  child.kill('SIGKILL')
  await ended
}
