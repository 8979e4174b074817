/**
 * Reads replies for following a log. The reply of XREAD lies in memory that is used again (reply-memory.js): it is valid
 * until XREAD has been sent twice more, or longer if it is held then. Other replies are copies.
 */
import { ReplyError, ReplyMemory } from './reply-memory.js'
import { openSocket, PROTOCOL_ERROR, unasked } from './socket.js'

/** bytes of one read; they are copied at once, so all sockets share the buffer */
const LANDING = Buffer.allocUnsafeSlow(256 * 1024)
/** finished entries of the queue that are kept before it is cut */
const MANY = 100

/** @typedef {{ taker: import('./replies.js').Taker, isLent: boolean }} Expected */

/** @param {import('./socket.js').Where & import('./socket.js').Listeners} options @returns {import('./socket.js').Wire} */
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
