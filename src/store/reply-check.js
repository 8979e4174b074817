/**
 * Follows what a server sends in front of the client's parser, and refuses what no Valkey or Redis sends. A parser
 * makes room for whatever length is announced, keeps what never ends, and goes as deep as it is told; and a reply that
 * nobody asked for would be taken for the answer to the next command.
 *
 *     +OK\r\n   :1\r\n   -ERR ...\r\n   $3\r\nabc\r\n   $-1\r\n   *2\r\n<reply><reply>   *-1\r\n      RESP2, to the letter
 *
 * Nothing is kept of a reply but a few numbers. Strings are stepped over, so what this costs depends on how many parts
 * replies have, hardly on how large they are.
 */

/** the largest string that a server can hold */
const MAX_REPLY_BYTES = 512 * 1024 * 1024
/** of a reply, those announced and those inside of others too; the largest asked for have some thousands */
const MAX_PARTS = 2 ** 20
const MAX_DEPTH = 32
/** status, number or error; strings have a length in front */
const MAX_LINE_BYTES = 64 * 1024
const MAX_NUMBER_BYTES = 20

const CR = 13
const LF = 10
/** how a part begins */
const STATUS = 43
const NUMBER = 58
const ERROR = 45
const STRING = 36
const ARRAY = 42
const PLUS = 43
const MINUS = 45
const ZERO = 48
const NINE = 57
/** of the records in which TLS speaks: alert, handshake */
const TLS_RECORDS = [21, 22]

/** What was received is not what a server says. */
export class ReplyRefused extends Error {}

/**
 * @param {{ maxReplyBytes?: number }} [limits]
 * @returns {(bytes: Buffer, asked: number) => void} takes what comes next; `asked`: how many commands were sent so far on
 *   this connection. Throws ReplyRefused.
 */
export function createReplyCheck ({ maxReplyBytes = MAX_REPLY_BYTES } = {}) {
  /** parts that each open array still misses, the outermost first @type {number[]} */
  const missing = []
  let begun = 0
  let replyBytes = 0
  let parts = 0
  /** of the line that is being read, 0 between lines */
  let type = 0
  let lineBytes = 0
  let number = 0
  let isSigned = false
  let isNegative = false
  let sawCr = false
  /** bytes of a string that are still to come, its line end included */
  let body = 0

  /** @param {number} byte the first of a part @param {number} asked */
  function begin (byte, asked) {
    if (missing.length === 0) {
      if (begun === asked) throw new ReplyRefused(TLS_RECORDS.includes(byte) ? 'it speaks TLS: give its address as rediss://' : 'it sent a reply that nobody asked for')
      begun++
      replyBytes = 0
      parts = 0
    }
    if (byte !== STRING && byte !== STATUS && byte !== NUMBER && byte !== ARRAY && byte !== ERROR) throw unlike(byte)
    type = byte
    lineBytes = 0
    number = 0
    isSigned = false
    isNegative = false
  }

  /** @param {Buffer} bytes @param {number} at @returns {number} where it goes on */
  function passLine (bytes, at) {
    if (type !== STATUS && type !== ERROR) at = passDigits(bytes, at)
    while (at < bytes.length) {
      const byte = bytes[at++]
      if (sawCr) {
        if (byte !== LF) throw unlike(byte)
        sawCr = false
        endLine()
        return at
      }
      if (byte === CR) sawCr = true
      else if (++lineBytes > MAX_LINE_BYTES) throw new ReplyRefused(`it sent a line of more than ${MAX_LINE_BYTES} bytes`)
      else if (type !== STATUS && type !== ERROR) {
        sign(byte)
        at = passDigits(bytes, at)
      }
    }
    return at
  }

  /** @param {Buffer} bytes @param {number} at @returns {number} where no digit is */
  function passDigits (bytes, at) {
    let value = number
    let to = at
    for (; to < bytes.length; to++) {
      const byte = bytes[to]
      if (byte < ZERO || byte > NINE) break
      value = value * 10 + byte - ZERO
    }
    number = value
    lineBytes += to - at
    if (lineBytes > MAX_NUMBER_BYTES) throw new ReplyRefused('it sent a number that is none')
    return to
  }

  /** @param {number} byte */
  function sign (byte) {
    if (lineBytes !== 1 || (byte !== MINUS && (byte !== PLUS || type !== NUMBER))) throw unlike(byte)
    isSigned = true
    isNegative = byte === MINUS
  }

  function endLine () {
    const ended = type
    type = 0
    count(lineBytes)
    if (ended === STATUS || ended === ERROR) return endPart()
    if (lineBytes === (isSigned ? 1 : 0)) throw new ReplyRefused('it sent a number that is none')
    if (ended === NUMBER) return endPart()
    if (isNegative) {
      if (number !== 1) throw new ReplyRefused('it sent a length below zero')
      return endPart()
    }
    if (ended === STRING) {
      count(number)
      body = number + 2
    } else open(number)
  }

  /** @param {number} length of an array */
  function open (length) {
    parts += length
    if (parts > MAX_PARTS) throw new ReplyRefused(`it announced a reply of ${parts} parts`)
    if (length === 0) return endPart()
    if (missing.push(length) > MAX_DEPTH) throw new ReplyRefused(`it sent arrays in arrays, more than ${MAX_DEPTH} deep`)
  }

  /** @param {number} bytes */
  function count (bytes) {
    replyBytes += bytes
    if (replyBytes > maxReplyBytes) throw new ReplyRefused(`it sent or announced a reply of more than ${maxReplyBytes} bytes`)
  }

  /** A part, and every array that it was the last of. */
  function endPart () {
    while (missing.length > 0 && --missing[missing.length - 1] === 0) missing.pop()
  }

  /** @param {Buffer} bytes @param {number} at @returns {number} where it goes on */
  function passBody (bytes, at) {
    const end = at + body
    if (end <= bytes.length && bytes[end - 2] === CR && bytes[end - 1] === LF) {
      body = 0
      endPart()
      return end
    }
    if (body > 2) {
      const step = Math.min(body - 2, bytes.length - at)
      body -= step
      return at + step
    }
    if (bytes[at] !== (body === 2 ? CR : LF)) throw unlike(bytes[at])
    if (--body === 0) endPart()
    return at + 1
  }

  return (bytes, asked) => {
    for (let at = 0; at < bytes.length;) {
      if (body > 0) at = passBody(bytes, at)
      else if (type !== 0) at = passLine(bytes, at)
      else begin(bytes[at++], asked)
    }
  }
}

/** @param {number} byte */
const unlike = (byte) => new ReplyRefused(TLS_RECORDS.includes(byte)
  ? 'it speaks TLS: give its address as rediss://'
  : `it sent byte ${byte} where Valkey and Redis never do`)
