import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from 'freshet-feed/systems'

/**
 * Writing: immutable history rows by BatchWriteItem, then the rows LATEST. Everything may be written again without effect.
 *
 * The row LATEST of an asset is updated when its price is a second newer than the one written last. A price that comes sooner is skipped;
 * the next one makes up for it.
 */

const WRITTEN_AT_ONCE = 25
const ATTEMPT_MS = 2000
const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 1000
const LATEST_EVERY_MS = 1000
const LATEST_AT_ONCE = 16
/** Versions begin again when the servers have lost their data, and times go back with the clock of a primary. */
const NEWER = 'attribute_not_exists(#ts) OR #ts < :ts OR #version < :version'

/** @param {import('./index.js').StoreParts & { deadlineMs: number, keepMs: number }} parts `deadlineMs`: of a batch, with repetitions */
export function createWriting ({ sdk, ask, metrics, table, deadlineMs, keepMs }) {
  /** Times of the prices in the rows LATEST that were written in the last second, by asset. @type {Map<string, number>} */
  const written = new Map()

  /** @param {Row} row of the history */
  async function putLatest (row) {
    const { asset, at, ...rest } = itemOf(latestOf(row))
    const names = Object.keys(rest)
    await ask('update', new sdk.UpdateItemCommand({
      TableName: table,
      Key: { asset, at },
      UpdateExpression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
      ConditionExpression: NEWER,
      ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
      ExpressionAttributeValues: Object.fromEntries(names.map((name) => [`:${name}`, rest[name]]))
    }), deadlineMs)
    written.set(row.asset, Number(row.at))
  }

  /** @param {Row[]} rows of the history, one of each asset @throws what failed; a repetition writes the rest */
  async function writeLatest (rows) {
    const due = rows.filter(({ asset, at }) => Math.abs(Number(at) - (written.get(asset) ?? -Infinity)) >= LATEST_EVERY_MS)
    for (let i = 0; i < due.length; i += LATEST_AT_ONCE) await Promise.all(due.slice(i, i + LATEST_AT_ONCE).map(putLatest))
    if (due.length === 0) return
    const beforeMs = Number(due[0].at) - LATEST_EVERY_MS
    for (const [asset, at] of written) if (at <= beforeMs) written.delete(asset)
  }

  /**
   * One attempt.
   * @param {any[]} requests @param {number} leftMs
   * @returns {Promise<{ left: any[], failure: FreshetError | null }>} what is left to do, and why if not all of it is
   */
  async function putOnce (requests, leftMs) {
    try {
      const command = new sdk.BatchWriteItemCommand({ RequestItems: { [table]: requests } })
      const { UnprocessedItems } = await ask('write', command, Math.min(leftMs, ATTEMPT_MS))
      const left = UnprocessedItems?.[table] ?? []
      if (left.length > 0) metrics.asked('write', 'unprocessed')
      return { left, failure: null }
    } catch (error) {
      if (error.code !== 'DYNAMODB_DOWN') throw error
      return { left: requests, failure: error }
    }
  }

  /** @param {Row[]} rows at most 25 */
  async function putBatch (rows) {
    const until = performance.now() + deadlineMs
    /** @type {any[]} */
    let requests = rows.map((row) => ({ PutRequest: { Item: itemOf(row) } }))
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)) {
      const { left, failure } = await putOnce(requests, until - performance.now())
      if (left.length === 0) return
      requests = left
      const waitMs = Math.random() * pauseMs
      if (performance.now() + waitMs >= until) {
        throw failure ?? new FreshetError('DYNAMODB_DOWN', `DynamoDB left ${left.length} of ${rows.length} rows; they are sent again`)
      }
      await sleep(waitMs)
    }
  }

  /**
   * @param {Entry[]} entries of an outbox, of any type
   * @throws {FreshetError} DYNAMODB_REFUSED, which stays so; all others are retryable
   */
  return async function write (entries) {
    const all = entries.filter(({ fields }) => fields.type === 'price').map((entry) => rowOf(entry, keepMs))
    const rows = newestBy(all, ({ asset, at }) => `${asset} ${at}`)
    const batches = slices(rows, WRITTEN_AT_ONCE)
    await Promise.all(batches.map(putBatch))
    await writeLatest(newestBy(rows, ({ asset }) => asset))
  }
}

/** @param {Row[]} rows @param {(row: Row) => string} nameOf @returns {Row[]} the newest of each name */
function newestBy (rows, nameOf) {
  /** @type {Map<string, Row>} */
  const newest = new Map()
  for (const row of rows) {
    const other = newest.get(nameOf(row))
    if (!other || isNewer(row, other)) newest.set(nameOf(row), row)
  }
  return [...newest.values()]
}

