/**
 * Whether a run would let go of what the ledger looks for. The ledger (ledger.js) knows no clock: a version that has become
 * too old looks to it like one that was lost. So what a load writes must be within its bounds to the end:
 *
 *     maxItems   holds all ids; where every version is kept, twice as many: what is older than the newest of each id may be
 *                let go, and the ledger knows which (presence.js)
 *     windowMs   holds the run and the time to look through the nodes; where only the newest of an id is looked for, that is
 *                as old as one round of all ids
 */
import { boundsOf, cellsOf, placeOf, settled } from './cells.js'
import { keepsEvery } from './ledger.js'
import { storageOf } from './loads/index.js'
import { at } from './shape.js'

/** From the end of the window until the last node was looked through: what is late is sent, replicas follow. */
const SPARE_SECONDS = 10

/** Writers take turns, and not exactly: so many rounds of all ids hold the newest of each. */
const ROUNDS = 2

/** @typedef {{ least: number, why: string }} Need */

/**
 * @param {import('./plan.js').Plan} plan
 * @param {(cell: import('./cells.js').Cell) => number} [warmUpOf] seconds
 * @returns {string[]} each fault once, where the setting was written
 */
export function faultsOfRetention (plan, warmUpOf = () => plan.warmUpSeconds) {
  /** @type {Map<string, { least: number, fault: string }>} the cell that needs most speaks for all */
  const faults = new Map()
  for (const cell of cellsOf(plan)) {
    const { load } = plan.arms[cell.arm]
    const bounds = boundsOf(load)
    if (bounds.length === 0) continue
    const settings = settled(load, cell.settings)
    const needs = needsOf(settings, { every: keepsEvery(storageOf(load, /** @type {any} */ (settings)), settings.valueChange), seconds: warmUpOf(cell) + plan.seconds })
    for (const bound of bounds) {
      const { least, why } = needs[bound]
      // what is no number is told elsewhere
      if (!(settings[bound] > 0 && settings[bound] < least)) continue
      const written = placeOf(plan, cell, bound)
      const place = written ? `${written}.${bound}` : `${bound} where none is written`
      const enough = `at least ${least.toLocaleString('en')}`
      const expected = (bound === 'maxItems' ? ['0 = no limit', enough] : [enough, 'a shorter run']).join(', or ')
      const fault = `${place}: ${settings[bound].toLocaleString('en')}; expected ${expected}: ${at('arms', cell.arm)} at ${at('levels', cell.level)} ${why}, and what the feed lets go of would count as lost`
      if (!(Number(faults.get(place)?.least) >= least)) faults.set(place, { least, fault })
    }
  }
  return [...faults.values()].map(({ fault }) => fault)
}

/**
 * @param {Record<string, any>} settings
 * @param {{ every: boolean, seconds: number }} run `every`: all versions are looked for, else the newest of each id
 * @returns {Record<'maxItems' | 'windowMs', Need>}
 */
function needsOf ({ rate, writers, ids, pace, periodMs }, { every, seconds }) {
  const burst = pace === 'burst' ? periodMs / 1000 : 0
  const written = rate === 0 ? Infinity : Math.ceil(rate * writers * (seconds + burst))
  const round = rate === 0 ? Infinity : ids / (rate * writers) + burst
  const oldest = every ? seconds : Math.min(seconds, round)
  return {
    maxItems: { least: Math.min(every ? ROUNDS * ids : ids, written), why: every ? 'keeps every version, the newest of each id too' : 'keeps one version of each id' },
    windowMs: { least: Math.ceil((oldest + SPARE_SECONDS) * 1000), why: `has versions ${Math.ceil(oldest)} s old at its end, and is looked through for up to ${SPARE_SECONDS} s after it` }
  }
}
