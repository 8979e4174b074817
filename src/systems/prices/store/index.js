/**
 * The history store of prices: a DynamoDB table that consumers write from the outbox and readers read. Only files of this folder know the
 * AWS SDK.
 *
 *     outbox -> consumer -> rows.js -> history rows, then LATEST
 *     request -> rows.js -> LATEST of assets, or the history of one
 *
 * @typedef {Awaited<ReturnType<typeof createPriceStore>>} PriceStore
 *
 * @import { EmbeddedServices, Findings } from 'freshet-feed/systems'
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { defineErrors, FreshetError } from 'freshet-feed/systems'
import { createReading, createWriting } from './rows.js'

/** Errors of the store of prices. */

defineErrors('price store', {
  DYNAMODB_MISSING: { exitStatus: 2, meaning: '@aws-sdk/client-dynamodb, which the store of prices needs, is not installed' },
  DYNAMODB_DOWN: { status: 503, retryable: true, meaning: 'DynamoDB did not answer in time, or limits the rate of requests' },
  DYNAMODB_DENIED: { retryable: true, exitStatus: 2, meaning: 'AWS credentials or region are missing, expired or not sufficient' },
  DYNAMODB_TABLE_UNUSABLE: { retryable: true, exitStatus: 2, meaning: 'the table of prices does not exist, or has another key' },
  DYNAMODB_REFUSED: { meaning: 'DynamoDB refused a request as invalid' }
})

/**
 * The AWS SDK, loaded on first use. Each request is one attempt with a deadline, which only a writer repeats.
 *
 * @typedef {typeof import('@aws-sdk/client-dynamodb')} Sdk
 * @typedef {{ endpoint?: string, region?: string, credentials?: { accessKeyId: string, secretAccessKey: string } }} Location without a
 *   field, the SDK finds it as it does for any program
 * @typedef {'write' | 'update' | 'latest' | 'history' | 'describe' | 'create'} Operation
 * @typedef {{ asked: (operation: Operation, outcome: 'ok' | 'failed' | 'unprocessed') => void }} StoreMetrics
 * @typedef {(operation: Operation, command: any, deadlineMs: number) => Promise<any>} Ask null: the condition of the command is not met
 * @typedef {{ sdk: Sdk, ask: Ask, metrics: StoreMetrics, table: string }} StoreParts
 */

const VERSION = '3.1164.0'
const DENIED = Object.freeze([
  'AccessDeniedException', 'CredentialsProviderError', 'ExpiredToken', 'ExpiredTokenException', 'IncompleteSignatureException',
  'InvalidSignatureException', 'MissingAuthenticationTokenException', 'TokenProviderError', 'UnrecognizedClientException'
])
const REFUSED = Object.freeze(['ItemCollectionSizeLimitExceededException', 'ValidationException'])

/** @returns {Promise<Sdk>} @throws {FreshetError} DYNAMODB_MISSING */
async function loadSdk () {
  // it warns about later versions; this one is pinned
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'
  try {
    return await import('@aws-sdk/client-dynamodb')
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new FreshetError('DYNAMODB_MISSING', `the store of prices needs the AWS SDK: npm install @aws-sdk/client-dynamodb@${VERSION}`)
  }
}

/** @param {{ sdk: Sdk, location: Location, table: string, metrics: StoreMetrics }} parts */
function createClient ({ sdk, location: { credentials, ...location }, table, metrics }) {
  // the SDK writes into the object of the credentials
  const client = new sdk.DynamoDBClient({ ...location, ...(credentials && { credentials: { ...credentials } }), maxAttempts: 1 })

  return {
    /** @type {Ask} @throws {FreshetError} DYNAMODB_DOWN, DYNAMODB_DENIED, DYNAMODB_TABLE_UNUSABLE, DYNAMODB_REFUSED */
    async ask (operation, command, deadlineMs) {
      const deadline = AbortSignal.timeout(Math.max(1, Math.ceil(deadlineMs)))
      // the SDK looks for credentials before it heeds a signal
      const late = new Promise((resolve, reject) => deadline.addEventListener('abort', () => reject(deadline.reason), { once: true }))
      try {
        const reply = await Promise.race([client.send(command, { abortSignal: deadline }), late])
        metrics.asked(operation, 'ok')
        return reply
      } catch (error) {
        if (error.name === 'ConditionalCheckFailedException') {
          metrics.asked(operation, 'ok')
          return null
        }
        metrics.asked(operation, 'failed')
        throw errorOf(error, table)
      }
    },

    close () { client.destroy() }
  }
}

/** @param {Error} cause @param {string} table @returns {FreshetError} */
function errorOf (cause, table) {
  const { name, message } = cause
  const reason = message && message !== 'UnknownError' ? `${name}: ${message}` : name
  if (name === 'ResourceNotFoundException') {
    const message = `there is no DynamoDB table ${table}; create it, or choose another --dynamodb-table`
    return new FreshetError('DYNAMODB_TABLE_UNUSABLE', message, { cause })
  }
  if (DENIED.includes(name) || message === 'Region is missing') {
    return new FreshetError('DYNAMODB_DENIED', `DynamoDB cannot be used (${reason}); set AWS_REGION, and give this process ` +
      'credentials of AWS that are valid and may use the table', { cause })
  }
  if (REFUSED.includes(name)) return new FreshetError('DYNAMODB_REFUSED', `DynamoDB refused the request (${reason})`, { cause })
  return new FreshetError('DYNAMODB_DOWN', `DynamoDB does not answer as it should (${reason})`, { cause })
}

