/**
 * Items as JSON text, made by hand: one JSON.stringify an id, one toString a value. Whole-object stringifying costs
 * several times as much and would need the value as text twice.
 *
 *     base64   {"id":"a","ts":1,"value":"aGVsbG8="}
 *     utf8     {"id":"a","ts":1,"value":"hello"}                          when the value is UTF-8
 *     json     {"id":"a","ts":1,"value":{"price":1.10}}                   when the value is JSON
 *              {"id":"a","ts":1,"value":"/w==","encoding":"base64"}       when it is not
 *
 * `json` embeds the text that was stored, so numbers keep their digits; it is parsed only to know that it is JSON.
 * A line stays one line: line breaks in valid JSON can only stand between its parts, where a space means the same.
 */
import { isUtf8 } from 'node:buffer'

/** @typedef {{ id: Buffer, ts: number, value: Buffer }} Shown */

/** @param {Buffer} value @returns {string} */
const asBase64 = (value) => `"${value.toString('base64')}"`

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

/** @type {Readonly<Record<string, (value: Buffer) => string | null>>} null: the value is not that */
const VALUES = Object.freeze({ base64: asBase64, utf8: asText, json: asJson })

/** The first is the default. */
export const ENCODINGS = Object.freeze(Object.keys(VALUES))

/**
 * @param {string} encoding one of ENCODINGS
 * @returns {(item: Shown) => string} one item as JSON, without a line break
 */
export function itemEncoder (encoding) {
  const valueText = VALUES[encoding]
  return ({ id, ts, value }) => {
    const head = `{"id":${JSON.stringify(id.toString())},"ts":${ts},"value":`
    const text = valueText(value)
    return text === null ? `${head}${asBase64(value)},"encoding":"base64"}` : `${head}${text}}`
  }
}
