/**
 * The history store of prices: a DynamoDB table that consumers write from the outbox and readers read. Only files of this folder know the
 * AWS SDK.
 *
 *     outbox -> consumer -> writing.js -> history rows, then LATEST
 *     request -> reading.js -> LATEST of assets, or the history of one
 *
 * @typedef {import('./client.js').StoreMetrics} StoreMetrics
 * @typedef {Awaited<ReturnType<typeof createPriceStore>>} PriceStore
 *
 * @import { EmbeddedServices, Findings } from 'freshet-feed/systems'
 */
import { createClient, loadSdk } from './client.js'
import { createReading } from './reading.js'
import { createTable } from './table.js'
import { createWriting } from './writing.js'

const WRITE_MS = 3000
const LATEST_MS = 50
const HISTORY_MS = 500
const KEEP_MS = 30 * 86_400_000
/** The embedded DynamoDB takes any region and credentials. */
const EMBEDDED = Object.freeze({ region: 'local', credentials: { accessKeyId: 'embedded', secretAccessKey: 'embedded' } })

/**
 * @param {object} options
 * @param {string} options.table
 * @param {import('./client.js').Location} [options.location] without it, AWS as the SDK finds it
 * @param {StoreMetrics} [options.metrics]
 * @param {number} [options.deadlineMs] of one batch of a write, and of `check`
 * @param {number} [options.latestMs] deadline of `latest` @param {number} [options.historyMs] deadline of `history`
 * @param {number} [options.keepMs] how long a history row is kept
 * @throws {import('./errors.js').FreshetError} DYNAMODB_MISSING
 */
export async function createPriceStore ({
  table, location = {}, metrics = { asked () {} }, deadlineMs = WRITE_MS, latestMs = LATEST_MS, historyMs = HISTORY_MS, keepMs = KEEP_MS
}) {
  const sdk = await loadSdk()
  const client = createClient({ sdk, location, table, metrics })
  const parts = { sdk, ask: client.ask, metrics, table }
  const { check, make } = createTable({ ...parts, region: location.region, deadlineMs })
  return {
    ...createReading({ ...parts, latestMs, historyMs }),
    write: createWriting({ ...parts, deadlineMs, keepMs }),
    check,
    make,
    async close () { client.close() }
  }
}

/**
 * The store of a process, as its settings say.
 * @param {{ dynamodbTable: string | null, dynamodbEndpoint: string | null, dynamodbRegion: string | null }} settings
 * @param {{ embedded: Pick<EmbeddedServices, 'start'>, onFailure: (error: Error) => void, metrics?: StoreMetrics }} parts `onFailure` of
 *   the embedded one
 * @returns {Promise<PriceStore | null>} null = there is none; `check` tells whether it can be used
 * @throws {import('./errors.js').FreshetError} DYNAMODB_MISSING; of the embedded one ENGINE_MISSING, SERVERS_FAILED
 */
export async function openPriceStore ({ dynamodbTable: table, dynamodbEndpoint, dynamodbRegion }, { embedded, onFailure, metrics }) {
  if (table === null) return null
  if (dynamodbEndpoint !== 'embedded') {
    const location = { ...(dynamodbEndpoint && { endpoint: dynamodbEndpoint }), ...(dynamodbRegion && { region: dynamodbRegion }) }
    return createPriceStore({ table, location, metrics })
  }
  await loadSdk()
  const { url, release } = await embedded.start('dynamodb', { onFailure })
  const store = await createPriceStore({ table, location: { ...EMBEDDED, endpoint: url }, metrics })
  await store.make().catch(async (error) => {
    await release()
    throw error
  })
  return {
    ...store,
    async close () {
      await store.close()
      await release()
    }
  }
}

// The history store of prices, as doctor shows it.

/** @param {string[]} cells */
const row = (...cells) => ['history store', ...cells]

/**
 * @param {Record<string, any>} settings @param {number} deadlineMs @param {Pick<EmbeddedServices, 'look'>} embedded
 * @returns {Promise<Findings>}
 */
export async function findings ({ dynamodbTable, dynamodbEndpoint, dynamodbRegion }, deadlineMs, { look }) {
  if (dynamodbTable === null) return { rows: [row('none; the history of prices is what the event stream holds')], problems: [] }
  if (dynamodbEndpoint === 'embedded') {
    const { program, url } = await look('dynamodb')
    return { rows: [row(dynamodbTable, program, url ?? 'not running')], problems: [] }
  }
  const location = { endpoint: dynamodbEndpoint ?? undefined, region: dynamodbRegion ?? undefined }
  const where = [dynamodbEndpoint ?? 'AWS', ...(dynamodbRegion ? [dynamodbRegion] : [])]
  try {
    const store = await createPriceStore({ table: dynamodbTable, location, deadlineMs })
    await store.check().finally(store.close)
    return { rows: [row(dynamodbTable, ...where)], problems: [] }
  } catch (error) {
    return { rows: [row(dynamodbTable, ...where, 'unusable')], problems: [`${error.message}.`] }
  }
}
