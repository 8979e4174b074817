/**
 * The cost of pushing alone (L11): events of a constant size at a constant pace, the same event for all clients that are due.
 * Its items carry the time when the event was built, so that clients can measure the delay. An event is one chunk of HTTP and one write
 * of the socket, as in a reader.
 *
 *     each 10 ms   one event  ->  clients of the whole feed: all of them, once in everyMs
 *                             ->  clients of some ids: those whose turn it is, each once in everyMs
 *
 * A late turn does not move the next one. Clients with a full socket are skipped, as by a reader.
 */
import { encodeOffsets } from '../../src/item/index.js'
import { makeValue } from '../../src/synthetic.js'
import { nameOf } from './flow.js'

const TICK_MS = 10
const ROOM_BYTES = 64 * 1024
const NO_TIME = '0'.repeat(String(Date.now()).length)

/** @typedef {import('node:http').ServerResponse} Response */

/**
 * @typedef {object} Shape of what is sent
 * @property {number[]} ats the items of an event, by their place among all ids
 * @property {number} valueBytes
 * @property {number} everyMs
 * @property {boolean} isSpread clients take turns
 * @property {string} feed
 */

/** @typedef {{ bytes: number, at: (ms: number) => Buffer }} Timed text of a constant size, with the time in each item */

/** @param {Pick<Shape, 'ats' | 'valueBytes' | 'feed'>} shape @returns {Timed} an event */
export function constantEvent ({ feed, ...items }) {
  const position = encodeOffsets(feed, { readMs: Date.now(), offsets: [{ ms: Date.now(), n: 0, versions: 0, isEnd: false }] })
  return constantItems(items, (data) => `event: items\ndata: ${data}\nid: ${position}\n\n`)
}

/** @param {Pick<Shape, 'ats' | 'valueBytes'>} shape @param {(data: string) => string} around the JSON of the items @returns {Timed} */
export function constantItems ({ ats, valueBytes }, around) {
  const { value, change } = makeValue(valueBytes, 0)
  const items = ats.map((at) => {
    change()
    return `{"id":"${nameOf(at)}","ts":${NO_TIME},"value":"${value.toString('base64')}"}`
  })
  const constant = Buffer.from(around(`{"items":[${items.join()}]}`))
  /** @type {number[]} */
  const times = []
  const field = `"ts":${NO_TIME},`
  for (let at = constant.indexOf(field); at >= 0; at = constant.indexOf(field, at + 1)) times.push(at + '"ts":'.length)
  return {
    bytes: constant.length,
    at (ms) {
      const event = Buffer.from(constant)
      for (const at of times) event.write(String(ms), at, 'latin1')
      return event
    }
  }
}

/** @param {Shape} shape */
export function startConstantStream ({ everyMs, isSpread, ...shape }) {
  const event = constantEvent(shape)
  const head = Buffer.from(`${event.bytes.toString(16)}\r\n`)
  const tail = Buffer.from('\r\n')
  const startMs = performance.now()
  /** @type {Map<Response, { dueMs: number }>} */
  const clients = new Map()
  let serial = 0

  function turn () {
    const nowMs = performance.now()
    /** @type {Buffer | null} */
    let made = null
    for (const [response, next] of clients) {
      if (next.dueMs > nowMs) continue
      next.dueMs = nextAfter(next.dueMs, nowMs)
      const { socket } = response
      if (socket === null || socket.writableLength > ROOM_BYTES) continue
      made ??= Buffer.concat([head, event.at(Date.now()), tail])
      socket.write(made)
    }
  }

  /** @param {number} dueMs @param {number} nowMs */
  const nextAfter = (dueMs, nowMs) => dueMs + everyMs * (1 + Math.max(0, Math.floor((nowMs - dueMs) / everyMs)))

  const timer = setInterval(turn, TICK_MS)

  return {
    bytes: event.bytes,

    /** @param {Response} response */
    add (response) {
      response.writeHead(200,
        { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
      response.flushHeaders()
      const turnMs = isSpread ? (serial++ * TICK_MS) % everyMs : 0
      clients.set(response, { dueMs: nextAfter(startMs + turnMs, performance.now()) })
      response.on('close', () => clients.delete(response)).on('error', () => clients.delete(response))
    },

    close: () => clearInterval(timer)
  }
}
