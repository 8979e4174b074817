/**
 * Everything of a feed in one answer, as NDJSON: how long it takes to its last byte, and whether it is all of it. Lines are
 * kept as they come and read when the last one is there.
 *
 * While it comes, items are written again. What an answer must hold is what was newest from its beginning to its end: the
 * items of the synthetic source are written in turn, so these are the numbers from its first line's down to the one that
 * was overwritten last when it ended. Each once, newest first; older ones may be there or not.
 */
import { get } from 'node:http'
import { makeIds, makeValue } from '../../synthetic.js'
import { createChecker } from './workload.js'

export const NDJSON = 'application/x-ndjson'
/** it never took so long, and something must end it */
const WITHIN_MS = 60_000
const LF = 10

/**
 * @param {string} url
 * @param {{ accept?: string }} [options]
 * @returns {Promise<{ status: number, chunks: Buffer[], bytes: number, firstMs: number, lastMs: number }>} `firstMs`,
 *   `lastMs`: from asking to the first and to the last byte of the body; status 0: it was not answered, or not to its end,
 *   and the one chunk says why
 */
export const fetchAll = (url, { accept = NDJSON } = {}) => new Promise((resolve) => {
  const sinceMs = performance.now()
  /** @type {Buffer[]} */
  const chunks = []
  let firstMs = 0
  let bytes = 0
  const failed = (/** @type {Error} */ { message }) => resolve({ status: 0, chunks: [Buffer.from(message)], bytes, firstMs, lastMs: performance.now() - sinceMs })
  const request = get(url, { agent: false, headers: { accept } }, (response) => {
    response.on('data', (/** @type {Buffer} */ chunk) => {
      firstMs ||= performance.now() - sinceMs
      bytes += chunk.length
      chunks.push(chunk)
    })
    response.once('end', () => resolve({ status: response.statusCode ?? 0, chunks, bytes, firstMs, lastMs: performance.now() - sinceMs }))
    response.once('error', failed)
  })
  request.setTimeout(WITHIN_MS, () => request.destroy(new Error(`no answer within ${WITHIN_MS / 1000} s`)))
  request.once('error', failed)
})

/**
 * @param {Buffer} body NDJSON
 * @param {{ ids: number, valueBytes: number, newestNow: number }} feed of one writer; `newestNow`: the number of the newest
 *   item after the answer had ended
 * @returns {{ items: number, newest: number, fault: string | null }} `newest`: number of the first item
 */
export function checkAll (body, { ids, valueBytes, newestNow }) {
  const items = linesOf(body)
  if (items === null) return { items: 0, newest: 0, fault: 'a line is no JSON' }
  const checker = createChecker({ ids, writers: 1, valueBytes, isWhole: false })
  const least = Math.max(1, newestNow - ids + 1)
  let there = 0
  const at = items.findIndex(({ ts }, i) => i > 0 && !(ts <= items[i - 1].ts))
  const wrong = at > 0 ? `line ${at + 1} is newer than the one before it` : checker.faultOf(items, (number) => { if (number >= least) there++ })
  const [newest] = checker.newest
  const missing = Math.max(0, newest - least + 1) - there
  const fault = wrong ?? (items.length === 0 ? 'it is empty' : missing > 0 ? `${missing} items are missing that were newest all the time` : null)
  return { items: items.length, newest, fault }
}

/**
 * All items of a feed as they would be sent: as many bytes, of another time.
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
