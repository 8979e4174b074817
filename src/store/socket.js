/** The TCP or TLS socket under a connection. */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Command, Redis } from 'ioredis'
import { ReplyFrames } from './reply-frames.js'
import { ReplyError, ReplyMemory } from './reply-memory.js'

/**
 * Reads replies for following a log. The reply of XREAD lies in memory that is used again (reply-memory.js): it is valid
 * until XREAD has been sent twice more, or longer if it is held then. Other replies are copies.
 */

/** bytes of one read; they are copied at once, so all sockets share the buffer */
const LANDING = Buffer.allocUnsafeSlow(256 * 1024)
/** finished entries of the queue that are kept before it is cut */
const MANY = 100

/** @typedef {{ taker: import('./replies.js').Taker, isLent: boolean }} Expected */

/** @param {Where & Listeners} options @returns {Wire} */
export function readForLog ({ onBytes, onFault, isHeld = () => false, ...where }) {
  const memory = new ReplyMemory()
  /** @type {Expected[]} in the order of the replies; those before `done` have theirs */
  let expected = []
  let done = 0
  /** @type {string | null} */
  let protocolError = null

  const socket = openSocket(where, { buffer: LANDING, callback: (bytes) => take(LANDING.subarray(0, bytes)) })
  if (where.tls) socket.on('data', take)

  /** @param {Buffer} bytes */
  function take (bytes) {
    let replies = 0
    try {
      if (done === expected.length) throw unasked()
      replies = memory.append(bytes)
      for (let i = 0; i < replies; i++) settle(expected[done++])
    } catch (error) {
      onFault(error)
      return false
    } finally {
      onBytes(replies, memory.partBytes)
    }
    if (done === expected.length || done > MANY) {
      expected = expected.slice(done)
      done = 0
    }
    return true
  }

  /** @param {Expected | undefined} next */
  function settle (next) {
    if (!next) throw unasked()
    const reply = memory.take(next.isLent)
    if (!(reply instanceof ReplyError)) return next.taker.resolve(reply)
    if (reply.message.startsWith(PROTOCOL_ERROR)) protocolError = reply.message
    next.taker.reject(reply)
  }

  return {
    socket,
    opened: new Promise((resolve) => socket.once(where.tls ? 'secureConnect' : 'connect', resolve)),
    get protocolError () { return protocolError },
    send (bytes, taker, { isLent = false } = {}) {
      if (isLent) memory.turn(isHeld())
      for (let i = 0; i < taker.count; i++) expected.push({ taker, isLent })
      socket.write(bytes)
    }
  }
}

/**
 * Reads replies with ioredis. Only its parser and its queue are used: its retries, offline queue and resending can
 * acknowledge a write that did not happen. It gets only bytes that are replies to commands (reply-frames.js).
 */

const SINK = /** @type {any} */ ({ write () {} })

/** Commands whose bytes are written as they are. ioredis takes it from its queue once for each reply. */
class Request extends Command {
  #bytes

  /** @param {Buffer} bytes @param {import('./replies.js').Taker} taker */
  constructor (bytes, { resolve, reject }) {
    super('request', [])
    this.#bytes = bytes
    this.isTraced = true
    this.resolve = resolve
    this.reject = reject
  }

  toWritable () {
    return /** @type {any} */ (this.#bytes)
  }
}

/** @param {Where & Listeners} options @returns {Wire} */
export function readWithClient ({ onBytes, onFault, onUnusable, ...where }) {
  const frames = new ReplyFrames()
  let expected = 0
  /** @type {string | null} */
  let protocolError = null

  const socket = openSocket(where)
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
    ...(where.tls && { tls: {} }),
    Connector: connectorOf(socket)
  })
  redis.on('error', onFault)
  const push = socket.push.bind(socket)
  socket.push = (bytes) => (bytes === null || take(bytes)) && push(bytes)

  /** @param {Buffer} bytes @returns {boolean} whether they are replies to commands */
  function take (bytes) {
    let replies = 0
    try {
      if (expected === 0) throw unasked()
      replies = frames.take(bytes)
      expected -= replies
      if (expected < 0) throw unasked()
    } catch (error) {
      onFault(error)
      return false
    } finally {
      onBytes(replies, frames.partBytes)
    }
    return true
  }

  return {
    socket,
    opened: redis.connect(),
    get protocolError () { return protocolError },
    send (bytes, taker) {
      /** @param {Error} error */
      const reject = (error) => {
        // ioredis rejects without a reply when it cannot write; it reports the reason in the same turn
        if (error.name !== 'ReplyError') return onUnusable()
        if (error.message.startsWith(PROTOCOL_ERROR)) protocolError = error.message
        taker.reject(error)
      }
      const request = new Request(bytes, { ...taker, reject })
      expected += taker.count
      redis.sendCommand(request)
      for (let i = 1; i < taker.count; i++) redis.sendCommand(request, SINK)
    }
  }
}

/** @param {import('node:net').Socket} socket @returns {any} the option Connector of ioredis */
const connectorOf = (socket) => class {
  connect = async () => socket
  check = () => true
  disconnect = () => socket.destroy()
}

/** a server closes after it */
const PROTOCOL_ERROR = 'ERR Protocol error'

/**
 * @typedef {object} Wire the socket, and how replies on it are read
 * @property {import('node:net').Socket} socket
 * @property {Promise<unknown>} opened resolves when commands can be sent
 * @property {string | null} protocolError why the server closes, in its words
 * @property {(bytes: Buffer, taker: import('./replies.js').Taker, options?: { isLent?: boolean }) => void} send writes commands;
 *   `taker` gets their replies; `isLent`: the strings of the reply may be overwritten later
 *
 * @typedef {{ host: string, port: number, tls: import('node:tls').ConnectionOptions | null }} Where
 * @typedef {{ onBytes: (replies: number, partBytes: number) => void, onFault: (error: Error) => void, onUnusable: () => void,
 *   isHeld?: () => boolean }} Listeners
 *   `onBytes`: bytes arrived, with so many whole replies; the next one has `partBytes` so far; `onFault`: what arrived is not a reply
 *   to a command; `onUnusable`: a command could not be written;
 *   `isHeld`: as openConnection
 */

/**
 * @param {Where} where
 * @param {import('node:net').OnReadOpts} [onread] for a plain socket
 * @returns {import('node:net').Socket}
 */
export function openSocket ({ host, port, tls }, onread) {
  const options = { host, port, noDelay: true }
  return tls ? connectTls({ ...options, ...tls }) : connect({ ...options, onread })
}

/**
 * What is written in one turn of the event loop leaves in one write.
 * @param {import('node:net').Socket} socket
 */
export function gatherWrites (socket) {
  let isGathering = false
  const release = () => {
    if (!isGathering) return
    isGathering = false
    socket.uncork()
  }
  return {
    /** To be called before something is written. */
    gather () {
      if (isGathering) return
      isGathering = true
      socket.cork()
      process.nextTick(release)
    },

    /** Does not wait for the end of the turn. */
    release
  }
}

export const unasked = () => new Error('the server sent a reply to no command')