/** The table: whether it can be used, and how it is made. */

const POLL_MS = 20

/** @param {StoreParts & { region?: string, deadlineMs: number }} parts */
function createTable ({ sdk, ask, table, region, deadlineMs }) {
  /** @returns {Promise<any>} null = there is none */
  async function describe () {
    try {
      return (await ask('describe', new sdk.DescribeTableCommand({ TableName: table }), deadlineMs)).Table
    } catch (error) {
      if (error.code === 'DYNAMODB_TABLE_UNUSABLE') return null
      throw error
    }
  }

  return {
    /** @throws {FreshetError} DYNAMODB_TABLE_UNUSABLE with the commands that make it, DYNAMODB_DENIED, DYNAMODB_DOWN */
    async check () {
      const found = await describe()
      if (!found) {
        throw new FreshetError('DYNAMODB_TABLE_UNUSABLE',
          `there is no DynamoDB table ${table}; create it, and let it delete old rows:\n${commands(table, region)}`)
      }
      const key = (found.KeySchema ?? []).map((/** @type {any} */ { AttributeName, KeyType }) => `${AttributeName} ${KeyType}`).join(', ')
      if (key !== 'asset HASH, at RANGE') {
        throw new FreshetError('DYNAMODB_TABLE_UNUSABLE',
          `the DynamoDB table ${table} has the key ${key}; expected asset HASH, at RANGE; choose another --dynamodb-table`)
      }
    },

    /** Makes the table if there is none. */
    async make () {
      if (await describe()) return
      await ask('create', new sdk.CreateTableCommand({
        TableName: table,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'asset', AttributeType: 'S' }, { AttributeName: 'at', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'asset', KeyType: 'HASH' }, { AttributeName: 'at', KeyType: 'RANGE' }]
      }), deadlineMs).catch((error) => {
        // another process makes it
        if (error.cause?.name !== 'ResourceInUseException') throw error
      })
      while ((await describe())?.TableStatus !== 'ACTIVE') await sleep(POLL_MS)
    }
  }
}

/** @param {string} table @param {string} [region] */
function commands (table, region) {
  const rest = `--table-name ${table}${region ? ` --region ${region}` : ''}`
  return `  aws dynamodb create-table ${rest} --billing-mode PAY_PER_REQUEST ` +
    '--attribute-definitions AttributeName=asset,AttributeType=S AttributeName=at,AttributeType=S ' +
    '--key-schema AttributeName=asset,KeyType=HASH AttributeName=at,KeyType=RANGE\n' +
    `  aws dynamodb update-time-to-live ${rest} --time-to-live-specification Enabled=true,AttributeName=ttl`
}

const WRITE_MS = 3000
const LATEST_MS = 50
const HISTORY_MS = 500
const KEEP_MS = 30 * 86_400_000
/** The embedded DynamoDB takes any region and credentials. */
const EMBEDDED = Object.freeze({ region: 'local', credentials: { accessKeyId: 'embedded', secretAccessKey: 'embedded' } })

/**
 * @param {object} options
 * @param {string} options.table
 * @param {Location} [options.location] without it, AWS as the SDK finds it
 * @param {StoreMetrics} [options.metrics]
 * @param {number} [options.deadlineMs] of one batch of a write, and of `check`
 * @param {number} [options.latestMs] deadline of `latest` @param {number} [options.historyMs] deadline of `history`
 * @param {number} [options.keepMs] how long a history row is kept
 * @throws {FreshetError} DYNAMODB_MISSING
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
 * @param {{ dynamodbTable: string | null, dynamodbEndpoint: string | null }} settings
 * @param {{ embedded: Pick<EmbeddedServices, 'start'>, onFailure: (error: Error) => void, metrics?: StoreMetrics }} parts `onFailure` of
 *   the embedded one
 * @returns {Promise<PriceStore | null>} null = there is none; `check` tells whether it can be used
 * @throws {FreshetError} DYNAMODB_MISSING; of the embedded one ENGINE_MISSING, SERVERS_FAILED
 */
export async function openPriceStore ({ dynamodbTable: table, dynamodbEndpoint }, { embedded, onFailure, metrics }) {
  if (table === null) return null
  if (dynamodbEndpoint !== 'embedded') {
    return createPriceStore({ table, location: dynamodbEndpoint === null ? {} : { endpoint: dynamodbEndpoint }, metrics })
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
export async function findings ({ dynamodbTable, dynamodbEndpoint }, deadlineMs, { look }) {
  if (dynamodbTable === null) return { rows: [row('none; the history of prices is what the event stream holds')], problems: [] }
  if (dynamodbEndpoint === 'embedded') {
    const { program, url } = await look('dynamodb')
    return { rows: [row(dynamodbTable, program, url ?? 'not running')], problems: [] }
  }
  const location = { endpoint: dynamodbEndpoint ?? undefined }
  const where = dynamodbEndpoint ?? 'AWS'
  try {
    const store = await createPriceStore({ table: dynamodbTable, location, deadlineMs })
    await store.check().finally(store.close)
    return { rows: [row(dynamodbTable, where)], problems: [] }
  } catch (error) {
    return { rows: [row(dynamodbTable, where, 'unusable')], problems: [`${error.message}.`] }
  }
}
