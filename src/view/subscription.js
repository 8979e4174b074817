/**
 * A subscription as it is handed out: a generator that ends when it is left, also while it waits for a change. By itself a
 * generator that is left first waits for the change that it was asked for.
 *
 * It listens to its signals while it goes on and no longer, so one that is over leaves nothing behind: AbortSignal.any would
 * leave an entry in a signal that lives longer.
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
    // many subscriptions, and partitions of one, may wait at a time
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
