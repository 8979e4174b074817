/**
 * Replies that wait for room in order, and how many begin in one turn of the event loop (reply-budget.js).
 *
 * @typedef {{ bytesOf: () => number, isWanted: () => boolean, admit: (bytes: number) => void }} Waiter
 */
import { FreshetError } from './errors.js'

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
export function createQueue ({ mayBegin, begin, isTurnFull, overloaded }) {
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
export function createTurn () {
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
