/**
 * What queries of all systems share, in a reader: a key now or after a wait, the reply of an accepted request, and keys by their scheduled
 * tasks. Waits end when the reader closes.
 *
 * @typedef {{ minSeq: number | null, waitMs: number | null }} Since fields of a query
 * @typedef {object} Target where a system is on the servers
 * @property {(partition: number, isPrimary: boolean) => Connection} connectionOf
 * @property {(partition: number) => (part: string) => string} keyOf
 * @property {(key: string) => number} partitionOf
 * @property {number} partitions
 * @typedef {ReturnType<typeof createReading>} Reading
 *
 * @import { Fields, KeyState, KeyView } from '../admission/index.js'
 * @import { Connection } from '../store/index.js'
 */
import { decisionOfRequest, eventOf, eventsOf, fieldsOf } from '../admission/index.js'
import { FreshetError, kindOf } from '../errors.js'

/**
 * The one wait for changes of keys: queries of readers, commands of gateways, and followers of the library.
 *
 *     until      reads a key, and again after each change, until it is as wanted
 *     watching   what is read between two waits misses no change
 *     waitFor    anything that calls back
 */

/** How often a gateway reads a key again, whose event it may have missed. */
const WATCHED_LOOK_MS = 100

/**
 * @param {{ watch: (key: string, done: () => void) => () => void, lookMs: (key: string) => number }} parts `watch` calls back after a
 *   change of a key, and returns what ends the watching; `lookMs`: the key is read again after this time, even without a change
 */
function createWaits ({ watch, lookMs }) {
  /** @type {Set<() => void>} */
  const waiting = new Set()
  let isClosed = false

  /**
   * Waits until it is called back, or a time is over.
   * @param {(done: () => void) => () => void} begin returns what ends the watching @param {number} ms @returns {Promise<void>}
   */
  const waitFor = (begin, ms) => new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      end()
      waiting.delete(done)
      resolve()
    }
    const timer = setTimeout(done, isClosed ? 0 : ms)
    const end = begin(done)
    waiting.add(done)
  })

  return {
    waitFor,

    /**
     * Reads a key, and again after each change, until it is as wanted or a time is over.
     * @template T @param {string} key @param {() => Promise<T>} read @param {(value: T) => boolean} isDue @param {number} ms
     * @returns {Promise<T>}
     */
    async until (key, read, isDue, ms) {
      for (const endMs = performance.now() + ms; ;) {
        const value = await read()
        const leftMs = endMs - performance.now()
        if (isDue(value) || leftMs <= 0 || isClosed) return value
        await waitFor((done) => watch(key, done), Math.min(leftMs, lookMs(key)))
      }
    },

    /** Ends waits, and those that begin later. */
    close () {
      isClosed = true
      for (const done of waiting) done()
    }
  }
}

/** Waits of a process that notes what the events of its system say. */
export function createEventWaits () {
  /** @type {Map<string, Set<(fact?: any) => void>>} */
  const listeners = new Map()

  /** @param {string} name such as a key @param {(fact?: any) => void} listener @returns {() => void} ends it */
  function watch (name, listener) {
    const nameListeners = listeners.get(name) ?? new Set()
    listeners.set(name, nameListeners.add(listener))
    return () => { if (nameListeners.delete(listener) && nameListeners.size === 0) listeners.delete(name) }
  }
  const waits = createWaits({ watch, lookMs: () => WATCHED_LOOK_MS })

  return {
    ...waits,
    watch,
    /** @param {string} name @param {unknown} [fact] that its listeners get */
    note (name, fact) { for (const listener of listeners.get(name) ?? []) listener(fact) },
    /** Anything may have changed. */
    noteAll () { for (const nameListeners of listeners.values()) for (const listener of nameListeners) listener() },

    /**
     * Watches a name from now on, so that a change is not missed while its user is busy.
     * @param {string} name @param {AbortSignal} signal ends its waits
     */
    watching (name, signal) {
      let isChanged = false
      let wake = () => {}
      const note = () => {
        isChanged = true
        wake()
      }
      const unwatch = watch(name, note)
      signal.addEventListener('abort', note)
      return {
        /** Resolves after a change since the last call, or a time. @param {number} ms */
        async changed (ms) {
          if (!isChanged) await waits.waitFor((done) => { wake = done; return () => {} }, ms)
          isChanged = false
        },
        end () {
          signal.removeEventListener('abort', note)
          unwatch()
        }
      }
    }
  }
}

