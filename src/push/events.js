/**
 * Server-sent events (HTML Living Standard, 9.2): text, a field a line, an empty line behind an event.
 *
 *     event: items
 *     data: {"items":[{"id":"a","ts":1,"value":"aGVsbG8="},{"id":"b","ts":2,"deleted":true}]}
 *     id: <position>
 *
 * Data is one line: whatever is in an id or a value, line breaks are escaped or spaces there (http/encode.js). What is too
 * large for one event comes in several, of which the last has the position: who comes again between them gets all of it again.
 */
import { itemWriter } from '../http/encode.js'
import { TextBuffer } from '../http/text-buffer.js'

const COMMA = 0x2c

/** @typedef {{ ts: number, value: Buffer, deleted: false } | { ts: number | null, value: null, deleted: true }} Newest `ts` null: where a layout does not keep when */
/** @typedef {ReturnType<typeof createEvents>} Events */

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
     * The newest version of some ids, as one event that ends with the item that makes it as large as it may be.
     * @param {'items' | 'snapshot'} name
     * @param {readonly string[]} ids byte for character
     * @param {{ at: number, maxBytes: number, position: string, newestOf: (id: string) => Newest | null }} from `at`: of the first id;
     *   `newestOf` null: there is nothing to tell of it any more
     * @returns {{ bytes: Buffer, next: number }} `bytes` empty when there is nothing to tell, but for a snapshot; `next`: where to go on
     */
    event (name, ids, { at, maxBytes, position, newestOf }) {
      let isSome = false
      let next = at
      const head = `event: ${name}\ndata: {"items":[`
      while (next < ids.length && out.length < maxBytes) {
        const id = ids[next++]
        const newest = newestOf(id)
        if (newest === null) continue
        if (isSome) out.byte(COMMA)
        else out.text(head)
        put(id, newest)
        isSome = true
      }
      if (!isSome && name === 'snapshot') out.text(head)
      if (isSome || name === 'snapshot') out.text(next >= ids.length ? `]}\nid: ${position}\n\n` : ']}\n\n')
      return { bytes: out.take(), next }
    }
  }
}

/** Who is cut off before the snapshot comes again without a position. @param {string} reason one word */
export const resetEvent = (reason) => `event: reset\ndata: {"reason":"${reason}"}\nid:\n\n`

/** Without data it is no event for anybody, but who comes again goes on there. @param {string} position */
export const heartbeat = (position) => `: \nid: ${position}\n\n`

/** While nothing can be said. */
export const EMPTY_HEARTBEAT = ': \n\n'

/** @param {number} ms after which a client may come again */
export const retryAfter = (ms) => `retry: ${Math.round(ms)}\n\n`
