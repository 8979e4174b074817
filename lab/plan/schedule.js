/**
 * Which cells are measured, in which order. Pure.
 *
 * Rounds are interleaved, and every second one runs backwards (ABBA, L10), so that drift of the machine affects all arms alike.
 * Every arm has the same number of rounds. The baseline is measured twice at every level, under two names: this A/A pair shows
 * the noise.
 *
 *     round 1   ids  values  blob  ids (A/A)
 *     round 2   ids (A/A)  blob  values  ids
 *     round 3   as round 1
 *
 * The warm-up lasts at least until every id was written once, because new keys cost more than existing ones. If that would take
 * longer than LONGEST_FILL_S, the workload is one of new ids.
 *
 * @typedef {import('./index.js').Plan} Plan
 * @typedef {{ level: string, arm: string, round: number, aaOf?: string, warmUpSeconds: number }} Cell `aaOf`: the arm that it
 *   repeats in the A/A pair
 * @typedef {{ cells: Cell[], seconds: number, warmUpSeconds: number, overheadSeconds: number, dropped: string[] }} Schedule
 *   `dropped`: a sentence for each kind of part that this run leaves out
 */
import { FreshetError } from '../errors.js'
import { settled } from './cells.js'
import { AA_SUFFIX, OVERHEAD_SECONDS } from './index.js'
import { leastSeconds } from './plan-faults.js'
import { faultsOfRetention } from './retention.js'
import { expectedOneOf } from './shape.js'

const LONGEST_FILL_S = 10
/** A quick run only shows that everything works; L9 does not apply. */
const QUICK = { seconds: 2, warmUpSeconds: 0.5, overheadSeconds: 4, totalSeconds: 30 }

/**
 * @param {Plan} plan
 * @param {{ rounds?: number | null, arms?: string[] | null, quick?: boolean, seconds?: number | null }} [wanted] `arms`: these,
 *   the baseline and the ceiling; without it all of them
 * @returns {Schedule}
 * @throws {FreshetError} PLAN_INVALID: an unknown arm, a window shorter than L9 allows, or so long that the feed would drop items
 *   that the ledger expects
 */
export function scheduleOf (plan, { rounds, arms, quick = false, seconds } = {}) {
  const all = Object.keys(plan.arms)
  for (const arm of arms ?? []) {
    if (!all.includes(arm)) {
      throw new FreshetError('PLAN_INVALID', `--arms: ${JSON.stringify(arm)} is no arm of ${plan.name}; ${expectedOneOf(arm, all)}`,
        { plan: plan.name })
    }
  }
  if (seconds && seconds < leastSeconds(plan) && !quick) {
    throw new FreshetError('PLAN_INVALID',
      `--seconds: ${seconds}; expected at least ${leastSeconds(plan)}: twice the longest period of ${plan.name}`, { plan: plan.name })
  }
  const kept = all.filter((arm) => !arms?.length || arms.includes(arm) || arm === plan.baseline || arm === plan.ceiling)
  const times = quick ? QUICK : { seconds: seconds ?? plan.seconds, warmUpSeconds: plan.warmUpSeconds }
  const faults = quick
    ? []
    : faultsOfRetention({ ...plan, ...times, arms: Object.fromEntries(kept.map((arm) => [arm, plan.arms[arm]])) }, ({ level, arm }) =>
      warmUpOf(plan, level, arm))
  if (faults.length > 0) {
    throw new FreshetError('PLAN_INVALID', `${plan.name}, ${times.seconds} s a measurement: ${faults.join('\n  ')}`,
      { plan: plan.name, faults })
  }
  const levels = Object.keys(plan.levels).map((level) => ({ level, arms: kept.filter((arm) => !plan.levels[level].without.includes(arm)) }))
  const measured = quick ? quickLevels(plan, levels) : levels
  const warmUp = (/** @type {string} */ level, /** @type {string} */ arm) => quick ? QUICK.warmUpSeconds : warmUpOf(plan, level, arm)
  const once = measured.flatMap(({ level, arms }) => [
    ...arms.map((arm) => ({ level, arm, warmUpSeconds: warmUp(level, arm) })),
    { level, arm: plan.baseline + AA_SUFFIX, aaOf: plan.baseline, warmUpSeconds: warmUp(level, plan.baseline) }
  ])
  const cells = Array.from({ length: quick ? 1 : rounds ?? plan.rounds }, (_, i) =>
    (i % 2 === 0 ? once : once.toReversed()).map((cell) => ({ ...cell, round: i + 1 }))).flat()
  return {
    cells,
    seconds: times.seconds,
    warmUpSeconds: times.warmUpSeconds,
    overheadSeconds: plan.overheadSeconds ?? OVERHEAD_SECONDS,
    dropped: droppedOf(plan, { measured, quick, rounds })
  }
}

