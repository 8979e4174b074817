/**
 * Kills the servers when the supervisor is gone, even after kill -9. A small shell in its own session reads lines of process ids
 * from a pipe. When the pipe closes, it kills the ids of the last line. Before an orderly end the supervisor sends an empty line.
 * A guard that ends early is replaced. It keeps no process alive.
 */
import { spawn } from 'node:child_process'

const SCRIPT = 'pids=; while IFS= read -r line; do pids=$line; done; [ -z "$pids" ] || kill -9 $pids'
const REPLACE_AFTER_MS = 100

/**
 * @returns {{ watch(pids: number[]): void, release(): void, pid(): number | undefined }} `watch` replaces the
 *   watched ids and starts the guard; `release` ends the guard and kills nothing
 */
export function createGuard () {
  /** @type {number[]} */
  let watched = []
  let released = false
  /** @type {NodeJS.Timeout | undefined} */
  let replacing
  /** @type {ReturnType<typeof start> | null} */
  let shell = null

  function start () {
    const child = spawn('sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] })
    child.stdin.on('error', () => {})
    // it waits for this process, not the other way round
    child.unref()
    const stdin = /** @type {import('node:net').Socket} */ (child.stdin)
    stdin.unref()
    child.once('exit', replace).once('error', replace)
    return child
  }

  function replace () {
    if (released) return
    clearTimeout(replacing)
    replacing = setTimeout(() => {
      shell = start()
      tell()
    }, REPLACE_AFTER_MS)
  }

  const tell = () => shell?.stdin.write(watched.join(' ') + '\n')

  return {
    watch (pids) {
      watched = pids
      shell ??= start()
      tell()
    },
    release () {
      released = true
      clearTimeout(replacing)
      shell?.stdin.end('\n')
    },
    pid: () => shell?.pid
  }
}
