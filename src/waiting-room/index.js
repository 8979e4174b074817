/**
 * Where people are in the waiting rooms of a system, for readers: asked once, or watched.
 *
 *     watch(key, user) --+
 *     watch(key, user) --+-- one read of all users of a key, when its events say that a position changed, and each second
 *
 * The room itself is part of the rule (lua/rules/bounded.lua): joining, admission and leaving are decided there, in order of
 * sequence numbers, so nothing here decides anything.
 *
 * @typedef {{ status: 'waiting' | 'admitted' | 'claimed' | 'sold_out' | 'expired' | 'left' | 'unknown', claim: string | null,
 *   position: number, etaMs: number, untilMs: number | null }} QueuePosition `position`: from 1, of those waiting; `untilMs`: end of the
 *   hold
 * @typedef {{ user: string, last: QueuePosition | null, sentMs: number, onChange: (current: QueuePosition) => void }} Watcher
 */

const MAX_USERS = 256
/** How often a room where people move is read. */
const READ_EVERY_MS = 50
const LOOK_EVERY_MS = 1000
/** Shortest time between two positions that one person gets. */
const POSITION_EVERY_MS = 1000

/** @type {Readonly<Record<string, QueuePosition['status']>>} by status of the claim */
const STATUSES = Object.freeze({
  waiting: 'waiting',
  held: 'admitted',
  pending: 'admitted',
  sold: 'claimed',
  expired: 'expired',
  released: 'left',
  revoked: 'left',
  left: 'left'
})
const NOWHERE = Object.freeze({ status: 'unknown', claim: null, position: 0, etaMs: 0, untilMs: null })

/**
 * @param {{ connectionOf: (partition: number, isPrimary: boolean) => import('../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, partitionOf: (key: string) => number, now: () => number,
 *   log: import('pino').Logger }} parts `now`: ms since 1970, by the servers
 */
