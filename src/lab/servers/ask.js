/**
 * One question to one node, or to all of them at once, over connections that are open no longer than the answer takes:
 * the lab holds none while it measures.
 */
import { randomBytes } from 'node:crypto'
import { openConnection } from '../../store/connection.js'

/** What CLIENT LIST shows. */
const NAME = 'freshet-lab'
const DEADLINE_MS = 10_000

/** @typedef {import('../../store/connection.js').Connection} Connection */

/** @returns {string} what tells the keys of one run from those of every other: 8 of 0-9 a-f */
export const newRunId = () => randomBytes(4).toString('hex')

/** @param {string} runId @returns {string} what every key of a run begins with; nothing in it has a meaning in a pattern */
export function prefixOf (runId) {
  if (!/^[0-9a-z]{8}$/.test(runId)) throw new TypeError(`a run id has 8 of 0-9 a-z, not ${runId}`)
  return `lab-${runId}:`
}

/** @param {string} keyPrefix @returns {string} what every function library of a run begins with; functions have no keys */
export const librariesOf = (keyPrefix) => `freshet_lab_${keyPrefix.replace(/\W/g, '_')}`

/**
 * @template T
 * @param {string} url
 * @param {(connection: Connection) => Promise<T>} question
 * @param {{ deadlineMs?: number }} [options] how long the node may be silent
 * @returns {Promise<T>}
 * @throws {import('../../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED, SERVER_LOST
 */
export async function askNode (url, question, { deadlineMs = DEADLINE_MS } = {}) {
  const connection = await openConnection(url, { name: NAME, deadlineMs })
  try {
    return await question(connection)
  } finally {
    connection.close()
  }
}

/**
 * @template T
 * @param {string[]} urls
 * @param {(connection: Connection) => Promise<T>} question
 * @param {{ deadlineMs?: number }} [options]
 * @returns {Promise<T[]>} in the order of the addresses
 */
export const askAll = (urls, question, options) => Promise.all(urls.map((url) => askNode(url, question, options)))
