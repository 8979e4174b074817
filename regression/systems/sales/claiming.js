/** Sales during which clients keep claiming while something fails, and the check of their replies. */
import { setTimeout as sleep } from 'node:timers/promises'
import { nightly } from '../../../test/scope.js'
import { eventually, startServer } from '../../../test/servers.js'
import { startConsumers, startReader } from '../../../test/services.js'
import { startKillableConsumers } from '../../../test/systems/killable-consumers.js'
import { startSaleGateway } from '../../../test/systems/sales/selling.js'

// so many that each of two processes owns some
export const PARTITIONS = ['--system-partitions', '16']
const KEEPS = ['--appendonly', 'yes', '--appendfsync', 'always']
const CLAIM_EVERY_MS = nightly(10, 40)

/**
 * @param {import('tap').Test} t
 * @param {{ engine: import('../../../test/servers.js').Engine, database: { url: string }, url?: string }} options `url`: of the database,
 *   as consumers see it
 */
export async function startAll (t, { engine, database, url = database.url }) {
  const server = await startServer(t, { engine, args: KEEPS })
  const [gateway, reader] = await Promise.all([
    startSaleGateway(t, { redisUrl: server.url, flags: PARTITIONS }),
    startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--database-url', database.url] })
  ])
  const place = { redisUrl: server.url, flags: [...PARTITIONS, '--systems', 'sales', '--database-url', url] }
  return {
    server,
    gateway,
    reader,
    consumers: () => startConsumers(t, place),
    killableConsumers: () => startKillableConsumers(t, place)
  }
}

/** Claims one after another, each until its outcome is known. @param {any} gateway @param {string} id @param {number} [everyMs] */
export function claimAlong (gateway, id, everyMs = CLAIM_EVERY_MS) {
  const sold = /** @type {string[]} */ ([])
  const stop = new AbortController()
  const run = async () => {
    for (let n = 0; !stop.signal.aborted; n++) {
      // also after `stop`: a claim whose reply was lost may have been accepted
      let last = null
      const claim = async () => (last = await gateway.claim(id, `u${n}`, { key: `k${n}` })).status === 201
      await eventually(claim).catch((cause) => { throw new Error(`u${n} of ${id}: ${JSON.stringify(last)}`, { cause }) })
      sold.push(`u${n}`)
      await sleep(everyMs)
    }
  }
  const running = run()
  running.catch(() => {})
  return {
    sold,
    async stop () {
      stop.abort()
      await running
    }
  }
}

/** @param {{ query: (text: string, values?: unknown[]) => Promise<any[]> }} database @param {string} id */
export const ownersOf = async (database, id) =>
  (await database.query('SELECT user_id FROM orders WHERE sale = $1 ORDER BY seq', [id])).map((row) => row.user_id)

/**
 * Every client with the reply `sold` has one row; no other client has one.
 * @param {import('tap').Test} t @param {Parameters<typeof ownersOf>[0]} database @param {string} id @param {string[]} sold
 */
export async function isWhole (t, database, id, sold) {
  await eventually(async () => (await ownersOf(database, id)).length >= sold.length)
  t.same((await ownersOf(database, id)).toSorted(), sold.toSorted(), `${sold.length} orders`)
}