/** How often a key is read that is not in memory, because the outbox is not followed at the moment. */
const LOOK_EVERY_MS = 50
/** Events of a page. */
const PAGE = 100
/** Longest wait for minSeq without waitMs. */
const WAIT_MS = 500

/** @param {unknown} reply @returns {string | null} */
const textOf = (reply) => reply === null ? null : String(reply)

/**
 * @param {Target & { view: KeyView, unknown: string, lookUp?: import('../store/index.js').LookUp }} parts `unknown`: code of the error
 *   for a key that is not there
 */
export function createReading ({ view, unknown, lookUp, connectionOf, keyOf, partitionOf, partitions }) {
  const { waitFor, until, close } = createWaits({ watch: view.watch, lookMs: (key) => view.peek(key) ? Infinity : LOOK_EVERY_MS })

  /** @param {string} key @returns {Promise<KeyState>} @throws {FreshetError} `unknown`, and when no node can be asked */
  async function current (key) {
    const keyState = await view.get(key)
    if (keyState) return keyState
    throw new FreshetError(unknown, `${kindOf(unknown)?.meaning}: ${key}; check it, or create it first`)
  }

  /**
   * Stored events of a key.
   * @param {string} key @param {'XRANGE' | 'XREVRANGE'} command @param {(string | number)[]} words after the key
   * @returns {Promise<Fields[]>}
   */
  async function events (key, command, ...words) {
    const partition = partitionOf(key)
    return eventsOf(await connectionOf(partition, false).send(command, keyOf(partition)(`events:${key}`), ...words))
  }

  return {
    current,
    waitFor,
    until,
    close,

    /**
     * A key once it has events up to a number, or without one when it has come to its end; what is still missing is asked of the
     * primary.
     * @param {string} key @param {Since} since
     * @param {{ read?: () => Promise<KeyState>, isEnded?: (keyState: KeyState) => boolean }} [of] `read`: in another way than current
     * @returns {Promise<KeyState>} @throws {FreshetError} as current, or `read`
     */
    async since (key, { minSeq, waitMs }, { read = () => current(key), isEnded } = {}) {
      const hasSeq = (/** @type {KeyState} */ keyState) => view.seqOf(keyState) >= Number(minSeq)
      const isDue = isEnded ? (/** @type {KeyState} */ keyState) => isEnded(keyState) || (minSeq !== null && hasSeq(keyState)) : hasSeq
      const keyState = await until(key, read, isDue, waitMs ?? (minSeq === null ? 0 : WAIT_MS))
      return minSeq === null || isDue(keyState) ? keyState : await view.fromPrimary(key) ?? keyState
    },

    ...createTaskLists({ view, connectionOf, keyOf, partitions }),

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
     * What the rule of a key keeps besides its state. A replica may be behind the state.
     * @param {string} key @returns {import('./definition.js').Kept}
     */
    kept (key) {
      const partition = partitionOf(key)
      const [node, part] = [connectionOf(partition, false), keyOf(partition)]
      const [members, holds, waiting] = ['members', 'holds', 'waiting'].map((name) => part(`${name}:${key}`))
      return {
        member: async (name) => textOf(await node.send('HGET', members, name)),
        async holdUntil (name) {
          const [until, back] = await node.sendAll([['ZSCORE', holds, name], ['HGET', part('generation'), 'back']])
          // holds are on the steady clock of the partition
          return until === null ? null : Number(until) - Number(back ?? 0)
        },
        async position (name) {
          const place = textOf(await node.send('ZSCORE', waiting, name))
          return place === null ? null : await node.send('ZCOUNT', waiting, '-inf', `(${place}`) + 1
        },
        waiting: async (most) => (await node.send('ZRANGE', waiting, 0, most - 1)).map(String),
        waitingCount: () => node.send('ZCARD', waiting)
      }
    },

    /**
     * Events of a key, the newest first: those in memory, if they reach back far enough. With `after`, the oldest first.
     * @param {string} key @param {{ before?: number | null, after?: number, limit?: number }} [page] by sequence numbers
     */
    async page (key, { before = null, after, limit = PAGE } = {}) {
      const keyState = await current(key)
      if (after !== undefined) return (await events(key, 'XRANGE', `${after + 1}-0`, '+', 'COUNT', limit)).map(eventOf)
      const below = before ?? view.seqOf(keyState) + 1
      const tail = keyState.events.filter(({ seq }) => Number(seq) < below)
      const isWhole = tail.length >= limit || Number(keyState.events[0]?.seq ?? 1) <= 1
      const stored = () => below < 2 ? [] : events(key, 'XREVRANGE', `${below - 1}-0`, '-', 'COUNT', limit)
      return (isWhole ? tail.slice(-limit).reverse() : await stored()).map(eventOf)
    },

    /**
     * What the rule of a key keeps of members.
     * @param {string} key @param {string[]} names @param {boolean} [isPrimary] a replica may be behind
     * @returns {Promise<(string | null)[]>}
     */
    async members (key, names, isPrimary = false) {
      if (names.length === 0) return []
      const partition = partitionOf(key)
      return (await connectionOf(partition, isPrimary).send('HMGET', keyOf(partition)(`members:${key}`), ...names)).map(textOf)
    },

    /**
     * A member that a replica does not have, from the primary.
     * @param {string} key @param {string} name @returns {Promise<string | null>}
     */
    memberAtPrimary: async (key, name) => textOf(await lookUp?.(['HGET', keyOf(partitionOf(key))(`members:${key}`), name]) ?? null),

    events
  }
}

