/**
 * Replies of a reader as the screen needs them. A value of another type is unknown (null), and an entry without what identifies it
 * is left out, so no reply ends the program or shows NaN.
 *
 * @typedef {import('./screen.js').Figures} Figures
 * @typedef {import('./screen.js').Item} Item
 */

/** largest time of a Date */
const MAX_TIME_MS = 8.64e15
/** nodes and samples; a reader has ten minutes of samples, one a second */
const MAX_ENTRIES = 1000

/** @param {unknown} value @returns {Record<string, unknown>} */
const recordOf = (value) => typeof value === 'object' && value !== null ? /** @type {Record<string, unknown>} */ (value) : {}

/** @param {unknown} value @returns {unknown[]} */
const listOf = (value) => Array.isArray(value) ? value : []

/** @param {unknown} value @returns {string | null} */
const textOf = (value) => typeof value === 'string' ? value : null

/** @param {unknown} value @param {number} [most] @returns {number | null} 0 or more */
const numberOf = (value, most = Number.MAX_SAFE_INTEGER) => typeof value === 'number' && value >= 0 && value <= most ? value : null

/** @param {unknown} value */
const timeOf = (value) => numberOf(value, MAX_TIME_MS)

/** @param {unknown} body @returns {string[]} names, sorted */
export const feedsIn = (body) => listOf(recordOf(body).feeds).flatMap((one) => textOf(recordOf(one).feed) || []).sort()

/** @param {unknown} body @returns {{ code: string, detail: string } | null} null = no problem of a reader */
export function problemIn (body) {
  const { code, detail } = recordOf(body)
  return textOf(code) === null ? null : { code: String(code), detail: textOf(detail) ?? 'no detail' }
}

/** @param {unknown} body @param {number} nowMs for a reply without a time @returns {Figures} */
export function figuresIn (body, nowMs) {
  const given = recordOf(body)
  return {
    asOf: timeOf(given.asOf) ?? nowMs,
    layout: textOf(given.layout),
    partitions: numberOf(given.partitions),
    windowMs: numberOf(given.windowMs),
    ready: given.ready === true,
    reasons: listOf(given.reasons).slice(0, MAX_ENTRIES).flatMap((reason) => textOf(reason) ?? []),
    writers: numberOf(given.writers),
    itemsPerSecond: numberOf(given.itemsPerSecond),
    count: numberOf(given.count),
    exact: typeof given.exact === 'boolean' ? given.exact : null,
    newestTs: timeOf(given.newestTs),
    nodes: listOf(given.nodes).slice(0, MAX_ENTRIES).map(nodeOf),
    history: historyOf(listOf(given.history).flatMap(sampleOf))
  }
}

/** The newest samples, oldest first. @param {Figures['history']} samples @returns {Figures['history']} */
export const historyOf = (samples) => samples.sort((a, b) => a.at - b.at).slice(-MAX_ENTRIES)

/** @param {unknown} given @returns {Figures['history']} */
function sampleOf (given) {
  const { at, itemsPerSecond } = recordOf(given)
  const time = timeOf(at)
  return time === null ? [] : [{ at: time, itemsPerSecond: numberOf(itemsPerSecond) }]
}

/** @param {unknown} given @returns {Figures['nodes'][0]} */
function nodeOf (given) {
  const { role, address, engine, state, lagMs, cpu } = recordOf(given)
  return {
    role: textOf(role) ?? 'unknown',
    address: textOf(address) ?? 'unknown',
    engine: textOf(engine),
    state: textOf(state) ?? 'unknown',
    lagMs: numberOf(lagMs),
    cpu: numberOf(cpu)
  }
}

/** @param {unknown} body @returns {Item[]} newest first */
export const itemsIn = (body) => listOf(recordOf(body).items).flatMap((one) => {
  const { encoding, value, ...rest } = recordOf(one)
  return itemOf({ ...rest, value: encoding === 'base64' ? Buffer.from(textOf(value) ?? '', 'base64') : value }) ?? []
})

/** @param {unknown} given @returns {Item | null} */
function itemOf (given) {
  const { id, ts, value } = recordOf(given)
  const [name, time] = [textOf(id), timeOf(ts)]
  return name === null || time === null ? null : { id: name, ts: time, value: value instanceof Uint8Array ? value : textOf(value) ?? '' }
}

/** Changes of a stream, oldest first. @param {unknown} items @returns {(Item | { id: string, deleted: true })[]} */
export const changesIn = (items) => listOf(items).flatMap((one) => {
  const { id, deleted } = recordOf(one)
  if (deleted !== true) return itemOf(one) ?? []
  return textOf(id) === null ? [] : { id: String(id), deleted: /** @type {const} */ (true) }
})
