/** Server-sent events, and what they say. */

/** @import { Encoding } from './types.js' */

/** a reader may ask for at most this delay */
export const MAX_RETRY_AFTER_MS = 3_600_000
/** readers send events of at most 512 KiB, or one item */
const MAX_EVENT_CHARS = 32 * 1024 * 1024
/** a comment of a stream whose feed does not exist yet; of one of several feeds it is named */
const NO_ITEMS = /^no items yet(?: in (\S+))?$/

/**
 * Parses server-sent events (HTML standard, 9.2.6) from text in pieces of any size. Each character is read once.
 *
 * @typedef {{ name: string, data: string | null, id: string | null, retry: number | null, waiting?: string[] }} Block `data` null: no
 *   event, only a position or a delay; `waiting`: feeds that have no items yet, as comments say, '' = the one that is followed
 *
 * @param {number} [maxChars] of an event
 * @returns {(text: string) => Generator<Block, void, void>}
 */
export function createEventParser (maxChars = MAX_EVENT_CHARS) {
  /** @returns {Block} */
  const empty = () => ({ name: '', data: null, id: null, retry: null })
  let block = empty()
  let line = ''
  let endedInCr = false

  function addField () {
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1))
    const [isWaiting, feed = ''] = (name === '' && NO_ITEMS.exec(value)) || []
    if (isWaiting) block.waiting = [...block.waiting ?? [], feed]
    else if (name === 'event') block.name = value
    else if (name === 'data') block.data = block.data === null ? value : `${block.data}\n${value}`
    else if (name === 'id' && !value.includes('\0')) block.id = value
    else if (name === 'retry' && /^\d+$/.test(value)) block.retry = Math.min(Number(value), MAX_RETRY_AFTER_MS)
  }

  return function * (text) {
    if (text === '') return
    let at = endedInCr && text[0] === '\n' ? 1 : 0
    endedInCr = text.endsWith('\r')
    for (let lf = -1, cr = -1; ;) {
      if (lf < at) lf = indexOrEnd('\n', text, at)
      if (cr < at) cr = indexOrEnd('\r', text, at)
      const end = Math.min(lf, cr)
      line += text.slice(at, end)
      if (line.length + (block.data?.length ?? 0) > maxChars) throw new Error(`an event of more than ${maxChars} characters`)
      if (end === text.length) return
      at = end + (text.startsWith('\r\n', end) ? 2 : 1)
      if (line === '') {
        const whole = block
        block = empty()
        if (whole.data !== null || whole.id !== null || whole.retry !== null || whole.waiting) yield whole
      } else addField()
      line = ''
    }
  }
}

/** @param {string} what @param {string} text @param {number} from */
function indexOrEnd (what, text, from) {
  const at = text.indexOf(what, from)
  return at < 0 ? text.length : at
}

/** @param {string} name @param {string} data @param {Encoding} wanted @returns {any} without its position; null: unknown to this version */
export function eventIn (name, data, wanted) {
  if (name !== 'reset' && name !== 'snapshot' && name !== 'items') return null
  const { items, reason, feed } = JSON.parse(data)
  const of = feed === undefined ? {} : { feed }
  if (name === 'reset') return { event: name, ...of, reason: String(reason) }
  for (const item of items) {
    if (item.deleted) continue
    if ((item.encoding ?? wanted) === 'base64') item.value = bytesOf(item.value)
    delete item.encoding
  }
  return { event: name, ...of, items }
}

/** @param {string} base64 */
function bytesOf (base64) {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < bytes.length; at++) bytes[at] = text.charCodeAt(at)
  return bytes
}
