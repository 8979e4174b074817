/**
 * Whether an answer is right: status 200, JSON, as many items as there must be, newest first. Where the bytes are known
 * (bare), they alone are looked at, of every answer; else bodies are read so seldom that it does not show in the figures.
 */
const LOOK_EVERY_MS = 100

/** @typedef {{ items: number | null, bytes: number | null }} Right `items` null = the path is not one of many items */

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
 * @returns {string | null} what is wrong with it
 */
export function faultOf (status, body, { items, bytes }) {
  if (status !== 200) return `status ${status}: ${body.slice(0, 200)}`
  if (bytes !== null) return body.length === bytes ? null : `${body.length} bytes; expected ${bytes}`
  /** @type {any} */
  let answer
  try {
    answer = JSON.parse(body)
  } catch {
    return `no JSON: ${body.slice(0, 100)}`
  }
  if (items === null) return null
  if (!Array.isArray(answer.items) || answer.items.length !== items) return `${answer.items?.length ?? 'no'} items; expected ${items}`
  const at = answer.items.findIndex((/** @type {{ ts: number }} */ { ts }, /** @type {number} */ i) => !(i === 0 || ts <= answer.items[i - 1].ts))
  return at > 0 ? `item ${at + 1} (${answer.items[at].ts}) is newer than the one before it (${answer.items[at - 1].ts})` : null
}

/** @param {Right} right */
export function createLook (right) {
  const found = { looked: 0, wrong: 0, detail: /** @type {string | null} */ (null) }
  let bytes = 0
  let lookedMs = -Infinity

  return {
    /** @param {number} status @param {string} body all of it is ASCII: ids of the lab and base64 */
    look (status, body) {
      bytes += body.length
      const nowMs = performance.now()
      if (status === 200 && right.bytes === null && nowMs - lookedMs < LOOK_EVERY_MS) return
      lookedMs = nowMs
      const fault = faultOf(status, body, right)
      found.looked++
      if (fault === null) return
      found.wrong++
      found.detail ??= fault
    },

    figures: () => ({ bytes, answers: found })
  }
}
