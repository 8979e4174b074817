/**
 * Whether a run would drop items that the ledger expects. The ledger (ledger.js) has no clock: a version that expired looks lost
 * to it. So everything that a load writes must stay within its bounds until the end:
 *
 *     maxItems   holds all ids; where every version is kept, twice as many: versions older than the newest of each id may be
 *                dropped, and the ledger knows which (presence.js)
 *     windowMs   covers the run and the time to read all nodes; where only the newest version of an id is checked, the time of
 *                one pass over all ids
 */
import { boundsOf, cellsOf, pathOfSetting, settled } from './cells.js'
import { keepsEvery } from '../content/ledger.js'
import { storageOf } from '../loads/index.js'
import { at } from './shape.js'

/** From the end of the window until the last node was read, including late sends and replication. */
const SPARE_SECONDS = 10

/** Passes over all ids that contain the newest of each, since writers do not advance exactly in step. */
const ROUNDS = 2

/** @typedef {{ least: number, why: string }} Need */

/**
 * @param {import('./index.js').Plan} plan
 * @param {(cell: import('./cells.js').Cell) => number} [warmUpOf] seconds
 * @returns {string[]} each fault once, at the path of the setting
 */
export function faultsOfRetention (plan, warmUpOf = () => plan.warmUpSeconds) {
  /** @type {Map<string, { least: number, fault: string }>} by path, for the cell with the highest need */
  const faults = new Map()
  for (const cell of cellsOf(plan)) {
    const { load } = plan.arms[cell.arm]
    const bounds = boundsOf(load)
    if (bounds.length === 0) continue
    const settings = settled(load, cell.settings)
    const needs = needsOf(settings,
      { every: keepsEvery(storageOf(load, /** @type {any} */ (settings)), settings.valueChange), seconds: warmUpOf(cell) + plan.seconds })
    for (const bound of bounds) {
      const { least, why } = needs[bound]
      // other faults of the setting are reported elsewhere
      if (!(settings[bound] > 0 && settings[bound] < least)) continue
      const written = pathOfSetting(plan, cell, bound)
      const place = written ? `${written}.${bound}` : `${bound} by default`
      const enough = `at least ${least.toLocaleString('en')}`
      const expected = (bound === 'maxItems' ? ['0 = no limit', enough] : [enough, 'a shorter run']).join(', or ')
      const fault = `${place}: ${settings[bound].toLocaleString('en')}; expected ${expected}: ${at('arms', cell.arm)} at ` +
        `${at('levels', cell.level)} ${why}, and items that the feed drops would count as lost`
      if (!(Number(faults.get(place)?.least) >= least)) faults.set(place, { least, fault })
    }
  }
  return [...faults.values()].map(({ fault }) => fault)
}

/**
 * @param {Record<string, any>} settings
 * @param {{ every: boolean, seconds: number }} run `every`: all versions are checked, else the newest of each id
 * @returns {Record<'maxItems' | 'windowMs', Need>}
 */
function needsOf ({ rate, writers, ids, pace, periodMs }, { every, seconds }) {
  const burst = pace === 'burst' ? periodMs / 1000 : 0
  const written = rate === 0 ? Infinity : Math.ceil(rate * writers * (seconds + burst))
  const round = rate === 0 ? Infinity : ids / (rate * writers) + burst
  const oldest = every ? seconds : Math.min(seconds, round)
  return {
    maxItems: {
      least: Math.min(every ? ROUNDS * ids : ids, written),
      why: every ? 'keeps every version, including the newest of each id' : 'keeps one version of each id'
    },
    windowMs: {
      least: Math.ceil((oldest + SPARE_SECONDS) * 1000),
      why: `has versions ${Math.ceil(oldest)} s old at its end, and is read for up to ${SPARE_SECONDS} s after it`
    }
  }
}
