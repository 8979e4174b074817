/**
 * A count beside the windows of the same arm. Pure.
 *
 * A count says something about a window only if both did the same: batches of as many items, in the same forms.
 *
 * @typedef {import('./count.js').PerUnit} PerUnit
 * @typedef {import('./arms.js').Window} Window
 * @typedef {{ level: string, arm: string, aaOf?: string, unit: string, batchUnits: number, units: number, nodes: PerUnit[],
 *   window: Window | null, ratio: { ratio: number, low: number, high: number } | null, invalid: string[],
 *   error: { code: string, message: string } | null }} CountedCell `ratio` of the windows' CPU time a unit, of the primary, to the
 *   baseline; `error`: an outcome of the arm, without figures
 */

import { partsAt } from '../plan/cells.js'

/** of a count and its window, in items a batch and in the share of each command that items are sent with */
const LIMIT = 0.02
/**
 * Commands that writers also send once a second, and how many of a batch are only those: leases and figures; trimming, which is a script;
 * attempts to do without the script.
 * @type {Readonly<Record<string, number>>}
 */
const UPKEEP = Object.freeze({ set: 0.5, sadd: 0.5, hset: 0.5, evalsha: 0.03, exec: 0.03, watch: 0.03 })
/** What replies are read with. */
export const READS = Object.freeze(['zrevrangebyscore', 'zrangebyscore', 'zrevrange', 'xrevrange', 'xrange', 'mget'])
/** What makes a form of writing: other commands are about times, leases and figures. */
const WRITES = Object.freeze(['exec', 'evalsha', 'evalsha_ro', 'eval', 'fcall', 'msetex', 'mset', 'set', 'setex', 'zadd', 'xadd', 'lpush',
  'sadd', 'hset', 'watch'])
/** With one of these a batch was a transaction, or a script, before there was a log of arrivals. */
const WITH_ZADD = Object.freeze(['watch', 'msetex', 'mset', 'set', 'setex', 'evalsha', 'fcall'])

/**
 * Whether the batches of a window went through the script alone, which is then the form of the count, too.
 * @param {Window | null} window
 */
export const isScripted = (window) => window !== null && window.callsPerUnit.evalsha > 0 &&
  (window.callsPerUnit.watch ?? 0) * window.itemsPerBatch <= UPKEEP.watch

/** @param {string} unit @param {Record<string, number>} calls of the count @param {Window} window */
function formsOf (unit, calls, window) {
  if (unit === 'reply') return READS
  if (!(calls.zadd > 0)) return WRITES
  // windows from before the log of arrivals have no entry beside ZADD, and no transaction of the two alone, nor of script and entry
  const isAlone = isScripted(window) || WITH_ZADD.every((name) => (calls[name] ?? 0) < calls.zadd / 2)
  return WRITES.filter((name) => name !== 'xadd' && (name !== 'exec' || !isAlone))
}

/**
 * @param {{ node: PerUnit, unit: string, itemsPerBatch: number, isShared?: boolean }} counted `isShared`: concurrent requests share a read
 * @param {Window | null} window
 * @returns {string[]} why the count is INVALID
 */
export function differencesOf ({ node, unit, itemsPerBatch, isShared = false }, window) {
  if (window === null) return []
  const isOff = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) > LIMIT * Math.max(a, b)
  const size = unit === 'reply' || !isOff(itemsPerBatch, window.itemsPerBatch)
    ? []
    : [`${number(itemsPerBatch)} ${unit}s a batch, ${number(window.itemsPerBatch)} in the window`]
  const names = formsOf(unit, node.calls, window)
  const perBatch = Object.fromEntries(names.map((name) => [name, (node.calls[name] ?? 0) * itemsPerBatch]))
  const inWindow = isShared ? repliesOf(perBatch, window) : unit === 'reply' ? 1 : batchesOf(perBatch, window)
  const forms = names.flatMap((name) => {
    const [is, was] = [perBatch[name], (window.callsPerUnit[name] ?? 0) * inWindow]
    const isUpkeep = Math.max(is, was) <= (UPKEEP[name] ?? 0)
    const isSame = isUpkeep || Math.abs(is - was) <= LIMIT * Math.max(1, is, was)
    return isSame ? [] : [`${name} ${number(is)} times a batch, ${number(was)} in the window`]
  })
  return [...size, ...forms]
}

/**
 * Units of a batch in the window by the server's own counters, which begin and end a little apart from those of the load: from the command
 * that a batch sends once, or else fewest times.
 * @param {Record<string, number>} perBatch @param {Window} window
 */
