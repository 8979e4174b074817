/**
 * Responses to what node's parser refused. They are written on the socket, since there is no request. Requests before it on the
 * connection are answered first; otherwise their client would take the refusal for their response.
 *
 * A connection whose requests wait for their turn (turns.js) is not read, so what is half read of its last request cannot arrive. It has
 * its whole time from when the connection is read again.
 */
import { maxHeaderSize, STATUS_CODES } from 'node:http'
import { FreshetError } from './errors.js'
import { PROBLEM_TYPE, problemOf, problemText } from './problem.js'

/** for the head of a request, and for all of it */
export const ARRIVE_WITHIN_MS = 10_000
const TOO_LATE = 'ERR_HTTP_REQUEST_TIMEOUT'

/** @type {Readonly<Record<string, { code: string, detail: string }>>} errors of the parser, by node's code */
const REFUSED_BY_NODE = Object.freeze({
  [TOO_LATE]: { code: 'REQUEST_TIMEOUT', detail: 'the head and body of a request must arrive within 10 s' },
  HPE_HEADER_OVERFLOW: { code: 'HEADERS_TOO_LARGE', detail: `the request line and headers are larger than ${maxHeaderSize} bytes` },
  HPE_INVALID_URL: {
    code: 'REQUEST_INVALID',
    detail: 'the path or query has characters that HTTP does not allow; percent-encode the UTF-8 bytes of other text, such as %C3%A9'
  }
})

/** on a socket: the response to its last request */
const LAST = Symbol('last response')
const IS_WAITING = Symbol('refused after its last response')

/** @typedef {import('node:net').Socket & { [LAST]?: import('node:http').ServerResponse, [IS_WAITING]?: boolean }} Socket */

/** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
export function noteResponse (request, response) {
  /** @type {Socket} */ (request.socket)[LAST] = response
}

/**
 * For clientErrorHandler.
 * @param {any} error
 * @param {Socket} socket
 */
export function refuseOnSocket (error, socket) {
  if (error.code === 'ECONNRESET' || !socket.writable || socket[IS_WAITING]) return
  const last = socket[LAST]
  if (!last) return refuse(error, socket)
  if (error.code === TOO_LATE && socket.isPaused()) return whenRead(error, socket, last)
  const { headersSent, writableFinished } = last
  // else the fault is in what follows the last request
  const isInItsBody = !last.req.complete
  if (isInItsBody ? last.socket && !headersSent : writableFinished) return refuse(error, socket)
  // the response to a faulty request has begun: it can only be cut off
  if (isInItsBody && headersSent) return socket.destroy()
  socket[IS_WAITING] = true
  last.once(isInItsBody ? 'socket' : 'finish', () => {
    socket[IS_WAITING] = false
    refuseOnSocket(error, socket)
  })
}

/**
 * Refuses what has not arrived within its time after the connection is read again. Node does not check it any more.
 * @param {any} error @param {Socket} socket @param {import('node:http').ServerResponse} last
 */
function whenRead (error, socket, last) {
  const { complete } = last.req
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  socket.on('resume', onResume).once('close', end)

  function end () {
    clearTimeout(timer)
    socket.off('resume', onResume).off('close', end)
  }

  function onResume () {
    // its turn may be over again
    if (socket.isPaused()) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      if (socket.isPaused()) return
      end()
      const hasArrived = socket[LAST] !== last || last.req.complete !== complete
      if (!hasArrived) refuseOnSocket(error, socket)
    }, ARRIVE_WITHIN_MS).unref()
  }
}

/** @param {any} error @param {Socket} socket */
function refuse (error, socket) {
  const { code, detail } = REFUSED_BY_NODE[error.code] ?? { code: 'REQUEST_INVALID', detail: 'not a valid HTTP/1.1 request' }
  const problem = problemOf(new FreshetError(code, detail))
  const { status } = problem
  const body = problemText(problem)
  const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close']
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.destroy()
}
