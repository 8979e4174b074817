/**
 * Comma-separated values: the first row names the columns, fields may be quoted, lines end in LF or CRLF.
 *
 * The cutter finds the ends of records, for which it only tracks quotes. This bounds memory, counts lines and limits a fault to its
 * record. csv-parse then splits all records of a chunk in one call. If the call fails, each record is parsed alone.
 *
 * Rejected: csv-parse on the stream. A record over its `max_record_size` ends the stream.
 */
import { isUtf8 } from 'node:buffer'
import { parse } from 'csv-parse/sync'
import { FreshetError } from '../../src/errors.js'
import { createCutter } from './cut.js'

/** @typedef {import('./records.js').Entry} Entry */

const QUOTE = 0x22
const COMMA = 0x2c
const NEWLINE = 0x0a
const LINE_END = Buffer.from('\n')

/** @type {import('csv-parse/sync').Options} */
const FIELDS = { columns: false, delimiter: ',', record_delimiter: '\n', relax_column_count: true }

const QUOTED = /"(?:[^"]|"")*"/g
const LONE_CR = 'the lines end in CR; expected LF or CRLF. Convert it: tr "\\r" "\\n" < FILE'

/** @type {Record<string, string>} */
const REASONS = {
  CSV_QUOTE_NOT_CLOSED: 'unclosed quote',
  CSV_INVALID_CLOSING_QUOTE: 'text after a closing quote',
  INVALID_OPENING_QUOTE: 'quote inside an unquoted field'
}

/**
 * @param {{ maxRecordBytes: number }} options
 * @returns {import('./records.js').Reader}
 */
export function createCsvReader ({ maxRecordBytes }) {
  const cutter = createCutter(maxRecordBytes, createQuoteTracker())
  /** @type {string[] | null} */
  let columns = null

  /** @param {Entry[]} lines @param {Entry[]} into */
  function read (lines, into) {
    if (columns === null && lines.length > 0) columns = readHeader(/** @type {Entry} */ (lines.shift()))
    if (columns === null) return
    const good = lines.filter((line) => line.fault === null)
    const rows = splitAll(good)
    good.forEach((line, at) => fill(line, rows[at], /** @type {string[]} */ (columns)))
    for (const line of lines) into.push(line)
  }

  return {
    take: (chunk, into) => read(cutter.cut(chunk), into),
    end (into) {
      read(cutter.end(), into)
      if (columns === null) throw invalidHeader('none')
    }
  }
}

/** Tracks whether a newline is inside a quoted field; a quote opens a field only at its start. */
function createQuoteTracker () {
  let fieldStarts = true
  let quoted = false
  let closing = false // the last byte was a quote in a quoted field: its end, or the first of a pair

  /** @param {Buffer} bytes @param {number} from @param {number} to */
  return (bytes, from, to) => {
    for (let at = from; at < to; at++) {
      const byte = bytes[at]
      if (quoted && !closing) closing = byte === QUOTE
      else if (byte === QUOTE && (closing || fieldStarts)) {
        quoted = true
        closing = fieldStarts = false
      } else {
        fieldStarts = byte === COMMA || byte === NEWLINE
        quoted = closing = false
      }
    }
    return quoted && !closing
  }
}

/** @param {Entry} line @returns {string[]} the names of the columns, each as the start of a JSON member */
function readHeader (line) {
  // without LF the whole file is one line
  if (/\r[^\r]/.test(String(line.raw).replace(QUOTED, ''))) throw new FreshetError('INPUT_INVALID', `CSV header: ${LONE_CR}`)
  const names = line.text === null ? String(line.fault) : split(line.text)
  if (typeof names === 'string') throw invalidHeader(`line ${line.place}: ${names}`)
  const [, other] = names.length === 1 ? /([;\t|])/.exec(names[0]) ?? [] : []
  if (other) {
    throw new FreshetError('INPUT_INVALID', `CSV header: one column, ${JSON.stringify(names[0])}; expected commas between fields, not ` +
      `${JSON.stringify(other)}. Save the file with commas, or convert it: python3 -c "import csv, sys; ` +
      `csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, delimiter=${other === '\t' ? "'\\t'" : `'${other}'`}))" < FILE`)
  }
  const seen = new Set()
  for (const name of names) {
    if (name === '') throw invalidHeader(`column ${seen.size + 1} has no name`)
    if (seen.has(name)) throw invalidHeader(`duplicate column name ${JSON.stringify(name)}`)
    seen.add(name)
  }
  return names.map((name) => JSON.stringify(name) + ':')
}

/** @param {string} received */
const invalidHeader = (received) => new FreshetError('INPUT_INVALID',
  `CSV header: ${received}; expected a first row with a different name for each column`)

/** @param {Entry[]} lines @returns {(string[] | string)[]} for each line its fields, or a fault */
function splitAll (lines) {
  const texts = lines.map((line) => /** @type {Buffer} */ (line.text))
  const block = Buffer.concat(texts.flatMap((text) => [text, LINE_END]))
  try {
    const rows = isUtf8(block) ? parse(block, FIELDS) : []
    if (rows.length === lines.length) return rows
  } catch {
    // at least one is malformed; it is found below
  }
  return texts.map(split)
}

/** @param {Buffer} text one record @returns {string[] | string} its fields, or a fault */
function split (text) {
  if (!isUtf8(text)) return 'not valid UTF-8'
  try {
    return parse(text, FIELDS)[0]
  } catch (error) {
    return REASONS[error.code] ?? `not CSV (${error.code})`
  }
}

/** @param {Entry} line gets record and text, or a fault @param {string[] | string} row @param {string[]} columns */
function fill (line, row, columns) {
  if (typeof row === 'string' || row.length !== columns.length) {
    line.fault = typeof row === 'string' ? row : `columns: ${row.length}; the header has ${columns.length}`
    line.text = null
    return
  }
  const text = '{' + columns.map((member, at) => member + JSON.stringify(row[at])).join(',') + '}'
  line.text = Buffer.from(text)
  line.record = JSON.parse(text) // not obj[name] = value: a column may be called __proto__
}
