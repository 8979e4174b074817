/**
 * What queries of all systems share, in a reader: a key now or after a wait, the reply of an accepted request, and keys by their scheduled
 * tasks. Waits end when the reader closes.
 *
 * @typedef {import('../admission/index.js').Known} Known
 * @typedef {{ minSeq: number | null, waitMs: number }} Since
 * @typedef {object} Place of a system on the servers
 * @property {(partition: number, isPrimary: boolean) => import('../store/index.js').Connection} connectionOf
 * @property {(partition: number) => (part: string) => string} keyOf
 * @property {(key: string) => number} partitionOf
 * @property {number} partitions
 * @typedef {ReturnType<typeof createReading>} Reading
 */
import { decisionOfRequest, eventsOf, fieldsOf } from '../admission/index.js'
import { FreshetError } from '../errors.js'

/** when the key is not in memory, because the outbox is not followed at the moment */
const LOOK_EVERY_MS = 50
/** tasks of a partition that are read at a time */
const TASKS = 256
const NAMES_FOR_MS = 1000

/**
 * @param {Place & { view: import('../admission/index.js').KeyView, unknown: readonly [code: string, message: string] }} parts `unknown`: the
 *   error of a key that is not there
 */
export function createReading ({ view, unknown: [code, message], connectionOf, keyOf, partitionOf, partitions }) {
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  /** @type {Set<() => void>} */
  const waiting = new Set()
  let isClosed = false
  /** @type {{ atMs: number, rule: string, names: Promise<string[]> } | null} */
  let listed = null

  /** @param {string} key @returns {Promise<Known>} @throws {FreshetError} `unknown`, and when no node can be asked */
  async function known (key) {
    const one = await view.get(key)
    if (one) return one
    throw new FreshetError(code, message)
  }

  /**
   * Until it is called back, or a time is over.
   * @param {(done: () => void) => () => void} watch returns what ends the watching @param {number} ms @returns {Promise<void>}
   */
  const waitFor = (watch, ms) => new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      unwatch()
      waiting.delete(done)
      resolve()
    }
    const timer = setTimeout(done, isClosed ? 0 : ms)
    const unwatch = watch(done)
    waiting.add(done)
  })

  /**
   * Reads a key, and again after each change, until it is as wanted or a time is over.
   * @template T @param {string} key @param {() => Promise<T>} read @param {(one: T) => boolean} isDue @param {number} ms
   * @returns {Promise<T>}
   */
  async function until (key, read, isDue, ms) {
    for (const endMs = performance.now() + ms; ;) {
      const one = await read()
      const leftMs = endMs - performance.now()
      if (isDue(one) || leftMs <= 0 || isClosed) return one
      await waitFor((done) => view.watch(key, done), view.peek(key) ? leftMs : Math.min(leftMs, LOOK_EVERY_MS))
    }
  }

  /**
   * Scheduled tasks of a partition, the next due first.
   * @param {number} partition @returns {AsyncGenerator<{ rule: string, key: string, name: string, atMs: number }>}
   */
  async function * tasksOf (partition) {
    for (let from = 0; ; from += TASKS) {
      const flat = await connectionOf(partition, false).send('ZRANGE', keyOf(partition)('tasks'), from, from + TASKS - 1, 'WITHSCORES')
      for (const [task, atMs] of Object.entries(fieldsOf(flat))) {
        const [rule, key, name] = task.split(' ')
        yield { rule, key, name, atMs: Number(atMs) }
      }
      if (flat.length < 2 * TASKS) return
    }
  }

  return {
    known,
    waitFor,
    until,

    /**
     * A key once its events are known up to a number; what is not known after the wait is asked of the primary.
     * @param {string} key @param {Since} since @returns {Promise<Known>} @throws {FreshetError} as known
     */
    async since (key, { minSeq, waitMs }) {
      const isDue = (/** @type {Known} */ { fields }) => Number(fields.seq) >= Number(minSeq)
      const one = await until(key, () => known(key), isDue, waitMs)
      return isDue(one) ? one : await view.fromPrimary(key) ?? one
    },

    /**
     * Keys with a scheduled task, the next due first.
     * @param {{ rule: string, name: string, limit: number }} wanted @returns {Promise<Known[]>}
     */
    async due ({ rule, name, limit }) {
      const found = await Promise.all(all.map(async (partition) => {
        const own = []
        for await (const task of tasksOf(partition)) {
          if (task.rule === rule && task.name === name) own.push(task)
          if (own.length === limit) break
        }
        return own
      }))
      const next = found.flat().sort((a, b) => a.atMs - b.atMs).slice(0, limit)
      return (await Promise.all(next.map(({ key }) => view.get(key)))).flatMap((one) => one ? [one] : [])
    },

    /** All keys with a scheduled task of a rule, sorted; pages of one second share the list. @param {string} rule */
    names (rule) {
      const nowMs = performance.now()
      if (listed?.rule === rule && nowMs - listed.atMs < NAMES_FOR_MS) return listed.names
      const names = Promise.all(all.map(async (partition) => {
        const own = []
        for await (const task of tasksOf(partition)) if (task.rule === rule) own.push(task.key)
        return own
      })).then((found) => [...new Set(found.flat())].sort())
      listed = { atMs: nowMs, rule, names }
      names.catch(() => { listed = null })
      return names
    },

    /**
     * The decision of an accepted command, from the primary.
     * @param {string} rule @param {string} key @param {string} scope the user, or empty @param {string} requestId
     * @throws {FreshetError} REQUEST_NOT_ACCEPTED
     */
    byRequest (rule, key, scope, requestId) {
      const partition = partitionOf(key)
      return decisionOfRequest(connectionOf(partition, true), keyOf(partition), { rule, key, scope, requestId })
    },

    /**
     * Stored events of a key.
     * @param {string} key @param {'XRANGE' | 'XREVRANGE'} command @param {(string | number)[]} words after the key
     * @returns {Promise<import('../admission/index.js').Fields[]>}
     */
    async events (key, command, ...words) {
      const partition = partitionOf(key)
      return eventsOf(await connectionOf(partition, false).send(command, keyOf(partition)(`events:${key}`), ...words))
    },

    /** Ends waits, and those that begin later. */
    close () {
      isClosed = true
      for (const done of waiting) done()
    }
  }
}
