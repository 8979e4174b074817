/**
 * One connection to a node, on which the blocking reads of many subscribers are one XREAD of all their keys.
 *
 *     subscriber ── XREAD BLOCK of a key ──┐
 *     subscriber ── XREAD BLOCK of a key ──┼──▶ line ── XREAD BLOCK of all keys ──▶ node
 *     subscriber ── other commands ────────┴──▶ the same connection, or a second one while the first is blocked
 *
 * A subscriber asks for the next entries when it has taken the last ones, so a slow one delays no other, and no entry waits in memory.
 * After a reply the line pauses, so that one read collects what all keys got, and subscribers can ask other things. A subscriber with more
 * behind its position than one read returns reads by itself, without blocking, until a reply is not full.
 *
 * A read that begins while the others are blocked ends their block (CLIENT UNBLOCK). The second connection is opened on demand. What
 * subscribers look up in one turn is one MGET, and their reads of one turn that do not block are one XREAD.
 *
 * A key that the user may not read, or that holds no stream, is refused to its subscribers, and the others go on. Every other error ends
 * the line, and its subscribers open another one.
 *
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').Word} Word
 * @typedef {Pick<Connection, 'send' | 'sendAll' | 'runScript' | 'close'>} StreamConnection `runScript`: of those that only read
 * @typedef {{ connection: Connection, isLeft?: () => boolean, watch?: (watcher: () => void) => () => void,
 *   end: (refusal: Error | null) => void, lagMs?: () => number | null }} Opened a connection, as
 *   openerOf and Shard.openOwn open it; `watch`: for `isLeft`
 * @typedef {{ key: string, purpose: string, isHeld: () => boolean, signal: AbortSignal, isSecond: boolean }} Opening
 * @typedef {object} FollowedNode
 * @property {unknown} id the same for each subscriber of the node
 * @property {(options: Opening) => Promise<Opened>} open
 * @property {(error: Error) => void} [refuse] the user may not do there what the connection is for
 * @typedef {Pick<Connection, 'send'>} Lane
 * @typedef {Lane & { readonly reads: number }} MainLane `reads`: number of the last XREAD
 * @typedef {{ isOver: boolean, isBehind: boolean, inFlight: number, lane: Lane, heldRead: number }} Subscriber
 *   `lane`: of the commands in flight, so that they stay in order, except for look-ups: those of a turn are sent at its end, on the lane
 *   that is free then; `heldRead`: number of the XREAD whose reply is in use, Infinity = none
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { readScript } from './scripts.js'
import { createAsking } from './stream-asking.js'
import { createSecondLane } from './stream-second.js'

/** @typedef {ReturnType<typeof createLine>} Line */

/**
 * @param {{ node: FollowedNode, key: string, purpose: string, longestMs: number, pauseMs?: number, onOver: () => void }} parts `key`: one
 *   of the node; `longestMs`: of a block; `pauseMs` after a reply
 */
export function createLine ({ node, key, purpose, longestMs, pauseMs = PAUSE_MS, onOver }) {
  const stop = new AbortController()
  /** @type {Set<Subscriber>} */
  const subscribers = new Set()
  /** @type {Opened | null} */
  let first = null
  let isOver = false
  /** of the connection, as CLIENT UNBLOCK wants it @type {number | null} */
  let id = null
  /** @type {(() => void) | undefined} */
  let unwatch
  let reads = 0

  /** The next read uses the memory of the reply before the last again, unless someone still holds it (reply-memory.js). */
  const isHeld = () => [...subscribers].some(({ heldRead }) => heldRead === reads - 2)
  const open = (/** @type {boolean} */ isSecond) => node.open({ key, purpose, isHeld, signal: stop.signal, isSecond })
  const lost = (/** @type {string} */ reason) => new FreshetError('SERVER_LOST', `following ${key} ended (${reason})`, { outcome: 'over' })

  /** @type {MainLane} */
  const main = {
    get reads () { return reads },
    send (command, ...words) {
      if (command === 'XREAD') reads++
      return /** @type {Opened} */ (first).connection.send(command, ...words)
    }
  }
  const second = createSecondLane(() => open(true))
  const unblock = () => {
    if (id === null) return
    second.send('CLIENT', 'UNBLOCK', id).catch(({ outcome }) => { if (outcome === 'forbidden') id = null })
  }
  const asking = createAsking({ main, second, isShared: () => subscribers.size > 1, isBlocked: () => rounds.isBlocked })
  const rounds = createRounds({ main, longestMs, pauseMs, unblock, readAlone: asking.readAlone, fail })

  const opened = open(false).then((one) => {
    first = one
    if (isOver) return one.end(null)
    const { connection } = one
    connection.closed?.then((reason) => fail(lost(reason)))
    connection.sendDispensable?.('CLIENT', 'ID').then((reply) => { id = reply }, () => {})
    unwatch = one.watch?.(() => { if (one.isLeft?.()) fail(lost('the node is left')) })
  })
  opened.catch(end)

  function end () {
    if (isOver) return
    isOver = true
    stop.abort()
    unwatch?.()
    first?.end(null)
    second.close()
    rounds.drop(lost('closed'))
    onOver()
  }

  /** @param {Error} error */
  function fail (error) {
    if (isOver) return
    rounds.drop(error)
    end()
  }

  return {
    id: node.id,
    /** Whether another line is to be opened. */
    get isOver () { return isOver },
    opened,

    /** @param {AbortSignal} signal ends the session */
    join (signal) {
      /** @type {Subscriber} */
      const one = { isOver: false, isBehind: false, inFlight: 0, lane: main, heldRead: Infinity }
      subscribers.add(one)
      const { closed, close } = createClosing(signal, () => {
        one.isOver = true
        subscribers.delete(one)
        rounds.drop(lost('closed'), one)
        if (subscribers.size === 0) end()
      })
      return {
        connection: connectionOf({ ...asking, rounds, lost, close, one, isLeft: () => one.isOver || isOver }),
        /** Resolves when the session is closed here. */
        closed,
        isLeft: () => one.isOver || isOver,
        lagMs: () => first?.lagMs?.() ?? null,
        /** The reply of the last XREAD is in use until this is called. */
        taken () { one.heldRead = Infinity },
        /** @param {Error | null} refusal if the user may not do what the session is for */
        end (refusal) {
          if (refusal) node.refuse?.(refusal)
          close()
        }
      }
    }
  }
}

