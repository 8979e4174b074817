/**
 * What somebody else's server is and what it lets its user do, for `npm start doctor`. Nothing is written.
 *
 * Permissions are asked for inside MULTI ... DISCARD: a server checks them when a command is queued, with its real
 * arguments, and a discarded command has no effect.
 */
import { openConnection } from './connection.js'
import { capabilities, nodeFigures, replicaUrls } from './nodes.js'

/** Every command that commands of Freshet send; a test holds the list to what servers really see. @type {(key: string) => string[][]} */
const COMMANDS_SENT = (key) => [
  ['INFO'], ['ROLE'], ['COMMAND', 'INFO', 'GET'], ['SCAN', '0'], ['CLIENT', 'ID'], ['CLIENT', 'KILL', 'ID', '0'], ['SCRIPT', 'LOAD', 'return 1'],
  ['EVAL', 'return 1', '0'], ['EVALSHA', '0'.repeat(40), '0'], ['EVAL_RO', 'return 1', '0'], ['EVALSHA_RO', '0'.repeat(40), '0'],
  ['GET', key], ['MGET', key], ['SET', key, 'v'], ['MSET', key, 'v'], ['MSETEX', '1', key, 'v', 'PX', '1'],
  ['PEXPIRE', key, '1'], ['PERSIST', key], ['DEL', key], ['UNLINK', key],
  ['SADD', key, 'v'], ['SREM', key, 'v'], ['SMEMBERS', key],
  ['ZADD', key, '0', 'v'], ['ZREMRANGEBYRANK', key, '0', '0'], ['ZCARD', key], ['ZCOUNT', key, '0', '1'], ['ZMSCORE', key, 'v'], ['ZRANGE', key, '0', '0'],
  ['ZREVRANGE', key, '0', '0'], ['ZREVRANGEBYSCORE', key, '1', '0']
]

/**
 * @typedef {{ address: string, error: string } | { address: string, error: null, engine: string, role: 'primary' | 'replica', linkUp: boolean }} NodeFacts
 * @typedef {{ primary: NodeFacts, hasMsetex: boolean | null, evicts: string | null, refused: string[], replicas: NodeFacts[] }} ServerFacts
 *   `hasMsetex` null = may not be asked; `evicts`: its maxmemory-policy when that is not noeviction; `refused`: commands that the user may not run
 */

/**
 * @param {string} url
 * @param {{ replicas: string[] | null, keyPrefix: string, deadlineMs: number }} options `replicas` null = ask the primary
 * @returns {Promise<ServerFacts>}
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_LOST
 */
export async function probeServer (url, { replicas, keyPrefix, deadlineMs }) {
  const connection = await openConnection(url, { name: 'freshet-doctor', deadlineMs })
  try {
    const refused = await refusedCommands(connection, `${keyPrefix}{doctor}`)
    const primary = await nodeFacts(connection)
    const { msetex } = await unlessRefused(capabilities(connection), { msetex: null })
    const memory = String(await unlessRefused(connection.send('INFO', 'memory'), ''))
    const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1]
    const addresses = replicas ?? await unlessRefused(replicaUrls(connection), [])
    return {
      primary,
      hasMsetex: msetex,
      evicts: policy && policy !== 'noeviction' ? policy : null,
      refused,
      replicas: await Promise.all(addresses.map((address) => replicaFacts(address, deadlineMs)))
    }
  } finally {
    connection.close()
  }
}

/** @param {any} error */
const isRefused = (error) => error.reply === 'NOPERM'

/** @template T, N @param {Promise<T>} answer @param {N} instead @returns {Promise<T | N>} */
const unlessRefused = (answer, instead) => answer.catch((error) => {
  if (isRefused(error)) return instead
  throw error
})

/** @param {import('./connection.js').Connection} connection @param {string} key @returns {Promise<string[]>} */
async function refusedCommands (connection, key) {
  if (await unlessRefused(connection.send('MULTI'), null) === null) return ['MULTI']
  const commands = COMMANDS_SENT(key)
  const outcomes = await Promise.allSettled(commands.map(([name, ...args]) => connection.send(name, ...args)))
  await connection.send('DISCARD')
  return commands.filter((_, i) => outcomes[i].status === 'rejected' && isRefused(outcomes[i].reason)).map(([name]) => name)
}

/** @param {import('./connection.js').Connection} connection @returns {Promise<NodeFacts>} */
async function nodeFacts (connection) {
  const { address } = connection
  try {
    const { engine, role, linkUp } = await nodeFigures(connection)
    return { address, error: null, engine, role, linkUp }
  } catch (error) {
    return { address, error: error.message }
  }
}

/** @param {string} url @param {number} deadlineMs @returns {Promise<NodeFacts>} */
async function replicaFacts (url, deadlineMs) {
  try {
    const connection = await openConnection(url, { name: 'freshet-doctor', deadlineMs })
    const facts = await nodeFacts(connection)
    connection.close()
    return facts
  } catch (error) {
    return { address: new URL(url).host, error: error.message }
  }
}
