/**
 * Calls back when a response is over, finished or not. Node emits `close` on the response that its connection is working
 * on, but not on pipelined responses that wait behind it when the connection ends. Without this, counts of requests in
 * progress would leak: after a thousand abandoned pipelined requests, all further requests would be refused.
 */

/** @type {WeakMap<import('node:net').Socket, Set<() => void>>} callbacks of waiting responses, for when the connection ends */
const waiting = new WeakMap()

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {() => void} done called once
 */
export function whenClosed (request, response, done) {
  if (response.socket || !request.socket) {
    // `close` comes once, so `once` is not needed
    response.on('close', done)
    return
  }
  if (request.socket.destroyed) {
    process.nextTick(done)
    return
  }
  const ends = endsOf(request.socket)
  const doneOnce = () => { if (ends.delete(doneOnce)) done() }
  ends.add(doneOnce)
  response.on('close', doneOnce)
}

/** @param {import('node:net').Socket} socket */
function endsOf (socket) {
  const known = waiting.get(socket)
  if (known) return known
  const ends = new Set()
  waiting.set(socket, ends)
  socket.on('close', () => { for (const end of ends) end() })
  return ends
}

/**
 * Whether a response waits behind another one on its connection (pipelining).
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 */
export const isBehindAnother = (request, response) => response.socket === null && request.socket !== null
