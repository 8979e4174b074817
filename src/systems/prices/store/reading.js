/** Reading. DynamoDB deletes expired rows hours later, so they are dropped here. */
import { setTimeout as sleep } from 'node:timers/promises'
import { LATEST, priceOf, sortKey, textOf } from './rows.js'

const BATCH = 100
const PAUSE_MS = 10

/**
 * @typedef {{ at: number, price: string, seq: number }} Point `at`: ms since 1970
 */

/**
 * @param {{ sdk: import('./client.js').Sdk, ask: import('./client.js').Ask, metrics: import('./client.js').StoreMetrics, table: string,
 *   latestMs: number, historyMs: number }} parts deadlines
 */
export function createReading ({ sdk, ask, metrics, table, latestMs, historyMs }) {
  /** @param {string[]} assets @param {number} until @param {Map<string, import('./rows.js').StoredPrice>} found */
  async function readBatch (assets, until, found) {
    /** @type {any[]} */
    let left = assets.map((asset) => ({ asset: { S: asset }, at: { S: LATEST } }))
    for (;;) {
      const command = new sdk.BatchGetItemCommand({ RequestItems: { [table]: { Keys: left } } })
      const { Responses, UnprocessedKeys } = await ask('latest', command, until - performance.now())
      for (const item of Responses?.[table] ?? []) found.set(textOf(item.asset), priceOf(item))
      left = UnprocessedKeys?.[table]?.Keys ?? []
      if (left.length === 0) return
      metrics.asked('latest', 'unprocessed')
      const waitMs = Math.random() * PAUSE_MS
      if (performance.now() + waitMs >= until) return
      await sleep(waitMs)
    }
  }

  return {
    /**
     * The newest price of each asset that has one which has not expired. Never rejects: what did not come in time is missing, and
     * counted.
     * @param {string[]} assets @returns {Promise<Map<string, import('./rows.js').StoredPrice>>}
     */
    async latest (assets) {
      /** @type {Map<string, import('./rows.js').StoredPrice>} */
      const found = new Map()
      const until = performance.now() + latestMs
      const names = [...new Set(assets)]
      const batches = Array.from({ length: Math.ceil(names.length / BATCH) }, (_, i) => names.slice(i * BATCH, (i + 1) * BATCH))
      await Promise.all(batches.map((batch) => readBatch(batch, until, found).catch(() => {})))
      const nowMs = Date.now()
      for (const [asset, { hard }] of found) if (hard < nowMs) found.delete(asset)
      return found
    },

    /**
     * @param {string} asset @param {number} from @param {number} to ms since 1970, both included @param {number} limit the newest so many
     * @returns {Promise<Point[]>} the oldest first @throws {import('./errors.js').FreshetError} DYNAMODB_DOWN and others
     */
    async history (asset, from, to, limit) {
      const until = performance.now() + historyMs
      /** @type {Point[]} */
      const points = []
      /** @type {any} */
      let start
      do {
        const { Items = [], LastEvaluatedKey } = await ask('history', new sdk.QueryCommand({
          TableName: table,
          KeyConditionExpression: '#asset = :asset AND #at BETWEEN :from AND :to',
          ExpressionAttributeNames: { '#asset': 'asset', '#at': 'at' },
          ExpressionAttributeValues: { ':asset': { S: asset }, ':from': { S: sortKey(from) }, ':to': { S: sortKey(to) } },
          ScanIndexForward: false,
          Limit: limit - points.length,
          ExclusiveStartKey: start
        }), until - performance.now())
        const kept = Items.filter((/** @type {any} */ { ttl }) => Number(textOf(ttl)) * 1000 > Date.now())
        for (const { at, price, version } of kept) {
          points.push({ at: Number(textOf(at)), price: textOf(price), seq: Number(textOf(version)) })
        }
        start = LastEvaluatedKey
      } while (start && points.length < limit)
      return points.reverse()
    }
  }
}
