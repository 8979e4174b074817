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
import { FreshetError } from './errors.js'

const VERSION = '3.1164.0'
const DENIED = Object.freeze([
  'AccessDeniedException', 'CredentialsProviderError', 'ExpiredToken', 'ExpiredTokenException', 'IncompleteSignatureException',
  'InvalidSignatureException', 'MissingAuthenticationTokenException', 'TokenProviderError', 'UnrecognizedClientException'
])
const REFUSED = Object.freeze(['ItemCollectionSizeLimitExceededException', 'ValidationException'])

/** @returns {Promise<Sdk>} @throws {FreshetError} DYNAMODB_MISSING */
export async function loadSdk () {
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
export function createClient ({ sdk, location: { credentials, ...location }, table, metrics }) {
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
    return new FreshetError('DYNAMODB_TABLE_UNUSABLE', `there is no DynamoDB table ${table}`, { cause })
  }
  if (DENIED.includes(name) || message === 'Region is missing') {
    return new FreshetError('DYNAMODB_DENIED', `DynamoDB cannot be used (${reason}); set --dynamodb-region, and give this process ` +
      'credentials of AWS that are valid and may use the table', { cause })
  }
  if (REFUSED.includes(name)) return new FreshetError('DYNAMODB_REFUSED', `DynamoDB refused the request (${reason})`, { cause })
  return new FreshetError('DYNAMODB_DOWN', `DynamoDB does not answer as it should (${reason})`, { cause })
}
