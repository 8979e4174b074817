/**
 * Items as JSON text, written from bytes to bytes without an object per item and, for base64, without a string.
 * JSON.stringify of objects would need each value as text twice.
 *
 *     base64   {"id":"a","ts":1,"value":"aGVsbG8="}
 *     utf8     {"id":"a","ts":1,"value":"hello"}                          when the value is UTF-8
 *     json     {"id":"a","ts":1,"value":{"price":1.10}}                   when the value is JSON
 *              {"id":"a","ts":1,"value":"/w==","encoding":"base64"}       when it is not
 *
 * `json` embeds the stored text, so numbers keep their digits; it is parsed only to check that it is JSON. An item is always
 * one line: line breaks in valid JSON are white space, and are replaced by spaces.
 */
import { isUtf8 } from 'node:buffer'
import { ID_SCHEMA, MAX_TS } from '../item/index.js'

/**
 * Text as bytes, in a buffer that grows and is reused, so that a page of items needs no string per item. Text is written as
 * UTF-8, values as base64.
 */
const FIRST_BYTES = 64 * 1024
/** larger buffers are not reused */
const MAX_REUSED_BYTES = 1024 * 1024
/** UTF-8 bytes per UTF-16 unit */
const MAX_BYTES_PER_UNIT = 3

const DIGITS = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
/** Two base64 digits for 12 bits, the first in the low byte. */
const PAIRS = Uint16Array.from({ length: 4096 }, (_, bits) => DIGITS[bits >> 6] | DIGITS[bits & 63] << 8)
const PADDING = 0x3d
const ZERO = 0x30
/** of milliseconds since 1970, for years 2001 to 2286 */
const MILLIS_DIGITS = 13
const MIN_MILLIS = 10 ** (MILLIS_DIGITS - 1)
const LOW_DIGITS = 7
const LOW = 10 ** LOW_DIGITS

export class TextBuffer {
  bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  length = 0

  /** @param {number} more bytes that the next writes may take together */
  reserve (more) {
    if (this.length + more <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.length + more, 2 * this.bytes.length))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  /** @param {string} text well-formed */
  text (text) {
    this.reserve(text.length * MAX_BYTES_PER_UNIT)
    this.length += this.bytes.write(text, this.length)
  }

  /** @param {number} byte */
  byte (byte) {
    this.reserve(1)
    this.bytes[this.length++] = byte
  }

  /** @param {Uint8Array} from ASCII, short; space is reserved */
  ascii (from, at = 0, end = from.length) {
    const { bytes } = this
    let to = this.length
    for (let i = at; i < end; i++) bytes[to++] = from[i]
    this.length = to
  }

  /** @param {number} millis an integer of 0 or more; space is reserved */
  millis (millis) {
    if (millis < MIN_MILLIS || millis >= 10 * MIN_MILLIS) return this.text(String(millis))
    const high = Math.floor(millis / LOW)
    this.#digits(high, this.length, MILLIS_DIGITS - LOW_DIGITS)
    this.#digits(millis - high * LOW, this.length + MILLIS_DIGITS - LOW_DIGITS, LOW_DIGITS)
    this.length += MILLIS_DIGITS
  }

  /** @param {number} number below 2^31 @param {number} at @param {number} digits */
  #digits (number, at, digits) {
    for (let to = at + digits - 1; to >= at; to--) {
      const rest = (number / 10) | 0
      this.bytes[to] = ZERO + number - rest * 10
      number = rest
    }
  }

  /** @param {Uint8Array} from @param {number} at @param {number} end base64Bytes() are reserved */
  base64 (from, at, end) {
    const { bytes } = this
    let to = this.length
    for (const whole = end - (end - at) % 3; at < whole; at += 3) {
      const bits = from[at] << 16 | from[at + 1] << 8 | from[at + 2]
      const first = PAIRS[bits >> 12]
      const second = PAIRS[bits & 4095]
      bytes[to] = first
      bytes[to + 1] = first >> 8
      bytes[to + 2] = second
      bytes[to + 3] = second >> 8
      to += 4
    }
    if (at < end) {
      const bits = from[at] << 16 | (at + 1 < end ? from[at + 1] << 8 : 0)
      const first = PAIRS[bits >> 12]
      bytes[to] = first
      bytes[to + 1] = first >> 8
      bytes[to + 2] = at + 1 < end ? DIGITS[bits >> 6 & 63] : PADDING
      bytes[to + 3] = PADDING
      to += 4
    }
    this.length = to
  }

  /** Empties the buffer. @returns {Buffer} a copy of what was written */
  take () {
    const taken = Buffer.allocUnsafeSlow(this.length)
    this.bytes.copy(taken, 0, 0, this.length)
    this.length = 0
    if (this.bytes.length > MAX_REUSED_BYTES) this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
    return taken
  }
}

