/**
 * Deduplicates the batches of a log: a writer that got no reply sends a batch again, and it must count once.
 *
 *     writer and epoch ──▶ sequence numbers seen, one bit each, in pieces of 4,096
 *
 * A repeated batch is one of those its writer had in flight, however much other writers appended in between. So each writer
 * has its own pieces. When there are too many pieces, a writer that was silent for long is dropped; otherwise the writer with
 * the most pieces loses its oldest. (A writer that is opened again has another epoch.)
 *
 * Sequence numbers run over all partitions, so those of one partition have gaps. A bitmap is smaller than a set even where one
 * bit in a hundred is set.
 */
import { sequenceOf, WRITER_TEXT_LENGTH } from '../item/index.js'

const PIECE = 4096
const WORD_BITS = 32
/** of 512 bytes each: eight million batches where they are dense */
const MAX_PIECES = 2048
/** a writer is gone after other writers began so many pieces */
const GONE_AFTER = MAX_PIECES / 2

/** @typedef {{ pieces: Map<number, Uint32Array>, usedAt: number }} Writer `pieces` by number; `usedAt`: value of
 *   `begun` when a batch of it last came */

/** @param {{ maxPieces?: number, goneAfter?: number }} [bounds] */
export function createOrigins ({ maxPieces = MAX_PIECES, goneAfter = GONE_AFTER } = {}) {
  /** @type {Map<string, Writer>} */
  const writers = new Map()
  // the next batch is mostly of the same writer
  let lastText = ''
  /** @type {Writer | undefined} */
  let last
  let begun = 0
  let held = 0

  /** @param {string} origin @returns {Writer | undefined} */
  function writerOf (origin) {
    if (lastText === '' || !origin.startsWith(lastText)) {
      lastText = origin.slice(0, WRITER_TEXT_LENGTH)
      last = writers.get(lastText)
    }
    if (last) last.usedAt = begun
    return last
  }

  /** For the text of the last `writerOf`. @returns {Writer} */
  function newWriter () {
    last = { pieces: new Map(), usedAt: begun }
    writers.set(lastText, last)
    return last
  }

  /** @param {Writer} writer @param {number} number @returns {Uint32Array} */
  function newPiece (writer, number) {
    const piece = new Uint32Array(PIECE / WORD_BITS)
    writer.pieces.set(number, piece)
    begun++
    writer.usedAt = begun
    if (++held > maxPieces) makeRoom(writer)
    return piece
  }

  /** Removes a writer or a piece. @param {Writer} current is kept */
  function makeRoom (current) {
    let most = current
    let idleText = ''
    let idle = current
    for (const [text, writer] of writers) {
      if (writer.pieces.size > most.pieces.size) most = writer
      if (writer.usedAt < idle.usedAt) [idleText, idle] = [text, writer]
    }
    if (idle !== current && (most.pieces.size === 1 || begun - idle.usedAt > goneAfter)) {
      writers.delete(idleText)
      held -= idle.pieces.size
    } else {
      // by number: a log that is read backwards adds the oldest last
      most.pieces.delete(Math.min(...most.pieces.keys()))
      held--
    }
  }

  return {
    /** @param {string} origin as encoded by item/origin.js */
    has (origin) {
      const pieces = writerOf(origin)?.pieces
      const sequence = sequenceOf(origin)
      const piece = pieces?.get(Math.floor(sequence / PIECE))
      if (piece === undefined) return false
      const bit = sequence % PIECE
      return (piece[Math.floor(bit / WORD_BITS)] & (1 << bit % WORD_BITS)) !== 0
    },

    /** @param {string} origin */
    add (origin) {
      const writer = writerOf(origin) ?? newWriter()
      const sequence = sequenceOf(origin)
      const number = Math.floor(sequence / PIECE)
      const piece = writer.pieces.get(number) ?? newPiece(writer, number)
      const bit = sequence % PIECE
      piece[Math.floor(bit / WORD_BITS)] |= 1 << bit % WORD_BITS
    }
  }
}
