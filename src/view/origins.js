/**
 * The deliveries of a log: of a writer that did not hear of one, the same comes again, and counts once.
 *
 *     writer and epoch ──▶ its sequences that came, a bit each, in pieces of 4,096
 *
 * What comes again comes within what its writer had on its way, however much others wrote in between. So each writer has
 * pieces of its own, and when they are too many, the writer that has most loses its oldest. One of which nothing came for
 * long goes before that: it is gone, as a writer that is opened again is another one.
 *
 * Sequences run over all partitions, so those of one have gaps. A bit for each costs less than a set of those that came,
 * even where one in a hundred did.
 */
import { WRITER_TEXT_LENGTH, sequenceOf } from '../item/origin.js'

const PIECE = 4096
const WORD_BITS = 32
/** of half a KiB each: eight million deliveries where they are dense */
const MAX_PIECES = 2048
/** pieces that others began since something of a writer came */
const GONE_AFTER = MAX_PIECES / 2

/** @typedef {{ pieces: Map<number, Uint32Array>, usedAt: number }} Writer `pieces`: by number, the oldest first; `usedAt`: how many were begun */

/** @param {{ maxPieces?: number, goneAfter?: number }} [bounds] */
export function createOrigins ({ maxPieces = MAX_PIECES, goneAfter = GONE_AFTER } = {}) {
  /** @type {Map<string, Writer>} */
  const writers = new Map()
  // what comes next is mostly of the same writer
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

  /** Of the writer that was asked for last. @returns {Writer} */
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

  /** @param {Writer} current stays */
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
      // a log that is read backwards adds the oldest last
      most.pieces.delete(Math.min(...most.pieces.keys()))
      held--
    }
  }

  return {
    /** @param {string} origin as item/origin.js spells it */
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
