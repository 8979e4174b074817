/**
 * One connection, and with it one epoch: it is opened, answers, and ends once. It never reconnects, never resends,
 * and leaves no promise pending: when it ends, everything unanswered rejects with SERVER_LOST, outcome unknown.
 * `link.js` opens the next epoch.
 *
 * A server that owes replies and sends none for `deadlineMs` is silent: the epoch ends (silence.js).
 *
 * Only the client's plumbing is used (socket, parser, queue): its own retries, offline queue and resending can
 * acknowledge what did not happen.
 */
import { Command, Redis } from 'ioredis'
import { FreshetError } from '../errors.js'
import { Encoded } from './encoded.js'
import { greet, openingFailure } from './greeting.js'
import { fromReply } from './replies.js'
import { createReplyCheck } from './reply-check.js'
import { readScript } from './scripts.js'
import { watchForSilence } from './silence.js'
import { connectorTo } from './socket.js'
import { bareHost, tlsOptions } from './tls.js'
import { askForAlert } from './tls-alert.js'

/**
 * @typedef {object} Connection
 * @property {string} address host:port, for messages
 * @property {string} url as it was given, secrets included
 * @property {(command: string, ...args: (string | number | Buffer)[]) => Promise<any>} send one command; strings come as
 *   Buffers
 * @property {(command: string, ...args: (string | number | Buffer)[]) => Promise<any>} sendDispensable the same for what can
 *   be done without: a user that may not hears so by the rejection, and the connection is of use all the same
 * @property {(commands: (string | number | Buffer)[][]) => Promise<any[]>} sendAll at least one command in one write, not a
 *   transaction: a reply each; the first error rejects
 * @property {(encoded: { bytes: Buffer, replies: number }) => Promise<any>} sendEncoded commands on the wire, and how many
 *   replies they bring: the last reply
 * @property {(scriptName: string, keys: (string | Buffer)[], args: (string | number | Buffer)[]) => Promise<any>} runScript
 *   a file in lua/
 * @property {Promise<string>} closed resolves with the reason
 * @property {number} answered requests that were answered, with an error or not
 * @property {boolean} refused whether it was closed because this user may not do what it is for
 * @property {string | undefined} publicWhy of that, in words for everybody
 * @property {(reason?: string, because?: { refused?: boolean, publicWhy?: string }) => void} close
 *
 * @typedef {{ error: FreshetError, connection: Connection, again: ((connection: Connection) => Promise<unknown>) | null }} Refusal
 *   the user may not do what it was about to do; `again` asks the same of another connection, null for bytes
 * @typedef {Refusal['again'] | 'dispensable'} Again 'dispensable': nobody is told
 */

const DEFAULT_PORT = '6379'
const SINK = /** @type {any} */ ({ write () {} })

/**
 * @param {string} url redis://, or rediss:// with ?ca=FILE&cert=FILE&key=FILE (tls.js)
 * @param {{ name: string, deadlineMs: number, onForbidden?: (refusal: Refusal) => void, signal?: AbortSignal }} options `name`
 *   is what CLIENT LIST shows; `signal`: it is not wanted any more before it is open
 * @returns {Promise<Connection>}
 * @throws {FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
 */
