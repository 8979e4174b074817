/**
 * Writing: immutable history rows by BatchWriteItem, then the rows LATEST. Everything may be written again without effect.
 *
 * The row LATEST of an asset is updated when its price is a second newer than the one written last. A price that comes sooner is skipped;
 * the next one makes up for it.
 *
 * @import { Entry, Row } from './rows.js'
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from './errors.js'
import { isNewer, itemOf, latestOf, rowOf } from './rows.js'

const BATCH = 25
const ATTEMPT_MS = 2000
const FIRST_PAUSE_MS = 25
const LONGEST_PAUSE_MS = 1000
const LATEST_EVERY_MS = 1000
const LATEST_AT_ONCE = 16
/** Versions begin again when the servers have lost their data, and times go back with the clock of a primary. */
const NEWER = 'attribute_not_exists(#ts) OR #ts < :ts OR #version < :version'

/** @param {import('./client.js').StoreParts & { deadlineMs: number, keepMs: number }} parts `deadlineMs`: of a batch, with repetitions */
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
        throw failure ?? new FreshetError('DYNAMODB_DOWN', `DynamoDB left ${left.length} of ${rows.length} rows unprocessed`)
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
    const batches = Array.from({ length: Math.ceil(rows.length / BATCH) }, (_, i) => rows.slice(i * BATCH, (i + 1) * BATCH))
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
