/**
 * The life of one connection: which requests wait for replies, and its end. A session ends once, for one reason, and then
 * everything without a reply rejects with SERVER_LOST, outcome unknown.
 *
 * A server that owes replies and sends nothing for `deadlineMs` counts as silent, and the session ends. One rule covers every
 * command, so no other part of the program needs a timer for a reply.
 */
import { FreshetError } from '../errors.js'

/** @typedef {ReturnType<typeof createSession>} Session */

/**
 * @param {{ address: string, socket: import('node:net').Socket, deadlineMs: number }} options
 */
export function createSession ({ address, socket, deadlineMs }) {
  /** @type {Set<(error: FreshetError) => void>} rejects of the requests without a reply */
  const pending = new Set()
  let answered = 0
  let heardAtMs = 0
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
  socket.once('close', () => end(cause ?? new Error('closed by the server')))

  const isSilent = () => pending.size > 0 && performance.now() - heardAtMs > deadlineMs
  const watch = setInterval(() => {
    // a busy process looks like a silent server, so replies that have arrived are read first
    if (isSilent()) setImmediate(() => { if (isSilent()) end(new Error(`silent for ${deadlineMs} ms`)) })
  }, Math.max(5, deadlineMs / 4)).unref()

  /** @param {Error} because */
  function end (because) {
    if (isOver) return
    isOver = true
    cause = because
    clearInterval(watch)
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
    /** Why it ended, or will end. @returns {Error | null} */
    get cause () { return cause },
    get isOver () { return isOver },
    /** Something listens at the address. */
    get wasReached () { return wasReached },
    /** And sent something. */
    get wasHeard () { return wasHeard },
    /** Requests that got a reply, errors included. */
    get answered () { return answered },
    /** To be called when bytes arrive: any byte counts, because a large reply may take long. */
    heard () {
      heardAtMs = performance.now()
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
      if (pending.size === 0) heardAtMs = performance.now()
      pending.add(reject)
      send((error, reply) => {
        // ioredis rejects without a reply when it cannot write, or parse; it reports the reason in the same turn
        if (error && error.name !== 'ReplyError') return queueMicrotask(() => end(cause ?? new Error('closed by the server')))
        if (!pending.delete(reject)) return
        answered++
        if (error) reject(meaningOf(error))
        else resolve(reply)
      })
    })
  }
}
