/**
 * A scan of the stored versions of a partition, newest first, from which layout `values` answers. The first version found of
 * an id is its newest and hides older ones, also if it is a deletion.
 *
 *     newest                     place                    oldest
 *     | seen, ids known          | read next ...          | not live
 *
 * A scan reads in steps and may span several pages. In the meantime new versions arrive, also on the newer side of the place,
 * where they supersede older ones. Counting finds them: each step also returns the number of members on the newer side. If
 * that exceeds the number seen, the scan searches the difference from the newest member down, where versions usually arrive.
 * So each step shows what was newest when it was read, and little is read twice.
 *
 * A seen version is remembered by id, stamp and score (two writers may append an id in one microsecond), not by its value.
 */
import { FreshetError } from '../errors.js'
import { compareOrder, memberBound, memberEnd, placeText, readMember, scoreOf, unscore } from '../item/index.js'
import { createReadSize, MAX_READ } from '../read-size.js'
import { seekMembers } from './seek.js'

/**
 * The members of arrivals of layout `values`. Those of a batch lie close together, as most items come in their order: what lies close is
 * read in one run, of at most 1,000 members.
 *
 * Items of one order lie by their ids. Of very many, such as 300,000 of one millisecond, a batch is spread over all: where a run is mostly
 * others, the arrivals that are left of that order are found one by one, in a script (lua/find-members.lua).
 */

/** arrivals that are further apart are read apart */
const CLOSE_MS = 5
/** members read beyond those asked for: others may lie between */
const BETWEEN = 8
/** a run of so many members for each arrival found is mostly others */
const SPARSE = 4
/** of one script, so that it takes a few milliseconds */
const MAX_FOUND = 500

/** @typedef {import('./arrivals.js').Arrival} Arrival */

/**
 * @param {any} connection @param {string} name @param {Arrival[]} arrivals @param {import('../read-size.js').ReadSize} size
 * @returns {Promise<(Version | null)[]>} in their order; of several with the same order, the one that was appended last
 */
export async function membersAt (connection, name, arrivals, size) {
  const inOrder = arrivals.map((arrival, i) => ({ arrival, i })).sort((a, b) => compareOrder(a.arrival, b.arrival))
  /** @type {(Version | null)[]} */
  const results = new Array(arrivals.length).fill(null)
  for (let next = 0; next < inOrder.length;) {
    let end = next + 1
    while (end < inOrder.length && end - next < MAX_READ && inOrder[end].arrival.ts - inOrder[end - 1].arrival.ts <= CLOSE_MS) end++
    const count = size.of(Math.min(MAX_READ, 2 * (end - next) + BETWEEN))
    const { id, ts, seq } = inOrder[next].arrival
    const place = { score: scoreOf(ts, seq), bytes: memberBound({ id, ts, seq }) }
    const members = versionsOf(await seekMembers(connection, name, place, 'newer', count, 1), size)
    const isAll = members.length < count
    const from = next
    for (let at = 0; next < inOrder.length; next++) {
      const { arrival, i } = inOrder[next]
      while (at < members.length && compareOrder(members[at], arrival) < 0) at++
      let last = at
      while (last < members.length && compareOrder(members[last], arrival) === 0) last++
      // more of its order may follow; the first one has been read, or is not there
      if (last === members.length && !isAll && next > from) break
      results[i] = last > at ? members[last - 1] : null
    }
    if (isAll || members.length < SPARSE * (next - from) || members.length < MAX_FOUND) continue
    const left = ofOneOrder(inOrder, next)
    const versions = await membersOf(connection, name, left.map(({ arrival }) => arrival), size)
    left.forEach(({ i }, at) => { results[i] = versions[at] })
    next += left.length
  }
  return results
}

/** @param {{ arrival: Arrival, i: number }[]} inOrder @param {number} from @returns {typeof inOrder} those of the order before `from` */
function ofOneOrder (inOrder, from) {
  const { ts, seq } = inOrder[from - 1].arrival
  let end = from
  while (end < inOrder.length && inOrder[end].arrival.ts === ts && inOrder[end].arrival.seq === seq) end++
  return inOrder.slice(from, end)
}

