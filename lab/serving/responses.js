/**
 * Whether a response is correct: status 200, JSON, the expected number of items, newest first, and items that were written
 * (workload.js). Where the bytes are known in advance (bare), the length of every response is checked; else bodies are parsed
 * so rarely that it does not affect the figures.
 */
import { createChecker } from './workload.js'

const INSPECT_EVERY_MS = 100
const ITEMS_PATH = /^\/v1\/feeds\/[^/?]+\/items(?:\?(.*))?$/

/**
 * @typedef {object} Right what a correct response has
 * @property {number | null} items null = the path does not return a page
 * @property {number} [leastItems] default: exactly `items`
 * @property {number | null} bytes
 * @property {import('./workload.js').Workload | null} [workload] null = values do not identify items
 */

/** @param {string} path @returns {number | null} how many items it requests; null = it does not return a page */
export function limitIn (path) {
  const match = ITEMS_PATH.exec(path)
  if (!match) return null
  const params = new URLSearchParams(match[1])
  return ['id', 'since', 'after'].some((name) => params.has(name)) ? null : Number(params.get('limit') ?? 100)
}

/**
 * @param {number} status @param {string} body @param {Right} right
 * @param {(items: import('./workload.js').Item[]) => string | null} [faultOfItems]
 * @returns {{ fault: string | null, items?: import('./workload.js').Item[] }} `items` of a correct page
 */
export function readResponse (status, body, { items: due, leastItems = Number(due), bytes }, faultOfItems = () => null) {
  if (status !== 200) return { fault: `status ${status}: ${body.slice(0, 200)}` }
  if (bytes !== null) return { fault: faultOfBytes(body.length, bytes) }
  /** @type {any} */
  let response
  try {
    response = JSON.parse(body)
  } catch {
    return { fault: `invalid JSON: ${body.slice(0, 100)}` }
  }
  if (due === null) return { fault: null }
  const { items } = response
  if (!Array.isArray(items) || items.length > due || items.length < leastItems) {
    return { fault: `${items?.length ?? 'no'} items; expected ${leastItems < due ? `${leastItems} to ` : ''}${due}` }
  }
  const at = items.findIndex(({ ts }, i) => !(i === 0 || ts <= items[i - 1].ts))
  if (at > 0) return { fault: `item ${at + 1} (${items[at].ts}) is newer than the one before it (${items[at - 1].ts})` }
  const fault = faultOfItems(items)
  return fault === null ? { fault, items } : { fault }
}

/** @param {number} length @param {number} due */
const faultOfBytes = (length, due) => length === due ? null : `${length} bytes; expected ${due}`

/**
 * @param {Right} right
 * @param {object} [options]
 * @param {number} [options.everyMs] between two bodies that are parsed
 * @param {(items: import('./workload.js').Item[], at: { sentMs: number, receivedMs: number }) => string | null} [options.onItems]
 *   of each correct response that was parsed; may report a fault
 */
export function createInspector (right, { everyMs = INSPECT_EVERY_MS, onItems = () => null } = {}) {
  const found = { looked: 0, wrong: 0, detail: /** @type {string | null} */ (null) }
  const checker = right.workload ? createChecker(right.workload) : null
  let total = 0
  let inspectedMs = -Infinity

  return {
    /** @type {import('./request-loop.js').Inspector['wants']} */
    wants: (status) => status !== 200 || (right.bytes === null && performance.now() - inspectedMs >= everyMs),

    /** @type {import('./request-loop.js').Inspector['inspect']} */
    inspect (status, bytes, body, at) {
      total += bytes
      if (body === null && (status !== 200 || right.bytes === null)) return
      inspectedMs = performance.now()
      found.looked++
      const { fault, items } = body === null
        ? { fault: faultOfBytes(bytes, Number(right.bytes)) }
        : readResponse(status, body.toString(), right, checker?.faultOf)
      const wrong = fault ?? (items ? onItems(items, at) : null)
      if (wrong === null) return
      found.wrong++
      found.detail ??= wrong
    },

    figures: () => ({ bytes: total, answers: { ...found, ...(checker && { newest: checker.newest }) } })
  }
}
