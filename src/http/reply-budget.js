/**
 * The bound on bytes of replies that are being built or wait in sockets, over all clients.
 *
 *     enter      a reply is built: an estimate of its bytes; refused with OVERLOADED after a second without room
 *     enterNow   the same, for work that can be left out
 *     onSend     its response is sent, until that ends; a body that several clients get counts once
 *     hold       a stream, until its response ends
 *
 * Replies of up to 32 KiB are not counted: a connection has one reply in progress (limits.js), so connections bound them, and
 * large replies never delay them.
 *
 * In one turn of the event loop replies of 4 MiB are begun, so that a thousand clients who ask for pages at the same time do not
 * delay all others.
 *
 * Clients that read slowly keep their replies while there is room. When another reply lacks room, responses that sent less than
 * 64 KiB a second over the last 5 s are cut off, and counted.
 */
import { Counter } from 'prom-client'
import { gauge, unlabelled } from '../metrics/index.js'
import { whenClosed } from './closed.js'
import { FreshetError } from './errors.js'

/**
 * Replies that wait for room in order, and how many begin in one turn of the event loop.
 *
 * @typedef {{ bytesOf: () => number, isWanted: () => boolean, admit: (bytes: number) => void }} Waiter
 */

/** of replies begun in one turn of the event loop: some milliseconds of work */
const TURN_BYTES = 4 * 1024 * 1024
const MAX_WAITING = 1000
const WAIT_MS = 1000

/** @returns {FreshetError} no client waits for the reply any more */
export const clientGone = () => new FreshetError('CLIENT_GONE', 'the client closed its connection before the reply was complete')

/**
 * @param {{ mayBegin: (bytes: number) => boolean, begin: (bytes: number) => number, isTurnFull: () => boolean,
 *   overloaded: () => FreshetError }} parts
 */
function createQueue ({ mayBegin, begin, isTurnFull, overloaded }) {
  /** @type {Set<Waiter>} the oldest first */
  const waiters = new Set()
  let willAdmit = false

  /** Admits those that may begin, in the next turn of the event loop, so that small requests come in between. */
  function wake () {
    if (waiters.size === 0 || willAdmit) return
    willAdmit = true
    setImmediate(admit)
  }

  function admit () {
    willAdmit = false
    for (const waiter of waiters) {
      const bytes = waiter.bytesOf()
      if (waiter.isWanted() && !mayBegin(bytes)) break
      waiters.delete(waiter)
      waiter.admit(bytes)
    }
    if (isTurnFull()) wake()
  }

  return {
    get size () { return waiters.size },
    wake,

    /**
     * @param {() => number} bytesOf @param {() => boolean} isWanted
     * @returns {Promise<number>} the bytes that it took, when they fit
     * @throws {FreshetError} OVERLOADED, CLIENT_GONE
     */
    wait (bytesOf, isWanted) {
      if (waiters.size >= MAX_WAITING) throw overloaded()
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiters.delete(waiter)
          reject(overloaded())
        }, WAIT_MS)
        const waiter = {
          bytesOf,
          isWanted,
          admit (/** @type {number} */ bytes) {
            clearTimeout(timer)
            if (isWanted()) resolve(begin(bytes))
            else reject(clientGone())
          }
        }
        waiters.add(waiter)
        if (isTurnFull()) wake()
      })
    }
  }
}

/** Bytes of replies begun in this turn of the event loop. */
function createTurn () {
  let begun = 0
  return {
    get isFull () { return begun >= TURN_BYTES },

    /** @param {number} bytes */
    add (bytes) {
      if (begun === 0) setImmediate(() => { begun = 0 })
      begun += bytes
    }
  }
}

const MIB = 1024 * 1024
const MAX_BYTES = 64 * MIB
const SMALL_BYTES = 32 * 1024

/** @typedef {ReturnType<typeof createReplyBudget>} ReplyBudget */
/** @typedef {import('node:http').ServerResponse} Response */

/**
 * @param {import('prom-client').Registry} registry
 * @param {number} [maxBytes] a larger reply is accepted when there is no other
 */
