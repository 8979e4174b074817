/** All connections, one after another: what is received, and where and when the next one begins. */
import { eventsOf, pause } from './connection.js'
import { FollowError } from './options.js'

const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 10_000

/**
 * @param {ReturnType<typeof import('./options.js').checked>} plan @param {AbortController} over
 * @returns {AsyncGenerator<any, void, void>}
 */
export async function * run ({ urls, from, signal, onRetry, onWaiting, ...how }, over) {
  const ended = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  const readers = urls.map((url) => ({ url, notBeforeMs: 0 }))
  let reader = readers[0]
  let position = from
  let retryMs = 0
  let failures = 0
  // a wrong address must not look like a feed without changes
  let isQuiet = false
  /** Feeds that have no items yet; '' is the only one. @type {Set<string>} */
  const waiting = new Set()
  try {
    while (!ended.aborted) {
      let lost
      for await (const received of eventsOf(reader.url, { ...how, position }, ended)) {
        if (ended.aborted) return
        lost = received.lost
        retryMs = received.retry ?? retryMs
        for (const feed of received.waiting ?? []) {
          if (!waiting.has(feed)) onWaiting(feed || undefined)
          waiting.add(feed)
        }
        if (received.event) waiting.delete(received.event.feed ?? '')
        if (typeof received.id === 'string') position = received.id || null
        else if (received.event?.event === 'reset') position = null
        if (received.event || received.id || received.waiting) {
          failures = 0
          isQuiet = true
        }
        if (received.event) yield { ...received.event, position }
      }
      if (ended.aborted) return
      if (lost instanceof FollowError && !lost.retryable) {
        if (lost.code !== 'POSITION_INVALID' || position === null) throw lost
        // of a feed that was dropped and created again
        yield { event: 'reset', reason: 'invalid', position: position = null }
        continue
      }
      const nowMs = performance.now()
      const waitMs = Math.max(retryMs, Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** failures++) * (0.5 + Math.random() / 2))
      reader.notBeforeMs = nowMs + (lost.retryAfterMs ?? 0) * (1 + Math.random() / 4)
      reader = nextOf(readers, reader, nowMs + waitMs)
      const untilMs = Math.max(nowMs + waitMs, reader.notBeforeMs)
      if (onRetry) onRetry(lost, Math.round(untilMs - nowMs))
      else if (!isQuiet) console.warn(`follow: ${lost.message}; trying again until it answers (onRetry gets each failure)`)
      isQuiet = true
      await pause(untilMs - nowMs, reader.notBeforeMs - nowMs, ended)
    }
  } finally {
    over.abort()
  }
}

/**
 * The next reader in turn that may be tried by then, or the one that may be tried soonest.
 * @template {{ notBeforeMs: number }} R @param {R[]} readers @param {R} last @param {number} whenMs @returns {R}
 */
function nextOf (readers, last, whenMs) {
  const at = readers.indexOf(last) + 1
  const inTurn = [...readers.slice(at), ...readers.slice(0, at)]
  return inTurn.find(({ notBeforeMs }) => notBeforeMs <= whenMs) ?? inTurn.sort((a, b) => a.notBeforeMs - b.notBeforeMs)[0]
}
