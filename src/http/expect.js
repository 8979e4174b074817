/**
 * Clients that ask before they send a body (Expect: 100-continue, RFC 9110 10.1.1). Node would tell them to go on before
 * anything is looked at; here they are told when somebody is about to read the body. Who is refused before that sends
 * none, or sends it all the same, which nobody can tell from the next request: such a connection is closed.
 */
import { HTTP_ERRORS, HttpError, PROBLEM_TYPE, problemOf, problemText } from './problem.js'

/** @type {WeakMap<import('node:http').IncomingMessage, { response: import('node:http').ServerResponse, isKept: boolean }>} */
const waiting = new WeakMap()

/** @param {import('node:http').Server} server */
export function answerExpectations (server) {
  server.on('checkContinue', (request, response) => {
    waiting.set(request, { response, isKept: response.shouldKeepAlive })
    response.shouldKeepAlive = false
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request, response) => {
    const body = problemText(problemOf(new HttpError('EXPECTATION_UNKNOWN', `Expect: ${request.headers.expect}; expected 100-continue, or no such header`)))
    const { status } = HTTP_ERRORS.EXPECTATION_UNKNOWN
    response.writeHead(status, { 'content-type': PROBLEM_TYPE, 'cache-control': 'no-store', 'content-length': Buffer.byteLength(body), connection: 'close' }).end(body)
  })
}

/** Its body is about to be read. @param {import('node:http').IncomingMessage} request */
export function wantBody (request) {
  if (request.headers.expect === undefined) return
  const one = waiting.get(request)
  if (!one || one.response.headersSent) return
  waiting.delete(request)
  one.response.shouldKeepAlive = one.isKept
  one.response.writeContinue()
}
