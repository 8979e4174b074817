/**
 * The synthetic source: positions of buses `bus-0`, `bus-1`, ..., paced open-loop.
 */
import { appendPaced } from '../src/pipeline/index.js'
import { makeIds } from '../src/synthetic.js'
import { makeBuses } from './buses.js'

/**
 * @param {{ feed: import('../src/inside.js').WritableFeed, settings: any, index: number,
 *   clock: () => number, signal: AbortSignal }} parts `index` of this process: writers divide the ids
 */
export async function runSynthetic ({ feed, settings, index, clock, signal }) {
  const ids = makeIds(settings.ids, index, settings.writers, 'bus')
  const { value, change } = makeBuses(settings.valueBytes, { index, buses: ids.length, isMoving: settings.valueChange === 'always' })
  const item = { id: ids[0], ts: 0, value, dueMs: 0 }
  let nextId = 0

  /** @param {number} dueMs */
  function next (dueMs) {
    change()
    item.id = ids[nextId]
    item.ts = Math.floor(dueMs)
    item.dueMs = dueMs
    if (++nextId === ids.length) nextId = 0
    return item
  }

  const startMs = clock()
  const endMs = settings.duration ? startMs + settings.duration * 1000 : Infinity
  await appendPaced({ feed, next, settings, items: settings.items ?? Infinity, startMs, endMs, clock, signal })
}
