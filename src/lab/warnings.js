/**
 * What a reader should know before believing a figure: one sentence each, with the arms that it is about.
 *
 * @typedef {import('./analysis.js').Result} Result
 * @typedef {import('./analysis.js').Group} Group
 * @typedef {import('./analysis.js').Noise} Noise
 */
import { reachOf } from './cost.js'
import { KEPT_UP } from './limits.js'
import { verdictOf } from './statistics.js'
import { ratioWithInterval } from './verdict.js'

/** L10 */
const ROUNDS = 5
/** named in one sentence */
const MOST_CELLS = 6

/**
 * @param {Result} result
 * @param {Group[]} groups samples of each arm at each level
 * @param {{ noise: Noise[], isKnownEverywhere: boolean }} pair A/A, by the main measure; whether it was measured at every level
 * @returns {string[]}
 */
export function warningsOf ({ settings, finishedAt, samples }, groups, { noise, isKnownEverywhere }) {
  const marked = (/** @type {string} */ mark) => cellsWhere(groups, ({ valid }) => {
    const count = valid.filter(({ marks }) => marks.includes(mark)).length
    return count && `${count} of ${valid.length}`
  })
  const bound = marked('generator-bound')
  const noisy = marked('noisy')
  const slow = cellsWhere(groups, ({ valid }) => {
    const reach = reachOf(valid)
    return reach !== null && reach < KEPT_UP && `${Math.round(reach * 100)} %`
  })
  const few = cellsWhere(groups, ({ valid }) => valid.length < ROUNDS && String(valid.length))
  const mixed = cellsWhere(groups, ({ valid }) => {
    const engines = [...new Set(valid.flatMap(({ nodes }) => nodes.map(({ engine }) => engine)))].sort()
    return engines.length > 1 && engines.join(', ')
  })
  /** @type {(string | false)[]} */
  const said = [
    settings.quick && 'a quick run: it shows that everything works, its figures are not a result',
    !finishedAt && `the run has not ended: ${samples.length}${settings.measurements ? ` of ${settings.measurements}` : ''} measurements are there`,
    !settings.quick && few && `fewer than ${ROUNDS} valid samples: ${few}; their intervals are wide or missing`,
    bound && `the load was the limit, not the server, in samples of ${bound}: their items a second and lateness say what the load can do`,
    slow && `the planned rate was not reached: ${slow} of it`,
    noisy && `other programs were busy, or processor time was stolen, in samples of ${noisy}`,
    mixed && `engines differ among the samples of ${mixed}: their figures mix them`,
    ...noise.filter((pair) => ['less', 'more'].includes(verdictOf(pair))).map((pair) =>
      `the A/A pair differs at ${pair.level}: ${ratioWithInterval(pair)}; differences of that size there are noise`),
    !isKnownEverywhere && 'the A/A pair is missing at a level: how large a difference this machine makes of nothing is not known there'
  ]
  return said.flatMap((sentence) => sentence || [])
}

/**
 * Cells with what was said of them; the table has the others.
 * @param {Group[]} groups @param {(group: Group) => string | number | false} say
 * @returns {string} empty when nothing was said of any
 */
function cellsWhere (groups, say) {
  const told = groups.map((group) => ({ group, said: say(group) })).filter(({ said }) => said)
  const [first] = told
  if (told.length > 1 && told.length === groups.length && told.every(({ said }) => said === first.said)) return `every arm at every level (${first.said})`
  const shown = told.slice(0, MOST_CELLS).map(({ group: { arm, level }, said }) => `\`${arm}\` at ${level} (${said})`).join(', ')
  return shown + (told.length > MOST_CELLS ? ` and ${told.length - MOST_CELLS} more` : '')
}
