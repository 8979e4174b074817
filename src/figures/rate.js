/**
 * How much is written to one feed, out of what its writers noted (feeds/notes.js): of each writer the difference of its two
 * newest notes over the time between them, on its own clock. So it does not matter when the notes are read, nor which
 * time the reader has.
 *
 *     a note that is new         its rate is that since the note before
 *     none new for QUIET_MS      the writer is gone or cannot write: 0, where the node that was asked is known to keep up
 *     a writer seen once         not known, where it was there before us; else 0 until its second note
 *
 * @typedef {import('../feeds/notes.js').Note} Note
 * @typedef {{ itemsPerSecond: number, writers: number }} Rate `writers`: whose number of items rose within the last QUIET_MS
 * @typedef {{ note: Note, seenMs: number, roseMs: number, rate: number | null }} Writer `seenMs`, `roseMs`: when the note was first
 *   seen, and when one with more items was
 */

/** three notes that did not come */
const QUIET_MS = 3000

export function createRate () {
  /** @type {Map<string, Writer>} */
  let writers = new Map()
  let isFirst = true

  /** @param {Writer | undefined} known @param {Note} note @param {{ nowMs: number, isCurrent: boolean }} asked @returns {Writer} */
  function followed (known, note, { nowMs, isCurrent }) {
    if (!known) return { note, seenMs: nowMs, roseMs: -Infinity, rate: isFirst ? null : 0 }
    const rose = note.items - known.note.items
    const passedMs = note.atMs - known.note.atMs
    // one that is older comes from a node that is further behind
    const isNew = rose > 0 || (rose === 0 && passedMs > 0)
    if (!isNew) return nowMs - known.seenMs > QUIET_MS ? { ...known, rate: isCurrent ? 0 : null } : known
    return { note, seenMs: nowMs, roseMs: rose > 0 ? nowMs : known.roseMs, rate: passedMs > 0 ? rose / passedMs * 1000 : known.rate }
  }

  return {
    /**
     * @param {Map<string, Note | null>} notes by writer, as they were read now
     * @param {{ nowMs: number, isCurrent: boolean }} asked `nowMs` of a clock that never goes back; `isCurrent`: the node that
     *   was asked is known to keep up with its primary
     * @returns {Rate | null} null: not known
     */
    take (notes, asked) {
      const before = writers
      writers = new Map()
      for (const [name, note] of notes) if (note !== null) writers.set(name, followed(before.get(name), note, asked))
      isFirst = false
      const all = [...writers.values()]
      if (all.some(({ rate }) => rate === null) || (all.length === 0 && !asked.isCurrent)) return null
      return {
        itemsPerSecond: Math.round(all.reduce((sum, { rate }) => sum + Number(rate), 0) * 100) / 100,
        writers: all.filter(({ roseMs }) => asked.nowMs - roseMs <= QUIET_MS).length
      }
    }
  }
}
