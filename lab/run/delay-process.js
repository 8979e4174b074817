/**
 * The relay of delay.js. The bytes of all connections wait in one queue, because all wait equally long: this keeps their order.
 *
 *     from -> [ due, bytes ] [ due, bytes ] ... -> to          nothing leaves before it is due
 *
 * Timers have a resolution of milliseconds, and half a round trip may be shorter: at the end of a wait the process sleeps in
 * short slices. It is idle while the queue is empty. A direction that holds too much is not read until it holds less.
 */
import { connect, createServer } from 'node:net'
import { tellParent } from '../../src/runtime/index.js'
import { serveParent } from '../serving/child-process.js'

const MAX_HELD_BYTES = 4 * 1024 * 1024
const SLICE_MS = 0.05
/** maximum lateness of a timer */
const TIMER_MS = 2

/**
 * @typedef {import('node:net').Socket} Socket
 * @typedef {{ from: Socket, to: Socket, heldBytes: number }} Way
 * @typedef {{ dueMs: number, way: Way, bytes: Buffer | null }} Waiting `bytes` null = end of the stream
 */

const sleeper = new Int32Array(new SharedArrayBuffer(4))
let halfMs = 0
/** @type {Waiting[]} */
let queue = []
let isScheduled = false

/** @param {Way} way @param {Buffer | null} bytes */
function enqueue (way, bytes) {
  queue.push({ dueMs: performance.now() + halfMs, way, bytes })
  way.heldBytes += bytes?.length ?? 0
  regulate(way)
  schedule()
}

/** Delivers when the first entry is due. */
function schedule () {
  if (isScheduled || queue.length === 0) return
  isScheduled = true
  const waitMs = queue[0].dueMs - performance.now()
  if (waitMs > TIMER_MS) setTimeout(deliver, waitMs - TIMER_MS)
  else {
    if (waitMs > 0) Atomics.wait(sleeper, 0, 0, Math.min(waitMs, SLICE_MS))
    setImmediate(deliver)
  }
}

function deliver () {
  isScheduled = false
  const nowMs = performance.now()
  const still = queue.findIndex(({ dueMs }) => dueMs > nowMs)
  const due = still === -1 ? queue : queue.slice(0, still)
  queue = still === -1 ? [] : queue.slice(still)
  for (const { way, bytes } of due) {
    way.heldBytes -= bytes?.length ?? 0
    if (!way.to.destroyed) bytes === null ? way.to.end() : way.to.write(bytes)
    regulate(way)
  }
  schedule()
}

/** @param {Way} way */
function regulate ({ from, to, heldBytes }) {
  if (heldBytes + to.writableLength > MAX_HELD_BYTES) from.pause()
  else if (from.isPaused()) from.resume()
}

/** @param {Socket} from @param {Socket} to */
function relay (from, to) {
  const way = { from, to, heldBytes: 0 }
  let isEnded = false
  from.setNoDelay(true)
  from.on('data', (bytes) => enqueue(way, bytes))
  from.on('end', () => {
    isEnded = true
    enqueue(way, null)
  })
  to.on('drain', () => regulate(way))
  from.on('error', () => {})
  // one side closed without an end, or the other was unreachable: drop what is in transit
  from.on('close', () => { if (!isEnded || from.errored) abort(to) })
}

/** @param {Socket} socket resets it if it is open */
function abort (socket) {
  if (socket.connecting || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/** @param {{ host: string, port: number }} target */
function listen ({ host, port }) {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host, port, allowHalfOpen: true })
    relay(client, upstream)
    relay(upstream, client)
  })
  server.listen(0, '127.0.0.1',
    () => tellParent({ event: 'listening', port: /** @type {import('node:net').AddressInfo} */ (server.address()).port }))
}

serveParent('loaded', {
  start (target) {
    halfMs = target.halfMs
    listen(target)
  },
  stop: () => process.exit(0)
})
