/**
 * One feed opened for writing, and for reading from the first query on: the write path with validation of arguments, and what
 * reading.js needs for queries.
 *
 * @typedef {Awaited<ReturnType<typeof openWritableFeed>>} WritableFeed
 */
import { waitOf } from './arguments.js'
import { FreshetError } from './errors.js'
import { checkedId, faultOfInteger, isTs, jsonBytes, valueBytes } from './item/index.js'
import { openFeedWriter } from './pipeline/index.js'
import { openQueries } from './view/index.js'

/** Default deadline of waits. */
const WAIT_MS = 10_000

/**
 * `dueMs`: when the item was due on `clock`, for a load that keeps a pace; default: now.
 * @typedef {{ id: string | Uint8Array, ts?: number, value: any, dueMs?: number }} Appended
 */

/**
 * @param {string} name
 * @param {Omit<Parameters<typeof openFeedWriter>[0], 'feed'> & Parameters<typeof openQueries>[0] &
 *   { drainMs: number, encoding?: 'bytes' | 'json' }} options
 * @throws {FreshetError} those of openFeedWriter
 */
export async function openWritableFeed (name, options) {
  const writer = await openFeedWriter({ ...options, feed: name })
  const { pipeline } = writer
  const isJson = options.encoding === 'json'
  const { idOf, valueOf, timeOf, refuse } = createChecks(pipeline, isJson ? jsonBytes : valueBytes)
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

  /**
   * @param {string | Uint8Array} id @param {number | undefined} ts @param {any} value @param {number} [dueMs]
   * @returns {boolean} false = back-pressure
   */
  function put (id, ts = Date.now(), value, dueMs) {
    const bytes = valueOf(value)
    const refusal = pipeline.valueRefusal(bytes.length)
    if (refusal !== null) refuse(refusal, `a value of ${bytes.length} bytes; expected at most 1 MiB`)
    return pipeline.append(idOf(id), timeOf(ts), bytes, dueMs)
  }

  /** @param {unknown} within */
  const bounded = (within) => ({ deadlineMs: waitOf(within, 'deadlineMs', WAIT_MS) })

  return {
    name,
    get definition () { return writer.definition },
    account: pipeline.account,
    writer,
    /** @type {import('./inside.js').Source} */
    source: { views: openedQueries, feed: name, closing: closing.signal, log: options.log, isJson },

    /** @param {any} id @param {any} ts @param {any} value @param {number} [dueMs] @returns {boolean} */
    put,
    /** @param {Appended} item @returns {boolean} */
    append: ({ id, ts, value, dueMs }) => put(id, ts, value, dueMs),
    /** @param {{ id: string | Uint8Array, ts?: number }} item @returns {boolean} */
    delete: ({ id, ts }) => pipeline.remove(idOf(id), timeOf(ts === undefined ? Date.now() : ts), { ofAllAtThatTime: ts !== undefined }),

    /** Why `append` would refuse an item now. @param {{ ts: number, value: Uint8Array }} item @returns {string | null} error code */
    refusalOf: ({ ts, value }) => pipeline.refusalOf(ts, value.length),

    /** Whether so many more bytes fit under the in-flight bound now; any number while nothing is held. @param {number} bytes */
    fitsBudget: (bytes) => pipeline.fitsBudget(bytes),

    /** @param {{ deadlineMs?: number }} [within] */
    ready: async (within) => pipeline.ready(bounded(within)),
    /** @param {{ deadlineMs?: number }} [within] */
    acknowledged: async (within) => pipeline.acknowledged(bounded(within)),
    /** @param {{ deadlineMs?: number }} [within] */
    flush: async (within) => pipeline.flush(bounded(within)),
    status: writer.status,

    /** @param {{ drainMs?: number }} [drain] */
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
    await reader?.then((openedReader) => openedReader.close(), () => {})
    const { failed } = pipeline.account
    if (pipeline.failure) throw Object.assign(pipeline.failure, { failed })
    if (failed > 0) {
      throw new FreshetError('DEADLINE_PASSED', `feed ${name} is closed, but ${failed} items were not acknowledged within ${drainMs} ms ` +
        '(drainMs) and may or may not be stored; append them again', { failed, retryable: false })
    }
  }
}

/**
 * Checks of the arguments of an append. Each refusal is counted.
 * @param {import('./pipeline/index.js').FeedWriter['pipeline']} pipeline @param {(value: any) => Buffer} bytesOf
 */
function createChecks (pipeline, bytesOf) {
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

  /** @param {any} value @returns {Buffer} */
  function valueOf (value) {
    try {
      return bytesOf(value)
    } catch (error) {
      pipeline.refuse(error.code)
      throw error
    }
  }

  /** @param {number} ts @returns {number} */
  function timeOf (ts) {
    return isTs(ts) ? ts : refuse('ITEM_TS_INVALID', `ts ${faultOfInteger(ts)}`)
  }

  return { idOf, valueOf, timeOf, refuse }
}
