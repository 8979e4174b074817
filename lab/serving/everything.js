/**
 * Fetches all items of a feed in one NDJSON response, times it, and checks that it is complete. Lines are parsed after the
 * response has ended.
 *
 * Items are rewritten during the response. It must hold what was newest from its beginning to its end: the synthetic source
 * writes ids in turn, so these are the numbers from its first line down to the last one that was overwritten before it ended.
 * Each appears once, newest first; older ones are optional.
 */
import { makeIds, makeValue } from '../../src/synthetic.js'
import { request } from './request.js'
import { createChecker } from './workload.js'

export const NDJSON = 'application/x-ndjson'
const TIMEOUT_MS = 60_000
const LF = 10

/** @param {string} url @param {{ accept?: string }} [headers] */
export const fetchAll = (url, { accept = NDJSON } = {}) => request(url, { headers: { accept }, timeoutMs: TIMEOUT_MS })

/**
 * @param {Buffer} body NDJSON
 * @param {{ ids: number, valueBytes: number, newestNow: number }} feed of one writer; `newestNow`: the number of the newest
 *   item after the answer had ended
 * @returns {{ items: number, newest: number, fault: string | null }} `newest`: number of the first item
 */
export function checkAll (body, { ids, valueBytes, newestNow }) {
  const items = linesOf(body)
  if (items === null) return { items: 0, newest: 0, fault: 'a line is not valid JSON' }
  const checker = createChecker({ ids, writers: 1, valueBytes, isWhole: false })
  const least = Math.max(1, newestNow - ids + 1)
  let there = 0
  const at = items.findIndex(({ ts }, i) => i > 0 && !(ts <= items[i - 1].ts))
  const wrong = at > 0
    ? `line ${at + 1} is newer than the one before it`
    : checker.faultOf(items, (number) => { if (number >= least) there++ })
  const [newest] = checker.newest
  const missing = Math.max(0, newest - least + 1) - there
  const fault = wrong ?? (items.length === 0
    ? 'the response is empty'
    : missing > 0 ? `${missing} items are missing that were not overwritten during the response` : null)
  return { items: items.length, newest, fault }
}

/**
 * All items of a feed as the reader would send them: the same number of bytes, with another time.
 * @param {import('./workload.js').Workload} workload of one writer
 */
export function everythingOf ({ ids, valueBytes }) {
  const { value, change } = makeValue(valueBytes, 0)
  const ts = Date.now()
  const lines = makeIds(ids, 0, 1).map((id) => {
    change()
    return `{"id":"${id}","ts":${ts},"value":"${value.toString('base64')}"}\n`
  })
  return Buffer.from(lines.reverse().join(''))
}

/** @param {Buffer} body @returns {import('./workload.js').Item[] | null} */
function linesOf (body) {
  const items = []
  try {
    for (let from = 0; from < body.length;) {
      const end = body.indexOf(LF, from)
      const to = end < 0 ? body.length : end
      items.push(JSON.parse(body.toString('utf8', from, to)))
      from = to + 1
    }
  } catch {
    return null
  }
  return items
}
