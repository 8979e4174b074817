/**
 * A walk over the stored versions of a partition, newest first, from which layout `values` answers: the first version
 * met of an id is its newest. What is older is superseded, and a deletion hides it all the same.
 *
 *     newest                     place                    oldest
 *     | looked at, ids known     | read next ...          | not live
 *
 * A walk reads piece by piece, and may go over several pages. Versions come meanwhile, also on the newer side of the
 * place, where they supersede what is on the older. They are found by counting: each piece brings the number of members
 * on the newer side. If it is more than were looked at, the difference is looked for from the newest member down, where
 * versions usually arrive. So a piece shows what was newest when it was read, and little is read twice.
 *
 * A version that was looked at is remembered by id, stamp and score (two writers may append an id in one microsecond),
 * not by its value.
 */
import { FreshetError } from '../errors.js'
import { memberBound, placeText, readMember } from '../item/member.js'
import { compareOrder, scoreOf, unscore } from '../item/order.js'
import { createPieceSize } from './pieces.js'

/** Versions looked at for one question: beyond it an answer costs server and reader more than a view would. */
export const MAX_WALK = 20_000

/** the least that is asked for once a first piece was not enough */
const SECOND_PIECE = 32
/** more than is missing is asked for at once, as more may have come */
const KNOWN_BEHIND = 16

/** @typedef {import('../item/member.js').VersionPlace} VersionPlace */
/** @typedef {import('../item/order.js').Place & import('../item/member.js').Member & { score: number, text: string }} Version */
/** @typedef {ReturnType<typeof newState>} State */
/** @typedef {ReturnType<typeof beginWalk>} Walk */

const newState = () => ({
  /** @type {Map<string, number>} keys of versions that were looked at -> score */
  looked: new Map(),
  /** @type {Map<string, string>} id, byte for character -> key of its newest */
  newest: new Map(),
  /** @type {VersionPlace | null} the oldest that was looked at, or where the caller goes on */
  place: null,
  size: createPieceSize()
})

/**
 * @param {import('./index.js').Connection} connection
 * @param {string} name of the sorted set
 * @param {{ minTs: number, maxItems: number, state?: State | null, after?: VersionPlace | null }} options what is live:
 *   versions of `minTs` and newer, `maxItems` of them (0 = no limit). `state`: of an earlier page that ended at `after`
 */
export function beginWalk (connection, name, { minTs, maxItems, state: before = null, after = null }) {
  const state = before && after ? rewound(before, after) : newState()
  const { looked, newest, size } = state
  let ended = false
  let asked = 0

  /** @param {Version} version @returns {boolean} whether its id is met for the first time */
  function note (version) {
    if (looked.size >= MAX_WALK) throw viewNeeded()
    const { id, score } = version
    const name = id.toString('latin1')
    const known = newest.get(name)
    const key = keyOf(version)
    looked.set(key, score)
    if (known !== undefined && isNewer(/** @type {number} */ (looked.get(known)), known, score, key)) return false
    newest.set(name, key)
    return known === undefined
  }

  /**
   * Looks for versions that came on the newer side of the place, from the newest down, until as many members are left
   * above the place as are known there. What comes while it looks does no harm: it is above, or counted.
   * @param {number} missing how many there were @param {VersionPlace} place
   */
  async function catchUp (missing, place) {
    const end = [scoreOf(place.ts, place.seq), memberBound(place, 'begin')]
    /** @type {(string | number | Buffer)[]} */
    let from = ['+inf', '']
    let known = looked.size
    for (let left = known + missing; left > known;) {
      const [between, flat] = await connection.runScript('members-between', [name], [...from, ...end, size.of(left - known + KNOWN_BEHIND)])
      const piece = versionsOf(flat, size)
      for (const version of piece) {
        if (looked.has(keyOf(version))) known--
        else note(version)
      }
      left = between - piece.length
      const last = piece.at(-1)
      if (last) from = [last.score, memberBound(last, 'begin')]
    }
  }

  /** @param {number} wanted */
  async function readPiece (wanted) {
    const { place } = state
    if (place === null) return versionsOf(await connection.send('ZREVRANGE', name, 0, wanted - 1, 'WITHSCORES'), size)
    const [newer, flat] = await connection.runScript('members-beside', [name], [scoreOf(place.ts, place.seq), memberBound(place, 'begin'), 'older', wanted])
    await catchUp(newer - looked.size, place)
    return versionsOf(flat, size)
  }

  const room = () => maxItems === 0 ? Infinity : maxItems - looked.size

  return {
    state,
    /** Whether nothing live is older than what was read. */
    get ended () { return ended },

    /**
     * The live versions next to the place, newest first; each is to be looked at before the next piece is read.
     * @param {number} wanted how many would do
     * @returns {Promise<Version[]>}
     */
    async read (wanted) {
      // when few of what came were wanted, it takes many more
      asked = asked === 0 ? wanted : Math.max(wanted, 2 * asked, SECOND_PIECE)
      const wantedNow = Math.min(size.of(asked), MAX_WALK + 1 - looked.size, Math.max(1, room()))
      const piece = await readPiece(wantedNow)
      const live = piece.slice(0, Math.max(0, room())).filter(({ ts }) => ts >= minTs)
      ended = piece.length < wantedNow || live.length < piece.length || live.length >= room()
      return live
    },

    /**
     * @param {Version} version the next one
     * @returns {boolean} whether it is the newest of its id
     * @throws {FreshetError} VIEW_NEEDED after MAX_WALK versions
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
 * @param {ReturnType<typeof createPieceSize>} size
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

/** As the walk was when it came to a place. @param {State} state @param {VersionPlace} after @returns {State} */
function rewound (state, after) {
  const { place, looked, newest, size } = state
  if (place === null || compareOrder(after, place) <= 0) return state
  const from = { ts: after.ts, seq: after.seq, id: after.id }
  const score = scoreOf(from.ts, from.seq)
  const text = placeText(from)
  const kept = new Map([...looked].filter(([key, itsScore]) => !isNewer(score, text, itsScore, key)))
  return { looked: kept, newest: new Map([...newest].filter(([, key]) => kept.has(key))), place: from, size }
}

/** Of one score, keys compare as versions do. @param {Version} version */
const keyOf = ({ text, score }) => text + score

/** @param {number} scoreA @param {string} textA @param {number} scoreB @param {string} textB whether A is newer than B */
const isNewer = (scoreA, textA, scoreB, textB) => scoreA > scoreB || (scoreA === scoreB && textA > textB)

const viewNeeded = () => new FreshetError('VIEW_NEEDED', `${MAX_WALK} stored versions were looked at, newest first, and the answer needs more of them; ask for fewer or newer items, or store the feed in layout ids`, { looked: MAX_WALK })