/**
 * A connection as a subscriber sees it.
 * @param {ReturnType<typeof createAsking> & { rounds: ReturnType<typeof createRounds>, lost: (reason: string) => Error,
 *   close: () => void, one: Subscriber, isLeft: () => boolean }} parts
 * @returns {StreamConnection}
 */
function connectionOf ({ ask, readAlone, readNow, rounds, lost, close, one, isLeft }) {
  /** What is behind comes first. @param {Read} wanted blocks */
  async function readBehind (wanted) {
    const reply = await readAlone(one, wanted)
    if (reply !== null) return reply
    if (isLeft()) throw lost('closed')
    return rounds.wait(one, wanted)
  }

  /** @param {string} command @param {Word[]} words @returns {Promise<any>} */
  function send (command, ...words) {
    if (isLeft()) return Promise.reject(lost('closed'))
    if (command !== 'XREAD') return ask(one, [command, ...words])
    const [key, after] = words.slice(-2).map(String)
    const wanted = { key, after, count: Number(words[1]), blockMs: Number(words[3]) }
    if (words[2] !== 'BLOCK') return one.isBehind ? readAlone(one, wanted) : readNow(one, wanted)
    return one.isBehind ? readBehind(wanted) : rounds.wait(one, wanted)
  }
  return {
    send,
    sendAll: (commands) => Promise.all(commands.map(([command, ...words]) => send(String(command), ...words))),
    async runScript (name, keys, args) {
      const { sha, body } = readScript(String(name))
      return send('EVALSHA_RO', sha, keys.length, ...keys, ...args).catch((error) => {
        if (error.reply !== 'NOSCRIPT') throw error
        return send('EVAL_RO', body, keys.length, ...keys, ...args)
      })
    },
    close
  }
}

/**
 * @typedef {{ key: string, after: string, count: number, blockMs: number }} Read of one key
 * @typedef {Read & { one: Subscriber, untilMs: number, resolve: (reply: any) => void, reject: (error: Error) => void }} Want
 * @typedef {(one: Subscriber, read: Read) => Promise<any>} ReadAlone without blocking
 */

/** Between a reply and the next read, unless the line has another pause, and before a block is ended. */
const PAUSE_MS = 10
/** entries of each key that a common read returns at most, and may always return */
const MAX_COUNT = 1000
const MIN_COUNT = 16

/**
 * The common reads of a line: one XREAD after the other, each blocked for all that is wanted when it begins.
 * @param {{ main: MainLane, longestMs: number, pauseMs: number, unblock: () => void, readAlone: ReadAlone,
 *   fail: (error: Error) => void }} parts `longestMs`: of a block; `unblock`: ends the block of `main`; `fail`: no read can follow
 */
