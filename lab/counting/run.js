/**
 * Counts the arms of a plan, level by level, the baseline twice: those that the plan names (`counted`), without its ceiling, which is no
 * question.
 *
 * @typedef {import('./report.js').Counts} Counts
 * @typedef {import('./compare.js').CountedCell} CountedCell
 */
import { basename } from 'node:path'
import { groupsOf } from '../analysis/groups.js'
import { ratioOfMedians } from '../analysis/statistics.js'
import { AA_SUFFIX } from '../plan/index.js'
import { partsAt, settled } from '../plan/cells.js'
import { commitOf } from '../run/machine.js'
import { sourceDigest } from '../run/source.js'
import { engineName } from '../servers/engines.js'
import { countedArm, primariesOf, unitAt, windowOf } from './arms.js'
import { differencesOf } from './compare.js'
import { count, countIdle } from './count.js'
import { keyOf } from './valgrind.js'

const FORMAT = 1
/** The outcome of an arm; the others go on. */
const OUTCOMES = ['COUNT_FAILED', 'LAB_REPLICAS_BEHIND', 'SERVER_LOST', 'SERVER_REFUSED', 'SERVER_UNREACHABLE', 'LOAD_FAILED',
  'ENGINE_MISSING', 'DEADLINE_PASSED']

/**
 * @param {{ plan: import('../plan/index.js').Plan, arms: string[], result: import('../analysis/index.js').Result | null,
 *   resultFile: string | null, root: string, folder: string,
 *   engineOf: (wanted: string | null) => Promise<import('../servers/engines.js').Engine>,
 *   report: (line: string) => void, signal: AbortSignal }} run `arms`: only these and the baseline, none = all; `result` with the windows
 * @returns {Promise<Counts>}
 */
export async function countPlan ({ plan, arms, result, resultFile, root, folder, engineOf, report, signal }) {
  const startedAt = new Date().toISOString()
  const groups = result ? groupsOf(result) : []
  /** @type {Counts['keys']} */
  const keys = {}
  /** by engine and form of the servers @type {Record<string, number>} */
  const idle = {}
  /** @type {CountedCell[]} */
  const cells = []

  /** @param {string} level @param {string} arm @param {string} [aaOf] */
  async function countCell (level, arm, aaOf) {
    const cell = { level, arm: aaOf ?? arm }
    const samples = (/** @type {string} */ of) => groups.find((group) => group.level === level && group.arm === of)?.valid ?? []
    const unit = unitAt(plan, cell)
    const window = windowOf(samples(cell.arm), unit, partsAt(plan, cell).load)
    const cpuOf = (/** @type {string} */ of) => samples(of).flatMap((sample) => {
      const each = primariesOf(sample).map(({ cpuMicrosPerItem }) => cpuMicrosPerItem)
      return each.includes(null) ? [] : each.reduce((/** @type {number} */ sum, one) => sum + Number(one), 0)
    })
    const { ratio, low, high } = ratioOfMedians(cpuOf(cell.arm), cpuOf(plan.baseline))
    const base = {
      level,
      arm,
      ...(aaOf && { aaOf }),
      unit,
      window,
      ratio: ratio === null || low === null || high === null || unit === 'reply' ? null : { ratio, low, high }
    }
    try {
      const { load: name, engine, serving } = partsAt(plan, cell)
      const planned = { ...plan.fixed, ...plan.levels[level].settings, ...plan.arms[cell.arm].settings }
      // its default has changed since some results
      const { late: _, ...measured } = result?.effective?.[level]?.[cell.arm] ?? {}
      const settings = settled(name, { ...measured, ...planned })
      const { load, node, batches: ofFlush = 1 } = countedArm(plan, cell, settings, window)
      const { program, ...found } = await engineOf(engine)
      keys[engineName(found)] ??= await keyOf(program)
      const place = { program, engine: engineName(found), folder }
      const kind = `${place.engine} ${load.form}`
      idle[kind] ??= await countIdle(load, place)
      const { nodes, units, batches } = await count(load, place, { idlePerSecond: idle[kind] })
      const counted = /** @type {import('./count.js').PerUnit} */ (nodes.find(({ role }) => role === node))
      const itemsPerBatch = load.batchUnits / ofFlush
      const invalid = differencesOf({ node: counted, unit, itemsPerBatch, isShared: serving?.by === 'reader' }, window)
      cells.push({ ...base, batchUnits: units / batches, units, nodes: unit === 'reply' ? [counted] : nodes, invalid, error: null })
    } catch (error) {
      if (!OUTCOMES.includes(error.code)) throw error
      // what is found instead has paths of this machine
      const message = error.code === 'ENGINE_MISSING' ? error.message.split(';')[0] : error.message
      cells.push({ ...base, batchUnits: 0, units: 0, nodes: [], invalid: [], error: { code: error.code, message } })
    }
    const last = /** @type {CountedCell} */ (cells.at(-1))
    const outcome = last.error?.message ?? `${Math.round(last.nodes[0].instructions).toLocaleString('en')} instructions a unit`
    report(`${level}, ${arm}: ${outcome}`)
  }

  const { levels = Object.keys(plan.levels), without = [] } = plan.counted ?? {}
  for (const level of levels) {
    const those = Object.keys(plan.arms).filter((arm) => !plan.levels[level].without.includes(arm) &&
      (arms.length === 0 ? arm !== plan.ceiling && !without.includes(arm) : arms.includes(arm) || arm === plan.baseline))
    for (const arm of those) if (!signal.aborted) await countCell(level, arm)
    // one pair shows how exact the counts are
    if (!signal.aborted && level === levels[0]) await countCell(level, plan.baseline + AA_SUFFIX, plan.baseline)
  }
  return {
    format: FORMAT,
    experiment: plan.name,
    ...await commitOf(root),
    source: await sourceDigest(root),
    node: process.version,
    startedAt,
    finishedAt: signal.aborted ? null : new Date().toISOString(),
    window: resultFile && basename(resultFile),
    baseline: plan.baseline,
    keys,
    cells
  }
}
