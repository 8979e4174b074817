/**
 * Compares the contents of all nodes after a load with what was acknowledged (L5).
 *
 * A log may be gigabytes. It is checked on the primary; a replica with the same digest of its entries is identical, and only a
 * replica with another digest is checked too, to find what is wrong.
 *
 * @typedef {import('../servers/own.js').LabServers} LabServers
 * @typedef {import('../../src/store/index.js').Connection} Connection
 */
import { partitionKey } from '../../src/feeds/index.js'
import { readInfo } from '../../src/store/index.js'
import { boundsOf, settled } from '../plan/cells.js'
import { checkRows } from './inventory.js'
import { comparesVersions, storageOf } from '../loads/index.js'
import { isLog, readLog } from './log-inventory.js'
import { checkLog } from './log-ledger.js'
import { copiesOf, queryCopy } from '../servers/copies.js'
import { queryAll } from '../servers/query.js'
import { shardsOf } from '../servers/shapes.js'

const DEADLINE_MS = 20_000

/**
 * @param {{ load: string, settings: Record<string, any>, feed: string }} cell
 * @param {number[]} acknowledged of each writer
 * @param {LabServers} servers
 */
export async function contentOf ({ load, settings: given, feed }, acknowledged, servers) {
  const settings = settled(load, given)
  const storage = storageOf(load, /** @type {any} */ (settings))
  const { partitions = 1 } = settings
  const stored = { feed, partitions }
  const key = Array.from({ length: partitions }, (_, partition) => partitionKey(servers.keyPrefix, stored, partition))
  const run = {
    acknowledged,
    distinctIds: settings.ids,
    valueChange: settings.valueChange,
    valueBytes: settings.valueBytes,
    lateEvery: settings.lateEvery,
    newestCounts: comparesVersions(load, /** @type {any} */ (settings)),
    maxItems: boundsOf(load).includes('maxItems') ? settings.maxItems : 0
  }
  const check = (/** @type {Connection} */ connection) => checkContent(connection, { storage, key }, run)
  const [primaries, ...others] = copiesOf(servers)
  const primary = await queryCopy(primaries, check, { deadlineMs: DEADLINE_MS })
  const replicas = await Promise.all(others.map((urls) => queryCopy(urls, async (connection) =>
    isLog(storage) && await readLog(connection, { storage, key }) === primary.digest ? primary : check(connection),
  { deadlineMs: DEADLINE_MS })))
  const ledgers = [primary, ...replicas]
  // report the worst node
  const worst = ledgers.reduce((a, b) => b.missing + b.foreign + b.misplaced > a.missing + a.foreign + a.misplaced ? b : a)
  const { digest: _digest, ...ledger } = worst
  const itemsAcknowledged = acknowledged.reduce((sum, n) => sum + n, 0)
  return {
    itemsAcknowledged,
    itemsPresent: itemsAcknowledged - ledger.missing,
    ledger: { ...ledger, nodesEqual: ledgers.every(({ digest }) => digest === ledgers[0].digest) },
    ...(servers.ownsAll && { dataBytes: await dataBytesOf(shardsOf(servers).map(([primary]) => primary)) })
  }
}

/**
 * @param {Connection} connection to one node
 * @param {{ storage: import('./inventory.js').Storage, key: import('./inventory.js').Key | import('./inventory.js').Key[] }} feed
 * @param {import('./ledger.js').Run} run
 * @returns {Promise<import('./ledger.js').Ledger>}
 */
export const checkContent = (connection, { storage, key }, run) =>
  isLog(storage) ? checkLog(connection, { storage, key }, run) : checkRows(connection, { storage, key }, run)

/**
 * Memory of the keys on a server that holds only those of the lab: used memory without that at start-up and without buffers for
 * clients and replicas.
 * @param {string[]} urls of the primaries
 */
const dataBytesOf = async (urls) => (await queryAll(urls, async (connection) => {
  const info = readInfo(await connection.send('INFO', 'memory'), connection.address)
  const buffers = ['mem_clients_normal', 'mem_clients_slaves', 'mem_replication_backlog'].map((name) => Number(info[name] ?? 0))
  const bytes = buffers.reduce((left, size) => left - size, Number(info.used_memory) - Number(info.used_memory_startup))
  return Number.isFinite(bytes) ? Math.max(0, bytes) : NaN
})).reduce((sum, bytes) => sum + bytes, 0)
