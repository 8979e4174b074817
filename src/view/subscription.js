/**
 * A generator that ends as soon as `return` or `throw` is called, also while it waits for a change; a plain generator would
 * first wait for that change.
 *
 * It listens to its signals only while it runs, so an ended one leaves nothing behind. AbortSignal.any would leave an entry in
 * a signal that lives longer.
 */
import { setMaxListeners } from 'node:events'

/**
 * @template T
 * @param {(signal: AbortSignal) => AsyncGenerator<T, void, void>} changes ends when its signal is aborted
 * @param {AbortSignal[]} signals each ends it
 * @returns {AsyncGenerator<T, void, void>}
 */
export function createSubscription (changes, signals) {
  const over = new AbortController()
  const abort = () => over.abort()

  async function * run () {
    // many subscriptions, and partitions of one, may wait at once
    setMaxListeners(0, over.signal, ...signals)
    for (const signal of signals) {
      if (signal.aborted) abort()
      signal.addEventListener('abort', abort)
    }
    try {
      yield * changes(over.signal)
    } finally {
      for (const signal of signals) signal.removeEventListener('abort', abort)
    }
  }

  const running = run()
  const leave = running.return.bind(running)
  const fail = running.throw.bind(running)
  return Object.assign(running, {
    /** @param {void | PromiseLike<void>} value */
    return (value) {
      abort()
      return leave(value)
    },
    /** @param {any} error */
    throw (error) {
      abort()
      return fail(error)
    }
  })
}
