/**
 * One connection, and with it one epoch: it is opened, answers, and ends once. It never reconnects, never resends,
 * and leaves no promise pending: when it ends, everything unanswered rejects with SERVER_LOST, outcome unknown.
 * `link.js` opens the next epoch.
 *
 * A server that owes replies and sends none for `deadlineMs` is silent: the epoch ends. One rule covers every
 * command, so nothing else in the program needs a timer for a reply.
 *
 * Only the client's plumbing is used (socket, parser, queue): its own retries, offline queue and resending can
 * acknowledge what did not happen.
 */
import { Command, Redis } from 'ioredis'
import { FreshetError } from '../errors.js'
import { fromReply } from './replies.js'
import { readScript } from './scripts.js'

/** @typedef {Awaited<ReturnType<typeof openConnection>>} Connection */

const SINK = /** @type {any} */ ({ write () {} })

/**
 * Several commands as one write whose bytes are made already; replies are counted, the last one and the first error
 * kept. Errors inside the reply of EXEC are errors.
 */
class Encoded extends Command {
  #bytes
  /** @param {Buffer} bytes @param {number} replies @param {(error: Error | null, last: any) => void} done */
  constructor (bytes, replies, done) {
    super('encoded', [])
    this.#bytes = bytes
    this.isTraced = true
    /** @type {Error | null} */
    let failed = null
    let missing = replies
    this.resolve = (/** @type {any} */ reply) => {
      if (Array.isArray(reply)) failed ??= reply.find((one) => one instanceof Error) ?? null
      if (--missing === 0) done(failed, reply)
    }
    this.reject = (/** @type {Error} */ error) => {
      failed ??= error
      if (--missing === 0) done(failed, null)
    }
  }

