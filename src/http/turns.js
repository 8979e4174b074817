/**
 * One request at a time per connection. Node parses pipelined requests as they arrive and would run all of their handlers at
 * once, so that one small write could make a process build hundreds of replies. Here a request begins when the response before
 * it is complete; until then nothing more is read from its connection.
 *
 * What has arrived is parsed already: up to 64 KiB per connection, a thousand small requests or more. All waiting requests
 * together are bounded; a connection that exceeds the bound is closed and counted.
 */
import { Counter } from 'prom-client'

/** each costs about 3 KB */
const MAX_WAITING = 10_000

/** @typedef {import('node:net').Socket} Socket */
/** @typedef {import('node:http').RequestListener} RequestListener */

/**
 * @param {import('prom-client').Registry} registry
 * @returns {(handle: RequestListener) => RequestListener}
 */
export function createTurns (registry) {
  const closed = new Counter({
    name: 'freshet_http_pipelining_closed_total',
    help: 'Total connections closed because too many pipelined requests were waiting',
    registers: [registry]
  })
  let waiting = 0
  /** @type {WeakMap<Socket, { count: number }>} waiting requests */
  const bySocket = new WeakMap()

  /** @param {Socket} socket */
  function open (socket) {
    const requests = { count: 0 }
    bySocket.set(socket, requests)
    // node resumes it when a response has been sent
    socket.on('resume', () => { if (requests.count > 0) socket.pause() })
    socket.once('close', () => {
      waiting -= requests.count
      requests.count = 0
    })
    return requests
  }

  /** @param {Socket} socket @param {{ count: number }} requests @param {number} change */
  function count (socket, requests, change) {
    waiting += change
    requests.count += change
    // after what has arrived is parsed; the parser would resume it
    if (change > 0 && requests.count === 1) process.nextTick(() => { if (requests.count > 0) socket.pause() })
    if (requests.count === 0) socket.resume()
  }

  return (handle) => (request, response) => {
    const { socket } = request
    // the connection is free: node has assigned it
    if (response.socket !== null) return handle(request, response)
    if (socket.destroyed) return
    if (waiting >= MAX_WAITING) {
      closed.inc()
      socket.destroy()
      return
    }
    const requests = bySocket.get(socket) ?? open(socket)
    count(socket, requests, 1)
    // node assigns it when the response before is complete; other connections come in between
    response.once('socket', () => setImmediate(() => {
      if (socket.destroyed) return
      count(socket, requests, -1)
      handle(request, response)
    }))
  }
}
