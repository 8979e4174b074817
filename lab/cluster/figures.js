/**
 * Figures of a feed while its servers are replaced or its slots move.
 *
 * @typedef {{ writerPauseMs: number, deliveryPauseMs: number, itemsPerSecond: number, writesPerSecond: number, lost: number,
 *   retried: number, movingMs: number } & import('./disturbances.js').Happened} DisturbedFigures the pauses are the longest since the
 *   disturbance began; `itemsPerSecond`, `writesPerSecond` (items and plain writes, writes.js) and `movingMs` from its begin to its end;
 *   `retried`: batches
 */

/** @typedef {Awaited<ReturnType<typeof import('./run.js').openRun>>} Run */

/** The longest time between two of them. @param {number[]} times sorted @param {number} fromMs @param {number} endMs */
export function longestPause (times, fromMs, endMs) {
  let [longest, last] = [0, fromMs]
  for (const ms of [...times.filter((ms) => ms >= fromMs && ms <= endMs), endMs]) {
    longest = Math.max(longest, ms - last)
    last = ms
  }
  return longest
}

/**
 * @param {Pick<Run, 'chunks' | 'deliveredMs'>} run
 * @param {{ fromMs: number, untilMs: number, endMs: number, written: number }} window times of the disturbance, and the end of the window;
 *   `written`: plain writes during the disturbance
 */
export function disturbedOf ({ chunks, deliveredMs }, { fromMs, untilMs, endMs, written }) {
  const acknowledged = chunks.filter(({ atMs }) => atMs >= fromMs && atMs <= untilMs).reduce((sum, { items }) => sum + items, 0)
  return {
    writerPauseMs: longestPause(chunks.map(({ atMs }) => atMs), fromMs, endMs),
    deliveryPauseMs: longestPause(deliveredMs.filter((ms) => ms !== undefined).sort((a, b) => a - b), fromMs, endMs),
    itemsPerSecond: acknowledged * 1000 / (untilMs - fromMs),
    writesPerSecond: (acknowledged + written) * 1000 / (untilMs - fromMs),
    movingMs: untilMs - fromMs
  }
}
