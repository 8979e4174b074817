/** Reading. DynamoDB deletes expired rows hours later, so they are dropped here. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldsOf, itemOf, LATEST, sortKey, textsOf } from './rows.js'

const BATCH = 100
const PAUSE_MS = 10

/** @typedef {import('freshet-feed/systems').State} Fields */

/** @param {import('./client.js').StoreParts & { latestMs: number, historyMs: number }} parts deadlines */
export function createReading ({ sdk, ask, metrics, table, latestMs, historyMs }) {
  /** @param {string[]} assets @param {number} until @param {Map<string, Fields>} found */
  async function readBatch (assets, until, found) {
    /** @type {any[]} */
    let left = assets.map((asset) => itemOf({ asset, at: LATEST }))
    for (;;) {
      const command = new sdk.BatchGetItemCommand({ RequestItems: { [table]: { Keys: left } } })
      const { Responses, UnprocessedKeys } = await ask('latest', command, until - performance.now())
      for (const row of (Responses?.[table] ?? []).map(textsOf)) found.set(row.asset, fieldsOf(row))
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
     * @param {string[]} assets @returns {Promise<Map<string, Fields>>} as the servers have them
     */
    async latest (assets) {
      /** @type {Map<string, Fields>} */
      const found = new Map()
      const until = performance.now() + latestMs
      const names = [...new Set(assets)]
      const batches = Array.from({ length: Math.ceil(names.length / BATCH) }, (_, i) => names.slice(i * BATCH, (i + 1) * BATCH))
      await Promise.all(batches.map((batch) => readBatch(batch, until, found).catch(() => {})))
      const nowMs = Date.now()
      for (const [asset, { hard }] of found) if (Number(hard) < nowMs) found.delete(asset)
      return found
    },

    /**
     * @param {string} asset @param {number} from @param {number} to ms since 1970, both included @param {number} limit the newest so many
     * @returns {Promise<import('../history.js').Point[]>} the oldest first
     * @throws {import('./errors.js').FreshetError} DYNAMODB_DOWN and others
     */
    async history (asset, from, to, limit) {
      const until = performance.now() + historyMs
      /** @type {import('../history.js').Point[]} */
      const points = []
      /** @type {any} */
      let start
      do {
        const { Items = [], LastEvaluatedKey } = await ask('history', new sdk.QueryCommand({
          TableName: table,
          KeyConditionExpression: '#asset = :asset AND #at BETWEEN :from AND :to',
          ExpressionAttributeNames: { '#asset': 'asset', '#at': 'at' },
          ExpressionAttributeValues: itemOf({ ':asset': asset, ':from': sortKey(from), ':to': sortKey(to) }),
          ScanIndexForward: false,
          Limit: limit - points.length,
          ExclusiveStartKey: start
        }), until - performance.now())
        for (const { at, price, version, ttl } of Items.map(textsOf)) {
          if (Number(ttl) * 1000 > Date.now()) points.push({ at: Number(at), price, seq: Number(version) })
        }
        start = LastEvaluatedKey
      } while (start && points.length < limit)
      return points.reverse()
    }
  }
}