export async function openConnection (url, { name, deadlineMs, onForbidden = () => {}, signal }) {
  const target = new URL(url)
  const [host, port] = [bareHost(target), target.port || DEFAULT_PORT]
  const address = `${target.hostname}:${port}`
  const tls = await tlsOptions(target)
  if (signal?.aborted) throw new FreshetError('SERVER_UNREACHABLE', `the connection to ${address} is not wanted any more`)
  const check = createReplyCheck()
  let asked = 0
  let answered = 0
  let heardAt = 0
  let wasReached = false
  let wasHeard = false
  /** @type {Error | undefined} */
  let lastError

  /** @param {Buffer} bytes */
  function accept (bytes) {
    // every byte counts, or a large answer over a slow line would never arrive
    heardAt = performance.now()
    wasHeard = true
    try {
      check(bytes, asked)
    } catch (error) {
      lastError ??= error
      throw error
    }
  }
  const redis = new Redis({
    lazyConnect: true,
    protocol: 2,
    retryStrategy: /** @type {any} */ (null),
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    autoResendUnfulfilledCommands: false,
    disableClientInfo: true,
    connectTimeout: 0,
    ...(tls && { tls: {} }),
    Connector: connectorTo({ host, port: Number(port), tls, onReached: () => { wasReached = true }, accept })
  })
  redis.on('error', (error) => { lastError ??= error })

  /** @type {Set<(error: FreshetError) => void>} */
  const pending = new Set()
  /** @type {string | null} */
  let endedBecause = null
  let refused = false
  /** @type {string | undefined} */
  let publicWhy
  /** @type {Connection | null} */
  let connection = null
  /** @type {(reason: string) => void} */
  let settleClosed
  const closed = /** @type {Promise<string>} */ (new Promise((resolve) => { settleClosed = resolve }))

  const watch = watchForSilence({ deadlineMs, isOwed: () => pending.size > 0, heardAtMs: () => heardAt, end: (reason) => end(reason) })

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

  /**
   * @param {Error} error an error reply, or the client's own: it rejects what is unanswered before it says `end`
   * @param {Again} again
   */
  function failed (error, again) {
    if (error.name !== 'ReplyError') {
      endedByServer()
      return lost()
    }
    answered++
    const told = fromReply(error, address)
    if (told.outcome === 'forbidden' && connection && again !== 'dispensable') onForbidden({ error: told, connection, again })
    return told
  }

  /**
   * @template T
   * @param {number} replies how many are asked for
   * @param {(resolve: (value: T) => void, reject: (error: Error) => void) => void} start
   * @param {Again} again
   * @returns {Promise<T>}
   */
  function awaiting (replies, start, again) {
    return new Promise((resolve, reject) => {
      if (endedBecause !== null) return reject(lost())
      if (pending.size === 0) heardAt = performance.now()
      pending.add(reject)
      asked += replies
      const settled = () => pending.delete(reject)
      start((value) => { settled(); answered++; resolve(value) }, (error) => { settled(); reject(failed(error, again)) })
    })
  }

  /** @param {string} command @param {(string | number | Buffer)[]} args @param {Again} again */
  const sendOne = (command, args, again) => awaiting(1, (resolve, reject) => {
    const reply = /** @type {Promise<any>} */ (redis.sendCommand(new Command(command, args)))
    reply.then(resolve, reject)
  }, again)

  /** @type {Connection['send']} */
  const send = (command, ...args) => sendOne(command, args, (next) => next.send(command, ...args))

  /** @type {Connection['sendDispensable']} */
  const sendDispensable = (command, ...args) => sendOne(command, args, 'dispensable')

  /** @type {Connection['sendAll']} */
  const sendAll = (commands) => awaiting(commands.length, (resolve, reject) => {
    const made = commands.map(([command, ...args]) => new Command(String(command), args))
    const bytes = Buffer.concat(made.map((command) => Buffer.from(/** @type {any} */ (command.toWritable(SINK)))))
    made[0].toWritable = () => /** @type {any} */ (bytes)
    Promise.all(made.map((command, i) => redis.sendCommand(command, i === 0 ? undefined : SINK))).then(resolve, reject)
  }, (next) => next.sendAll(commands))

  /** @type {Connection['sendEncoded']} */
  const sendEncoded = ({ bytes, replies }) => awaiting(replies, (resolve, reject) => {
    const command = new Encoded(bytes, replies, (error, last) => error ? reject(error) : resolve(last))
    redis.sendCommand(command)
    for (let i = 1; i < replies; i++) redis.sendCommand(command, SINK)
  }, null)

  /** @type {Connection['runScript']} */
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

  const late = `no answer within ${deadlineMs} ms`
  const endMs = performance.now() + deadlineMs
  const timer = setTimeout(() => end(late), deadlineMs)
  const giveUp = () => end('closed')
  signal?.addEventListener('abort', giveUp, { once: true })
  if (signal?.aborted) giveUp()
  try {
    await Promise.race([redis.connect(), closed.then((reason) => { throw new Error(reason) })])
    await greet(target, name, send)
  } catch (error) {
    const answer = error instanceof FreshetError && error.code !== 'SERVER_LOST' ? error : null
    const cause = lastError ?? (endedBecause === null ? error : new Error(endedBecause))
    end('not opened')
    const isLate = cause.message === late
    const isUnexplained = tls !== null && wasReached && !wasHeard && !isLate
    const alert = isUnexplained ? await askForAlert(cause, { host, port: Number(port), ...tls }, { leftMs: endMs - performance.now(), signal }) : null
    throw openingFailure(answer ?? alert ?? cause, { address, isTls: tls !== null, wasReached, wasHeard, isLate })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
  }

  connection = {
    address,
    url,
    send,
    sendDispensable,
    sendAll,
    sendEncoded,
    runScript,
    closed,
    get answered () { return answered },
    get refused () { return refused },
    get publicWhy () { return publicWhy },
    close (reason = 'closed', because = {}) {
      if (endedBecause === null) {
        refused = because.refused ?? false
        publicWhy = because.publicWhy
      }
      end(reason)
    }
  }
  return connection
}
