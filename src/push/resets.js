/** Streams that start again: changes were missed, or are too many. */
import { emptySnapshot, resetEvent } from './events.js'
import { shownPosition } from './sealed-positions.js'

/** @typedef {import('./viewer.js').Viewer} Stream */
/** @typedef {{ resuming: { add: (stream: Stream, position: string) => void }, counts: import('./metrics.js').Counts }} Resets */

/** With a snapshot. @param {Stream} stream @param {string} reason */
export function reset (stream, reason) {
  Object.assign(stream, { resetReason: reason, needsSnapshot: true, isFromHead: false, list: null })
}

/**
 * The changes of a view were missed. Of a stream without items in its snapshot, all changes since its position follow.
 * @param {Stream} stream @param {Resets} resets
 */
export function resetRebuilt (stream, { resuming, counts }) {
  const { limit, reached } = stream
  if (limit > 0 || reached === null) return reset(stream, 'rebuilt')
  stream.send(resetEvent('rebuilt'))
  stream.send(emptySnapshot(shownPosition(stream, reached)))
  counts.resets++
  Object.assign(stream, { needsSnapshot: false, isFromHead: false, list: null })
  resuming.add(stream, reached.position)
}
