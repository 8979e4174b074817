/**
 * One feed opened for writing, and for reading from the first query on: the write path with validation of arguments, and the
 * queries of view/reader.js.
 *
 * @typedef {Awaited<ReturnType<typeof openWritableFeed>>} Feed
 */
import { WAIT_MS, waitOf } from './runtime/index.js'
import { FreshetError } from './errors.js'
import { checkedId, MAX_TS, valueBytes } from './item/index.js'
import { openFeedWriter } from './pipeline/index.js'
import { createReading, openQueries } from './view/index.js'

/** @typedef {{ id: string | Uint8Array, ts?: number, value: import('./item/index.js').Value, dueMs?: number }} Appended */
// named here, because the published types of the spread below need them
/** @typedef {import('./view/index.js').ReadItem} ReadItem */
/** @typedef {import('./view/index.js').Page} Page */
/** @typedef {import('./layouts/index.js').Retention} Retention */

/**
 * @param {string} name
 * @param {Omit<Parameters<typeof openFeedWriter>[0], 'feed'> & Parameters<typeof openQueries>[0] & { drainMs: number }} options
 */
export async function openWritableFeed (name, options) {
  const writer = await openFeedWriter({ ...options, feed: name })
  const { pipeline } = writer
  const { idOf, valueOf, timeOf, refuse } = createChecks(pipeline)
  const closing = new AbortController()
  /** @type {Promise<void> | null} */
  let closed = null
  /** @type {ReturnType<typeof openQueries> | null} opened by the first query, and again after a failure */
  let reader = null

  async function openedQueries () {
    if (closing.signal.aborted) throw new FreshetError('PIPELINE_CLOSED', `feed ${name} is closed; open it again`)
    reader ??= openQueries({
      ...options,
      name: `${options.name}:reader`,
      definitionOf: () => writer.definition,
      // replicas may lag
      written: options.readFrom === 'primary' ? () => pipeline.account.items : undefined
    })
    try {
      return (await reader).queries
    } catch (error) {
      reader = null
      throw error
    }
  }

  /** @param {{ deadlineMs?: number }} [within] */
  const bounded = (within) => ({ deadlineMs: waitOf(within, 'deadlineMs', WAIT_MS) })

  return {
    name,
    /** As stored: layout, partitions, retention. */
    get definition () { return writer.definition },
    /** Counts of what became of every item offered; read-only. */
    account: pipeline.account,
    writer,

    /**
     * Appends an item; id and value are copied. It is sent in a batch: at once after a pause, else within `batchMs`.
     *
     * Items that are too old or too far ahead of the clock are refused and counted (`account.refused`, `onRefused`); so are,
     * with whenFull refuse, items above the in-flight bound. Invalid items throw.
     * @param {Appended} item `ts`: ms since 1970, default now; text is stored as UTF-8
     * @returns {boolean} false = back-pressure: `await ready()` before the next append
     * @throws {FreshetError} ITEM_ID_INVALID, ITEM_TS_INVALID, ITEM_VALUE_INVALID, ITEM_VALUE_TOO_LARGE, PIPELINE_FULL,
     *   PIPELINE_CLOSED, or a
     *   permanent refusal of the server
     */
    append ({ id, ts = Date.now(), value, dueMs }) {
      const bytes = valueOf(value)
      const refusal = pipeline.valueRefusal(bytes.length)
      if (refusal !== null) refuse(refusal, `a value of ${bytes.length} bytes; expected at most 1 MiB`)
      return pipeline.append(idOf(id), timeOf(ts), bytes, dueMs)
    },

    /**
     * Deletes an item. A deletion is a version that hides its id until a newer version arrives or it leaves the window.
     * @param {{ id: string | Uint8Array, ts?: number }} item without `ts` a version of now, in order of append; with `ts` newer
     *   than every version of that time
     * @returns {boolean} as `append`
     */
    delete: ({ id, ts }) => pipeline.remove(idOf(id), timeOf(ts === undefined ? Date.now() : ts), { ofAllAtThatTime: ts !== undefined }),

    /** Why `append` would refuse an item now. @param {{ ts: number, value: Uint8Array }} item @returns {string | null} error code */
    refusalOf: ({ ts, value }) => pipeline.refusalOf(ts, value.length),

    /** Whether so many more bytes fit under the in-flight bound now; any number while nothing is held. @param {number} bytes */
    room: (bytes) => pipeline.roomFor(bytes),

    /** Resolves when there is room again. @param {{ deadlineMs?: number }} [within] default 10 s @throws {FreshetError} DEADLINE_PASSED */
    ready: async (within) => pipeline.ready(bounded(within)),

    /**
     * Resolves when everything appended so far is acknowledged, without flushing.
     * @param {{ deadlineMs?: number }} [within]
     * @throws {FreshetError} DEADLINE_PASSED
     */
    acknowledged: async (within) => pipeline.acknowledged(bounded(within)),

    /**
     * Sends open batches and resolves when everything appended so far is acknowledged.
     * @param {{ deadlineMs?: number }} [within]
     * @throws {FreshetError} DEADLINE_PASSED
     */
    flush: async (within) => pipeline.flush(bounded(within)),

    ...createReading(openedQueries, name, closing.signal, options.log),

    /** Whether items are being acknowledged. */
    status: writer.status,

    /**
     * Ends subscriptions, flushes for at most `drainMs`, and closes all connections. A second call has the same outcome.
     * @param {{ drainMs?: number }} [drain]
     * @throws {FreshetError} after everything is closed: DEADLINE_PASSED, or a permanent refusal of the server; `failed`: items
     *   that were not acknowledged
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
    if (failed > 0) {
      throw new FreshetError('DEADLINE_PASSED', `feed ${name} is closed, but ${failed} items were not acknowledged within ${drainMs} ms ` +
        '(drainMs) and may or may not be stored; append them again', { failed, retryable: false })
    }
  }
}

/** Checks of the arguments of an append. Each refusal is counted. @param {import('./pipeline/index.js').FeedWriter['pipeline']} pipeline */
function createChecks (pipeline) {
  /** @param {string} code @param {string} message @returns {never} */
  function refuse (code, message) {
    pipeline.refuse(code)
    throw new FreshetError(code, message)
  }

  // per item: two functions, so that the calls in each stay monomorphic
  /** @param {string | Uint8Array} id @returns {Buffer} */
  function idOf (id) {
    try {
      return checkedId(id)
    } catch (error) {
      pipeline.refuse(error.code)
      throw error
    }
  }

  /** @param {import('./item/index.js').Value} value @returns {Buffer} */
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
    return Number.isInteger(ts) && ts >= 0 && ts <= MAX_TS
      ? ts
      : refuse('ITEM_TS_INVALID', `ts ${String(ts)}; expected integer milliseconds since 1970, below 2^41`)
  }

  return { idOf, valueOf, timeOf, refuse }
}
