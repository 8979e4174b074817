/**
 * Scores as text. `String(score)` of a fraction is the most expensive part of encoding an item, and consecutive items mostly
 * have the same ts, so the text of the last ts and of every seq is cached.
 *
 * Four decimals are enough from 2^40 ms (2004) on: doubles there are 2^-12 apart, so the server parses exactly
 * ts + seq / 4096. Older times are printed in full.
 */
import { MAX_SEQ, scoreOf } from '../item/index.js'

const FOUR_DECIMALS_FROM = 2 ** 40

const FRACTIONS = Array.from({ length: MAX_SEQ + 1 }, (_, seq) => Buffer.from((seq / (MAX_SEQ + 1)).toFixed(4).slice(1)))

export function createScoreText () {
  let lastTs = -1
  let digits = Buffer.alloc(0)

  /**
   * Writes the score as one bulk string.
   * @param {import('./wire.js').Wire} wire with at least 40 bytes reserved
   * @param {number} ts @param {number} seq
   */
  return function writeScore (wire, ts, seq) {
    if (ts < FOUR_DECIMALS_FROM && seq > 0) {
      const text = Buffer.from(String(scoreOf(ts, seq)))
      wire.bulkHead(text.length)
      wire.short(text)
    } else {
      if (ts !== lastTs) {
        lastTs = ts
        digits = Buffer.from(String(ts))
      }
      wire.bulkHead(seq === 0 ? digits.length : digits.length + 5)
      wire.short(digits)
      if (seq > 0) wire.short(FRACTIONS[seq])
    }
    wire.end()
  }
}
