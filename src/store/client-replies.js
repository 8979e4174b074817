/**
 * Reads replies with ioredis. Only its parser and its queue are used: its retries, offline queue and resending can
 * acknowledge a write that did not happen.
 */
import { Command, Redis } from 'ioredis'
import { openSocket } from './socket.js'

const SINK = /** @type {any} */ ({ write () {} })
/** how ioredis reports a reply when its queue is empty, with the reply behind it */
const UNEXPECTED = /^Command queue state error/
/** how its parser reports bytes that are no RESP */
const NOT_RESP = /RESP type|Protocol error/

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
export function readWithClient ({ onBytes, onFault, ...where }) {
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
  redis.on('error', (error) => onFault(plainFault(error)))
  socket.on('data', onBytes)
  return {
    socket,
    opened: redis.connect(),
    send (bytes, taker) {
      const request = new Request(bytes, taker)
      redis.sendCommand(request)
      for (let i = 1; i < taker.count; i++) redis.sendCommand(request, SINK)
    }
  }
}

/** @param {Error} error of ioredis @returns {Error} */
function plainFault (error) {
  if (UNEXPECTED.test(error.message)) return new Error('the server sent a reply to no command')
  return NOT_RESP.test(error.message) ? new Error('its replies are not those of Valkey or Redis') : error
}

/** @param {import('node:net').Socket} socket @returns {any} the option Connector of ioredis */
const connectorOf = (socket) => class {
  connect = async () => socket
  check = () => true
  disconnect = () => socket.destroy()
}
