/**
 * What somebody else's server is and what it lets its user do, for `npm start doctor`. Nothing is written.
 *
 * Permissions are asked for inside MULTI ... DISCARD: a server checks them when a command is queued, with its real
 * arguments, and a discarded command has no effect. A user that may not even queue is asked by what changes nothing,
 * the commands of a reader. Users are not replicated, so replicas are asked, too, for what readers ask of them.
 */
import { COMMANDS, ROLES, commandName, rowsOf } from './commands.js'
import { openConnection } from './connection.js'
import { capabilities, nodeFigures, replicaUrls, replicationId } from './nodes.js'

/**
 * @typedef {{ address: string, error: string, code: string } | { address: string, error: null, engine: string, role: 'primary' | 'replica', linkUp: boolean,
 *   history: string | null }} NodeFacts `history`: its replication id
 * @typedef {NodeFacts & { isForeign: boolean, reader: RoleFacts | null }} ReplicaFacts `isForeign`: not of this primary; `reader`: what it lets the
 *   user read, null = not known
 * @typedef {{ role: import('./commands.js').Role, missing: string[], without: string[] }} RoleFacts `missing`: commands that
 *   the user may not run and the role needs; `without`: what is lost for want of others
 * @typedef {{ primary: NodeFacts, hasMsetex: boolean | null, evicts: string | null, roles: RoleFacts[], replicas: ReplicaFacts[] }} ServerFacts
 *   `hasMsetex` null = may not be used; `evicts`: its maxmemory-policy when that is not noeviction
 */

/**
 * @param {string} url
 * @param {{ replicas: string[] | null, keyPrefix: string, deadlineMs: number }} options `replicas` null = ask the primary
 * @returns {Promise<ServerFacts>}
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED, SERVER_LOST
 */
export async function probeServer (url, { replicas, keyPrefix, deadlineMs }) {
  const connection = await openConnection(url, { name: 'freshet-doctor', deadlineMs })
  try {
    const primary = await nodeFacts(connection)
    const { msetex } = await unlessRefused(capabilities(connection), { msetex: null })
    const memory = String(await unlessRefused(connection.send('INFO', 'memory'), ''))
    const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1]
    const addresses = replicas ?? await unlessRefused(replicaUrls(connection), [])
    return {
      primary,
      hasMsetex: msetex,
      evicts: policy && policy !== 'noeviction' ? policy : null,
      roles: await roleFacts(connection, probeKey(keyPrefix), msetex === true),
      replicas: await Promise.all(addresses.map((address) => replicaFacts(address, { primary, keyPrefix, deadlineMs })))
    }
  } finally {
    connection.close()
  }
}

const probeKey = (/** @type {string} */ keyPrefix) => `${keyPrefix}{doctor}`

/** @param {any} error */
const isRefused = (error) => error.reply === 'NOPERM'

/** @template T, N @param {Promise<T>} answer @param {N} instead @returns {Promise<T | N>} */
const unlessRefused = (answer, instead) => answer.catch((error) => {
  if (isRefused(error)) return instead
  throw error
})

/** The last thing asked of a connection, as refusedRows. @param {import('./connection.js').Connection} connection @param {string} key @param {boolean} hasMsetex @returns {Promise<RoleFacts[]>} */
async function roleFacts (connection, key, hasMsetex) {
  const refused = await refusedRows(connection, COMMANDS, key)
  return ROLES.map((role) => {
    const rows = rowsOf(role).filter((row) => refused.includes(row))
    return {
      role,
      missing: rows.filter((row) => row.without === undefined && (hasMsetex || !row.isWithMsetex)).map(commandName),
      without: [...new Set(rows.flatMap((row) => row.without ?? []))]
    }
  })
}

/**
 * Which commands the user of a connection may not run with a key; of one that may not even queue, those that change something
 * count as refused. The last thing asked of a connection: it may be left inside MULTI.
 * @param {import('./connection.js').Connection} connection @param {readonly import('./commands.js').CommandRow[]} rows
 * @param {string} key
 * @returns {Promise<import('./commands.js').CommandRow[]>}
 */
export async function refusedRows (connection, rows, key) {
  const isNamed = (/** @type {string[]} */ names) => (/** @type {import('./commands.js').CommandRow} */ row) => names.includes(commandName(row))
  // these two would not be queued: without MULTI they are errors and change nothing
  const apart = rows.filter(isNamed(['EXEC', 'DISCARD']))
  const refused = await refusedOf(connection, apart, key)
  const mayQueue = await unlessRefused(connection.send('MULTI'), null) !== null
  const reading = rowsOf('reader')
  const asked = rows.filter((row) => !apart.includes(row) && (mayQueue ? !isNamed(['MULTI'])(row) : reading.includes(row)))
  return [...refused, ...await refusedOf(connection, asked, key), ...rows.filter((row) => !mayQueue && !asked.includes(row) && !apart.includes(row))]
}

/**
 * @param {import('./connection.js').Connection} connection @param {readonly import('./commands.js').CommandRow[]} rows
 * @param {string} key
 */
async function refusedOf (connection, rows, key) {
  const outcomes = await Promise.allSettled(rows.map(({ words }) => {
    const [name, ...args] = words(key)
    return connection.send(name, ...args)
  }))
  return rows.filter((_, i) => outcomes[i].status === 'rejected' && isRefused(/** @type {PromiseRejectedResult} */ (outcomes[i]).reason))
}

/** @param {import('./connection.js').Connection} connection @returns {Promise<NodeFacts>} */
async function nodeFacts (connection) {
  const { address } = connection
  try {
    const { engine, role, linkUp } = await nodeFigures(connection)
    return { address, error: null, engine, role, linkUp, history: await replicationId(connection) }
  } catch (error) {
    return { address, error: error.message, code: error.code }
  }
}

/** @param {string} url @param {{ primary: NodeFacts, keyPrefix: string, deadlineMs: number }} options @returns {Promise<ReplicaFacts>} */
async function replicaFacts (url, { primary, keyPrefix, deadlineMs }) {
  try {
    const connection = await openConnection(url, { name: 'freshet-doctor', deadlineMs })
    try {
      const facts = await nodeFacts(connection)
      const reader = facts.error === null ? (await roleFacts(connection, probeKey(keyPrefix), false)).find(({ role }) => role === 'reader') ?? null : null
      return { ...facts, reader, isForeign: isForeign(facts, primary) }
    } finally {
      connection.close()
    }
  } catch (error) {
    return { address: new URL(url).host, error: error.message, code: error.code, reader: null, isForeign: false }
  }
}

/** A replica that is not in sync has no history to compare. The primary itself may be named as one: after a switchover it is. @param {NodeFacts} node @param {NodeFacts} primary */
function isForeign (node, primary) {
  if (node.error !== null || primary.error !== null || primary.role !== 'primary' || !node.linkUp) return false
  return node.history !== null && primary.history !== null && node.history !== primary.history
}