/**
 * @param {any} connection @param {string} name @param {Arrival[]} arrivals of one order, by id
 * @param {import('../read-size.js').ReadSize} size
 * @returns {Promise<(Version | null)[]>}
 */
async function membersOf (connection, name, arrivals, size) {
  /** @type {(Version | null)[]} */
  const all = []
  while (all.length < arrivals.length) {
    const piece = arrivals.slice(all.length, all.length + size.of(MAX_FOUND))
    const score = scoreOf(piece[0].ts, piece[0].seq)
    /** @type {(Buffer | null)[]} */
    const members = await connection.runScript('find-members', [name], [score, ...piece.map(({ id }) => memberEnd(id))])
    const versions = versionsOf(members.flatMap((member) => member === null ? [] : [member, Buffer.from(String(score))]), size)
    for (const [i, member] of members.entries()) {
      const version = member === null ? null : /** @type {Version} */ (versions.shift())
      all.push(version?.id.equals(piece[i].id) ? version : null)
    }
  }
  return all
}

/** Limit of one query, in versions: beyond it an answer costs server and reader more than a view would. */
export const MAX_SCAN = 20_000

/** minimum size of the second step */
const SECOND_SIZE = 32
/** read in addition to the missing ones, because more may have arrived */
const EXTRA = 16

/** @typedef {import('../item/index.js').VersionPlace} VersionPlace */
/** @typedef {import('../item/index.js').Place & import('../item/index.js').Member & { score: number, text: string }} Version */
/** @typedef {import('../read-size.js').ReadSize} ReadSize */
/** @typedef {ReturnType<typeof newState>} State */
/** @typedef {ReturnType<typeof beginScan>} Scan */

/** @param {ReadSize} size */
const newState = (size) => ({
  /** @type {Map<string, number>} keys of seen versions -> score */
  looked: new Map(),
  /** @type {Map<string, string>} id as latin1 -> key of its newest version */
  newest: new Map(),
  /** @type {VersionPlace | null} the oldest seen, or where the caller continues */
  place: null,
  size
})

/**
 * @param {import('./index.js').Connection} connection
 * @param {string} name of the sorted set
 * @param {{ minTs: number, maxItems: number, size?: ReadSize, state?: State | null, after?: VersionPlace | null }} options what is live:
 *   versions of `minTs` and newer, `maxItems` of them (0 = no limit). `size`: of earlier reads, so that the first one can be large;
 *   `state`: of the page that ended at `after`
 */
