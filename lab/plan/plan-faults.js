/**
 * Faults between the parts of a plan: unknown names, identical arms, settings that do not fit together, windows too short for a
 * period. Parts may be missing or malformed; shape.js reports those.
 *
 * @typedef {import('./index.js').Plan} Plan
 * @typedef {import('./index.js').Settings} Settings
 * @typedef {import('./index.js').Known} Known
 */
import { cellsOf, loadNamed, pathOfSetting, settled } from './cells.js'
import { faultsOfRetention } from './retention.js'
import { LEAD_SECONDS, faultsOfServing, leastSecondsOf, servingAt } from '../serving/plan.js'
import { at, expectedOneOf, unfit } from './shape.js'

/** A window has at least this many periods (L9). */
export const PERIODS = 2
/** Techniques of systems without our code. */
const WITHOUT_US = ['noop', 'floor']
/** Set by the lab. */
const LAB_SETS = ['redisUrl', 'replicaUrl', 'keyPrefix', 'feed', 'warmUp', 'duration', 'items', 'source', 'server', 'cacheDir',
  'metricsPort', 'logLevel']

/** @param {Plan} plan @param {Known['checkSettings']} checkSettings @returns {string[]} */
export const faultsBetween = (plan, checkSettings) => [
  ...unknownNames(plan),
  ...ceilingFaults(plan),
  ...duplicates('arms', plan.arms ?? {}),
  ...duplicates('levels', plan.levels ?? {}),
  ...faultsOfSettings(plan, checkSettings),
  ...faultsOfLoads(plan),
  ...faultsOfRetention(plan),
  ...faultsOfAllServing(plan, checkSettings),
  ...faultsOfTime(plan)
]

/** @param {Plan} plan @returns {string[]} */
function unknownNames ({
  arms = {}, labels = {}, chart = {}, formerly = {}, levels = {}, counted = {}, baseline, ceiling, expected = [], pairs = [], budgets = [],
  measures = [], published, fixedAndMarginal
}) {
  /** @type {string[]} */
  const faults = []
  const lookUp = (/** @type {string} */ path, /** @type {string | undefined} */ one, /** @type {Record<string, unknown>} */ known,
    /** @type {string} */ what) => {
    if (typeof one === 'string' && !Object.hasOwn(known, one)) {
      faults.push(`${path}: ${JSON.stringify(one)} is no ${what} of this plan; ${expectedOneOf(one, Object.keys(known))}`)
    }
  }
  lookUp('baseline', baseline, arms, 'arm')
  lookUp('ceiling', ceiling, arms, 'arm')
  for (const arm of Object.keys(labels)) lookUp('labels', arm, arms, 'arm')
  for (const arm of [chart.about?.arm, chart.about?.against, ...chart.arms ?? []]) lookUp('chart', arm, arms, 'arm')
  for (const level of [chart.about?.level, chart.overTime, ...chart.levels ?? []]) lookUp('chart', level, levels, 'level')
  for (const level of counted.levels ?? []) lookUp('counted.levels', level, levels, 'level')
  for (const arm of counted.without ?? []) {
    lookUp('counted.without', arm, arms, 'arm')
    if (arm === baseline) faults.push(`counted.without: ${JSON.stringify(arm)} is the baseline, which every ratio needs`)
  }
  if ((counted.levels || counted.without) && !counted.why) faults.push('counted.why is missing; expected why the rest is not counted')
  for (const name of Object.values(formerly)) lookUp('formerly', name, { ...arms, ...levels }, 'arm or level')
  if (baseline !== undefined && baseline === ceiling) {
    faults.push(`ceiling: ${JSON.stringify(ceiling)} is the baseline; expected another arm, such as one with load blob`)
  }
  for (const [level, { without = [] }] of Object.entries(levels)) {
    for (const [i, arm] of without.entries()) {
      lookUp(`${at('levels', level)}.without[${i}]`, arm, arms, 'arm')
      if (arm === baseline || arm === ceiling) {
        faults.push(`${at('levels', level)}.without[${i}]: ${JSON.stringify(arm)} is the ${arm === baseline ? 'baseline' : 'ceiling'}, ` +
          'which is measured at every level')
      }
    }
  }
  for (const [i, { measure, most, least }] of budgets.entries()) {
    lookUp(`budgets[${i}].measure`, measure, Object.fromEntries(measures.map((one) => [one, true])), 'measure')
    if ((most === undefined) === (least === undefined)) {
      faults.push(`budgets[${i}]: ${most === undefined ? 'neither most nor least' : 'both most and least'}; expected one of them`)
    }
  }
  const entries = [['expected', expected], ['pairs', pairs], ['budgets', budgets], ['published.figures', published?.figures ?? []],
    ['published.ratios', published?.ratios ?? []]]
  for (const [path, those] of /** @type {[string, (import('./index.js').Figure & Partial<import('./index.js').Ratio>)[]][]} */ (entries)) {
    for (const [i, { arm, against, level }] of those.entries()) {
      lookUp(`${path}[${i}].arm`, arm, arms, 'arm')
      lookUp(`${path}[${i}].against`, against, arms, 'arm')
      lookUp(`${path}[${i}].level`, level, levels, 'level')
      if (arm !== undefined && arm === against) {
        faults.push(`${path}[${i}].against: ${JSON.stringify(against)} is the arm itself; expected another arm`)
      }
    }
  }
  const xs = Object.values(levels).map(({ x }) => x)
  if (fixedAndMarginal && (xs.length < 2 || xs.includes(undefined) || new Set(xs).size < xs.length)) {
    faults.push('fixedAndMarginal: true; expected at least two levels, each with a different x')
  }
  return faults
}

