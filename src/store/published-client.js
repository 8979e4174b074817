/**
 * ioredis as the published experiment used it, only for the reference arms of the lab: a promise for each command, and
 * auto-pipelining, which puts the commands of one turn of the event loop into one write. It is in src/store because no other
 * folder imports ioredis.
 *
 * One thing differs from the published client: after a failure it does not reconnect, resend or queue, so that a lost connection
 * is never an acknowledgement. This costs a command nothing.
 */
import { Redis } from 'ioredis'
import { FreshetError } from '../errors.js'
import { openingFailure } from './greeting.js'
import { fromReply } from './replies.js'
import { bareHost, tlsOptions } from './tls.js'

const DEFAULT_PORT = 6379

/**
 * @typedef {object} PublishedClient
 * @property {(key: string, seconds: number, value: Buffer) => Promise<unknown>} setex
 * @property {(key: string, scoresAndMembers: (number | string | Buffer)[]) => Promise<unknown>} zadd
 * @property {(command: 'lpush' | 'ltrim' | 'sadd' | 'pfadd' | 'expire', key: string,
 *   args: (number | string)[]) => Promise<unknown>} send
 * @property {(error: any) => FreshetError} fault the error of a rejected command: SERVER_LOST, SERVER_FULL, SERVER_REFUSED
 * @property {() => void} close
 */

/**
 * @param {string} url redis:// or rediss://, as for connection.js
 * @param {{ name: string, deadlineMs: number }} options `deadlineMs` for opening
 * @returns {Promise<PublishedClient>}
 * @throws {FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
 */
export async function openPublishedClient (url, { name, deadlineMs }) {
  const target = new URL(url)
  const address = `${target.hostname}:${target.port || DEFAULT_PORT}`
  const tls = await tlsOptions(target)
  const redis = new Redis({
    host: bareHost(target),
    port: Number(target.port || DEFAULT_PORT),
    username: decodeURIComponent(target.username) || undefined,
    password: decodeURIComponent(target.password) || undefined,
    db: Number(target.pathname.slice(1) || 0),
    ...(tls && { tls }),
    connectionName: name,
    protocol: 2,
    enableAutoPipelining: true,
    lazyConnect: true,
    retryStrategy: /** @type {any} */ (null),
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    connectTimeout: deadlineMs
  })
  /** @type {Error | undefined} */
  let lastError
  redis.on('error', (error) => { lastError ??= error })

  /** @param {any} error */
  function fault (error) {
    if (error.name === 'ReplyError') return fromReply(error, address)
    const reason = lastError?.message ?? 'closed by the server'
    return new FreshetError('SERVER_LOST', `the connection to ${address} ended (${reason}) before the reply`, { outcome: 'over' })
  }

  const timer = setTimeout(() => redis.disconnect(), deadlineMs)
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    const cause = error.name === 'ReplyError' ? fromReply(error, address) : lastError ?? error
    throw openingFailure(cause, {
      address, isTls: tls !== null, isOfCluster: false, wasReached: true, wasConnected: true, wasHeard: true, isLate: false
    })
  } finally {
    clearTimeout(timer)
  }
  return {
    setex: (key, seconds, value) => redis.setex(key, seconds, value),
    // ioredis flattens the list
    zadd: (key, scoresAndMembers) => /** @type {any} */ (redis).zadd(key, scoresAndMembers),
    send: (command, key, args) => /** @type {any} */ (redis)[command](key, args),
    fault,
    close: () => redis.disconnect()
  }
}
