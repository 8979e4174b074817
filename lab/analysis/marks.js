/**
 * What distorts the figures of a sample, derived from the sample alone, so that any reader of a result can repeat it.
 *
 * @typedef {import('../run/sample.js').Sample} Sample
 */
import { decidedOf } from '../../src/pipeline/index.js'
import { GENERATOR_BOUND, KEPT_UP, NOISY_CORES, REPEATED_STOLEN_PERCENT, STOLEN_PERCENT } from './limits.js'
import { servingMarks } from '../serving/figures.js'

/** @type {Readonly<Record<string, string>>} their meaning */
export const MARKS = Object.freeze({
  'generator-bound': 'the load was near its own limit, so the figures may show that limit',
  noisy: 'other programs used the processors',
  stolen: 'the host gave processor time of this machine to others',
  behind: 'fewer items than planned were acknowledged',
  'reads behind': 'a reader answered fewer requests than planned',
  'relay-bound': 'the relay of --rtt-ms was near its limit, so the figures may show that limit',
  'full copy': 'a replica made a full resync, which costs the primary processor time',
  evicted: 'the server evicted items to free memory'
})

/**
 * @param {Pick<Sample, 'generator' | 'machine' | 'planned' | 'items' | 'refused' | 'seconds' | 'nodes' | 'serving'>} sample
 * @returns {string[]} all but `relay-bound`: samples have no figures of the relay
 */
export const marksOf = ({ generator, machine, planned, items, refused, seconds, nodes, serving }) => [
  ...new Set([...(isBound(generator, seconds) ? ['generator-bound'] : []), ...servingMarks(serving)]),
  ...((machine.otherCores ?? 0) > NOISY_CORES ? ['noisy'] : []),
  ...((machine.stealPercent ?? 0) > STOLEN_PERCENT ? ['stolen'] : []),
  ...(planned !== null && decidedOf({ items, refused }) < planned * KEPT_UP ? ['behind'] : []),
  ...(nodes.some(({ fullSyncs }) => fullSyncs > 0) ? ['full copy'] : []),
  ...(nodes.some(({ evictedKeys }) => evictedKeys > 0) ? ['evicted'] : [])
]

/** Whether so much time was stolen that it is measured again. @param {Pick<Sample, 'machine' | 'error'>} sample */
export const isToRepeat = ({ machine, error }) => error === null && (machine?.stealPercent ?? 0) > REPEATED_STOLEN_PERCENT

/**
 * The marks of a sample by today's rules: before 2026-11-29 stolen time was marked as `noisy`.
 * @template {Sample} One @param {One} sample @returns {One}
 */
export const marked = (sample) => sample.error || !sample.generator
  ? sample
  : { ...sample, marks: [...marksOf(sample), ...sample.marks.filter((mark) => mark === 'relay-bound')] }

/** @param {Sample['generator']} generator @param {number} seconds */
const isBound = ({ loopUse, cpuSeconds, processes }, seconds) =>
  loopUse > GENERATOR_BOUND || cpuSeconds / processes / seconds > GENERATOR_BOUND
