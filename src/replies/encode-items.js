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
import { base64Bytes } from './text-buffer.js'

/** @typedef {import('./text-buffer.js').TextBuffer} TextBuffer */
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
