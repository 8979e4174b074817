/** One JSON object per line. The text of a record is the bytes of its line, without white space around them. */
import { isUtf8 } from 'node:buffer'
import { createCutter, refused } from './cut.js'

/** @typedef {import('./records.js').Entry} Entry */

/**
 * @param {{ maxRecordBytes: number }} options
 * @returns {import('./records.js').Reader}
 */
export function createNdjsonReader ({ maxRecordBytes }) {
  const cutter = createCutter(maxRecordBytes)
  return {
    take: (chunk, into) => parse(cutter.cut(chunk), into),
    end: (into) => parse(cutter.end(), into)
  }
}

/** @param {Entry[]} lines @param {Entry[]} into */
function parse (lines, into) {
  for (const line of lines) {
    if (line.text !== null) line.text = trimmed(line.text)
    if (line.text === null) into.push(line)
    else if (line.text.length > 0) into.push(parseLine(line, line.text))
  }
}

/** @param {Entry} line @param {Buffer} text @returns {Entry} */
function parseLine (line, text) {
  if (!isUtf8(text)) return refused(line.place, 'not valid UTF-8', line.raw)
  try {
    line.record = JSON.parse(text.toString())
  } catch (error) {
    return refused(line.place, `not JSON: ${error.message}`, line.raw)
  }
  if (typeof line.record === 'object' && line.record !== null && !Array.isArray(line.record)) return line
  return refused(line.place, 'not a JSON object', line.raw)
}

/** @param {number} byte */
const isSpace = (byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d

/** @param {Buffer} bytes */
function trimmed (bytes) {
  let start = 0
  let end = bytes.length
  while (start < end && isSpace(bytes[start])) start++
  while (end > start && isSpace(bytes[end - 1])) end--
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
}