function createRounds ({ main, longestMs, pauseMs, unblock, readAlone, fail }) {
  /** @type {Set<Want>} */
  const wants = new Set()
  let isBlocked = false
  let isRunning = false
  let endsMs = 0
  let pausedUntilMs = 0
  /** @type {NodeJS.Timeout | undefined} */
  let waker

  async function run () {
    isRunning = true
    while (wants.size > 0) {
      const leftMs = pausedUntilMs - performance.now()
      await (leftMs > 0 ? sleep(leftMs) : setImmediate())
      if (wants.size > 0) await readAll(new Set(wants)).catch(fail)
    }
    isRunning = false
  }

  /** @param {Set<Want>} asked */
  async function readAll (asked) {
    const [from, all] = [lowestOf(asked), [...asked]]
    const count = Math.max(MIN_COUNT, Math.min(MAX_COUNT, ...all.map((want) => want.count)))
    const nowMs = performance.now()
    const blockMs = Math.max(1, Math.ceil(Math.min(longestMs, Math.min(...all.map(({ untilMs }) => untilMs)) - nowMs)))
    endsMs = nowMs + blockMs
    isBlocked = true
    try {
      const reply = await main.send('XREAD', 'COUNT', count, 'BLOCK', blockMs, 'STREAMS', ...from.keys(), ...from.values())
      isBlocked = false
      // nothing came that a pause could collect
      if (reply !== null) pausedUntilMs = performance.now() + pauseMs
      share(asked, { from, reply, count, held: main.reads, wants, readAlone })
    } catch (error) {
      isBlocked = false
      pausedUntilMs = performance.now() + PAUSE_MS
      if (error.outcome !== 'forbidden' && error.outcome !== 'refused') throw error
      await refuse(asked, { error, main, wants })
    } finally {
      clearTimeout(waker)
      waker = undefined
    }
  }

  return {
    get isBlocked () { return isBlocked },

    /** @param {Subscriber} one @param {Read} read @returns {Promise<any>} the reply of XREAD, for this key */
    wait: (one, read) => new Promise((resolve, reject) => {
      const nowMs = performance.now()
      wants.add({ one, ...read, untilMs: nowMs + read.blockMs, resolve, reject })
      if (!isRunning) run()
      else if (isBlocked && endsMs - nowMs > PAUSE_MS) waker ??= setTimeout(unblock, PAUSE_MS)
    }),

    /** @param {Error} error @param {Subscriber} [of] the wants of one, or all */
    drop (error, of) {
      if (of === undefined) clearTimeout(waker)
      for (const want of wants) {
        if (of !== undefined && want.one !== of) continue
        wants.delete(want)
        want.reject(error)
      }
    }
  }
}

/**
 * Hands a reply out. Who has waited for more than half of its time hears that there was nothing.
 * @param {Set<Want>} asked
 * @param {{ from: Map<string, string>, reply: [unknown, [unknown, Buffer[]][]][] | null, count: number, held: number, wants: Set<Want>,
 *   readAlone: ReadAlone }} parts `from`: where each key was read; `held`: number of the read
 */
function share (asked, { from, reply, count, held, wants, readAlone }) {
  const nowMs = performance.now()
  const found = new Map(reply?.map(([name, entries]) => [String(name), entries]))
  for (const want of asked) {
    const { one, key, after, blockMs, untilMs } = want
    const all = found.get(key) ?? []
    const entries = from.get(key) === after ? all : all.filter(([id]) => isAfter(String(id), after))
    const isCut = all.length >= count
    const isNews = entries.length > 0 || isCut
    if (!wants.has(want) || (!isNews && untilMs - nowMs > blockMs / 2)) continue
    wants.delete(want)
    if (isCut) {
      one.isBehind = true
      readAlone(one, want).then(want.resolve, want.reject)
      continue
    }
    if (isNews) one.heldRead = held
    want.resolve(isNews ? [[key, entries]] : null)
  }
}

/**
 * Finds out which keys a refusal is about.
 * @param {Set<Want>} asked @param {{ error: Error, main: MainLane, wants: Set<Want> }} parts @throws {Error} that, if none is refused alone
 */
async function refuse (asked, { error, main, wants }) {
  let isFound = false
  await Promise.all([...asked].map((want) => main.send('XREAD', 'COUNT', 1, 'STREAMS', want.key, want.after).catch((own) => {
    if (own.outcome === 'over') throw own
    isFound = true
    if (wants.delete(want)) want.reject(own)
  })))
  if (!isFound) throw error
}

/** Where a common read begins. @param {Set<Want>} asked @returns {Map<string, string>} ids by key */
function lowestOf (asked) {
  /** @type {Map<string, string>} */
  const lowest = new Map()
  for (const { key, after } of asked) {
    const known = lowest.get(key)
    if (known === undefined || isAfter(known, after)) lowest.set(key, after)
  }
  return lowest
}

/** @param {string} id of an entry @param {string} other */
function isAfter (id, other) {
  const [[ms, n], [otherMs, otherN]] = [id, other].map((one) => one.split('-').map(Number))
  return ms > otherMs || (ms === otherMs && n > otherN)
}

/** @param {AbortSignal} signal @param {() => void} onClosed once, when the signal is aborted or `close` is called */
function createClosing (signal, onClosed) {
  let settle = () => {}
  const closed = /** @type {Promise<void>} */ (new Promise((resolve) => { settle = resolve }))
  let isClosed = false
  function close () {
    if (isClosed) return
    isClosed = true
    signal.removeEventListener('abort', close)
    onClosed()
    settle()
  }
  signal.addEventListener('abort', close)
  if (signal.aborted) close()
  return { closed, close }
}
