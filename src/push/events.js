/**
 * Server-sent events (HTML Living Standard, 9.2): text, a field a line, an empty line behind an event.
 *
 *     event: items
 *     data: {"items":[{"id":"a","ts":1,"value":"aGVsbG8="},{"id":"b","ts":2,"deleted":true}]}
 *     id: <position>
 *
 * Data is one line: whatever is in an id or a value, line breaks are escaped or spaces there (http/encode.js). An event that is
 * cut in parts for its size has its position on the last one only, so who comes again after a part goes on before it.
 */
import { itemWriter } from '../http/encode.js'
import { TextBuffer } from '../http/text-buffer.js'

/** an event of many items is cut behind the item that reaches it */
const EVENT_BYTES = 256 * 1024
const COMMA = 0x2c

/** @typedef {{ ts: number, value: Buffer, deleted: false } | { ts: number | null, value: null, deleted: true }} Newest `ts` null: where a layout does not keep when */

/** @param {string} encoding of values */
export function createEvents (encoding) {
  const write = itemWriter(encoding)
  const out = new TextBuffer()

  /** @param {string} id byte for character @param {Newest} newest */
  function put (id, newest) {
    const bytes = Buffer.from(id, 'latin1')
    if (newest.deleted) out.text(JSON.stringify({ id: bytes.toString(), ...(newest.ts !== null && { ts: newest.ts }), deleted: true }))
    else write(out, bytes, 0, bytes.length, newest.ts, newest.value, 0, newest.value.length)
  }

  return {
    /**
     * One event, or several where there is much.
     * @param {'items' | 'snapshot'} name
     * @param {Iterable<[id: string, newest: Newest]>} items
     * @param {string} position of the last
     * @returns {Buffer} empty when there are no items, but for a snapshot
     */
    items (name, items, position) {
      const parts = []
      let count = 0
      const begin = () => out.text(`event: ${name}\ndata: {"items":[`)
      for (const [id, newest] of items) {
        if (count === 0) begin()
        else out.byte(COMMA)
        put(id, newest)
        count++
        if (out.length < EVENT_BYTES) continue
        out.text(']}\n\n')
        parts.push(out.take())
        count = 0
      }
      if (count === 0 && parts.length === 0) {
        if (name === 'items') return Buffer.alloc(0)
        begin()
      }
      if (count === 0 && parts.length > 0) out.text(`id: ${position}\n\n`)
      else out.text(`]}\nid: ${position}\n\n`)
      parts.push(out.take())
      return parts.length === 1 ? parts[0] : Buffer.concat(parts)
    }
  }
}

/** @param {string} reason one word */
export const resetEvent = (reason) => `event: reset\ndata: {"reason":"${reason}"}\n\n`

/** Without data it is no event for anybody, but who comes again goes on there. @param {string} position */
export const heartbeat = (position) => `: \nid: ${position}\n\n`

/** @param {number} ms after which a client may come again */
export const retryAfter = (ms) => `retry: ${Math.round(ms)}\n\n`
