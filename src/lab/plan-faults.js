/**
 * What can be wrong between the parts of a plan, each of which is right by itself: names that lead nowhere, arms that
 * are the same, settings that do not go together, windows too short for a period. The plan may lack parts, or have
 * such of another kind: what its shape has told is not told again.
 *
 * @typedef {import('./plan.js').Plan} Plan
 * @typedef {import('./plan.js').Settings} Settings
 * @typedef {import('./plan.js').Known} Known
 */
import { cellsOf, loadNamed, placeOf, settled } from './cells.js'
import { meant } from './nearest.js'
import { faultsOfRetention } from './retention.js'
import { LEAD_SECONDS, faultsOfServing, leastSecondsOf, servingAt } from './serving/plan.js'
import { at, unfit } from './shape.js'

/** A window holds at least so many periods (L9). */
export const PERIODS = 2
/** The lab sets these itself. */
const LAB_SETS = ['redisUrl', 'replicaUrl', 'keyPrefix', 'feed', 'warmUp', 'duration', 'items', 'source', 'server', 'cacheDir', 'metricsPort', 'logLevel']

/** @param {Plan} plan @param {Known['checkSettings']} checkSettings @returns {string[]} */
export const faultsBetween = (plan, checkSettings) => [
  ...namesThatLeadNowhere(plan),
  ...noCeiling(plan),
  ...sameTwice('arms', plan.arms ?? {}),
  ...sameTwice('levels', plan.levels ?? {}),
  ...faultsOfSettings(plan, checkSettings),
  ...faultsOfLoads(plan),
  ...faultsOfRetention(plan),
  ...faultsOfAllServing(plan, checkSettings),
  ...faultsOfTime(plan)
]

/** @param {Plan} plan @returns {string[]} */
function namesThatLeadNowhere ({ arms = {}, levels = {}, baseline, ceiling, expected = [], budgets = [], measures = [], published, fixedAndMarginal }) {
  /** @type {string[]} */
  const faults = []
  const lookUp = (/** @type {string} */ path, /** @type {string | undefined} */ one, /** @type {Record<string, unknown>} */ known, /** @type {string} */ what) => {
    if (typeof one === 'string' && !Object.hasOwn(known, one)) faults.push(`${path}: ${JSON.stringify(one)} is no ${what} of this plan; ${meant(one, Object.keys(known))}`)
  }
  lookUp('baseline', baseline, arms, 'arm')
  lookUp('ceiling', ceiling, arms, 'arm')
  if (baseline !== undefined && baseline === ceiling) faults.push(`ceiling: ${JSON.stringify(ceiling)} is the baseline; expected another arm, such as one with load blob`)
  for (const [level, { without = [] }] of Object.entries(levels)) {
    for (const [i, arm] of without.entries()) {
      lookUp(`${at('levels', level)}.without[${i}]`, arm, arms, 'arm')
      if (arm === baseline || arm === ceiling) faults.push(`${at('levels', level)}.without[${i}]: ${JSON.stringify(arm)} is the ${arm === baseline ? 'baseline' : 'ceiling'}, which is measured at every level`)
    }
  }
  for (const [i, { measure, most, least }] of budgets.entries()) {
    lookUp(`budgets[${i}].measure`, measure, Object.fromEntries(measures.map((one) => [one, true])), 'measure')
    if ((most === undefined) === (least === undefined)) faults.push(`budgets[${i}]: ${most === undefined ? 'neither most nor least' : 'most and least'}; expected one of them`)
  }
  const entries = [['expected', expected], ['budgets', budgets], ['published.figures', published?.figures ?? []], ['published.ratios', published?.ratios ?? []]]
  for (const [path, those] of /** @type {[string, (import('./plan.js').Figure & Partial<import('./plan.js').Ratio>)[]][]} */ (entries)) {
    for (const [i, { arm, against, level }] of those.entries()) {
      lookUp(`${path}[${i}].arm`, arm, arms, 'arm')
      lookUp(`${path}[${i}].against`, against, arms, 'arm')
      lookUp(`${path}[${i}].level`, level, levels, 'level')
      if (arm !== undefined && arm === against) faults.push(`${path}[${i}].against: ${JSON.stringify(against)} is the arm itself; expected another`)
    }
  }
  const places = Object.values(levels).map(({ x }) => x)
  if (fixedAndMarginal && (places.length < 2 || places.includes(undefined) || new Set(places).size < places.length)) {
    faults.push('fixedAndMarginal: true; expected at least two levels, each with an x of its own')
  }
  return faults
}

/** L11. What its shape has told is not told again. @param {Plan} plan */
function noCeiling ({ arms = {}, baseline, ceiling }) {
  const { load, serving } = arms[ceiling] ?? {}
  const isKnown = load === 'writer' || loadNamed(load).open !== undefined
  // nothing that stands still is fresh: there the least is to ask a server each time
  const isAsked = serving?.by === 'ask' && serving.asks === 'freshness'
  if (!isKnown || ceiling === baseline || load === 'blob' || serving?.by === 'bare' || isAsked) return []
  return [`ceiling: ${JSON.stringify(ceiling)} runs our code; expected an arm with load blob, or with serving by bare: the same bytes without it`]
}

/**
 * An arm that was copied and not changed would pass for a finding.
 * @param {string} path @param {Record<string, { load?: string, settings?: Settings, serving?: object, engine?: string }>} those
 */
