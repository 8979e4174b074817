/**
 * What a figure suffers from, worked out from the figures of its sample alone: so whoever reads a result can do it again.
 *
 * @typedef {import('./measures.js').Sample} Sample
 */
import { GENERATOR_BOUND, KEPT_UP, NOISY_CORES, NOISY_STEAL_PERCENT } from './limits.js'
import { servingMarks } from './serving/figures.js'

/** What they mean, in few words. @type {Readonly<Record<string, string>>} */
export const MARKS = Object.freeze({
  'generator-bound': 'the load itself was near its limit, so it may be what was measured',
  noisy: 'other programs used the processors meanwhile',
  behind: 'fewer items than planned were acknowledged',
  'relay-bound': 'the delayed line was near its limit, so it may be what was measured',
  'full copy': 'a replica was given all data anew, at the price of the primary',
  evicted: 'the server threw items away to make room'
})

/**
 * @param {Pick<Sample, 'generator' | 'machine' | 'planned' | 'items' | 'seconds' | 'nodes' | 'serving'>} sample
 * @returns {string[]} all but `relay-bound`: what the relay of a delay does stands in no sample
 */
export const marksOf = ({ generator, machine, planned, items, seconds, nodes, serving }) => [
  ...(isBound(generator, seconds) ? ['generator-bound'] : servingMarks(serving)),
  ...((machine.otherCores ?? 0) > NOISY_CORES || (machine.stealPercent ?? 0) > NOISY_STEAL_PERCENT ? ['noisy'] : []),
  ...(planned !== null && items < planned * KEPT_UP ? ['behind'] : []),
  ...(nodes.some(({ fullSyncs }) => fullSyncs > 0) ? ['full copy'] : []),
  ...(nodes.some(({ evictedKeys }) => evictedKeys > 0) ? ['evicted'] : [])
]

/** @param {Sample['generator']} generator @param {number} seconds */
const isBound = ({ loopUse, cpuSeconds, processes }, seconds) => loopUse > GENERATOR_BOUND || cpuSeconds / processes / seconds > GENERATOR_BOUND
