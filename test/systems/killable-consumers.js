/** Consumers in processes of their own, with leases of 600 ms (consumers-process.js), for tests that kill them or let them stand still. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { CACHE_DIR } from '../commands.js'
import { NODE } from '../node.js'
import { eventually } from '../servers.js'

const PROCESS = fileURLToPath(new URL('consumers-process.js', import.meta.url))

/** @typedef {Awaited<ReturnType<typeof startKillableConsumers>>} KillableConsumers */

/**
 * @param {import('tap').Test} t it ends with it
 * @param {{ redisUrl: string, keyPrefix?: string, flags?: string[], isOwner?: boolean }} options `isOwner: false` does not wait for a
 *   partition
 */
export async function startKillableConsumers (t, { redisUrl, keyPrefix = 'fr:', flags = [], isOwner = true }) {
  const child = fork(PROCESS, ['--redis-url', redisUrl, '--key-prefix', keyPrefix, ...flags], {
    execArgv: NODE.slice(1),
    env: { PATH: process.env.PATH, FRESHET_CACHE_DIR: CACHE_DIR },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc']
  })
  const ended = once(child, 'close')
  let log = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk) => { log += chunk })

  async function kill () {
    child.kill('SIGKILL')
    await ended
  }
  /** Waits until its log matches. @param {RegExp} pattern */
  const until = (pattern) => eventually(() => {
    const match = pattern.exec(log)
    if (!match) throw new Error(`the consumers log nothing like ${pattern}: ${log.slice(-2000)}`)
    return match
  })

  t.teardown(kill)
  await until(isOwner ? /partition taken/ : /settings/)
  return {
    pid: /** @type {number} */ (child.pid),
    /** Ends it with SIGKILL. */
    kill,
    /** Stands still until `thaw`. */
    freeze: () => { child.kill('SIGSTOP') },
    thaw: () => { child.kill('SIGCONT') },
    until
  }
}
