/**
 * The life of one connection: which requests wait for replies, and its end. A session ends once, for one reason, and then
 * everything without a reply rejects with SERVER_LOST, outcome unknown.
 *
 * A server that owes replies and sends nothing for `deadlineMs` counts as silent, and the session ends. So it does when a reply takes
 * longer than `deadlineMs` and its bytes at 1 MiB/s. One rule covers every command, so no other part of the program needs a timer for
 * a reply.
 */
import { FreshetError } from '../errors.js'

const LEAST_BYTES_PER_MS = 1024 * 1024 / 1000

/** Why a session ends that waited for too long. */
export class Late extends Error {}

/** @typedef {ReturnType<typeof createSession>} Session */

/**
 * @param {{ address: string, wire: Pick<import('./socket.js').Wire, 'socket' | 'protocolError'>, deadlineMs: number }} options
 */
export function createSession ({ address, wire, deadlineMs }) {
  const { socket } = wire
  /** @type {Set<(error: FreshetError) => void>} rejects of the requests without a reply */
  const pending = new Set()
  let answered = 0
  let heardAtMs = 0
  /** when the last whole reply arrived, or the first request was sent */
  let repliedAtMs = 0
  /** bytes of the next reply so far */
  let partBytes = 0
  let wasReached = false
  let wasHeard = false
  /** @type {Error | null} */
  let cause = null
  let isOver = false
  /** @type {(reason: string) => void} */
  let settleClosed
  const closed = /** @type {Promise<string>} */ (new Promise((resolve) => { settleClosed = resolve }))

  socket.once('connect', () => { wasReached = true })
  socket.on('error', (error) => { cause ??= error })
  const closedByServer = () => new Error(wire.protocolError ? `closed by the server: ${wire.protocolError}` : 'closed by the server')
  socket.once('close', () => end(cause ?? closedByServer()))

  /** Until the server is late; Infinity: it owes nothing. */
  function leftMs () {
    if (pending.size === 0) return Infinity
    return Math.min(heardAtMs + deadlineMs, repliedAtMs + allowedMs()) - performance.now()
  }
  const allowedMs = () => deadlineMs + partBytes / LEAST_BYTES_PER_MS

  const silence = watchSilence({
    leftMs,
    // a busy process looks like a late server, so replies that have arrived are read first
    late () {
      setImmediate(() => {
        if (leftMs() >= 0) return
        const isSilent = performance.now() - heardAtMs > deadlineMs
        end(new Late(isSilent ? `silent for ${deadlineMs} ms` : `a reply was not complete after ${Math.round(allowedMs())} ms`))
      })
    }
  })

  /** @param {Error} because */
  function end (because) {
    if (isOver) return
    isOver = true
    cause = because
    silence.end()
    socket.destroy()
    for (const reject of pending) reject(lost())
    pending.clear()
    settleClosed(because.message)
  }

  function lost () {
    return new FreshetError('SERVER_LOST', `the connection to ${address} ended (${cause?.message}) before the reply`, { outcome: 'over' })
  }

  return {
    /** Resolves with the reason. */
    closed,
    end,
    /** It can send no more; the reason, where it is known, comes in this turn. */
    endSoon () { queueMicrotask(() => end(cause ?? closedByServer())) },
    /** Why it ended, or will end. @returns {Error | null} */
    get cause () { return cause },
    get isOver () { return isOver },
    /** Something listens at the address. */
    get wasReached () { return wasReached },
    /** And sent something. */
    get wasHeard () { return wasHeard },
    /** Requests that got a reply, errors included. */
    get answered () { return answered },
    /** To be called when bytes arrive. @param {number} replies whole ones @param {number} bytes of the next one so far */
    heard (replies, bytes) {
      heardAtMs = performance.now()
      if (replies > 0) repliedAtMs = heardAtMs
      partBytes = bytes
      wasHeard = true
    },

    /**
     * @template T
     * @param {(done: (error: Error | null, reply: T) => void) => void} send starts the request
     * @param {(error: Error) => Error} meaningOf an error reply
     * @returns {Promise<T>}
     */
    request: (send, meaningOf) => new Promise((resolve, reject) => {
      if (isOver) return reject(lost())
      if (pending.size === 0) {
        heardAtMs = repliedAtMs = performance.now()
        silence.within(deadlineMs)
      }
      pending.add(reject)
      send((error, reply) => {
        if (!pending.delete(reject)) return
        answered++
        if (error) reject(meaningOf(error))
        else resolve(reply)
      })
    })
  }
}

/**
 * Which servers are silent although they owe replies: one timer for all connections of a process, which wakes it when one may be late.
 *
 * @typedef {{ leftMs: () => number, late: () => void }} Watched `leftMs`: until it is late, Infinity = it owes nothing
 */

/** Between two looks at what is late, or will be soon. */
const LEAST_MS = 5
/** @type {Set<Watched>} */
const watched = new Set()
/** @type {NodeJS.Timeout | undefined} */
let timer
let dueMs = Infinity

/** @param {number} ms */
function lookWithin (ms) {
  const atMs = performance.now() + Math.max(LEAST_MS, ms)
  if (atMs >= dueMs) return
  clearTimeout(timer)
  dueMs = atMs
  timer = setTimeout(look, atMs - performance.now()).unref()
}

function look () {
  dueMs = Infinity
  for (const one of [...watched]) {
    const leftMs = one.leftMs()
    if (leftMs < 0) one.late()
    if (leftMs < Infinity) lookWithin(leftMs)
  }
}

/**
 * @param {Watched} one
 * @returns {{ within: (ms: number) => void, end: () => void }} `within`: it owes something from now on, and may be late after this time
 */
function watchSilence (one) {
  watched.add(one)
  return {
    within: lookWithin,
    end () {
      watched.delete(one)
      if (watched.size > 0) return
      clearTimeout(timer)
      dueMs = Infinity
    }
  }
}
