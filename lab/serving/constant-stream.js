/**
 * The cost of pushing alone (L11): events of a constant size at a constant pace, the same event for all clients that are due.
 * Its items carry the time when the event was built, so that clients can measure the delay.
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

/**
 * @param {Pick<Shape, 'ats' | 'valueBytes' | 'feed'>} shape
 * @returns {{ bytes: number, at: (ms: number) => Buffer }} an event made at that time
 */
export function constantEvent ({ ats, valueBytes, feed }) {
  const { value, change } = makeValue(valueBytes, 0)
  const items = ats.map((at) => {
    change()
    return `{"id":"${nameOf(at)}","ts":${NO_TIME},"value":"${value.toString('base64')}"}`
  })
  const position = encodeOffsets(feed, { readMs: Date.now(), offsets: [{ ms: Date.now(), n: 0, versions: 0, isEnd: false }] })
  const constant = Buffer.from(`event: items\ndata: {"items":[${items.join()}]}\nid: ${position}\n\n`)
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
      if (response.writableLength > ROOM_BYTES) continue
      made ??= event.at(Date.now())
      response.write(made)
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
      const turnMs = isSpread ? (serial++ * TICK_MS) % everyMs : 0
      clients.set(response, { dueMs: nextAfter(startMs + turnMs, performance.now()) })
      response.on('close', () => clients.delete(response)).on('error', () => clients.delete(response))
    },

    close: () => clearInterval(timer)
  }
}
