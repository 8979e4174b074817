/**
 * The Kafka client: loads kafkajs, and tries every request until Kafka answers. An outage is logged once, and its end.
 *
 * @typedef {ReturnType<typeof createClient>} Client
 */
import { FreshetError } from '../errors.js'
import { retry } from '../retry.js'

const VERSION = '2.2.4'
const CONNECT_MS = 2000
const REQUEST_MS = 5000
/** of an attempt, which may be several requests */
const ATTEMPT_MS = 15_000
const RETRY = { retries: 3, initialRetryTime: 100, maxRetryTime: 1000 }

/**
 * @returns {Promise<typeof import('kafkajs')>}
 * @throws {FreshetError} KAFKA_MISSING
 */
export async function loadKafkajs () {
  try {
    return await import('kafkajs')
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new FreshetError('KAFKA_MISSING', `Kafka as a transport needs kafkajs: npm install kafkajs@${VERSION}`)
  }
}

/**
 * @template T
 * @param {Promise<T>} promise @param {number} ms @param {string} what
 * @returns {Promise<T>} @throws {Error} not done within the time
 */
export async function within (promise, ms, what) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = /** @type {Promise<never>} */ (new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms / 1000} s`)), ms)
  }))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** @param {{ kafkajs: typeof import('kafkajs'), brokers: string[], log: import('pino').Logger }} options */
export function createClient ({ kafkajs, brokers, log }) {
  const addresses = brokers.join(', ')
  // it reports retries as errors
  const logCreator = () => (/** @type {import('kafkajs').LogEntry} */ { namespace, log: { message } }) =>
    log.debug({ kafkajs: namespace, reason: message }, 'a line of kafkajs')
  const kafka = new kafkajs.Kafka({
    clientId: 'freshet',
    brokers,
    connectionTimeout: CONNECT_MS,
    requestTimeout: REQUEST_MS,
    retry: RETRY,
    logLevel: kafkajs.logLevel.WARN,
    logCreator
  })
  /** requests that wait for Kafka @type {Set<object>} */
  const failing = new Set()

  /** @param {Error} error */
  function failed (error) {
    const facts = { code: /** @type {FreshetError} */ (error).code, brokers: addresses, reason: error.message }
    if (failing.size === 0) log.warn(facts, 'Kafka does not answer; entries wait in the outbox')
  }

  return {
    kafka,

    /**
     * @template T
     * @param {string} what for the log
     * @param {() => Promise<T>} attempt
     * @param {AbortSignal} signal
     * @returns {Promise<T>} @throws the reason of the signal
     */
    async ask (what, attempt, signal) {
      const request = {}
      const once = () => within(attempt(), ATTEMPT_MS, what).catch((cause) => {
        throw new FreshetError('KAFKA_DOWN', `${what} failed at ${addresses}: ${cause.message}`, { cause })
      })
      try {
        return await retry(once, {
          signal,
          onFailure (error) {
            failed(error)
            failing.add(request)
          }
        })
      } finally {
        if (failing.delete(request) && failing.size === 0 && !signal.aborted) log.info({ brokers: addresses }, 'Kafka answers again')
      }
    },

    /**
     * @template T
     * @param {(admin: import('kafkajs').Admin) => Promise<T>} run
     */
    async withAdmin (run) {
      const admin = kafka.admin()
      try {
        await admin.connect()
        return await run(admin)
      } finally {
        admin.disconnect().catch(() => {})
      }
    }
  }
}
