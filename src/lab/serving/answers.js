/**
 * Whether an answer is right: status 200, JSON, as many items as there must be, newest first, and items that were written
 * (workload.js). Where the bytes are known (bare), their number alone is looked at, of every answer; else bodies are read
 * so seldom that it does not show in the figures.
 */
import { createChecker } from './workload.js'

const LOOK_EVERY_MS = 100

/**
 * @typedef {object} Right
 * @property {number | null} items null = the path is not one of many items
 * @property {number | null} bytes
 * @property {import('./workload.js').Workload | null} [workload] null = values do not tell what they are
 */

/**
 * @param {string} path
 * @returns {number | null} how many items are asked for; null = it is not a question for many
 */
export function limitIn (path) {
  const [, query] = /^\/v1\/feeds\/[^/?]+\/items(?:\?(.*))?$/.exec(path) ?? []
  if (!/^\/v1\/feeds\/[^/?]+\/items(\?|$)/.test(path)) return null
  const params = new URLSearchParams(query)
  return ['id', 'since', 'after'].some((name) => params.has(name)) ? null : Number(params.get('limit') ?? 100)
}

/**
 * @param {number} status @param {string} body @param {Right} right
 * @param {(items: import('./workload.js').Item[]) => string | null} [faultOfItems]
 * @returns {string | null} what is wrong with it
 */
export const faultOf = (status, body, right, faultOfItems) => readAnswer(status, body, right, faultOfItems).fault

/**
 * @param {number} status @param {string} body @param {Right} right
 * @param {(items: import('./workload.js').Item[]) => string | null} [faultOfItems]
 * @returns {{ fault: string | null, items?: import('./workload.js').Item[] }} `items` of a right answer for many
 */
export function readAnswer (status, body, { items: due, bytes }, faultOfItems = () => null) {
  if (status !== 200) return { fault: `status ${status}: ${body.slice(0, 200)}` }
  if (bytes !== null) return { fault: faultOfBytes(body.length, bytes) }
  /** @type {any} */
  let answer
  try {
    answer = JSON.parse(body)
  } catch {
    return { fault: `no JSON: ${body.slice(0, 100)}` }
  }
  if (due === null) return { fault: null }
  const { items } = answer
  if (!Array.isArray(items) || items.length !== due) return { fault: `${items?.length ?? 'no'} items; expected ${due}` }
  const at = items.findIndex((/** @type {{ ts: number }} */ { ts }, /** @type {number} */ i) => !(i === 0 || ts <= items[i - 1].ts))
  if (at > 0) return { fault: `item ${at + 1} (${items[at].ts}) is newer than the one before it (${items[at - 1].ts})` }
  const fault = faultOfItems(items)
  return fault === null ? { fault, items } : { fault }
}

/** @param {number} length @param {number} due */
const faultOfBytes = (length, due) => length === due ? null : `${length} bytes; expected ${due}`

/**
 * @param {Right} right
 * @param {object} [options]
 * @param {number} [options.everyMs] a body is looked at so often
 * @param {(items: import('./workload.js').Item[], at: { askedMs: number, heardMs: number }) => string | null} [options.onItems] of
 *   each right answer that was looked at; it may find something wrong as well
 */
export function createLook (right, { everyMs = LOOK_EVERY_MS, onItems = () => null } = {}) {
  const found = { looked: 0, wrong: 0, detail: /** @type {string | null} */ (null) }
  const checker = right.workload ? createChecker(right.workload) : null
  let total = 0
  let lookedMs = -Infinity

  return {
    /** @type {import('./asking.js').Look['wants']} */
    wants: (status) => status !== 200 || (right.bytes === null && performance.now() - lookedMs >= everyMs),

    /** @type {import('./asking.js').Look['look']} */
    look (status, bytes, body, at) {
      total += bytes
      if (body === null && (status !== 200 || right.bytes === null)) return
      lookedMs = performance.now()
      found.looked++
      const { fault, items } = body === null ? { fault: faultOfBytes(bytes, Number(right.bytes)) } : readAnswer(status, body.toString(), right, checker ? (items) => checker.faultOf(items) : undefined)
      const wrong = fault ?? (items ? onItems(items, at) : null)
      if (wrong === null) return
      found.wrong++
      found.detail ??= wrong
    },

    figures: () => ({ bytes: total, answers: { ...found, ...(checker && { newest: checker.newest }) } })
  }
}
