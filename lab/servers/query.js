/**
 * A query to one node, or to all of them in parallel, over connections that are closed afterwards: while it measures, the lab holds
 * only those that watch the replica lag.
 */
import { randomBytes } from 'node:crypto'
import { openConnection } from '../../src/store/index.js'

/** What CLIENT LIST shows. */
const NAME = 'freshet-lab'
const DEADLINE_MS = 10_000

/** @typedef {import('../../src/store/index.js').Connection} Connection */

/** @returns {string} a run id: 8 of 0-9 a-f */
export const newRunId = () => randomBytes(4).toString('hex')

/** @param {string} runId @returns {string} prefix of all keys of the run, without pattern characters */
export function prefixOf (runId) {
  if (!/^[0-9a-z]{8}$/.test(runId)) throw new TypeError(`run id ${runId}: expected 8 of 0-9 a-z`)
  return `lab-${runId}:`
}

/** @param {string} url @param {{ deadlineMs?: number }} [options] reply timeout @returns {Promise<Connection>} */
export const openNode = (url, { deadlineMs = DEADLINE_MS } = {}) => openConnection(url, { name: NAME, deadlineMs })

/**
 * @template T
 * @param {string} url
 * @param {(connection: Connection) => Promise<T>} query
 * @param {{ deadlineMs?: number }} [options] reply timeout
 * @returns {Promise<T>}
 * @throws {import('../../src/errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED, SERVER_LOST
 */
export async function queryNode (url, query, options) {
  const connection = await openNode(url, options)
  try {
    return await query(connection)
  } finally {
    connection.close()
  }
}

/**
 * @template T
 * @param {string[]} urls
 * @param {(connection: Connection) => Promise<T>} query
 * @param {{ deadlineMs?: number }} [options]
 * @returns {Promise<T[]>} in the order of the addresses
 */
export const queryAll = (urls, query, options) => Promise.all(urls.map((url) => queryNode(url, query, options)))
