/**
 * Items that are made up, paced open-loop: positions of buses `bus-0`, `bus-1`, ..., or the numbered values of the lab, `id-0`, ...
 */
import { appendPaced } from '../src/pipeline/index.js'
import { LATE_MS, isLateId, makeIds, makeValue } from '../src/synthetic.js'
import { makeBuses } from '../demo/buses.js'

/**
 * @param {{ feed: import('../src/inside.js').WritableFeed, settings: any, index: number,
 *   clock: () => number, signal: AbortSignal }} parts `index` of this process: writers divide the ids
 */
export async function runSynthetic ({ feed, settings, index, clock, signal }) {
  const { ids, value, change } = workloadOf(settings, index)
  const item = { id: ids[0], ts: 0, value, dueMs: 0 }
  let nextId = 0
  let isFirst = true

  /** @param {number} dueMs */
  function next (dueMs) {
    change()
    item.id = ids[nextId]
    item.ts = Math.floor(dueMs) - (!isFirst && isLateId(nextId, settings.lateEvery) ? LATE_MS : 0)
    item.dueMs = dueMs
    if (++nextId === ids.length) {
      nextId = 0
      isFirst = false
    }
    return item
  }

  const startMs = clock()
  const endMs = settings.duration ? startMs + settings.duration * 1000 : Infinity
  await appendPaced({ feed, next, settings, items: settings.items ?? Infinity, startMs, endMs, clock, signal })
}

/** @param {any} settings @param {number} index of the writer @returns {{ ids: Buffer[], value: Buffer, change: () => void }} */
function workloadOf ({ source, ids: distinct, writers, valueBytes, valueChange }, index) {
  const isMoving = valueChange === 'always'
  if (source === 'synthetic') {
    const ids = makeIds(distinct, index, writers)
    return { ids, ...makeValue(valueBytes, index, isMoving ? Infinity : ids.length) }
  }
  const ids = makeIds(distinct, index, writers, 'bus')
  return { ids, ...makeBuses(valueBytes, { index, buses: ids.length, isMoving }) }
}
