/**
 * The order of the newest version of each id in a partition that stores several versions of an id: it shows whether an arrival is late, and
 * where the newest version of an id is stored.
 *
 *     newest                                                                     oldest
 *     |  arrivals, and versions that were read: ids known  | cover |  not read yet  |
 *
 * Arrivals are noted as they come. Everything above `cover` is known, so an id that is not known and arrives above it is new. Below, what
 * is stored is read first, newest first, as far as the arrival. No version is read twice: an item that arrives in order, or as late as one
 * before, costs nothing. Reading ends at the bounds of a view (--max-view-items, --max-view-bytes). Then the oldest ids are dropped, and
 * what arrives as old as they are is skipped, as a view does.
 *
 * @typedef {ReturnType<typeof createNewestOrders>} NewestOrders
 * @typedef {import('../item/index.js').VersionKey} VersionKey
 * @typedef {import('../layouts/index.js').StoredVersion} StoredVersion
 * @typedef {import('../store/index.js').Router} Connection
 */
import { compareOrder, scoreOf, unscore } from '../item/index.js'
import { createReadSize, MAX_READ } from '../layouts/index.js'

/** of the first read, for an arrival in order */
const FIRST_READ = 50
/** what an id takes beside its bytes, about */
const HEAD_BYTES = 90
const LEAST_SWEPT = 1024
const NO_ID = Buffer.alloc(0)

/** @param {number} score */
function nextScore (score) {
  const { ts, seq } = unscore(score)
  return scoreOf(ts, seq + 1)
}

/**
 * Scores of the newest versions of ids (item/order.js).
 * @param {{ windowStart: () => number, maxIds: number, maxBytes: number, onOver: (score: number) => void }} parts `onOver`: ids with lower
 *   scores were dropped, because there were too many
 */
function createScores ({ windowStart, maxIds, maxBytes, onOver }) {
  /** by id, as latin1 @type {Map<string, number>} */
  const scores = new Map()
  let bytes = 0
  let sweptAt = LEAST_SWEPT
  const isTooMuch = () => scores.size > maxIds || bytes > maxBytes

  /** @param {number} score that is kept */
  function dropBelow (score) {
    for (const [id, idScore] of scores) {
      if (idScore >= score) continue
      scores.delete(id)
      bytes -= id.length + HEAD_BYTES
    }
  }

  /** Drops what is no longer live, and the oldest quarter of too many. */
  function sweep () {
    dropBelow(windowStart())
    if (isTooMuch()) {
      const sorted = Float64Array.from(scores.values()).sort()
      const quarter = sorted[Math.ceil(sorted.length / 4)]
      // many may have the lowest one
      const score = quarter > sorted[0] ? quarter : nextScore(quarter)
      dropBelow(score)
      onOver(score)
    }
    sweptAt = Math.max(LEAST_SWEPT, 2 * scores.size)
  }

  return {
    get size () { return scores.size },
    /** @param {string} id */
    get: (id) => scores.get(id),
    has: (/** @type {string} */ id) => scores.has(id),

    /** @param {string} id @param {number} score of a version that is stored @returns {boolean} whether it is the newest of its id */
    note (id, score) {
      const before = scores.get(id)
      if (before !== undefined && before > score) return false
      scores.set(id, score)
      if (before === undefined) bytes += id.length + HEAD_BYTES
      if (scores.size >= sweptAt || isTooMuch()) sweep()
      return true
    },

    /** Ids with the highest scores. @param {number} count @param {(id: string) => boolean} isOwn of ids that are not left out */
    highest (count, isOwn) {
      sweep()
      const sorted = Float64Array.from([...scores.keys()].filter(isOwn), (id) => /** @type {number} */ (scores.get(id))).sort()
      const least = sorted[Math.max(0, sorted.length - count)]
      return [...scores].filter(([id, score]) => score >= least && isOwn(id))
        .sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || (a < b ? 1 : -1)).map(([id]) => id)
    },

    clear () {
      scores.clear()
      bytes = 0
      sweptAt = LEAST_SWEPT
    }
  }
}

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (part: string) => string, windowMs: () => number, now: () => number,
 *   maxIds: number, maxBytes: number }} parts `windowMs`: 0 = no limit
 */
