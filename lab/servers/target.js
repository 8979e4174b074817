/**
 * Existing servers of a user (--target). Their data is not touched: every key of a measurement has a prefix with the run id,
 * nothing is flushed or configured, and the written keys are removed by that prefix.
 *
 *     before   INFO of all nodes, one primary and its replicas; the user may run all commands of the lab; no key has the prefix
 *     after    SCAN prefix* and UNLINK, until no node has such a key; function libraries of the run
 *
 * Missing permissions are reported before anything is written.
 *
 * @typedef {import('./own.js').LabServers} LabServers
 * @typedef {import('./query.js').Connection} Connection
 */
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { figuresIn, readInfo, replicaUrls as urlsOfReplicas } from '../../src/store/index.js'
import { queryAll, queryNode, newRunId, prefixOf } from './query.js'
import { LAB_PREFIX, lacking } from './commands.js'
import { untilQuiet } from './figures.js'

const DEADLINE_MS = 5_000
const QUIET_DEADLINE_MS = 20_000
const SCAN_COUNT = 1000
const UNLINK_KEYS = 500
const CLEANINGS = 5
const CLEAN_AGAIN_MS = 500
const RETRYABLE = ['LAB_NOT_EMPTY', 'SERVER_LOST', 'SERVER_UNREACHABLE', 'SERVER_FULL']
const ADVICE = 'The lab needs the rules of freshet-lab in docs/acl, on every node'

/**
 * @param {{ url: string, replicaUrls?: string[] | null, runId?: string, deadlineMs?: number }} options `replicaUrls` null =
 *   those that the primary lists; `deadlineMs`: reply timeout
 * @returns {Promise<LabServers>}
 * @throws {FreshetError} LAB_TARGET_REFUSED, LAB_NOT_EMPTY, SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
 */
export async function openTarget ({ url, replicaUrls: given = null, runId = newRunId(), deadlineMs = DEADLINE_MS }) {
  const keyPrefix = prefixOf(runId)
  const primary = await queryNode(url, (connection) => lookAtPrimary(connection, { given, keyPrefix }), { deadlineMs })
  await Promise.all(primary.replicaUrls.map((replica) =>
    lookAtReplica(replica, { primary, isGiven: given !== null, deadlineMs, keyPrefix })))
  const urls = [url, ...primary.replicaUrls]
  let isClean = false
  return {
    primaryUrl: url,
    replicaUrls: primary.replicaUrls,
    engine: primary.engine,
    ownsAll: false,
    keyPrefix,
    notes: primary.notes,
    died: new Promise(() => {}), // not observed; queries fail instead
    assertEmpty: () => assertEmpty(urls, keyPrefix, deadlineMs),
    async close () {
      if (!isClean) await clean(urls, keyPrefix, deadlineMs)
      isClean = true
    }
  }
}

/** @param {Connection} connection @param {{ given: string[] | null, keyPrefix: string }} options */
async function lookAtPrimary (connection, { given, keyPrefix }) {
  const { address } = connection
  const info = readInfo(await permitted(connection, ['INFO']), address)
  const { role, engine, loading } = figuresIn(info, address)
  if (role === 'replica') {
    throw refused(`${address} is a replica of ${info.master_host}:${info.master_port}; use the address of the primary in --target`)
  }
  if (info.cluster_enabled === '1') throw refused(`${address} is a cluster node; expected a primary without Cluster`)
  if (loading) throw refused(`${address} is loading its data; try again later`)
  const replicaUrls = given ?? await namedReplicas(connection)
  await mayAll(connection, { keyPrefix, isReplica: false, without: given ? ['ROLE'] : [] })
  return { address, engine, replicationId: info.master_replid, replicaUrls, notes: notesOf(info) }
}

/** @param {Connection} connection @returns {Promise<string[]>} */
async function namedReplicas (connection) {
  try {
    return await urlsOfReplicas(connection)
  } catch (error) {
    if (error.outcome !== 'forbidden') throw error
    throw refused(`${error.message}. ${ADVICE}; without +role, use --replica-url`, error)
  }
}

/**
 * @param {string} url
 * @param {{ primary: { address: string, replicationId: string }, isGiven: boolean, deadlineMs: number, keyPrefix: string }} options
 */