/** @param {number} count of bytes @returns {number} the length of their base64 */
export const base64Bytes = (count) => Math.ceil(count / 3) * 4

/**
 * Writes one item as JSON, without a line break. Id and value are parts of buffers, which may be the same.
 * @typedef {(out: TextBuffer, id: Buffer, idAt: number, idEnd: number, ts: number, value: Buffer, valueAt: number,
 *   valueEnd: number) => void} ItemWriter
 */

/** JSON schema of an item. */
export const ITEM_SCHEMA = Object.freeze({
  type: 'object',
  required: ['id', 'ts', 'value'],
  properties: {
    id: ID_SCHEMA,
    ts: { type: 'integer', minimum: 0, maximum: MAX_TS, description: 'event time, milliseconds since 1970' },
    value: { description: 'as the query parameter `encoding` says' },
    encoding: { type: 'string', enum: ['base64'], description: 'the value is not valid in that encoding' }
  }
})

const ID = Buffer.from('{"id":"')
const TS = Buffer.from('","ts":')
const VALUE = Buffer.from(',"value":')
const IS_BASE64 = Buffer.from(',"encoding":"base64"')
const QUOTE = 0x22
const BRACE = 0x7d
/** an item without id and value takes less */
const AROUND_BYTES = 128
/** per byte of an id */
const MAX_ESCAPED_BYTES = 6

/** 1: an ASCII byte that needs no escape in a JSON string. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) => byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c ? 1 : 0)

/** @param {Buffer} value @returns {string | null} */
const asText = (value) => isUtf8(value) ? JSON.stringify(value.toString()) : null

/** @param {Buffer} value @returns {string | null} */
function asJson (value) {
  if (!isUtf8(value)) return null
  const text = value.toString()
  try {
    JSON.parse(text)
  } catch {
    return null
  }
  return /[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, ' ') : text
}

/**
 * @type {Readonly<Record<string, ((value: Buffer) => string | null) | null>>} null: base64; a function returns null for
 *   values that it cannot encode
 */
const VALUES = Object.freeze({ base64: null, utf8: asText, json: asJson })

/** The first is the default. */
export const ENCODINGS = Object.freeze(Object.keys(VALUES))

/**
 * @param {string} encoding one of ENCODINGS
 * @returns {ItemWriter}
 */
export function itemWriter (encoding) {
  const textOf = VALUES[encoding]
  return (out, id, idAt, idEnd, ts, value, valueAt, valueEnd) => {
    out.reserve(AROUND_BYTES + MAX_ESCAPED_BYTES * (idEnd - idAt) + base64Bytes(valueEnd - valueAt))
    out.ascii(ID)
    writeId(out, id, idAt, idEnd)
    out.ascii(TS)
    out.millis(ts)
    out.ascii(VALUE)
    const text = textOf === null ? null : textOf(value.subarray(valueAt, valueEnd))
    if (text === null) {
      out.bytes[out.length++] = QUOTE
      out.base64(value, valueAt, valueEnd)
      out.bytes[out.length++] = QUOTE
      if (textOf !== null) out.ascii(IS_BASE64)
    } else out.text(text)
    out.byte(BRACE)
  }
}

/** @param {TextBuffer} out @param {Buffer} id @param {number} at @param {number} end */
function writeId (out, id, at, end) {
  for (let i = at; i < end; i++) {
    if (PLAIN[id[i]] === 0) return out.text(JSON.stringify(id.toString('utf8', at, end)).slice(1, -1))
  }
  out.ascii(id, at, end)
}
