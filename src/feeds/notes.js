/**
 * What writers say of themselves: each notes once a second how many of its items were acknowledged so far, and the time
 * of its clock when that was so. Whoever reads two notes of a writer knows how much it writes, whatever the layout, and
 * without asking the writer.
 *
 *     fr:{latest}:writers     a hash, one for all partitions
 *         <name of a writer>  "1500000 1790000000000"      items, ms since 1970
 *
 * A writer removes its field when it closes. One that was killed cannot: what is older than `NOTE_KEPT_MS` is removed by
 * any other writer, and the whole key expires when nobody writes.
 *
 * @typedef {{ items: number, atMs: number }} Note `items`: never goes back, for a name is of one opened feed
 */

export const NOTE_KEPT_MS = 60_000
/** the whole key, after its last note */
export const NOTES_EXPIRE_MS = 600_000

const NOTE = /^(\d{1,16}) (\d{1,16})$/

/** @param {Note} note @returns {string} */
export const noteText = ({ items, atMs }) => `${items} ${Math.floor(atMs)}`

/** @param {Buffer | string} text @returns {Note | null} null: not what a writer notes */
export function readNote (text) {
  const [, items, atMs] = NOTE.exec(String(text)) ?? []
  return items === undefined ? null : { items: Number(items), atMs: Number(atMs) }
}

/**
 * @param {Buffer[]} flat name, note, name, note ... as HGETALL answers
 * @returns {Map<string, Note | null>} by writer
 */
export const readNotes = (flat) => new Map(Array.from({ length: flat.length / 2 }, (_, i) => [String(flat[2 * i]), readNote(flat[2 * i + 1])]))
