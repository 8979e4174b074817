/**
 * Keeps a feed followed, over a connection of its own to one node at a time, for following waits on the server. When the
 * connection ends, or the deployment leaves the node while another may answer, the next epoch goes on where this one was.
 *
 * Waits between epochs grow from 20 ms to a second, and begin anew after one that was of use: each epoch that cannot be
 * opened costs the server a greeting. A node that refuses, if only to read, is asked once a second by all connections of this
 * process together.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_WAIT_MS = 20
const LONGEST_WAIT_MS = 1000
const LOOK_MS = 50
/** a read waits on the server for so long at most: as often it is known that nothing came */
const BLOCK_MS = 100
/** of the deadline: an answer must be there before a server counts as silent */
const BLOCK_SHARE = 0.25

/** @typedef {import('../store/connection.js').Connection} Connection */
/** @typedef {ReturnType<typeof keepFollowing>} Following */

/**
 * @param {{ deployment: import('../store/deployment.js').Deployment, name: string, isForLog: boolean, log: import('pino').Logger,
 *   follow: (connection: Connection, options: Options) => Promise<void> }} parts `follow` goes on until the connection ends,
 *   and may reject with anything that says why
 * @typedef {{ blockMs: number, answered: () => void }} Options `answered`: to be called when the feed could be read
 */
export function keepFollowing ({ deployment, name, isForLog, log, follow }) {
  const stop = new AbortController()
  const { signal } = stop
  const blockMs = Math.max(1, Math.min(BLOCK_MS, Math.floor(deployment.deadlineMs * BLOCK_SHARE)))
  /** @type {Awaited<ReturnType<typeof deployment.openOwn>> | null} */
  let node = null
  /** @type {Error & { code?: string } | null} */
  let lastError = null

  /** @returns {Promise<boolean>} whether the feed could be read */
  async function epoch () {
    const opened = await deployment.openOwn(name, { isForLog, signal, onRefused: tell })
    const { connection } = opened
    let isOfUse = false
    /** @type {any} */
    let refusal = null
    node = opened
    const look = setInterval(() => { if (opened.isLeft()) connection.close('the node is left') }, LOOK_MS).unref()
    const abort = () => connection.close()
    const answered = () => {
      lastError = null
      isOfUse = true
      opened.answered()
    }
    signal.addEventListener('abort', abort, { once: true })
    try {
      if (!signal.aborted) await follow(connection, { blockMs, answered })
    } catch (error) {
      tell(error)
      if (error.outcome === 'forbidden') refusal = error
    } finally {
      clearInterval(look)
      signal.removeEventListener('abort', abort)
      node = null
      opened.end(refusal)
    }
    return isOfUse
  }

  /** @param {Error & { code?: string }} error */
  function tell (error) {
    if (!signal.aborted && error.code !== lastError?.code) log.warn({ view: name, code: error.code, reason: error.message }, 'a view is not followed, trying on')
    lastError = error
  }

  async function keep () {
    let waitMs = FIRST_WAIT_MS
    while (!signal.aborted) {
      try {
        if (await epoch()) waitMs = FIRST_WAIT_MS
      } catch (error) {
        tell(error)
      }
      await sleep(waitMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {})
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
    }
  }
  const kept = keep()

  return {
    /** How far the node that is followed is behind its primary; null = not known. */
    get lagMs () { return node?.lagMs() ?? null },
    /** Why it is not followed, if it is not. */
    get lastError () { return lastError },
    async close () {
      stop.abort()
      await kept
    }
  }
}
