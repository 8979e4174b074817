/**
 * Follows a partition of a feed. Partitions share connections, because reading logs blocks (src/store/stream-follower.js). When the
 * connection ends, or the deployment leaves its node while another may answer, the next session resumes where this one was.
 */
import { runSessions } from '../store/index.js'

const FIRST_WAIT_MS = 20
/** a read blocks for at most so long, so an idle feed is confirmed this often */
const BLOCK_MS = 100
/** share of the deadline: the reply must arrive before the server counts as silent */
const BLOCK_SHARE = 0.25

/** @typedef {import('../store/index.js').Connection} Connection that sends and closes */
/** @typedef {ReturnType<typeof createFollower>} Following */

/**
 * @param {{ deployment: import('../store/index.js').Servers, key: string, name: string, log: import('pino').Logger,
 *   follow: (connection: Connection, options: Options) => Promise<void> }} parts `key`: has the hash tag of what is followed;
 *   `follow` runs until the connection ends, and rejects with the reason
 * @typedef {{ blockMs: number, answered: () => void, taken?: () => void }} Options `answered`: to be
 *   called when the feed could be read; `taken`: when a reply of XREAD is of no more use
 */
export function createFollower ({ deployment, key, name, log, follow }) {
  const stop = new AbortController()
  const { signal } = stop
  const blockMs = Math.max(1, Math.min(BLOCK_MS, Math.floor(deployment.deadlineMs * BLOCK_SHARE)))
  /** @type {{ lagMs: () => number | null } | null} */
  let node = null
  /** @type {Error & { code?: string } | null} */
  let lastError = null

  /** @returns {Promise<'used' | 'unused' | 'refused'>} whether the feed could be read, or the server refused it */
  async function session () {
    const shard = deployment.shard(key)
    const opened = await deployment.streams.open(signal, key, { purpose: name })
    const connection = /** @type {Connection} */ (opened.connection)
    let isOfUse = false
    /** @type {any} */
    let refusal = null
    node = opened
    const unwatch = deployment.watch(() => {
      if (opened.isLeft() || deployment.shard(key) !== shard) connection.close('the node is left')
    })
    const abort = () => connection.close()
    const answered = () => {
      lastError = null
      isOfUse = true
    }
    signal.addEventListener('abort', abort, { once: true })
    try {
      if (!signal.aborted) await follow(connection, { blockMs, answered, taken: opened.taken })
    } catch (error) {
      failed(error)
      if (error.outcome === 'forbidden') refusal = error
    } finally {
      unwatch()
      signal.removeEventListener('abort', abort)
      node = null
      opened.end(refusal)
    }
    if (refusal) return 'refused'
    return isOfUse ? 'used' : 'unused'
  }

  /** @param {Error & { code?: string }} error */
  function failed (error) {
    if (!signal.aborted && error.code !== lastError?.code) {
      log.warn({ view: name, code: error.code, reason: error.message }, 'view is not followed, retrying')
    }
    lastError = error
  }

  const keepSession = () => session().catch((error) => {
    failed(error)
    return error.retryable === false ? 'refused' : 'unused'
  })
  const kept = runSessions(keepSession, { firstWaitMs: FIRST_WAIT_MS, signal })

  return {
    /** Lag of the node that is followed behind its primary; null = not known. */
    get lagMs () { return node?.lagMs() ?? null },
    /** Why the feed is not followed, if it is not. */
    get lastError () { return lastError },
    async close () {
      stop.abort()
      await kept
    }
  }
}
