/**
 * The relay of delay.js. All bytes of all connections wait in one line, for all of them wait equally long: what came
 * first leaves first, and order is kept without further thought.
 *
 *     from -> [ due, bytes ] [ due, bytes ] ... -> to          nothing leaves before it is due
 *
 * Timers count in milliseconds, and half a round trip may be less: for the last of a wait the process sleeps in slices
 * and looks again. While nothing is on its way it does nothing.
 *
 * A way that holds too much, here or for a receiver that is slow, is not read from until it holds less.
 */
import { connect, createServer } from 'node:net'

const MAX_HELD_BYTES = 4 * 1024 * 1024
const SLICE_MS = 0.05
/** A timer may be so late. */
const TIMER_MS = 2

/**
 * @typedef {import('node:net').Socket} Socket
 * @typedef {{ from: Socket, to: Socket, heldBytes: number }} Way
 * @typedef {{ dueMs: number, way: Way, bytes: Buffer | null }} Waiting `bytes` null = the end of the way
 */

const sleeper = new Int32Array(new SharedArrayBuffer(4))
let halfMs = 0
/** @type {Waiting[]} */
let line = []
let isExpected = false

/** @param {Way} way @param {Buffer | null} bytes */
function enqueue (way, bytes) {
  line.push({ dueMs: performance.now() + halfMs, way, bytes })
  way.heldBytes += bytes?.length ?? 0
  regulate(way)
  expect()
}

/** Comes back to the line when its first is due. */
function expect () {
  if (isExpected || line.length === 0) return
  isExpected = true
  const waitMs = line[0].dueMs - performance.now()
  if (waitMs > TIMER_MS) setTimeout(deliver, waitMs - TIMER_MS)
  else {
    if (waitMs > 0) Atomics.wait(sleeper, 0, 0, Math.min(waitMs, SLICE_MS))
    setImmediate(deliver)
  }
}

function deliver () {
  isExpected = false
  const nowMs = performance.now()
  const still = line.findIndex(({ dueMs }) => dueMs > nowMs)
  const due = still === -1 ? line : line.slice(0, still)
  line = still === -1 ? [] : line.slice(still)
  for (const { way, bytes } of due) {
    way.heldBytes -= bytes?.length ?? 0
    if (!way.to.destroyed) bytes === null ? way.to.end() : way.to.write(bytes)
    regulate(way)
  }
  expect()
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
  // one side is gone without an end, or the other could not be reached: nobody waits for what is on its way
  from.on('close', () => { if (!isEnded || from.errored) lose(to) })
}

/** @param {Socket} socket one that is not open, or is being shut down, cannot be reset */
function lose (socket) {
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
  server.listen(0, '127.0.0.1', () => process.send?.({ event: 'listening', port: /** @type {import('node:net').AddressInfo} */ (server.address()).port }))
}

process.on('message', (/** @type {any} */ message) => {
  if (message.event === 'start') {
    halfMs = message.halfMs
    listen(message)
  } else if (message.event === 'usage') {
    const { user, system } = process.cpuUsage()
    process.send?.({ event: 'usage', cpuSeconds: (user + system) / 1e6 })
  }
})
process.on('disconnect', () => process.exit(0))