export function beginScan (connection, name, { minTs, maxItems, size: learnt = createReadSize(), state: before = null, after = null }) {
  const state = before && after ? rewound(before, after) : newState(learnt)
  const { looked, newest, size } = state
  /** @type {Version[]} */
  const arrived = []
  let ended = false
  let asked = 0

  /** @param {Version} version @returns {boolean} whether its id is new */
  function note (version) {
    if (looked.size >= MAX_SCAN) throw viewNeeded()
    const { id, score } = version
    const name = id.toString('latin1')
    const previous = newest.get(name)
    const key = keyOf(version)
    looked.set(key, score)
    if (previous !== undefined && isNewer(/** @type {number} */ (looked.get(previous)), previous, score, key)) return false
    newest.set(name, key)
    return previous === undefined
  }

  /**
   * Finds versions that arrived on the newer side of the place, from the newest down, until all members that are left above
   * the place are known. Versions that arrive during the search do no harm: they are above it, or counted.
   * @param {number} missing @param {VersionPlace} place
   */
  async function catchUp (missing, place) {
    const end = [scoreOf(place.ts, place.seq), memberBound(place)]
    /** @type {(string | number | Buffer)[]} */
    let from = ['+inf', '']
    let lookedCount = looked.size
    for (let left = lookedCount + missing; left > lookedCount;) {
      const [between, flat] = await connection.runScript('members-between', [name], [...from, ...end, size.of(left - lookedCount + EXTRA)])
      const piece = versionsOf(flat, size)
      for (const version of piece) {
        if (looked.has(keyOf(version))) lookedCount--
        else if (note(version)) arrived.push(version)
      }
      left = between - piece.length
      const last = piece.at(-1)
      if (last) from = [last.score, memberBound(last)]
    }
  }

  /** @param {number} count */
  async function readPiece (count) {
    const { place } = state
    if (place === null) return versionsOf(await connection.send('ZREVRANGE', name, 0, count - 1, 'WITHSCORES'), size)
    const [newer, flat] = await connection.runScript('seek-members', [name],
      [scoreOf(place.ts, place.seq), memberBound(place), 'older', count])
    await catchUp(newer - looked.size, place)
    return versionsOf(flat, size)
  }

  const room = () => maxItems === 0 ? Infinity : maxItems - looked.size

  return {
    state,
    /** Versions of ids not seen before that arrived on the newer side during this scan. They hide the older ones that are read next. */
    arrived,
    /** Whether nothing older is live. */
    get ended () { return ended },

    /**
     * The live versions next to the place, newest first. The caller passes each to `look` before the next read.
     * @param {number} count how many are enough
     * @returns {Promise<Version[]>}
     */
    async read (count) {
      // few results: read more at once
      asked = asked === 0 ? count : Math.max(count, 2 * asked, SECOND_SIZE)
      const countNow = Math.min(size.of(asked), MAX_SCAN + 1 - looked.size, Math.max(1, room()))
      const piece = await readPiece(countNow)
      const live = piece.slice(0, Math.max(0, room())).filter(({ ts }) => ts >= minTs)
      ended = piece.length < countNow || live.length < piece.length || live.length >= room()
      return live
    },

    /**
     * @param {Version} version the next one
     * @returns {boolean} whether it is the newest of its id
     * @throws {FreshetError} VIEW_NEEDED after MAX_SCAN versions
     */
    look (version) {
      state.place = version
      return note(version)
    },

    /** Whether the newest version of that id was looked at. @param {Buffer} id */
    knows: (id) => newest.has(id.toString('latin1'))
  }
}

/**
 * @param {Buffer[]} flat member, score, member, score, ...
 * @param {ReturnType<typeof createReadSize>} size
 * @returns {Version[]}
 */
export function versionsOf (flat, size) {
  /** @type {Version[]} */
  const versions = []
  for (let i = 0; i < flat.length; i += 2) {
    const { id, stamp, deleted, value, text } = readMember(flat[i])
    const score = Number(flat[i + 1])
    const { ts, seq } = unscore(score)
    versions.push({ id, ts, seq, stamp, deleted, value, score, text })
  }
  size.learn(flat)
  return versions
}

/** The state of a scan at an earlier place. @param {State} state @param {VersionPlace} after @returns {State} */
function rewound (state, after) {
  const { place, looked, newest, size } = state
  if (place === null || compareOrder(after, place) <= 0) return state
  const from = { ts: after.ts, seq: after.seq, id: after.id }
  const score = scoreOf(from.ts, from.seq)
  const text = placeText(from)
  const kept = new Map([...looked].filter(([key, itsScore]) => !isNewer(score, text, itsScore, key)))
  return { looked: kept, newest: new Map([...newest].filter(([, key]) => kept.has(key))), place: from, size }
}

/** Keys of one score compare as their versions do. @param {Version} version */
const keyOf = ({ text, score }) => text + score

/** @param {number} scoreA @param {string} textA @param {number} scoreB @param {string} textB whether A is newer than B */
const isNewer = (scoreA, textA, scoreB, textB) => scoreA > scoreB || (scoreA === scoreB && textA > textB)

const viewNeeded = () => new FreshetError('VIEW_NEEDED', `${MAX_SCAN} stored versions were looked at, newest first, and the answer needs ` +
  'more of them; ask for fewer or newer items, or store the feed in layout ids', { looked: MAX_SCAN })