function batchesOf (perBatch, { callsPerUnit, itemsPerBatch }) {
  // every batch sends it, whatever its form: of several, the one that the window has most of
  const timesOf = (/** @type {string} */ one) => Math.round(perBatch[one])
  const [name] = Object.keys(perBatch)
    .filter((one) => callsPerUnit[one] > 0 && timesOf(one) > 0 && Math.abs(perBatch[one] - timesOf(one)) <= LIMIT)
    .sort((a, b) => timesOf(a) - timesOf(b) || callsPerUnit[b] - callsPerUnit[a])
  return name === undefined ? itemsPerBatch : perBatch[name] / callsPerUnit[name]
}

/**
 * Replies of a read in the window.
 * @param {Record<string, number>} perRead @param {Window} window
 */
function repliesOf (perRead, { callsPerUnit }) {
  const [is, was] = [perRead, callsPerUnit].map((calls) => READS.reduce((sum, name) => sum + (calls[name] ?? 0), 0))
  return was > 0 ? is / was : 1
}

/** @param {number} n */
const number = (n) => n >= 100 ? String(Math.round(n)) : String(Number(n.toPrecision(3)))

/** the node whose instructions stand for a measure of CPU time @type {Readonly<Record<string, 'primary' | 'replica'>>} */
const NODE_OF = Object.freeze({
  primaryCpuMicrosPerItem: 'primary',
  primariesCpuMicrosPerItem: 'primary',
  replicaCpuMicrosPerItem: 'replica',
  replicaCpuMicrosPerItemRead: 'replica'
})

/** Counts of one load differ by less: where the levels of skip lists are fixed (generator.js), and elsewhere. */
const SAME = Object.freeze({ fixed: 0.03, elsewhere: 0.06 })
const HAS_FIXED_LEVELS = /^valkey (9\.[1-9]|[1-9]\d)/

/**
 * Instructions of an arm to those of another at the same level.
 * @param {CountedCell[]} cells of a count
 * @param {{ plan: import('../plan/index.js').Plan, level: string, arm: string, against: string, measure: string }} of
 * @returns {{ ratio: number, limit: number } | null} `limit`: as close to 1 it is no difference; null: one of them is not counted, or
 *   INVALID, or the measure is not of a server's CPU time
 */
export function countedRatio (cells, { plan, level, arm, against, measure }) {
  const [is, was] = [arm, against].map((name) =>
    cells.find((cell) => cell.level === level && cell.arm === name && cell.invalid.length === 0))
  const [above, below] = [is, was].map((cell) => cell?.nodes.find(({ role }) => role === NODE_OF[measure])?.instructions)
  if (above === undefined || below === undefined || is?.unit !== was?.unit) return null
  const engines = [arm, against].map((name) => partsAt(plan, { level, arm: name }).engine)
  const isFixed = engines.every((engine) => engine === null || HAS_FIXED_LEVELS.test(engine))
  return { ratio: above / below, limit: isFixed ? SAME.fixed : SAME.elsewhere }
}

/** @param {CountedCell[]} cells @param {CountedCell} cell @param {string} baseline @param {number} node index @returns {number | null} */
export function ratioOf (cells, cell, baseline, node) {
  const against = cells.find(({ level, arm }) => level === cell.level && arm === baseline)
  const [is, was] = [cell, against].map((one) => one && one.invalid.length === 0 ? one.nodes[node]?.instructions : undefined)
  return is === undefined || was === undefined || against?.unit !== cell.unit ? null : is / was
}

/**
 * Where the count lies outside of the window's interval, and what may be the cause.
 * @param {CountedCell[]} cells @param {string} baseline @returns {string[]}
 */
export function contradictions (cells, baseline) {
  return cells.flatMap((cell) => {
    const counted = ratioOf(cells, cell, baseline, 0)
    if (counted === null || cell.ratio === null || cell.arm === baseline || cell.aaOf) return []
    const { ratio, low, high } = cell.ratio
    if (low <= counted && counted <= high) return []
    const against = cells.find(({ level, arm }) => level === cell.level && arm === baseline)
    const bytes = [cell, against].map((one) => (one?.nodes[0].bytesIn ?? 0) + (one?.nodes[0].replicatedBytes ?? 0))
    const isMore = ratio > counted
    const [byCount, ...inWindow] = [counted, ratio, low, high].map((one) => one < 0.1 ? one.toPrecision(2) : one.toFixed(2))
    const ofWindow = `${inWindow[0]} x [${inWindow[1]}-${inWindow[2]}] of CPU time in the window`
    return [`${cell.arm} at ${cell.level}: ${byCount} x by count, ${ofWindow}. ` +
      `The window has ${isMore ? 'more' : 'less'} of what a count does not see: the kernel's part of ${Math.round(bytes[0])} bytes a ` +
      `unit received and replicated (baseline: ${Math.round(bytes[1])}), cache misses, and upkeep by the second`]
  })
}