/** L11. @param {Plan} plan */
function ceilingFaults ({ arms = {}, baseline, ceiling }) {
  const { load, serving, contention } = arms[ceiling] ?? {}
  const isKnown = load === 'writer' || loadNamed(load).open !== undefined
  // a constant response has no freshness; the ceiling is a read from a server on each request
  const isFreshRead = serving?.by === 'ask' && serving.asks === 'freshness'
  if (WITHOUT_US.includes(String(contention?.technique))) return []
  if (!isKnown || ceiling === baseline || load === 'blob' || serving?.by === 'bare' || isFreshRead) return []
  return [`ceiling: ${JSON.stringify(ceiling)} runs our code; expected an arm without it: load blob, or serving by bare`]
}

/**
 * A copied arm without a change would look like a finding.
 * @param {string} path
 * @param {Record<string, { load?: string, settings?: Settings, serving?: object, engine?: string, servers?: string,
 *   contention?: object }>} those
 */
function duplicates (path, those) {
  const seen = new Map()
  return Object.entries(those).flatMap(([one, { load, settings = {}, serving, engine, servers, contention }]) => {
    const content = JSON.stringify([load, engine, servers, serving, contention, Object.entries(settings).sort()])
    const before = seen.get(content)
    seen.set(content, before ?? one)
    return before === undefined
      ? []
      : [`${at(path, one)}: the same as ${at(path, before)}; expected a difference (the lab adds the A/A pair itself)`]
  })
}

/** Each fault once, at the path of the setting. @param {Plan} plan @param {Known['checkSettings']} checkSettings */
function faultsOfSettings (plan, checkSettings) {
  const faults = new Set()
  for (const { level, arm, settings } of cellsOf(plan)) {
    const path = (/** @type {string} */ setting) => pathOfSetting(plan, { level, arm }, setting)
    for (const setting of LAB_SETS) if (path(setting)) faults.add(`${path(setting)}.${setting}: the lab sets it; leave it out`)
    for (const fault of checkSettings(settings)) {
      faults.add(`${path(/^\w+/.exec(fault)?.[0] ?? '') ?? `${at('arms', arm)} at ${at('levels', level)}`}: ${fault}`)
    }
    if (settings.pace === 'burst' && settings.periodMs === undefined) {
      faults.add(`${path('pace')}.pace: burst; expected a periodMs beside it, to check the window`)
    }
  }
  return [...faults]
}

/** Settings that a load fixes, or requires. Each fault once. @param {Plan} plan */
function faultsOfLoads (plan) {
  const faults = new Set()
  for (const cell of cellsOf(plan)) {
    const { load, settings: own = {} } = plan.arms[cell.arm]
    const { always = {}, wants = {} } = loadNamed(load)
    for (const [setting, value] of Object.entries(always)) {
      if (Object.hasOwn(own, setting) && own[setting] !== value) {
        faults.add(`${at('arms', cell.arm)}.settings.${setting}: ${own[setting]}; load ${load} always uses ${value}; leave it out`)
      }
    }
    for (const [setting, value] of Object.entries(wants)) {
      const given = settled(load, cell.settings)[setting]
      if (given !== value) {
        faults.add(`${pathOfSetting(plan, cell, setting)}.${setting}: ${given}; expected ${value} for ${at('arms', cell.arm)}: load ` +
          `${load} reproduces the published writes, with values of that size; or leave the arm out`)
      }
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
  if (cells.length > 0 && plan.warmUpSeconds === 0) {
    faults.push('warmUpSeconds: 0; expected more with serving: the feed must be filled before requests begin')
  }
  return [...new Set(faults)]
}

/** The longest period of any cell, ms. @param {Plan} plan @returns {number} */
function longestPeriodMs (plan) {
  const periods = cellsOf(plan).flatMap(({ level, arm, settings }) => [settings.periodMs, settings.batchMs,
    loadNamed(plan.arms[arm].load).always?.periodMs, servingAt(plan.arms[arm].serving, plan.levels[level].serving)?.everyMs])
  return Math.max(longestBatchMs(plan), ...periods.filter((ms) => typeof ms === 'number'))
}

/** Maximum time in which a load with whole batches fills one. @param {Plan} plan @returns {number} ms */
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
  const periods = ['periodMs', 'batchMs', 'everyMs',
    ...(longestBatchMs(plan) > 0 ? ['the time in which a reference fills a batch'] : [])].join(', ')
  return [unfit('seconds', plan.seconds,
    `at least ${leastSeconds(plan)}: ${PERIODS} times the longest period (${periods}) of the plan, and the time that serving needs`)]
}