/** Reading. DynamoDB deletes expired rows hours later, so they are dropped here. */

const READ_AT_ONCE = 100
const PAUSE_MS = 10

/** @typedef {import('freshet-feed/systems').State} Fields */

/** @param {import('./index.js').StoreParts & { latestMs: number, historyMs: number }} parts deadlines */
export function createReading ({ sdk, ask, metrics, table, latestMs, historyMs }) {
  /** @param {string[]} assets @param {number} until @param {Map<string, Fields>} fieldsByAsset */
  async function readBatch (assets, until, fieldsByAsset) {
    /** @type {any[]} */
    let left = assets.map((asset) => itemOf({ asset, at: LATEST }))
    for (;;) {
      const command = new sdk.BatchGetItemCommand({ RequestItems: { [table]: { Keys: left } } })
      const { Responses, UnprocessedKeys } = await ask('latest', command, until - performance.now())
      for (const row of (Responses?.[table] ?? []).map(textsOf)) fieldsByAsset.set(row.asset, fieldsOf(row))
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
      const fieldsByAsset = new Map()
      const until = performance.now() + latestMs
      const names = [...new Set(assets)]
      const batches = slices(names, READ_AT_ONCE)
      await Promise.all(batches.map((batch) => readBatch(batch, until, fieldsByAsset).catch(() => {})))
      const nowMs = Date.now()
      for (const [asset, { hard }] of fieldsByAsset) if (Number(hard) < nowMs) fieldsByAsset.delete(asset)
      return fieldsByAsset
    },

    /**
     * @param {string} asset @param {number} from @param {number} to ms since 1970, both included @param {number} limit the newest so many
     * @returns {Promise<import('../query-table.js').Point[]>} the oldest first
     * @throws {import('./index.js').FreshetError} DYNAMODB_DOWN and others
     */
    async history (asset, from, to, limit) {
      const until = performance.now() + historyMs
      /** @type {import('../query-table.js').Point[]} */
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

/**
 * Rows of the table: one for each price, which never changes, and one `LATEST` for each asset. Here all values are texts; DynamoDB names
 * the type of each.
 *
 *     asset     at                  version  price ...
 *     btc-usd   0001795467901123    17       63012.5
 *     btc-usd   LATEST              17       63012.5     after all digits, so a query by time does not find it
 *
 * @typedef {import('freshet-feed/systems').RawEntry} Entry
 * @typedef {Record<string, string>} Row
 * @typedef {Record<string, { S: string } | { N: string }>} Item
 */
export const LATEST = 'LATEST'
const DIGITS = 16
const NUMBERS = Object.freeze(['version', 'ts', 'asOf', 'soft', 'hard', 'ttl'])

/** @param {number | string} ms since 1970 @returns {string} */
export const sortKey = (ms) => String(ms).padStart(DIGITS, '0')

/**
 * @param {Entry} entry of type `price` @param {number} keepMs
 * @returns {Row} deleted by DynamoDB at `ttl`, s since 1970
 */
export const rowOf = ({ key, fields: { price, at, asOf = at, seq, sources, soft, hard, tier } }, keepMs) => {
  const ttl = String(Math.ceil((Number(at) + keepMs) / 1000))
  return { asset: key, at: sortKey(at), price, version: seq, asOf, sources, soft, hard, tier, ttl }
}

/** @param {Row} row @returns {Row} the row LATEST with its price */
export const latestOf = ({ at, ttl: _ttl, ...row }) => ({ ...row, at: LATEST, ts: String(Number(at)) })

/** @param {Row} row LATEST @returns {import('freshet-feed/systems').State} what the servers would have of a price */
export const fieldsOf = ({ price, ts, asOf = ts, version, sources, soft, hard, tier }) =>
  ({ price, ts, asOf, seq: version, sources, soft, hard, tier, failures: '0' })

/** @param {Row} row @param {Row} other of the same asset @returns {boolean} */
export const isNewer = (row, other) => row.at > other.at || (row.at === other.at && Number(row.version) > Number(other.version))

/** @param {Row} row @returns {Item} */
export const itemOf = (row) => Object.fromEntries(Object.entries(row).map(([name, text]) =>
  [name, NUMBERS.includes(name) ? { N: text } : { S: text }]))

/** @param {Item} item @returns {Row} */
export const textsOf = (item) => Object.fromEntries(Object.entries(item).map(([name, value]) => [name, 'S' in value ? value.S : value.N]))

/** @template T @param {T[]} list @param {number} size @returns {T[][]} */
const slices = (list, size) =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))
