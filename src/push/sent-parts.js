/**
 * What a stream was sent of a list, so that the changes after it do not repeat it. A list holds ids, and each part of it is
 * built from the newest versions when it is sent. So it includes changes that came after the list was made.
 *
 * @typedef {import('./viewer.js').Viewer} Stream
 * @typedef {{ ids: readonly string[], parts: { from: number, until: number, seq: number }[] }} Sent `seq`: of the changes that
 *   the part includes
 */

/** Positions of the ids in lists, which streams share. @type {WeakMap<readonly string[], Map<string, number>>} */
const indexes = new WeakMap()

/**
 * Call it for each part that is sent.
 * @param {Stream} stream @param {import('./stream.js').List} list @param {{ next: number, seq: number }} part
 */
export function noteSent (stream, { ids, at }, { next, seq }) {
  if (stream.ids !== null) {
    for (let i = at; i < next; i++) stream.changed.delete(ids[i])
  } else if (at > 0 || next < ids.length || seq > stream.seq || stream.sent !== null) {
    if (stream.sent?.ids !== ids) stream.sent = { ids, parts: [] }
    stream.sent.parts.push({ from: at, until: next, seq })
    if (next === ids.length && includesNothing(stream)) stream.sent = null
  }
}

/** Whether what was sent has no change that the stream lacks. @param {Stream} stream */
const includesNothing = ({ sent, seq }) => sent === null || sent.parts.every((part) => part.seq <= seq)

/**
 * The ids that a stream of all ids lacks.
 * @param {import('./changes.js').Changes} changes that cover it @param {Stream} stream
 * @returns {readonly string[]} where nothing is left out, the array of all streams at that point
 */
export function withoutSent (changes, stream) {
  const ids = changes.since(stream.seq)
  const { sent } = stream
  stream.sent = null
  if (sent === null) return ids
  const indexOf = indexesIn(sent.ids)
  return ids.filter((id) => {
    const index = indexOf.get(id) ?? -1
    const part = sent.parts.find(({ from, until }) => index >= from && index < until)
    return part === undefined || changes.lastSeqOf(id) > part.seq
  })
}

/** @param {readonly string[]} ids */
function indexesIn (ids) {
  const cached = indexes.get(ids)
  if (cached) return cached
  const made = new Map(ids.map((id, index) => [id, index]))
  indexes.set(ids, made)
  return made
}
