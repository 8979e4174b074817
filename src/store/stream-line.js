/**
 * One connection to a node, on which the blocking reads of many subscribers are one XREAD of all their keys.
 *
 *     subscriber ── XREAD BLOCK of a key ──┐
 *     subscriber ── XREAD BLOCK of a key ──┼──▶ line ── XREAD BLOCK of all keys ──▶ node
 *     subscriber ── other commands ────────┴──▶ the same connection, or a second one while the first is blocked
 *
 * A subscriber asks for the next entries when it has taken the last ones, so a slow one delays no other, and no entry waits in memory. After
 * a reply the line pauses, so that one read collects what all keys got. A subscriber with more behind its position than one
 * read returns reads by itself, without blocking, until a reply is not full. After each reply, subscribers have time to ask other things.
 *
 * A read that begins while the others are blocked ends their block (CLIENT UNBLOCK). The second connection is opened on demand.
 *
 * A key that the user may not read, or that holds no stream, is refused to its subscribers, and the others go on. Every other error ends
 * the line, and its subscribers open another one.
 *
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').Word} Word
 * @typedef {Pick<Connection, 'address' | 'send' | 'sendAll' | 'close'>} StreamConnection
 * @typedef {{ connection: Connection, isLeft?: () => boolean, end: (refusal: Error | null) => void, lagMs?: () => number | null,
 *   hasReached?: (atMs: number) => boolean }} Opened a connection, as openerOf and Deployment.openOwn open it
 * @typedef {object} FollowedNode
 * @property {unknown} id the same for each subscriber of the node
 * @property {(options: { key: string, purpose: string, isHeld: () => boolean, signal: AbortSignal, isSecond: boolean }) => Promise<Opened>} open
 * @property {(error: Error) => void} [refuse] the user may not do there what the connection is for
 * @typedef {{ isOver: boolean, isBehind: boolean, inFlight: number, lane: Lane, heldRound: number }} Subscriber
 *   `lane`: of the commands in flight, so that they stay in order; `heldRound`: the XREAD whose reply is in use, Infinity = none
 * @typedef {Pick<Connection, 'send'>} Lane
 * @typedef {{ one: Subscriber, key: string, after: string, count: number, blockMs: number, untilMs: number,
 *   resolve: (reply: any) => void, reject: (error: Error) => void }} Want
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'

/** Between a reply and the next read, and before a block is ended. */
const PAUSE_MS = 10
const LOOK_MS = 50
/** A second connection that is not used is closed after this time. */
const SECOND_IDLE_MS = 1000
/** entries of each key that a common read returns at most, and may always return */
const MAX_COUNT = 1000
const MIN_COUNT = 16

/** @typedef {ReturnType<typeof createLine>} Line */

/**
 * @param {{ node: FollowedNode, key: string, purpose: string, longestMs: number, onOver: () => void }} parts `key`: one of the node;
 *   `longestMs`: of a block
 */
