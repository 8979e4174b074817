/**
 * One feed opened for writing, and for reading as soon as somebody asks: the write path with checks of what a caller
 * hands over, and the questions of view/reader.js.
 *
 * @typedef {Awaited<ReturnType<typeof openWritableFeed>>} Feed
 */
import { WAIT_MS, waitOf } from './deadline.js'
import { FreshetError } from './errors.js'
import { checkedId } from './item/id.js'
import { MAX_TS } from './item/order.js'
import { valueBytes } from './item/value.js'
import { openFeedWriter } from './pipeline/feed-writer.js'
import { createReading, openAsk } from './view/reader.js'

/** @typedef {{ id: string | Uint8Array, ts?: number, value: import('./item/value.js').Value, dueMs?: number }} Appended */
// named here, or the published types of what is spread below would not find them
/** @typedef {import('./view/reader.js').ReadItem} ReadItem */
/** @typedef {import('./view/reader.js').Page} Page */
/** @typedef {import('./layouts/index.js').Retention} Retention */

/**
 * @param {string} name
 * @param {Omit<Parameters<typeof openFeedWriter>[0], 'feed'> & Parameters<typeof openAsk>[0] & { drainMs: number }} options
 */
export async function openWritableFeed (name, options) {
  const writer = await openFeedWriter({ ...options, feed: name })
  const { pipeline } = writer
  const closing = new AbortController()
  /** @type {Promise<void> | null} */
  let closed = null
  /** @type {ReturnType<typeof openAsk> | null} opened by the first question, opened again after a failure */
  let reader = null

  async function asking () {
    if (closing.signal.aborted) throw new FreshetError('PIPELINE_CLOSED', `feed ${name} is closed; open it again`)
    reader ??= openAsk({
      ...options,
      name: `${options.name}:reader`,
      definitionOf: () => writer.definition,
      // replicas may not have it yet
      written: options.readFrom === 'primary' ? () => pipeline.account.items : undefined
    })
    try {
      return (await reader).ask
    } catch (error) {
      reader = null
      throw error
    }
  }

  /** @param {{ deadlineMs?: number }} [within] */
  const bounded = (within) => ({ deadlineMs: waitOf(within, 'deadlineMs', WAIT_MS) })

  /** @param {string} code @param {string} message @returns {never} */
  function refuse (code, message) {
    pipeline.refuse(code)
    throw new FreshetError(code, message)
  }

  // called for every item: two functions, so that each calls one other
  /** @param {string | Uint8Array} id @returns {Buffer} */
  function idOf (id) {
    try {
      return checkedId(id)
    } catch (error) {
      pipeline.refuse(error.code)
      throw error
    }
  }

  /** @param {import('./item/value.js').Value} value @returns {Buffer} */
  function valueOf (value) {
    try {
      return valueBytes(value)
    } catch (error) {
      pipeline.refuse(error.code)
      throw error
    }
  }

  /** @param {number} ts @returns {number} */
  function timeOf (ts) {
    return Number.isInteger(ts) && ts >= 0 && ts <= MAX_TS ? ts : refuse('ITEM_TS_INVALID', `ts ${String(ts)}; expected integer milliseconds since 1970, below 2^41`)
  }

  return {
    name,
    /** As stored: layout, partitions, retention. */
    get definition () { return writer.definition },
    /** What became of every item offered; for reading. */
    account: pipeline.account,
    writer,

    /**
     * Takes an item; id and value are copied. Sent with others: after a pause at once, else within `batchMs`.
     *
     * Items too old or too far ahead of the clock are refused and counted (`account.refused`, `onRefused`); so are, with
     * whenFull refuse, those above the in-flight bound. What cannot be an item throws.
     * @param {Appended} item `ts` in ms since 1970, now without it; text is stored as UTF-8
     * @returns {boolean} false = back-pressure: `await ready()` before the next
     * @throws {FreshetError} ITEM_ID_INVALID, ITEM_TS_INVALID, ITEM_VALUE_INVALID, ITEM_VALUE_TOO_LARGE, PIPELINE_FULL, PIPELINE_CLOSED, or what
     *   the server refused for good
     */
    append ({ id, ts = Date.now(), value, dueMs }) {
      const bytes = valueOf(value)
      const refusal = pipeline.valueRefusal(bytes.length)
      if (refusal !== null) refuse(refusal, `a value of ${bytes.length} bytes; expected at most 1 MiB`)
      return pipeline.append(idOf(id), timeOf(ts), bytes, dueMs)
    },

    /**
     * Deletes an item: a version like any other, that hides its id until a newer one comes or it leaves the window.
     * @param {{ id: string | Uint8Array, ts?: number }} item without `ts` a version of now, in its turn; with it, newer than
     *   every version of that time
     * @returns {boolean} as `append`
     */
    delete: ({ id, ts }) => pipeline.remove(idOf(id), timeOf(ts === undefined ? Date.now() : ts), { ofAllAtThatTime: ts !== undefined }),

    /** What `append` would refuse now. @param {{ ts: number, value: Uint8Array }} item @returns {string | null} a code */
    refusalOf: ({ ts, value }) => pipeline.refusalOf(ts, value.length),

    /** Whether so many more bytes fit under the in-flight bound now; when nothing is held, any number. @param {number} bytes */
    room: (bytes) => pipeline.roomFor(bytes),

    /** Resolves when there is room again. @param {{ deadlineMs?: number }} [within] 10 s unless told otherwise @throws {FreshetError} DEADLINE_PASSED */
    ready: async (within) => pipeline.ready(bounded(within)),

    /** Resolves when everything appended so far is acknowledged, without sending it sooner. @param {{ deadlineMs?: number }} [within] @throws {FreshetError} DEADLINE_PASSED */
    acknowledged: async (within) => pipeline.acknowledged(bounded(within)),

    /** Sends what was appended, and resolves when it is acknowledged. @param {{ deadlineMs?: number }} [within] @throws {FreshetError} DEADLINE_PASSED */
    flush: async (within) => pipeline.flush(bounded(within)),

    ...createReading(asking, name, closing.signal, options.log),

    /** Whether items are being acknowledged. */
    status: writer.status,

    /**
     * Ends subscriptions, flushes for at most `drainMs`, and lets go of the servers. Called again it has the same outcome.
     * @param {{ drainMs?: number }} [drain]
     * @throws {FreshetError} when everything is let go of: DEADLINE_PASSED, or what the server refused for good; with `failed`, how many
     *   items were not acknowledged
     */
    async close (drain) {
      const drainMs = waitOf(drain, 'drainMs', options.drainMs)
      closed ??= end(drainMs)
      return closed
    }
  }

  /** @param {number} drainMs */
  async function end (drainMs) {
    closing.abort()
    await writer.close({ drainMs })
    await reader?.then((one) => one.close(), () => {})
    const { failed } = pipeline.account
    if (pipeline.failure) throw Object.assign(pipeline.failure, { failed })
    if (failed > 0) throw new FreshetError('DEADLINE_PASSED', `feed ${name} is closed, and ${failed} items were not acknowledged within ${drainMs} ms (drainMs): nobody knows whether they are stored; append them again`, { failed, retryable: false })
  }
}