/**
 * Long enough to write every id once; with bursts it ends half-way between two, so that none is cut.
 * @param {Plan} plan @param {string} level @param {string} arm
 * @returns {number} seconds, in tenths where there are no bursts
 */
function warmUpOf ({ arms, levels, fixed, warmUpSeconds }, level, arm) {
  const { ids, rate, writers, pace, periodMs, chunks = 1 } =
    settled(arms[arm].load, { ...fixed, ...levels[level].settings, ...arms[arm].settings })
  const fillSeconds = rate > 0 ? Math.ceil(10 * ids / (rate * writers)) / 10 : 0
  const seconds = fillSeconds > LONGEST_FILL_S ? warmUpSeconds : Math.max(warmUpSeconds, fillSeconds)
  if (pace !== 'burst') return seconds
  const burstSeconds = periodMs / chunks / 1000
  return (Math.ceil(seconds / burstSeconds - 0.5) + 0.5) * burstSeconds
}

/**
 * A quick run has the first level only, with the baseline, the ceiling, the A/A pair, and the plan's first other arms.
 * @param {Plan} plan @param {{ level: string, arms: string[] }[]} levels
 */
function quickLevels ({ baseline, ceiling }, [{ level, arms }]) {
  const room = Math.ceil(QUICK.totalSeconds / (QUICK.seconds + QUICK.warmUpSeconds + QUICK.overheadSeconds)) - 1
  const others = arms.filter((arm) => arm !== baseline && arm !== ceiling).slice(0, Math.max(0, room - 3))
  return [{ level, arms: arms.filter((arm) => arm === baseline || arm === ceiling || others.includes(arm)) }]
}

/**
 * @param {Plan} plan @param {{ measured: { level: string, arms: string[] }[], quick: boolean, rounds?: number | null }} run
 * @returns {string[]}
 */
function droppedOf (plan, { measured, quick, rounds }) {
  const levels = Object.keys(plan.levels).filter((level) => !measured.some((one) => one.level === level))
  const arms = Object.keys(plan.arms).filter((arm) => !measured.some((one) => one.arms.includes(arm)))
  return [
    ...(quick ? [`quick, not a result: one round with ${QUICK.seconds} s for each measurement`] : []),
    ...(levels.length ? [`levels left out: ${levels.join(', ')}`] : []),
    ...(arms.length ? [`arms left out: ${arms.join(', ')}`] : []),
    ...(!quick && rounds && rounds < plan.rounds ? [`${rounds} of ${plan.rounds} rounds: intervals are wider`] : [])
  ]
}

/**
 * The remaining cells. A measurement that ended with an error is an outcome and is not repeated (L14).
 * @param {Cell[]} cells
 * @param {{ level: string, arm: string, round: number }[]} samples
 * @returns {Cell[]}
 */
export function remaining (cells, samples) {
  const nameOf = (/** @type {{ level: string, arm: string, round: number }} */ { level, arm, round }) => JSON.stringify([level, arm, round])
  const done = new Set(samples.map(nameOf))
  return cells.filter((cell) => !done.has(nameOf(cell)))
}

/** @param {Schedule} schedule @returns {number} estimated duration */
export const secondsOf = ({ cells, seconds, overheadSeconds }) =>
  cells.reduce((sum, { warmUpSeconds }) => sum + seconds + warmUpSeconds + overheadSeconds, 0)

/** @param {Schedule} schedule @returns {number} the same in whole minutes */
export const minutesOf = (schedule) => Math.ceil(secondsOf(schedule) / 60)
