/**
 * Reads replies with ioredis. Only its parser and its queue are used: its retries, offline queue and resending can
 * acknowledge a write that did not happen. It gets only bytes that are replies to commands (reply-frames.js).
 */
import { Command, Redis } from 'ioredis'
import { ReplyFrames } from './reply-frames.js'
import { openSocket, PROTOCOL_ERROR, unasked } from './socket.js'

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

/** @param {import('./socket.js').Where & import('./socket.js').Listeners} options @returns {import('./socket.js').Wire} */
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
