/** Processor time of the nodes over a window, second by second, by their own counters. */
import { setTimeout as pause } from 'node:timers/promises'
import { figuresIn, readInfo } from '../../src/store/index.js'
import { queryAll } from '../servers/query.js'

const EVERY_MS = 1000
/** A shorter window has too few seconds to show. */
const LEAST_WINDOW_S = 10

/**
 * @param {string[]} urls the primary first
 * @param {{ seconds: number, over: AbortSignal }} window
 * @returns {Promise<number[][] | null>} percent of a core in each second, node by node; null: the window is short
 * @throws {import('../../src/errors.js').FreshetError} as queryAll
 */
export async function watchCpu (urls, { seconds, over }) {
  if (seconds < LEAST_WINDOW_S) return null
  return await queryAll(urls, async (connection) => {
    const read = async () => ({
      atMs: performance.now(), ...figuresIn(readInfo(await connection.send('INFO'), connection.address), connection.address)
    })
    const percents = []
    for (let before = await read(); percents.length < Math.floor(seconds);) {
      await pause(EVERY_MS, undefined, { signal: over }).catch(() => {})
      if (over.aborted) break
      const now = await read()
      percents.push(Number((1e5 * (now.cpuSeconds - before.cpuSeconds) / (now.atMs - before.atMs)).toFixed(1)))
      before = now
    }
    return percents
  })
}