export function createWaitingRoom ({ connectionOf, keyOf, partitionOf, now, log }) {
  /** @type {Map<string, { watchers: Set<Watcher>, isDue: boolean, timer: NodeJS.Timeout }>} by key */
  const rooms = new Map()

  /** @param {string} key @param {string[]} users at most 256 @param {boolean} isPrimary @returns {Promise<QueuePosition[]>} */
  async function read (key, users, isPrimary) {
    const partition = partitionOf(key)
    const keys = [...['state', 'members', 'waiting', 'holds'].map((part) => `${part}:${key}`), 'generation'].map(keyOf(partition))
    const connection = connectionOf(partition, isPrimary)
    const [stock, sold, status, slots, turnMs, openAt, ...positions] = await connection.runScript('read-places', keys, users)
    const [isSoldOut, isClosed] = [String(stock) === String(sold), String(status) === 'closed']
    const room = { isSoldOut, isClosed, slots: Number(slots), turnMs: Number(turnMs), opensMs: Math.max(0, Number(openAt) - now()) }
    return positions.map((/** @type {Buffer} */ text) => positionIn(room, String(text)))
  }

  /**
   * From a replica; of people that it does not know, from the primary.
   * @param {string} key @param {string[]} users at most 256
   * @returns {Promise<(QueuePosition | undefined)[]>} undefined: the primary cannot be asked
   */
  async function readSurely (key, users) {
    const positions = await read(key, users, false)
    const unknown = users.filter((_, i) => positions[i] === NOWHERE)
    const sure = unknown.length > 0 ? await read(key, unknown, true).catch(() => []) : []
    return positions.map((position) => position === NOWHERE ? sure.shift() : position)
  }

  /** @param {string} key */
  async function look (key) {
    const room = rooms.get(key)
    if (!room) return
    room.isDue = false
    const watchers = [...room.watchers]
    try {
      for (let i = 0; i < watchers.length; i += MAX_USERS) {
        const some = watchers.slice(i, i + MAX_USERS)
        const positions = await readSurely(key, some.map(({ user }) => user))
        some.forEach((watcher, j) => show(watcher, positions[j]))
      }
    } catch (error) {
      log.debug({ key, code: error.code, reason: error.message }, 'positions cannot be read, retrying')
    }
    if (rooms.get(key) === room) room.timer = setTimeout(() => { look(key) }, room.isDue ? READ_EVERY_MS : LOOK_EVERY_MS)
  }

  return {
    /**
     * From a replica; from the primary if that does not know the claim.
     * @param {string} key @param {string} user @param {string} claim of the ticket
     * @returns {Promise<QueuePosition>}
     */
    async positionOf (key, user, claim) {
      const [current] = await read(key, [user], false)
      return current.claim === claim ? current : (await read(key, [user], true))[0]
    },

    /**
     * Joining changes no units, so it has no event that views follow: this asks a replica.
     * @param {string} key @returns {Promise<{ waiting: number, queued: number }>} `queued`: all that ever joined
     */
    async sizeOf (key) {
      const partition = partitionOf(key)
      const [connection, partOf] = [connectionOf(partition, false), keyOf(partition)]
      const sizes = await Promise.all([
        connection.send('ZCARD', partOf(`waiting:${key}`)), connection.send('HMGET', partOf(`state:${key}`), 'queued')
      ])
      const [waiting, queued] = sizes.flat().map(Number)
      return { waiting, queued }
    },

    /**
     * @param {string} key @param {string} user @param {(current: QueuePosition) => void} onChange at each change; positions at most
     *   once a second
     * @returns {() => void} ends it
     */
    watch (key, user, onChange) {
      const room = rooms.get(key) ?? { watchers: new Set(), isDue: false, timer: setTimeout(() => { look(key) }, 0) }
      rooms.set(key, room)
      const watcher = { user, last: null, sentMs: -Infinity, onChange }
      room.watchers.add(watcher)
      this.note(key)
      return () => {
        room.watchers.delete(watcher)
        if (room.watchers.size > 0) return
        clearTimeout(room.timer)
        if (rooms.get(key) === room) rooms.delete(key)
      }
    },

    /** A position changed. @param {string} key */
    note (key) {
      const room = rooms.get(key)
      if (!room || room.isDue) return
      room.isDue = true
      clearTimeout(room.timer)
      room.timer = setTimeout(() => { look(key) }, READ_EVERY_MS)
    },

    close () {
      for (const { timer } of rooms.values()) clearTimeout(timer)
      rooms.clear()
    }
  }
}

/**
 * @param {{ isSoldOut: boolean, isClosed: boolean, slots: number, turnMs: number, opensMs: number }} room `opensMs`: time until it opens;
 *   the queue does not move before
 * @param {string} text @returns {QueuePosition}
 */
function positionIn ({ isSoldOut, isClosed, slots, turnMs, opensMs }, text) {
  if (text === '') return NOWHERE
  const [claim, of, ahead, until] = text.split(' ')
  const status = STATUSES[of] ?? 'unknown'
  const untilMs = until === '-' ? null : Number(until)
  if (status !== 'waiting') return { status, claim, position: 0, etaMs: 0, untilMs }
  if (isSoldOut || isClosed) return { status: isSoldOut ? 'sold_out' : 'expired', claim, position: 0, etaMs: 0, untilMs }
  const position = Number(ahead) + 1
  return { status, claim, position, etaMs: opensMs + Math.ceil(position / slots) * turnMs, untilMs }
}

/** @param {Watcher} watcher @param {QueuePosition} [current] unknown at the moment without it */
function show (watcher, current) {
  if (current === undefined) return
  const { last, sentMs } = watcher
  const nowMs = performance.now()
  const isNews = last?.status !== current.status || last.claim !== current.claim
  if (!isNews && (last?.position === current.position || nowMs - sentMs < POSITION_EVERY_MS)) return
  watcher.last = current
  watcher.sentMs = nowMs
  watcher.onChange(current)
}
