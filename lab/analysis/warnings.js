/**
 * Warnings about the figures of a result: one sentence each, with the arms that it affects.
 *
 * @typedef {import('./index.js').Result} Result
 * @typedef {import('./index.js').Group} Group
 * @typedef {import('./index.js').Noise} Noise
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
 * @param {{ noise: Noise[], isKnownEverywhere: boolean }} pair A/A, by the main measure; whether every level has it
 * @returns {string[]}
 */
export function warningsOf ({ settings, finishedAt, samples }, groups, { noise, isKnownEverywhere }) {
  const marked = (/** @type {string} */ mark) => cellsWhere(groups, ({ valid }) => {
    const count = valid.filter(({ marks }) => marks.includes(mark)).length
    return count && `${count} of ${valid.length}`
  })
  const bound = marked('generator-bound')
  const [noisy, stolen] = [marked('noisy'), marked('stolen')]
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
  const sentences = [
    settings.quick && 'a quick run only shows that everything works; its figures are not a result',
    !finishedAt && `the run is unfinished: ${samples.length}${settings.measurements ? ` of ${settings.measurements}` : ''} measurements`,
    !settings.quick && few && `fewer than ${ROUNDS} valid samples: ${few}; their intervals are wide or missing`,
    bound && `the load was the limit, not the server, in samples of ${bound}: their items per second and lateness are those of the load`,
    slow && `the planned rate was not reached: ${slow}`,
    noisy && `other programs used the processors in samples of ${noisy}`,
    stolen && `CPU time was stolen in samples of ${stolen}`,
    mixed && `the samples of ${mixed} mix engines`,
    ...noise.filter((pair) => ['less', 'more'].includes(verdictOf(pair))).map((pair) =>
      `the A/A pair differs at ${pair.level}: ${ratioWithInterval(pair)}; differences of that size are noise there`),
    !isKnownEverywhere && 'the A/A pair is missing at a level, so the noise of this machine is unknown there'
  ]
  return sentences.flatMap((sentence) => sentence || [])
}

/**
 * @param {Group[]} groups @param {(group: Group) => string | number | false} say
 * @returns {string} cells with their text; empty when there are none
 */
function cellsWhere (groups, say) {
  const cells = groups.map((group) => ({ group, text: say(group) })).filter(({ text }) => text)
  const [first] = cells
  if (cells.length > 1 && cells.length === groups.length && cells.every(({ text }) => text === first.text)) {
    return `every arm at every level (${first.text})`
  }
  const shown = cells.slice(0, MOST_CELLS).map(({ group: { arm, level }, text }) => `\`${arm}\` at ${level} (${text})`).join(', ')
  return shown + (cells.length > MOST_CELLS ? ` and ${cells.length - MOST_CELLS} more` : '')
}