export function createLine ({ node, key, purpose, longestMs, onOver }) {
  const stop = new AbortController()
  /** @type {Set<Subscriber>} */
  const subscribers = new Set()
  /** @type {Set<Want>} */
  const wants = new Set()
  /** of the read that is blocked; null: none is @type {Set<Want> | null} */
  let round = null
  let rounds = 0
  let endsMs = 0
  let pausedUntilMs = 0
  let isRunning = false
  let isOver = false
  /** id of the connection, as CLIENT UNBLOCK wants it @type {number | null} */
  let id = null
  /** @type {Opened | null} */
  let first = null
  /** @type {NodeJS.Timeout | undefined} */
  let look
  /** @type {NodeJS.Timeout | undefined} */
  let waker

  /** The next read uses the memory of the reply before the last again, unless someone still holds it (reply-memory.js). */
  const isHeld = () => [...subscribers].some(({ heldRound }) => heldRound === rounds - 2)
  const open = (/** @type {boolean} */ isSecond) => node.open({ key, purpose, isHeld, signal: stop.signal, isSecond })
  const second = createSecond(() => open(true))
  /** @type {Lane} */
  const main = { send: (...words) => /** @type {Opened} */ (first).connection.send(...words) }

  const opened = open(false).then((one) => {
    first = one
    if (isOver) return one.end(null)
    const { connection } = one
    connection.closed?.then((reason) => fail(lost(reason)))
    connection.sendDispensable?.('CLIENT', 'ID').then((reply) => { id = reply }, () => {})
    look = setInterval(() => { if (one.isLeft?.()) fail(lost('the node is left')) }, LOOK_MS).unref()
  })
  opened.catch(end)

  const lost = (/** @type {string} */ reason) => new FreshetError('SERVER_LOST',
    `following ${key} ended (${reason})`, { outcome: 'over' })

  function end () {
    if (isOver) return
    isOver = true
    stop.abort()
    clearInterval(look)
    clearTimeout(waker)
    first?.end(null)
    second.close()
    onOver()
  }

  /** @param {Error} error */
  function fail (error) {
    if (isOver) return
    end()
    for (const one of subscribers) one.isOver = true
    for (const { reject } of wants) reject(error)
    wants.clear()
  }

  /** Sends what does not block. @param {Subscriber} one @param {[string, ...Word[]]} words */
  async function ask (one, words) {
    const isBulk = one.isBehind || (words[0] === 'XREVRANGE' && String(words.at(-1)) !== '1')
    if (one.inFlight === 0) one.lane = round !== null || (isBulk && subscribers.size > 1) ? second : main
    one.inFlight++
    const isLent = words[0] === 'XREAD' && one.lane === main
    const own = isLent ? ++rounds : Infinity
    try {
      const reply = await one.lane.send(...words)
      if (isLent) one.heldRound = own
      return reply
    } finally {
      one.inFlight--
    }
  }

  /** @param {Subscriber} one @param {Pick<Want, 'key' | 'after' | 'count'>} read @returns {Promise<any>} without blocking */
  async function readAlone (one, { key, after, count }) {
    const reply = await ask(one, ['XREAD', 'COUNT', count, 'STREAMS', key, after])
    one.isBehind = reply !== null && reply[0][1].length >= count
    return reply
  }

  /** @param {Subscriber} one @param {Pick<Want, 'key' | 'after' | 'count' | 'blockMs'>} read */
  async function read (one, read) {
    const reply = one.isBehind ? await readAlone(one, read) : null
    if (reply !== null) return reply
    if (one.isOver) throw lost('closed')
    return new Promise((resolve, reject) => {
      wants.add({ one, ...read, untilMs: performance.now() + Math.min(read.blockMs, longestMs), resolve, reject })
      if (!isRunning) run()
      else if (round !== null) wakeSoon()
    })
  }

  function wakeSoon () {
    if (waker !== undefined || id === null || endsMs - performance.now() < PAUSE_MS) return
    waker = setTimeout(() => {
      second.send('CLIENT', 'UNBLOCK', /** @type {number} */ (id)).catch(({ outcome }) => { if (outcome === 'forbidden') id = null })
    }, PAUSE_MS)
  }

  async function run () {
    isRunning = true
    while (wants.size > 0 && !isOver) {
      const pauseMs = pausedUntilMs - performance.now()
      // what subscribers ask after a reply goes before the next read
      await (pauseMs > 0 ? sleep(pauseMs) : setImmediate())
      if (wants.size > 0 && !isOver) await readAll(new Set(wants)).catch(fail)
    }
    isRunning = false
  }

  /** @param {Set<Want>} asked */
  async function readAll (asked) {
    const [positions, nowMs] = [lowestOf(asked), performance.now()]
    const counts = [...asked].map(({ count }) => count)
    const count = Math.max(MIN_COUNT, Math.min(MAX_COUNT, ...counts))
    const blockMs = Math.max(1, Math.ceil(Math.min(...[...asked].map(({ untilMs }) => untilMs)) - nowMs))
    endsMs = nowMs + blockMs
    round = asked
    rounds++
    try {
      const reply = await main.send('XREAD', 'COUNT', count, 'BLOCK', blockMs, 'STREAMS', ...positions.keys(), ...positions.values())
      round = null
      share(asked, reply, count)
    } catch (error) {
      round = null
      if (error.outcome !== 'forbidden' && error.outcome !== 'refused') throw error
      await refuse(asked, error)
    } finally {
      clearTimeout(waker)
      waker = undefined
    }
  }

  /** @param {Set<Want>} asked @param {[unknown, [Buffer, Buffer[]][]][] | null} reply @param {number} count */
  function share (asked, reply, count) {
    const nowMs = performance.now()
    pausedUntilMs = nowMs + PAUSE_MS
    const found = new Map(reply?.map(([name, entries]) => [String(name), entries]))
    for (const want of asked) {
      if (!wants.has(want)) continue
      const { one, key, after, blockMs, untilMs } = want
      const all = found.get(key) ?? []
      const entries = all.filter(([entryId]) => isAfter(String(entryId), after))
      const isCut = all.length >= count
      if (entries.length === 0 && !isCut && untilMs - nowMs > blockMs / 2) continue
      wants.delete(want)
      if (isCut) {
        one.isBehind = true
        readAlone(one, want).then(want.resolve, want.reject)
      } else {
        if (entries.length > 0) one.heldRound = rounds
        want.resolve(entries.length > 0 ? [[key, entries]] : null)
      }
    }
  }

  /** Finds out which keys are meant. @param {Set<Want>} asked @param {Error} error */
  async function refuse (asked, error) {
    let isFound = false
    await Promise.all([...asked].map((want) => {
      rounds++
      return main.send('XREAD', 'COUNT', 1, 'STREAMS', want.key, want.after).catch((own) => {
        if (own.outcome === 'over') throw own
        isFound = true
        if (wants.delete(want)) want.reject(own)
      })
    }))
    if (!isFound) throw error
  }

  /** @param {Subscriber} one */
  function leave (one) {
    if (!subscribers.delete(one)) return
    one.isOver = true
    for (const want of wants) {
      if (want.one !== one) continue
      wants.delete(want)
      want.reject(lost('closed'))
    }
    if (subscribers.size === 0) end()
  }

  return {
    id: node.id,
    /** Whether another line is to be opened. */
    get isOver () { return isOver },
    opened,

    /** @param {AbortSignal} signal ends the subscription */
    join (signal) {
      /** @type {Subscriber} */
      const one = { isOver: false, isBehind: false, inFlight: 0, lane: main, heldRound: Infinity }
      subscribers.add(one)
      let settle = () => {}
      const closed = /** @type {Promise<void>} */ (new Promise((resolve) => { settle = resolve }))
      const close = () => {
        signal.removeEventListener('abort', close)
        leave(one)
        settle()
      }
      signal.addEventListener('abort', close)
      if (signal.aborted) close()
      const isClosed = () => one.isOver || isOver
      /** @param {string} command @param {Word[]} words */
      const send = async (command, ...words) => {
        if (isClosed()) throw lost('closed')
        if (command !== 'XREAD') return ask(one, [command, ...words])
        const [key, after] = words.slice(-2).map(String)
        const wanted = { key, after, count: Number(words[1]), blockMs: Number(words[3]) }
        return words[2] === 'BLOCK' ? read(one, wanted) : readAlone(one, wanted)
      }
      /** @type {StreamConnection} */
      const connection = {
        get address () { return first?.connection.address ?? '' },
        send,
        sendAll: (commands) => Promise.all(commands.map(([command, ...words]) => send(String(command), ...words))),
        close
      }
      return {
        connection,
        /** Resolves when the session is closed here. */
        closed,
        isLeft: isClosed,
        lagMs: () => first?.lagMs?.() ?? null,
        hasReached: (/** @type {number} */ atMs) => first?.hasReached?.(atMs) ?? true,
        /** The reply of the last XREAD is in use until this is called. */
        taken () { one.heldRound = Infinity },
        /** @param {Error | null} refusal if the user may not do what the subscription is for */
        end (refusal) {
          if (refusal) node.refuse?.(refusal)
          close()
        }
      }
    }
  }
}

/**
 * Where a common read begins. @param {Set<Want>} asked @returns {Map<string, string>} ids by key
 */
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

/** A connection that is opened when it is used, and closed when it is not. @param {() => Promise<Opened>} open */
function createSecond (open) {
  /** @type {Promise<Opened> | null} */
  let opening = null
  /** @type {NodeJS.Timeout | undefined} */
  let idle
  let inUse = 0

  function close () {
    clearTimeout(idle)
    opening?.then(({ end }) => end(null), () => {})
    opening = null
  }

  return {
    /** @param {string} command @param {Word[]} words @returns {Promise<any>} */
    async send (command, ...words) {
      clearTimeout(idle)
      inUse++
      const mine = opening ??= open()
      try {
        return await (await mine).connection.send(command, ...words)
      } catch (error) {
        // an error reply leaves the connection as it is
        if (opening === mine && (error.outcome === undefined || error.outcome === 'over')) close()
        throw error
      } finally {
        if (--inUse === 0) idle = setTimeout(close, SECOND_IDLE_MS).unref()
      }
    },
    close
  }
}