async function lookAtReplica (url, { primary, isGiven, deadlineMs, keyPrefix }) {
  try {
    await queryNode(url, async (connection) => {
      const { address } = connection
      const info = readInfo(await permitted(connection, ['INFO']), address)
      if (figuresIn(info, address).role !== 'replica') {
        throw refused(`${address} is not a replica; use the addresses of the replicas of ${primary.address} in --replica-url, or remove it`)
      }
      if (info.master_replid !== primary.replicationId) {
        throw refused(`${address} is not a replica of ${primary.address}, or not in sync with it`)
      }
      await mayAll(connection, { keyPrefix, isReplica: true, without: isGiven ? ['ROLE'] : [] })
    }, { deadlineMs })
  } catch (error) {
    if (error.code !== 'SERVER_UNREACHABLE' || isGiven) throw error
    throw refused(
      `the primary ${primary.address} lists an unreachable replica: ${error.message} Use --replica-url with reachable addresses`, error
    )
  }
}

/** The last command on a connection. @param {Connection} connection @param {Parameters<typeof lacking>[1]} options */
async function mayAll (connection, options) {
  const names = await lacking(connection, options)
  if (names.length > 0) {
    throw refused(`the user at ${connection.address} may not run ${names.join(' ')} with keys that begin with ${LAB_PREFIX}. ${ADVICE}`)
  }
}

/** @param {Connection} connection @param {(string | number)[]} command @returns {Promise<any>} */
async function permitted (connection, [name, ...args]) {
  try {
    return await connection.send(String(name), ...args)
  } catch (error) {
    if (error.outcome !== 'forbidden') throw error
    throw refused(`${error.message}. ${ADVICE}`, error)
  }
}

/** @param {string} why @param {unknown} [cause] */
const refused = (why, cause) => new FreshetError('LAB_TARGET_REFUSED', `the lab cannot use these servers: ${why}.`, { cause })

/** @param {Record<string, string>} info @returns {string[]} */
function notesOf (info) {
  const keys = Object.entries(info).filter(([name]) => /^db\d+$/.test(name))
    .reduce((sum, [, text]) => sum + Number(/keys=(\d+)/.exec(text)?.[1] ?? 0), 0)
  const clients = Number(info.connected_clients) - 1
  return [
    ...(keys > 0 ? [`${keys} other keys are on it`] : []),
    ...(clients > 0 ? [`${clients} other clients are connected`] : []),
    ...(info.maxmemory_policy && info.maxmemory_policy !== 'noeviction'
      ? [`it may evict items (maxmemory-policy ${info.maxmemory_policy})`]
      : []),
    ...(info.aof_enabled === '1' ? ['it writes an append-only file'] : [])
  ]
}

/** @param {string[]} urls @param {string} prefix @param {number} deadlineMs @throws {FreshetError} LAB_NOT_EMPTY */
async function assertEmpty (urls, prefix, deadlineMs) {
  await untilQuiet(urls, { deadlineMs: QUIET_DEADLINE_MS })
  await queryAll(urls, async (connection) => {
    const { value } = await keysWith(connection, prefix).next()
    if (value) {
      throw new FreshetError('LAB_NOT_EMPTY', `the server ${connection.address} has keys that begin with ${prefix}, such as ${value[0]}`)
    }
  }, { deadlineMs })
}

/**
 * Removes the keys with the prefix and checks again, on every node: commands of a killed load can still arrive.
 * @param {string[]} urls @param {string} prefix @param {number} deadlineMs
 * @throws {FreshetError} LAB_NOT_EMPTY, with the prefix of the keys that are left
 */
async function clean (urls, prefix, deadlineMs) {
  for (let attempt = 1; ; attempt++) {
    try {
      await queryNode(urls[0], (connection) => removeKeys(connection, prefix), { deadlineMs })
      return await assertEmpty(urls, prefix, deadlineMs)
    } catch (error) {
      if (attempt === CLEANINGS || !RETRYABLE.includes(error.code)) {
        throw new FreshetError('LAB_NOT_EMPTY', `could not remove all keys of the lab from ${new URL(urls[0]).host} (${error.message}); ` +
          `remove the keys that begin with ${prefix}`, { cause: error, keyPrefix: prefix })
      }
      await pause(CLEAN_AGAIN_MS)
    }
  }
}

/** @param {Connection} connection @param {string} prefix */
async function removeKeys (connection, prefix) {
  for await (const keys of keysWith(connection, prefix)) {
    for (let at = 0; at < keys.length; at += UNLINK_KEYS) await connection.send('UNLINK', ...keys.slice(at, at + UNLINK_KEYS))
  }
}

/**
 * Keys that exist throughout the scan are returned at least once, some of them twice.
 * @param {Connection} connection @param {string} prefix
 * @returns {AsyncGenerator<Buffer[]>} never an empty one
 */
async function * keysWith (connection, prefix) {
  let cursor = '0'
  do {
    const [next, keys] = await connection.send('SCAN', cursor, 'MATCH', `${prefix}*`, 'COUNT', SCAN_COUNT)
    cursor = String(next)
    if (keys.length > 0) yield keys
  } while (cursor !== '0')
}