// Keys of a system by their scheduled tasks: those that come next, and all of a rule. The tasks are read in pieces.

/** Tasks of a partition that are read at a time. */
const PIECE = 256
/** A client has this time to ask for the next page of a list. */
const NAMES_FOR_MS = 10_000

/**
 * @param {Pick<Target, 'connectionOf' | 'keyOf' | 'partitions'> & { view: Pick<KeyView, 'get'> }} parts
 */
function createTaskLists ({ view, connectionOf, keyOf, partitions }) {
  const all = Array.from({ length: partitions }, (_, partition) => partition)
  /** @type {{ atMs: number, rule: string, names: Promise<string[]> } | null} */
  let listed = null

  /**
   * Scheduled tasks of a partition, the next due first.
   * @param {number} partition @returns {AsyncGenerator<{ rule: string, key: string, name: string, atMs: number }>}
   */
  async function * tasksOf (partition) {
    for (let from = 0; ; from += PIECE) {
      const flat = await connectionOf(partition, false).send('ZRANGE', keyOf(partition)('tasks'), from, from + PIECE - 1, 'WITHSCORES')
      for (const [task, atMs] of Object.entries(fieldsOf(flat))) {
        const [rule, key, name] = task.split(' ')
        yield { rule, key, name, atMs: Number(atMs) }
      }
      if (flat.length < 2 * PIECE) return
    }
  }

  return {
    /**
     * Keys with a scheduled task, the next due first.
     * @param {{ rule: string, name: string, limit: number }} tasks @returns {Promise<KeyState[]>}
     */
    async due ({ rule, name, limit }) {
      const tasksByPartition = await Promise.all(all.map(async (partition) => {
        const tasks = []
        for await (const task of tasksOf(partition)) {
          if (task.rule === rule && task.name === name) tasks.push(task)
          if (tasks.length === limit) break
        }
        return tasks
      }))
      const next = tasksByPartition.flat().sort((a, b) => a.atMs - b.atMs).slice(0, limit)
      return (await Promise.all(next.map(({ key }) => view.get(key)))).flatMap((keyState) => keyState ? [keyState] : [])
    },

    /**
     * All keys with a scheduled task of a rule, sorted.
     * @param {string} rule @param {boolean} isNext the pages after the first share its list
     * @returns {Promise<string[]>}
     */
    names (rule, isNext) {
      const nowMs = performance.now()
      if (isNext && listed?.rule === rule && nowMs - listed.atMs < NAMES_FOR_MS) return listed.names
      const names = Promise.all(all.map(async (partition) => {
        const keys = []
        for await (const task of tasksOf(partition)) if (task.rule === rule) keys.push(task.key)
        return keys
      })).then((keysByPartition) => [...new Set(keysByPartition.flat())].sort())
      listed = { atMs: nowMs, rule, names }
      names.catch(() => { listed = null })
      return names
    }
  }
}
