/**
 * A reply whose bytes lie ready, head and body, sent with one write.
 *
 *     node's own way   check and join each header, then write head, body and end: three writes joined into one
 *     this             one buffer, made once for all who get it
 *
 * It saves a sixth of the processor time of a reply of 20 KB: 12.3 us of 14.1 (a bare route of fastify takes 15.0). Node has no
 * public way to do so. Two fields of its OutgoingMessage say that a head exists and is sent; they have been there since
 * its beginnings, and where they are not this is not done. What node keeps count of goes on as always, because it
 * ends the reply itself: requests that came in one piece, back-pressure, keep-alive, `finish` and `close`.
 */
import { STATUS_CODES } from 'node:http'

/** Beyond it, copying the body would cost more than it saves. */
export const WHOLE_BYTES = 64 * 1024

/**
 * @param {number} status
 * @param {string[]} head name, value, name, value ...
 * @param {Buffer | null} body
 * @param {number} keepAliveMs how long node keeps the connection
 * @returns {Buffer} to be sent soon: it has the date of now
 */
export function wholeReply (status, head, body, keepAliveMs) {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  for (let i = 0; i < head.length; i += 2) text += `${head[i]}: ${head[i + 1]}\r\n`
  text += `Date: ${new Date().toUTCString()}\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`
  const whole = Buffer.allocUnsafeSlow(text.length + (body?.length ?? 0))
  whole.write(text, 'latin1')
  body?.copy(whole, text.length)
  return whole
}

/**
 * @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response
 * @returns {boolean} the connection goes on, as the head of a whole reply says, and node is as it was
 */
export function takesWhole (request, response) {
  const { _header: header, _headerSent: isSent } = /** @type {any} */ (response)
  return response.shouldKeepAlive && request.httpVersionMinor === 1 && header === null && isSent === false
}

/** @param {import('node:http').ServerResponse} response @param {number} status @param {Buffer} whole */
export function sendWhole (response, status, whole) {
  response.statusCode = status
  const fields = /** @type {any} */ (response)
  fields._header = ' '
  fields._headerSent = true
  response.end(whole)
}
