/**
 * When a response is over, finished or not. Node says `close` of a response that its connection is working on; of one that
 * waits behind it (requests that came in one piece) it says nothing when the connection ends. Whoever counts responses
 * would count those for ever: a thousand of them, and nobody is let in any more.
 */

/** @type {WeakMap<import('node:net').Socket, Set<() => void>>} what is to be done for the responses that wait, when the connection ends */
const waiting = new WeakMap()

/**
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {() => void} done called once
 */
export function whenClosed (request, response, done) {
  if (response.socket || !request.socket) {
    // `once` would make a function more, and it comes once
    response.on('close', done)
    return
  }
  if (request.socket.destroyed) {
    // it has said so already
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