export function createNewestOrders ({ layout, key, windowMs, now, maxIds, maxBytes }) {
  const piece = /** @type {NonNullable<typeof layout.piece>} */ (layout.piece)
  const size = createReadSize()
  /** @type {VersionKey | null} */
  let cover = null
  /** Whether every live id is known; `isOver`: no more is read. */
  let isWhole = false
  let isOver = false
  let clearings = 0
  let limit = FIRST_READ
  /** @type {Promise<void> | null} */
  let reading = null
  const windowStart = () => windowMs() > 0 ? Math.max(0, now() - windowMs()) : 0
  const scores = createScores({
    windowStart,
    maxIds,
    maxBytes,
    onOver (score) {
      cover = { ...unscore(score), id: NO_ID }
      isWhole = false
      isOver = true
    }
  })

  /** @param {Connection} connection that is followed */
  async function readPiece (connection) {
    const before = cover
    const cleared = clearings
    const stored = await piece(connection, key, { before, minTs: windowStart(), limit, size }).catch((error) => {
      if (error.code === 'SERVER_LOST') size.lost(limit)
      throw error
    })
    // cleared, or over its bound, in the meantime
    if (before !== cover || cleared !== clearings) return
    limit = Math.min(MAX_READ, 4 * limit)
    cover = stored.next ?? { ts: 0, seq: 0, id: NO_ID }
    isWhole = stored.next === null
    isOver = isWhole
    for (const { id, ts, seq } of stored.versions) scores.note(id.toString('latin1'), scoreOf(ts, seq))
  }

  /** Once for all who wait. @param {Connection} connection */
  const readOnce = (connection) => (reading ??= readPiece(connection).finally(() => { reading = null }))

  /** Reads on until there is enough, or no more. @param {Connection} connection @param {() => boolean} isEnough */
  async function readOn (connection, isEnough) {
    const isDone = () => isOver || isEnough()
    while (!isDone()) await readOnce(connection)
  }

  const isAbove = (/** @type {VersionKey} */ version) => cover !== null && compareOrder(version, cover) > 0

  return {
    /** Whether every live id is known. */
    get isWhole () { return isWhole },
    get ids () { return scores.size },
    /** Another one after everything was cleared. */
    get generation () { return clearings },

    /** Notes a version that is stored. @param {StoredVersion | import('../layouts/index.js').Item} version */
    note ({ id, ts, seq }) { scores.note(id.toString('latin1'), scoreOf(ts, seq)) },

    /**
     * Reads what is needed to decide about arrivals.
     * @param {Connection} connection @param {StoredVersion[]} arrived what is stored of them @param {number} pieces that are read at most
     * @returns {Promise<StoredVersion[]>} those that are not decided: more is to be read
     */
    async readFor (connection, arrived, pieces) {
      const openOf = () => isOver ? [] : arrived.filter((version) => !isAbove(version) && !scores.has(version.id.toString('latin1')))
      let open = openOf()
      for (let left = pieces; open.length > 0 && left > 0; left--) {
        await readOnce(connection)
        open = openOf()
      }
      return open
    },

    /**
     * Notes an arrival that was decided.
     * @param {string} id as latin1 @param {StoredVersion} version @returns {boolean} false: it is late
     */
    arrived (id, version) {
      const isSkipped = isOver && !isWhole && !scores.has(id) && !isAbove(version)
      return !isSkipped && scores.note(id, scoreOf(version.ts, version.seq))
    },

    /**
     * Where the newest versions of ids are stored, which is read as far as needed.
     * @param {Connection} connection @param {readonly string[]} ids as latin1
     * @returns {Promise<VersionKey[]>} of those that are stored
     */
    async orderKeysOf (connection, ids) {
      await readOn(connection, () => ids.every((id) => scores.has(id)))
      return ids.flatMap((id) => {
        const score = scores.get(id)
        return score === undefined ? [] : [{ ...unscore(score), id: Buffer.from(id, 'latin1') }]
      })
    },

    /**
     * The ids of the newest versions that are live, deletions among them, newest first.
     * @param {Connection} connection @param {number} count and those of the same order as the last
     * @param {(id: string) => boolean} isOwn of ids that are not left out
     * @returns {Promise<string[]>} fewer than `count`: there are no more
     */
    async newest (connection, count, isOwn) {
      await readOn(connection, () => false)
      return scores.highest(count, isOwn)
    },

    clear () {
      clearings++
      scores.clear()
      cover = null
      isWhole = isOver = false
      limit = FIRST_READ
    }
  }
}
