/**
 * A pool of connections to PostgreSQL, with a deadline on everything.
 *
 * A statement ends on the server before this process stops waiting for it, so that no statement runs on unnoticed. What the database
 * says about itself (it is down, full, or out of connections) is `DATABASE_DOWN` and may be tried again; what it says about a statement
 * is `DATABASE_REFUSED`, or `DATABASE_TIMEOUT` when it took too long. A wait for a lock ends earlier and is `DATABASE_DOWN`, because
 * another session holds the lock.
 *
 * `isOfStatement`: the statements may be the reason, because they took too long, or the connection ended while a transaction ran.
 *
 * @typedef {{ rows: any[], rowCount: number | null }} Result
 * @typedef {{ query: (text: string, values?: unknown[]) => Promise<Result> }} Client
 */
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { asError } from '../errors.js'
import { FreshetError } from './errors.js'

/** SQLSTATE classes and codes after which the same statement may succeed: connection, resources, operator, rollback */
const RETRYABLE = /^(08|53|57P|58|40001|40P01|25006|55P03)/
const TIMEOUT = '57014'
const STATEMENT_SHARE = 0.8
const CLOSE_WITHIN_MS = 1000
const LOCK_SHARE = 0.6

const require = createRequire(import.meta.url)
/** Loaded with the first pool, because most processes have no database. @returns {typeof import('pg')} */
const loadPg = () => require('pg')

/** @typedef {ReturnType<typeof openDatabase>} Database */

/**
 * @param {{ url: string, name: string, max: number, deadlineMs: number, log: import('pino').Logger }} options `name`: of the connections,
 *   as pg_stat_activity shows it; `max`: connections; `deadlineMs`: of a free connection, and of a statement
 */
export function openDatabase ({ url, name, max, deadlineMs, log }) {
  /** @type {Set<Socket>} */
  const sockets = new Set()
  const pool = new (loadPg().Pool)({
    connectionString: url,
    stream () {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    application_name: name,
    max,
    connectionTimeoutMillis: deadlineMs,
    query_timeout: deadlineMs,
    statement_timeout: Math.floor(STATEMENT_SHARE * deadlineMs),
    lock_timeout: Math.floor(LOCK_SHARE * deadlineMs),
    idle_in_transaction_session_timeout: deadlineMs
  })
  let isUp = true
  pool.on('error', (error) => {
    isUp = false
    log.warn({ database: addressOf(url), reason: error.message }, 'a connection to the database was lost')
  })

  /** @param {Error} error of pg @returns {never} */
  const fail = (error) => { throw errorOf(error, url) }

  /** @template T @param {Promise<T>} work @returns {Promise<T>} */
  async function noted (work) {
    try {
      const result = await work
      isUp = true
      return result
    } catch (error) {
      isUp = error.code !== 'DATABASE_DOWN'
      throw error
    }
  }

  /** @template T @param {(client: Client) => Promise<T>} run @returns {Promise<T>} */
  async function transaction (run) {
    const client = await pool.connect().catch(fail)
    const connection = {
      query: (/** @type {string} */ text, values = /** @type {unknown[]} */ ([])) => client.query(text, values).catch(fail)
    }
    /** @type {Error | undefined} a connection in an unknown state is closed */
    let failure
    const onLost = (/** @type {Error} */ error) => { failure = error }
    let hasBegun = false
    // the pool listens to idle connections only
    client.on('error', onLost)
    try {
      await connection.query('BEGIN')
      hasBegun = true
      const result = await run(connection)
      await connection.query('COMMIT')
      return result
    } catch (thrown) {
      const error = asError(thrown)
      await client.query('ROLLBACK').catch(onLost)
      if (hasBegun && failure && error.code === 'DATABASE_DOWN') error.isOfStatement = true
      throw error
    } finally {
      client.off('error', onLost)
      client.release(failure)
    }
  }

  return {
    /** Whether the last statement had an answer. */
    get isUp () { return isUp },

    /**
     * @param {string} text @param {unknown[]} [values] @returns {Promise<Result>}
     * @throws {FreshetError} DATABASE_DOWN, DATABASE_REFUSED, DATABASE_TIMEOUT
     */
    query: (text, values) => noted(pool.query(text, values).catch(fail)),

    /**
     * @template T @param {(client: Client) => Promise<T>} run
     * @returns {Promise<T>} after the commit @throws {FreshetError} DATABASE_DOWN, DATABASE_REFUSED, DATABASE_TIMEOUT, or what `run` threw;
     *   nothing was changed, unless the connection was lost during the commit
     */
    transaction: (run) => noted(transaction(run)),

    /** Numbers of connections; `waiting`: statements that wait for one. */
    figures: () => ({ total: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),

    /** Within a second, also when the database does not answer. */
    close () {
      // the timer runs as long as a socket keeps the process
      setTimeout(() => sockets.forEach((socket) => socket.destroy()), CLOSE_WITHIN_MS).unref()
      return pool.end()
    }
  }
}

/** A URL without user and password. @param {string} url */
export const addressOf = (url) => new URL(url).host

/** @param {Error & { code?: string, constraint?: string }} error @param {string} url */
function errorOf (error, url) {
  const { code = '', constraint, message } = error
  const isAnswer = /^[0-9A-Z]{5}$/.test(code)
  const facts = { sqlState: code, constraint, cause: error, isOfStatement: code === TIMEOUT }
  if (code === TIMEOUT) return new FreshetError('DATABASE_TIMEOUT', `the database ended the statement (${message}); try again`, facts)
  if (isAnswer && !RETRYABLE.test(code)) {
    return new FreshetError('DATABASE_REFUSED', `the database rejected the statement: ${message}`, facts)
  }
  const what = isAnswer ? 'cannot execute statements now' : 'does not answer'
  return new FreshetError('DATABASE_DOWN', `the database at ${addressOf(url)} ${what} (${message || code})`, facts)
}