function sameTwice (path, those) {
  const seen = new Map()
  return Object.entries(those).flatMap(([one, { load, settings = {}, serving, engine }]) => {
    const content = JSON.stringify([load, engine, serving, Object.entries(settings).sort()])
    const before = seen.get(content)
    seen.set(content, before ?? one)
    return before === undefined ? [] : [`${at(path, one)}: the same as ${at(path, before)}; expected a difference (the lab adds the A/A pair itself)`]
  })
}

/** Each fault once, where the setting was written. @param {Plan} plan @param {Known['checkSettings']} checkSettings */
function faultsOfSettings (plan, checkSettings) {
  const faults = new Set()
  for (const { level, arm, settings } of cellsOf(plan)) {
    const place = (/** @type {string} */ setting) => placeOf(plan, { level, arm }, setting)
    for (const setting of LAB_SETS) if (place(setting)) faults.add(`${place(setting)}.${setting}: the lab sets it; leave it out`)
    for (const fault of checkSettings(settings)) faults.add(`${place(/^\w+/.exec(fault)?.[0] ?? '') ?? `${at('arms', arm)} at ${at('levels', level)}`}: ${fault}`)
    if (settings.pace === 'burst' && settings.periodMs === undefined) faults.add(`${place('pace')}.pace: burst; expected a periodMs beside it, by which the window is checked`)
  }
  return [...faults]
}

/** What a load has whatever it is given, written otherwise for its arm; what it must be given. Each fault once. @param {Plan} plan */
function faultsOfLoads (plan) {
  const faults = new Set()
  for (const cell of cellsOf(plan)) {
    const { load, settings: own = {} } = plan.arms[cell.arm]
    const { always = {}, wants = {} } = loadNamed(load)
    for (const [setting, value] of Object.entries(always)) {
      if (Object.hasOwn(own, setting) && own[setting] !== value) faults.add(`${at('arms', cell.arm)}.settings.${setting}: ${own[setting]}; load ${load} always has ${value}; leave it out`)
    }
    for (const [setting, value] of Object.entries(wants)) {
      const given = settled(load, cell.settings)[setting]
      if (given !== value) faults.add(`${placeOf(plan, cell, setting)}.${setting}: ${given}; expected ${value} for ${at('arms', cell.arm)}: load ${load} is the published way, with values of that size; or leave the arm out`)
    }
  }
  return [...faults]
}

/** Each fault once for each arm. @param {Plan} plan @param {Known['checkSettings']} checkSettings */
function faultsOfAllServing (plan, checkSettings) {
  const cells = cellsOf(plan).filter(({ arm }) => plan.arms[arm].serving)
  const faults = cells.flatMap(({ level, arm, settings }) => {
    const { load } = plan.arms[arm]
    const ofLevel = plan.levels[level].serving
    const serving = servingAt(plan.arms[arm].serving, ofLevel)
    const place = `${at('arms', arm)}.serving${ofLevel ? ` at ${at('levels', level)}` : ''}`
    return serving ? faultsOfServing(place, serving, { load, settings: settled(load, settings) }, checkSettings) : []
  })
  if (cells.length > 0 && plan.warmUpSeconds === 0) faults.push('warmUpSeconds: 0; expected more with serving: who reads must find the feed filled')
  return [...new Set(faults)]
}

/** The longest period of any cell, ms. @param {Plan} plan @returns {number} */
export function longestPeriodMs (plan) {
  const periods = cellsOf(plan).flatMap(({ level, arm, settings }) => [settings.periodMs, settings.batchMs, loadNamed(plan.arms[arm].load).always?.periodMs, servingAt(plan.arms[arm].serving, plan.levels[level].serving)?.everyMs])
  return Math.max(longestBatchMs(plan), ...periods.filter((ms) => typeof ms === 'number'))
}

/** How long a load that waits for whole batches gathers one, at most. @param {Plan} plan @returns {number} ms */
function longestBatchMs (plan) {
  const times = cellsOf(plan).map(({ arm, settings }) => {
    const { wholeBatches, batchItems, rate, pace } = settled(plan.arms[arm].load, settings)
    return wholeBatches && rate > 0 && pace === 'steady' ? Math.ceil(batchItems * 1000 / rate) : 0
  })
  return Math.max(0, ...times)
}

/** @param {Plan} plan @returns {number} the shortest window that L9 allows, seconds */
export function leastSeconds (plan) {
  const periods = PERIODS * longestPeriodMs(plan) / 1000
  const ofServing = Math.max(0, ...Object.values(plan.arms ?? {}).map(({ serving }) => leastSecondsOf(serving)))
  return ofServing > 0 ? Math.max(LEAD_SECONDS + periods, ofServing) : periods
}

/** L9. @param {Plan} plan */
function faultsOfTime (plan) {
  if (!(plan.seconds < leastSeconds(plan))) return []
  const periods = ['periodMs', 'batchMs', 'everyMs', ...(longestBatchMs(plan) > 0 ? ['the time in which a reference gathers a batch'] : [])].join(', ')
  return [unfit('seconds', plan.seconds, `at least ${leastSeconds(plan)}: ${PERIODS} times the longest period (${periods}) of the plan, and what serving takes beside it`)]
}
