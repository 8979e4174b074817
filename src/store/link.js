/**
 * Keeps one epoch open to a server: opens a connection, and when it ends, the next, until closed.
 *
 * Waits between attempts grow from 50 ms to a second, with jitter, so that many processes do not come back at the
 * same instant; a server that refuses (password, permission) is asked at most once a second.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openConnection } from './connection.js'

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 1000

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {ReturnType<typeof createLink>} Link */

/**
 * @param {string} url
 * @param {{ name: string, deadlineMs: number, prepare?: (connection: Connection) => Promise<unknown>,
 *   onOpen?: (connection: Connection) => void, onClosed?: (reason: string) => void,
 *   onError?: (error: Error & { code?: string }) => void }} options
 *   `prepare` makes an epoch usable (checks the role, probes); when it rejects, the epoch ends. `onError` is told why
 *   an attempt failed, once for each code in a row
 */
export function createLink (url, { name, deadlineMs, prepare = async () => {}, onOpen = () => {}, onClosed = () => {}, onError = () => {} }) {
  const stop = new AbortController()
  /** @type {Connection | null} */
  let current = null
  /** @type {Error & { code?: string } | null} */
  let lastError = null
  let epochs = 0

  /** @type {{ resolve: (connection: Connection) => void, reject: (error: Error) => void }} */
  let first
  const opened = /** @type {Promise<Connection>} */ (new Promise((resolve, reject) => { first = { resolve, reject } }))
  opened.catch(() => {})

  async function open () {
    const connection = await openConnection(url, { name, deadlineMs })
    try {
      await prepare(connection)
    } catch (error) {
      connection.close('not usable')
      throw error
    }
    return connection
  }

  async function keep () {
    let waitMs = FIRST_WAIT_MS
    while (!stop.signal.aborted) {
      let refused = false
      try {
        const connection = await open()
        if (stop.signal.aborted) return connection.close()
        const openedAt = performance.now()
        lastError = null
        current = connection
        epochs++
        first.resolve(connection)
        onOpen(connection)
        const reason = await connection.closed
        current = null
        // one that ends as soon as it is open is no reason to hurry
        if (performance.now() - openedAt > LONGEST_WAIT_MS) waitMs = FIRST_WAIT_MS
        if (!stop.signal.aborted) onClosed(reason)
      } catch (error) {
        if (error.code !== lastError?.code) onError(error)
        lastError = error
        first.reject(error)
        refused = !error.retryable
      }
      const jittered = refused ? LONGEST_WAIT_MS : waitMs * (0.5 + Math.random() / 2)
      await sleep(jittered, undefined, { signal: stop.signal }).catch(() => {})
      waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
    }
  }
  const kept = keep()

  return {
    url,
    /** Resolves with the first epoch, rejects with the first failure; the link goes on trying. */
    opened,
    /** @returns {Connection | null} */
    get connection () { return current },
    get lastError () { return lastError },
    get epochs () { return epochs },
    async close () {
      stop.abort()
      current?.close()
      await kept
      first.reject(new FreshetError('SERVER_LOST', `the link to ${new URL(url).host} was closed before it opened`))
    }
  }
}
