/**
 * What changes in a feed, pushed (`follow` of the client) or, where that is not to be had, asked for again and again:
 *
 *     pushed --- too many for a page, or refused (a token, the reader's limit, no view) ---> asked
 *            <-- fewer again, another token, room again -----------------------------------
 *
 * A push carries every id that changed. Of a fast feed that is megabytes a second, of which a page shows some lines.
 */
import { follow } from '/client.js'
import { pause } from './api.js'
import { onToken, token, tokenRefused, tokenTaken } from './token.js'

export const ASK_EVERY_MS = 500
const FAILED_MS = 2000
/** events a second */
const MAX_RATE = 4
/** items a second that are pushed to a page at most */
export const MANY = 1000
/** after so long it is tried anew whether there are fewer */
const HOLD_MS = 60_000

/** @typedef {'pushed' | 'asked' | 'refused'} Way `asked` since that is cheaper, `refused`: asked since it is not pushed */

/**
 * @param {{ feed: string, ids?: string[], limit: number, signal: AbortSignal, isMuch?: () => boolean,
 *   onEvent: (event: any) => void, onAsk: (signal: AbortSignal) => Promise<void>, onWay: (way: Way, why: string) => void }} parts
 *   `onEvent` gets what is pushed; `onAsk` asks once and may throw
 * @returns {Promise<void>} when `signal` is aborted
 */
export async function watch ({ feed, ids, limit, signal, isMuch = () => false, onEvent, onAsk, onWay }) {
  let heldTo = 0
  while (!signal.aborted) {
    if (isMuch() || performance.now() < heldTo) {
      onWay('asked', '')
      await asking(() => isMuch() || performance.now() < heldTo)
      continue
    }
    const why = await pushing()
    if (why === 'much') heldTo = performance.now() + HOLD_MS
    else if (why !== '') await refused(why)
  }

  /** @param {() => boolean} wanted @param {AbortSignal} [until] */
  async function asking (wanted, until = signal) {
    while (!until.aborted && wanted()) {
      const failed = await onAsk(until).then(() => false, () => true)
      await pause(failed ? FAILED_MS : ASK_EVERY_MS, until)
    }
  }

  /** Asks until another token is typed, or it is time to try again. @param {string} why */
  async function refused (why) {
    onWay('refused', why)
    const over = new AbortController()
    const until = AbortSignal.any([signal, over.signal])
    onToken(() => over.abort(), until)
    const timer = setTimeout(() => over.abort(), HOLD_MS)
    if (why === 'UNAUTHORIZED') tokenRefused()
    await asking(() => true, until)
    clearTimeout(timer)
    over.abort()
  }

  /** @returns {Promise<string>} why it ended: `much`, a code, '' when it was aborted */
  async function pushing () {
    const over = new AbortController()
    const until = AbortSignal.any([signal, over.signal])
    /** asks while the reader is away, or has no room @type {AbortController | null} */
    let meanwhile = null
    const meter = createMeter()
    try {
      for await (const event of follow(location.origin, feed, {
        ids,
        limit,
        maxRate: MAX_RATE,
        encoding: 'utf8',
        signal: until,
        authToken: token() ?? undefined,
        onRetry (error) {
          onWay('refused', /** @type {any} */ (error).code ?? '')
          if (meanwhile !== null) return
          meanwhile = new AbortController()
          asking(() => true, AbortSignal.any([until, meanwhile.signal]))
        }
      })) {
        meanwhile?.abort()
        meanwhile = null
        tokenTaken()
        onWay('pushed', '')
        onEvent(event)
        if (ids === undefined && (isMuch() || meter(event.items?.length ?? 0))) return 'much'
      }
      return ''
    } catch (error) {
      return error.code ?? String(error)
    } finally {
      meanwhile?.abort()
      over.abort()
    }
  }
}

/** @returns {(items: number) => boolean} whether more than MANY a second came, two seconds long */
function createMeter () {
  let sinceMs = performance.now()
  let items = 0
  return (more) => {
    items += more
    const elapsedMs = performance.now() - sinceMs
    if (elapsedMs < 2000) return false
    const isMany = items / elapsedMs * 1000 > MANY
    sinceMs = performance.now()
    items = 0
    return isMany
  }
}
