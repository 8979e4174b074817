/** The embedded DynamoDB of one supervisor: a process of its own, with data in memory. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../../errors.js'
import { pinnedDynalite } from './pinned.js'

const START_WITHIN_MS = 60_000
const PROCESS = fileURLToPath(new URL('dynalite-process.js', import.meta.url))

/**
 * @param {{ cacheDir: string, report: (line: string) => void, signal: AbortSignal, fail: (error: FreshetError) => void }} options
 *   `fail` is called when it ends by itself
 */
export function createDynamodb ({ cacheDir, report, signal, fail }) {
  /** @type {import('node:child_process').ChildProcess | null} */
  let child = null
  let isClosing = false

  return {
    /** @returns {Promise<{ url: string }>} @throws {FreshetError} ENGINE_MISSING, SERVERS_FAILED */
    async start () {
      const folder = await pinnedDynalite({ cacheDir, report, signal })
      signal.throwIfAborted()
      const started = child = fork(PROCESS, [folder], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
      const kill = () => { started.kill('SIGKILL') }
      const timer = setTimeout(kill, START_WITHIN_MS)
      signal.addEventListener('abort', kill)
      const ended = once(child, 'exit').then(([status, killedBy]) => `${killedBy ?? `exit status ${status}`}`)
      const up = await Promise.race([once(child, 'message'), ended])
      clearTimeout(timer)
      signal.removeEventListener('abort', kill)
      if (typeof up === 'string') throw new FreshetError('SERVERS_FAILED', `the embedded DynamoDB did not start (${up})`)
      ended.then((how) => {
        if (isClosing) return
        fail(new FreshetError('SERVERS_FAILED',
          `the embedded DynamoDB ended (${how}), and its data is lost; run the command again to start with an empty one`))
      })
      return { url: `http://127.0.0.1:${up[0].port}` }
    },

    /** To be called after `start` has settled. */
    async close () {
      isClosing = true
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
}
