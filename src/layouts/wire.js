/**
 * Commands as RESP bytes (arrays of bulk strings). A batch is encoded item by item when it is filled, so that sending it, and
 * sending it again, costs nothing per item; only a script without MSETEX gets its keys and records out of commands (copyArguments).
 * The encoder of the client builds an array, a join and a copy per argument; see docs/decisions/005.
 */
import { MAX_SEQ, scoreOf } from '../item/index.js'

const CR = 13
const LF = 10
const DOLLAR = 36
const ZERO = 48

/** A growing buffer. `reset` keeps its memory, so a pool of batches stops allocating. */
export class Wire {
  bytes
  length = 0

  /** @param {number} initialBytes */
  constructor (initialBytes) {
    this.bytes = Buffer.allocUnsafeSlow(initialBytes)
  }

  reset () {
    this.length = 0
  }

  /** Makes room. @param {number} more bytes */
  reserve (more) {
    if (this.length + more <= this.bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(this.bytes.length * 2, this.length + more))
    this.bytes.copy(grown, 0, 0, this.length)
    this.bytes = grown
  }

  /** Begins a bulk string: `$<length>\r\n`. @param {number} bytes */
  bulkHead (bytes) {
    this.bytes[this.length++] = DOLLAR
    this.#digits(bytes)
    this.end()
  }

  /** Ends a bulk string. */
  end () {
    this.bytes[this.length++] = CR
    this.bytes[this.length++] = LF
  }

  /** @param {Buffer} part short: a loop is faster than a call into C++ */
  short (part) {
    const { bytes } = this
    let at = this.length
    for (let i = 0; i < part.length; i++) bytes[at++] = part[i]
    this.length = at
  }

  /** @param {Buffer} part */
  long (part) {
    if (part.length < 32) return this.short(part)
    part.copy(this.bytes, this.length)
    this.length += part.length
  }

  /** A part of other bytes. @param {Buffer} from @param {number} start @param {number} end */
  copy (from, start, end) {
    this.reserve(end - start)
    from.copy(this.bytes, this.length, start, end)
    this.length += end - start
  }

  /** @param {number} value */
  #digits (value) {
    let scale = 1
    while (value >= scale * 10) scale *= 10
    for (; scale >= 1; scale = Math.trunc(scale / 10)) this.bytes[this.length++] = ZERO + Math.trunc(value / scale) % 10
  }

  /** @returns {Buffer} valid until the next write */
  written () {
    return this.bytes.subarray(0, this.length)
  }
}

/**
 * A command, or the beginning of one whose other arguments follow.
 * @param {number} count arguments of the whole command, with its name
 * @param {...(string | number)} words the first of them
 */
export const command = (count, ...words) => Buffer.from(`*${count}\r\n` + words.map(argument).join(''))

/** @param {...(string | number)} words @returns {Buffer} a whole command */
export const wholeCommand = (...words) => command(words.length, ...words)

/**
 * Copies the same argument of each command.
 * @param {Buffer} commands whole ones, with fewer than 10 arguments each @param {number} position of the argument, 0 = its name
 * @param {Wire} to
 */
export function copyArguments (commands, position, to) {
  for (let at = 0; at < commands.length;) {
    const count = commands[at + 1] - ZERO
    at += '*0\r\n'.length
    for (let i = 0; i < count; i++) {
      const end = endOfBulk(commands, at)
      if (i === position) to.copy(commands, at, end)
      at = end
    }
  }
}

/** @param {Buffer} bytes @param {number} at of a bulk string */
function endOfBulk (bytes, at) {
  let length = 0
  while (bytes[++at] !== CR) length = 10 * length + bytes[at] - ZERO
  return at + length + 2 * '\r\n'.length
}

/** @param {string | number} word */
export const argument = (word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`

/** @param {Buffer} bytes @returns {Buffer} as an argument */
export const bulk = (bytes) => Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')])

export const MULTI = wholeCommand('MULTI')
export const EXEC = wholeCommand('EXEC')
export const NOTHING = Buffer.alloc(0)

const FOUR_DECIMALS_FROM = 2 ** 40

const FRACTIONS = Array.from({ length: MAX_SEQ + 1 }, (_, seq) => Buffer.from((seq / (MAX_SEQ + 1)).toFixed(4).slice(1)))

/**
 * Scores as text. `String(score)` of a fraction is the most expensive part of encoding an item, and consecutive items mostly
 * have the same ts, so the text of the last ts and of every seq is cached.
 *
 * Four decimals are enough from 2^40 ms (2004) on: doubles there are 2^-12 apart, so the server parses exactly
 * ts + seq / 4096. Older times are printed in full.
 */
export function createScoreText () {
  let lastTs = -1
  let digits = Buffer.alloc(0)

  /**
   * Writes the score as one bulk string.
   * @param {Wire} wire with at least 40 bytes reserved
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
