/**
 * Server-sent events (HTML Living Standard, 9.2).
 *
 *     event: items
 *     data: {"items":[{"id":"a","ts":1,"value":"aGVsbG8="},{"id":"b","ts":2,"deleted":true}]}
 *     id: <position>
 *
 * Data is one line: line breaks in ids and values are escaped or replaced (replies/encode-items.js). What does not fit into one
 * event comes in several; only the last has the position, so a client that disconnects before it receives all of them again.
 *
 * An event of items is built as a frame, which is one chunk of HTTP/1.1 (RFC 9112, 7.1), so that one write of a socket sends it:
 *
 *     00000dac CR LF  event  CR LF      size in eight hexadecimal digits
 */
import { MAX_ID_BYTES } from '../item/index.js'
import { itemWriter, TextBuffer } from '../replies/index.js'

/** Clients whose stream the reader ends reconnect within this time, not all at once. */
const RECONNECT_WITHIN_MS = 3000
const COMMA = 0x2c
const SIZE_DIGITS = 8
const HEAD = `${'0'.repeat(SIZE_DIGITS)}\r\n`
const TAIL = '\r\n'
const DIGITS = Buffer.from('0123456789abcdef')
/** the id that is written */
const ID = Buffer.alloc(MAX_ID_BYTES)
export const FRAME_BYTES = HEAD.length + TAIL.length

/** @param {Buffer} frame @returns {Buffer} its event */
export const eventOf = (frame) => frame.subarray(HEAD.length, -TAIL.length)

/** @param {Buffer} event @returns {Buffer} */
export const frameOf = (event) =>
  Buffer.concat([Buffer.from(`${event.length.toString(16).padStart(SIZE_DIGITS, '0')}\r\n`), event, Buffer.from(TAIL)])

/** @param {Buffer} frame of an event without a position @param {string} position @returns {Buffer} */
export const withPosition = (frame, position) =>
  frameOf(Buffer.concat([eventOf(frame).subarray(0, -1), Buffer.from(`id: ${position}\n\n`)]))

/**
 * @typedef {{ ts: number, value: Buffer, deleted: false } | { ts: number | null, value: null, deleted: true }} Newest
 *   `ts` null: the layout does not keep the time of deletions
 * @typedef {ReturnType<typeof createEvents>} Events
 */

/** @param {string} encoding of values */
export function createEvents (encoding) {
  const write = itemWriter(encoding)
  const out = new TextBuffer()
  let isEmpty = true
  /** How events begin, until another name or label. @type {{ name?: string, label?: string, bytes: Buffer }} */
  let begun = { bytes: Buffer.alloc(0) }

  return {
    /** Bytes of the event so far. */
    get length () { return out.length },

    /** @param {'items' | 'snapshot'} name @param {string} [label] the first member of its data, as JSON */
    begin (name, label) {
      if (begun.name !== name || begun.label !== label) {
        const text = `${HEAD}event: ${name}\ndata: {${label === undefined ? '' : `${label},`}"items":[`
        begun = { name, label, bytes: Buffer.from(text) }
      }
      out.length = 0
      isEmpty = true
      out.reserve(begun.bytes.length)
      out.ascii(begun.bytes)
    },

    /** @param {string} id latin1 string of its bytes @param {Newest} newest */
    put (id, newest) {
      if (!isEmpty) out.byte(COMMA)
      isEmpty = false
      const { length } = id
      // ids are short: a loop is faster than a call into C++
      for (let at = 0; at < length; at++) ID[at] = id.charCodeAt(at)
      if (newest.deleted) {
        out.text(JSON.stringify({ id: ID.toString('utf8', 0, length), ...(newest.ts !== null && { ts: newest.ts }), deleted: true }))
      } else write(out, ID, 0, length, newest.ts, newest.value, 0, newest.value.length)
    },

    /** Whether the event has no items. */
    get isEmpty () { return isEmpty },

    /** @param {string | null} position null: it has none @param {boolean} [isCut] it may lack items @returns {Buffer} a frame */
    end (position, isCut = false) {
      out.text(`]${isCut ? ',"complete":false' : ''}}\n${position === null ? '' : `id: ${position}\n`}\n${TAIL}`)
      let size = out.length - FRAME_BYTES
      for (let at = SIZE_DIGITS; at-- > 0; size >>>= 4) out.bytes[at] = DIGITS[size & 15]
      return out.take()
    }
  }
}

/** Clears the position, so that a client that disconnects before the snapshot does not resume. @param {string} reason one word */
export const resetEvent = (reason) => `event: reset\ndata: {"reason":"${reason}"}\nid:\n\n`

/** With a position before it, from which a client that disconnects resumes. @param {string} position */
export const emptySnapshot = (position) => `event: snapshot\ndata: {"items":[]}\nid: ${position}\n\n`

/**
 * A comment and a position: clients see no event, but resume from there.
 * @param {number} asOf ms since 1970: until when no other change was known @param {string} position
 */
export const heartbeat = (asOf, position) => `: as of ${Math.round(asOf)}\nid: ${position}\n\n`

/** A comment: the feed does not exist yet, and the stream begins with its first item. Clients know it (client.js). */
export const NO_ITEMS = ': no items yet\n\n'

/** A comment without a position, while there is none. */
export const EMPTY_HEARTBEAT = ': \n\n'

/** The last of a stream that the reader ends. */
export const retrySoon = () => retryAfter(Math.random() * RECONNECT_WITHIN_MS)

/** @param {number} ms after which a client may reconnect */
export const retryAfter = (ms) => `retry: ${Math.round(ms)}\n\n`
