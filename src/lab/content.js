/**
 * What the nodes hold when a load has ended, against what was acknowledged: on every node, and the same on all (L5).
 *
 * @typedef {import('./servers/own.js').LabServers} LabServers
 */
import { partitionKey } from '../feeds/keys.js'
import { openConnection } from '../store/connection.js'
import { readInventory } from './inventory.js'
import { checkLedger } from './ledger.js'
import { storageOf } from './loads/index.js'

const DEADLINE_MS = 20_000

/**
 * @param {{ load: string, settings: Record<string, any>, feed: string }} cell
 * @param {number[]} acknowledged of each writer
 * @param {LabServers} servers
 */
export async function contentOf ({ load, settings, feed }, acknowledged, servers) {
  const storage = storageOf(load, /** @type {any} */ (settings))
  const key = Array.from({ length: settings.partitions ?? 1 }, (_, partition) => partitionKey(servers.keyPrefix, feed, partition))
  const expected = { storage, acknowledged, distinctIds: settings.ids, valueChange: settings.valueChange ?? 'always', valueBytes: settings.valueBytes }
  const ledgers = await Promise.all([servers.primaryUrl, ...servers.replicaUrls].map(async (url) => {
    const connection = await openConnection(url, { name: 'freshet-lab', deadlineMs: DEADLINE_MS })
    try {
      return checkLedger(expected, await readInventory(connection, { storage, key }))
    } finally {
      connection.close()
    }
  }))
  // the worst of the nodes speaks for all
  const worst = ledgers.reduce((a, b) => b.missing + b.foreign + b.misplaced > a.missing + a.foreign + a.misplaced ? b : a)
  const { digest: _digest, ...ledger } = worst
  const itemsAcknowledged = acknowledged.reduce((sum, n) => sum + n, 0)
  return {
    itemsAcknowledged,
    itemsPresent: itemsAcknowledged - ledger.missing,
    ledger: { ...ledger, nodesEqual: ledgers.every(({ digest }) => digest === ledgers[0].digest) }
  }
}