  toWritable () {
    return /** @type {any} */ (this.#bytes)
  }
}

/**
 * @param {string} url redis:// or rediss://
 * @param {{ name: string, deadlineMs: number }} options `name` is what CLIENT LIST shows
 * @throws {FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED
 */
export async function openConnection (url, { name, deadlineMs }) {
  const { host, hostname, port } = new URL(url)
  const address = port ? host : `${hostname}:6379`
  const redis = new Redis(url, {
    lazyConnect: true,
    protocol: 2,
    retryStrategy: /** @type {any} */ (null),
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    disableClientInfo: true,
    disconnectTimeout: 1,
    connectTimeout: deadlineMs,
    connectionName: name
  })
  /** @type {Error | undefined} */
  let lastError
  redis.on('error', (error) => { lastError = /^Unknown RESP type/.test(error.message) ? new Error('its answer is not one of Valkey or Redis') : error })
  await ready(redis, address, deadlineMs, () => lastError)

  /** @type {Set<(error: FreshetError) => void>} */
  const pending = new Set()
  let heardAt = 0
  /** @type {string | null} */
  let endedBecause = null
  /** @type {(reason: string) => void} */
  let settleClosed
  const closed = /** @type {Promise<string>} */ (new Promise((resolve) => { settleClosed = resolve }))

  // every byte counts, or a large answer over a slow line would never arrive
  redis.stream.on('data', () => { heardAt = performance.now() })

  const silent = () => pending.size > 0 && performance.now() - heardAt > deadlineMs
  const watch = setInterval(() => {
    // a busy process looks like a silent server: replies that have arrived are read before the verdict
    if (silent()) setImmediate(() => { if (silent()) end(`silent for ${deadlineMs} ms`) })
  }, Math.max(5, deadlineMs / 4)).unref()

  /** @param {string} reason */
  function end (reason) {
    if (endedBecause !== null) return
    endedBecause = reason
    clearInterval(watch)
    redis.disconnect()
    redis.stream?.destroy()
    for (const fail of pending) fail(lost())
    pending.clear()
    settleClosed(reason)
  }
  const endedByServer = () => end(lastError ? lastError.message : 'closed by the server')
  redis.once('end', endedByServer)

  const lost = () => new FreshetError('SERVER_LOST', `the connection to ${address} ended (${endedBecause}) before the reply`, { outcome: 'over' })

  /** @param {Error} error an error reply, or the client's own: it rejects what is unanswered before it says `end` */
  function failed (error) {
    if (error.name === 'ReplyError') return fromReply(error, address)
    endedByServer()
    return lost()
  }

  /** @template T @param {(resolve: (value: T) => void, reject: (error: Error) => void) => void} start @returns {Promise<T>} */
  function awaiting (start) {
    return new Promise((resolve, reject) => {
      if (endedBecause !== null) return reject(lost())
      if (pending.size === 0) heardAt = performance.now()
      pending.add(reject)
      const answered = () => pending.delete(reject)
      start((value) => { answered(); resolve(value) }, (error) => { answered(); reject(failed(error)) })
    })
  }

  /**
   * @param {string} command @param {...(string | number | Buffer)} args
   * @returns {Promise<any>} strings come as Buffers
   */
  const send = (command, ...args) => awaiting((resolve, reject) => {
    const reply = /** @type {Promise<any>} */ (redis.sendCommand(new Command(command, args)))
    reply.then(resolve, reject)
  })

  /**
   * Commands in one write. Not a transaction.
   * @param {(string | number | Buffer)[][]} commands at least one
   * @returns {Promise<any[]>} a reply each; the first error rejects
   */
  const sendAll = (commands) => awaiting((resolve, reject) => {
    const made = commands.map(([command, ...args]) => new Command(String(command), args))
    const bytes = Buffer.concat(made.map((command) => Buffer.from(/** @type {any} */ (command.toWritable(SINK)))))
    made[0].toWritable = () => /** @type {any} */ (bytes)
    Promise.all(made.map((command, i) => redis.sendCommand(command, i === 0 ? undefined : SINK))).then(resolve, reject)
  })

  /**
   * @param {{ bytes: Buffer, replies: number }} encoded commands on the wire, and how many replies they bring
   * @returns {Promise<any>} the last reply
   */
  const sendEncoded = ({ bytes, replies }) => awaiting((resolve, reject) => {
    const command = new Encoded(bytes, replies, (error, last) => error ? reject(error) : resolve(last))
    redis.sendCommand(command)
    for (let i = 1; i < replies; i++) redis.sendCommand(command, SINK)
  })

  /**
   * @param {string} scriptName a file in lua/
   * @param {(string | Buffer)[]} keys @param {(string | number | Buffer)[]} args
   * @returns {Promise<any>}
   */
  async function runScript (scriptName, keys, args) {
    const script = readScript(scriptName)
    const suffix = script.mode === 'read' ? '_RO' : ''
    try {
      return await send('EVALSHA' + suffix, script.sha, keys.length, ...keys, ...args)
    } catch (error) {
      if (error.reply !== 'NOSCRIPT') throw error
      return send('EVAL' + suffix, script.body, keys.length, ...keys, ...args)
    }
  }

  return { address, url, send, sendAll, sendEncoded, runScript, closed, close: (reason = 'closed') => end(reason) }
}

/** @param {Redis} redis @param {string} address @param {number} deadlineMs @param {() => Error | undefined} lastError */
async function ready (redis, address, deadlineMs, lastError) {
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), deadlineMs)
  try {
    await Promise.race([
      redis.connect(),
      new Promise((resolve, reject) => deadline.signal.addEventListener('abort', () => reject(new Error(`no answer within ${deadlineMs} ms`))))
    ])
  } catch (error) {
    redis.disconnect()
    redis.stream?.destroy()
    const cause = /** @type {any} */ (lastError() ?? error)
    if (/^(WRONGPASS|NOAUTH|NOPERM|ERR)/.test(cause.message)) throw fromReply(cause, address)
    throw new FreshetError('SERVER_UNREACHABLE', `no server answers at ${address} (${cause.code ?? cause.message}). Is it running, and is the address right?`)
  } finally {
    clearTimeout(timer)
  }
}
