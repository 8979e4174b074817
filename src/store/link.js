/**
 * Keeps one epoch open to a server: opens a connection, and when it ends, the next, until closed.
 *
 * Waits between attempts grow from 50 ms to a second, with jitter, so that many processes do not come back at the
 * same instant. An epoch that was of use begins with the first wait again; one that ends as soon as it is open does
 * not. A server that refuses (password, permission, certificate) is asked in turns (refusal-gate.js), at most once a
 * second by all connections of this process together.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openConnection } from './connection.js'
import { gateTo } from './refusal-gate.js'

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 1000

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./connection.js').Refusal} Refusal */
/** @typedef {ReturnType<typeof createLink>} Link */

/**
 * @param {string} url
 * @param {{ name: string, deadlineMs: number, prepare?: (connection: Connection) => Promise<unknown>,
 *   onOpen?: (connection: Connection) => void, onClosed?: (reason: string) => void,
 *   onError?: (error: Error & { code?: string }) => void, onForbidden?: (refusal: Refusal) => void }} options
 *   `prepare` makes an epoch usable (checks the role, probes); when it rejects, the epoch ends. `onError` is told why
 *   an attempt failed, once for each code in a row; `onForbidden` what the user of an epoch may not do
 */
export function createLink (url, { name, deadlineMs, prepare = async () => {}, onOpen = () => {}, onClosed = () => {}, onError = () => {}, onForbidden }) {
  const stop = new AbortController()
  const gate = gateTo(url)
  /** @type {Connection | null} */
  let current = null
  /** @type {Error & { code?: string } | null} */
  let lastError = null
  let epochs = 0

  /** @type {{ resolve: (connection: Connection) => void, reject: (error: Error) => void }} */
  let first
  const opened = /** @type {Promise<Connection>} */ (new Promise((resolve, reject) => { first = { resolve, reject } }))
  opened.catch(() => {})

  /** A close does not wait for a server that says nothing. */
  async function open () {
    const connection = await openConnection(url, { name, deadlineMs, onForbidden, signal: stop.signal })
    const giveUp = () => connection.close()
    stop.signal.addEventListener('abort', giveUp, { once: true })
    try {
      await prepare(connection)
    } catch (error) {
      connection.close('not usable')
      throw error
    } finally {
      stop.signal.removeEventListener('abort', giveUp)
    }
    return connection
  }

  /** Waits for its turn where others of this process are refused. @returns {Promise<boolean>} whether the epoch was of use */
  async function epoch () {
    if (gate.refusal) tell(gate.refusal)
    const attempt = await gate.enter(stop.signal, 'links')
    if (stop.signal.aborted) {
      attempt.ended()
      return false
    }
    try {
      return await live(await open(), attempt)
    } catch (error) {
      if (!stop.signal.aborted) tell(error)
      attempt.ended(error.retryable ? null : error)
      return false
    }
  }

  /** @param {Connection} connection @param {import('./refusal-gate.js').Attempt} attempt */
  async function live (connection, attempt) {
    if (stop.signal.aborted) {
      connection.close()
      attempt.ended()
      return false
    }
    lastError = null
    current = connection
    epochs++
    const openedAt = performance.now()
    const before = connection.answered
    attempt.opened()
    first.resolve(connection)
    onOpen(connection)
    const reason = await connection.closed
    current = null
    const refusal = connection.refused ? new FreshetError('SERVER_REFUSED', reason, { publicWhy: connection.publicWhy }) : null
    if (refusal) lastError = refusal
    attempt.ended(refusal)
    if (!stop.signal.aborted) onClosed(reason)
    return connection.answered > before || performance.now() - openedAt > LONGEST_WAIT_MS
  }

  /** @param {Error & { code?: string }} error why there is no connection */
  function tell (error) {
    if (error.code !== lastError?.code) onError(error)
    lastError = error
    first.reject(error)
  }

  async function keep () {
    let waitMs = FIRST_WAIT_MS
    while (!stop.signal.aborted) {
      if (await epoch()) waitMs = FIRST_WAIT_MS
      await sleep(waitMs * (0.5 + Math.random() / 2), undefined, { signal: stop.signal }).catch(() => {})
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
    /** Why there is no connection, if that is known. */
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