export function createReplyBudget (registry, maxBytes = MAX_BYTES) {
  let held = 0
  /** responses per body @type {Map<unknown, number>} */
  const bodies = new Map()
  const sending = createSending(registry)
  gauge(registry, { name: 'freshet_http_reply_bytes', help: 'Bytes of large replies that are being built or sent' }, () => unlabelled(held))

  const turn = createTurn()
  const fits = (/** @type {number} */ bytes) => held === 0 || held + bytes <= maxBytes
  const mayBegin = (/** @type {number} */ bytes) => !turn.isFull && fits(bytes)

  const overloaded = () => new FreshetError('OVERLOADED',
    `large replies in progress take ${held.toLocaleString('en')} bytes, of ${maxBytes.toLocaleString('en')} allowed; ` +
    'try again in a second, or ask for fewer items')

  /** @param {number} estimate */
  function begin (estimate) {
    // whole bytes: sums of fractions would never be 0 again
    const bytes = Math.ceil(estimate)
    turn.add(bytes)
    held += bytes
    return bytes
  }

  const queue = createQueue({ mayBegin, begin, isTurnFull: () => turn.isFull, overloaded })

  /** @param {number} bytes */
  function release (bytes) {
    held -= bytes
    queue.wake()
  }

  /** @param {Response} response @param {string | Buffer} body @param {number} bytes */
  function holdBody (response, body, bytes) {
    const others = bodies.get(body) ?? 0
    bodies.set(body, others + 1)
    if (others === 0) held += bytes
    sending.add(response, () => {
      const rest = /** @type {number} */ (bodies.get(body)) - 1
      if (rest > 0) return bodies.set(body, rest)
      bodies.delete(body)
      release(bytes)
    })
  }

  return {
    /**
     * @param {() => number} bytesOf an estimate, asked again while it waits
     * @param {() => boolean} isWanted whether a client still waits for the reply
     * @returns {Promise<() => void>} to be called when it is built
     * @throws {FreshetError} OVERLOADED; CLIENT_GONE
     */
    async enter (bytesOf, isWanted) {
      if (bytesOf() <= SMALL_BYTES) return () => {}
      if (!fits(bytesOf())) sending.cutSlow()
      const mustWait = queue.size > 0 || !mayBegin(bytesOf())
      const bytes = mustWait ? await queue.wait(bytesOf, isWanted) : begin(bytesOf())
      return () => release(bytes)
    },

    /** @param {number} bytes an estimate @returns {(() => void) | null} to be called when it is built; null: no room now */
    enterNow (bytes) {
      if (queue.size > 0 || !fits(bytes)) return null
      const held = begin(bytes)
      return () => release(held)
    },

    /**
     * Whether a reply that is built synchronously may begin in this turn of the event loop; else it has to `enter`.
     * @param {number} bytes an estimate
     */
    mayBeginNow (bytes) {
      if (bytes <= SMALL_BYTES) return true
      if (turn.isFull) return false
      turn.add(bytes)
      return true
    },

    /** @param {Response} response @param {number} estimate of the bytes that its stream holds */
    hold (response, estimate) {
      const bytes = Math.ceil(estimate)
      held += bytes
      sending.add(response, () => release(bytes))
    },

    /**
     * A hook of Fastify that refuses with OVERLOADED.
     * @param {import('fastify').FastifyRequest} request @param {import('fastify').FastifyReply} reply
     * @param {any} payload @param {(error?: Error) => void} done
     */
    onSend (request, { raw: response }, payload, done) {
      const bytes = payload?.length
      // `length` is undefined for streams, and for null; metrics are needed most when there is no room
      const { access } = /** @type {any} */ (request.routeOptions.config ?? {})
      if (!(bytes > SMALL_BYTES) || request.method === 'HEAD' || access === 'metrics') return done()
      if (!bodies.has(payload) && !fits(bytes)) {
        sending.cutSlow()
        return done(overloaded())
      }
      holdBody(response, payload, bytes)
      done()
    }
  }
}

// Large responses in progress, of which those that are read slowly can be cut off.

/** over so long, as system buffers take the first megabytes at once */
const SLOW_AFTER_MS = 5000
const CHECK_MS = 500
const SLOW_BYTES_PER_MS = 64 * 1024 / 1000

/** @param {import('prom-client').Registry} registry */
function createSending (registry) {
  const cut = new Counter({
    name: 'freshet_http_slow_responses_cut_total',
    help: 'Total large responses cut off because their clients read too slowly while other replies lacked room',
    registers: [registry]
  })
  /** @type {Map<Response, { atMs: number, sentBytes: number, isSlow: boolean }>} as of the last check */
  const responses = new Map()
  /** @type {NodeJS.Timeout | undefined} while there are any */
  let timer

  function check () {
    const nowMs = performance.now()
    for (const [response, last] of responses) {
      const ageMs = nowMs - last.atMs
      if (ageMs < SLOW_AFTER_MS) continue
      const sentBytes = sentOver(response)
      responses.set(response, { atMs: nowMs, sentBytes, isSlow: (sentBytes - last.sentBytes) / ageMs < SLOW_BYTES_PER_MS })
    }
  }

  return {
    /** @param {Response} response @param {() => void} done called when it ends */
    add (response, done) {
      if (responses.size === 0) timer = setInterval(check, CHECK_MS).unref()
      responses.set(response, { atMs: performance.now(), sentBytes: sentOver(response), isSlow: false })
      whenClosed(response, () => {
        responses.delete(response)
        if (responses.size === 0) clearInterval(timer)
        done()
      })
    },

    cutSlow () {
      for (const [response, { isSlow }] of responses) {
        if (!isSlow) continue
        cut.inc()
        response.destroy()
      }
    }
  }
}

/**
 * Bytes that the kernel took, of a connection with HTTPS those of TLS. A body is one write, of which a socket counts nothing until its
 * end, so its handle is asked. (Slices of 128 KiB, which need no handle, halved the rate of pages of 1 MB.)
 * @param {Response} response
 * @returns {number}
 */
function sentOver ({ socket }) {
  const { _handle: handle } = /** @type {any} */ (socket)?._parent ?? socket ?? {}
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
