/** A plan made from two settings instead of read from a file. */
import { leastValueBytes } from '../loads/source.js'
import { WRITER_DEFAULTS } from './cells.js'
import { PERIODS } from './plan-faults.js'

/** @typedef {import('./index.js').Settings} Settings */

/**
 * A plan that compares two settings, as input of readPlan('ad-hoc', ...). The ceiling has the settings that both share, so that
 * it sends the same bytes.
 * @param {{ a: Settings, b: Settings, aText?: string, bText?: string, rate?: number, fixed?: Settings, seconds?: number,
 *   warmUpSeconds?: number, rounds?: number }} question `aText`, `bText`: as entered; `rate`: items a second
 *   of each process unless the settings have one, 0 = as fast as possible
 * @returns {object}
 */
export function adHocPlan ({ a, b, aText = flagsOf(a), bText = flagsOf(b), rate = 0, fixed = {}, seconds, warmUpSeconds = 2, rounds = 5 }) {
  const rates = [a.rate, b.rate].filter((one) => typeof one === 'number')
  const level = rates.length === 2 ? 'at the rates given' : rate > 0 ? `${rate.toLocaleString('en')} items/s` : 'as fast as possible'
  const periods = [a, b, fixed].flatMap(({ periodMs, batchMs }) => [periodMs, batchMs]).filter((ms) => typeof ms === 'number')
  const shared = Object.fromEntries(Object.entries(a).filter(([name, value]) => name !== 'rate' && b[name] === value))
  const own = (/** @type {Settings} */ settings) =>
    Object.fromEntries(Object.entries(settings).filter(([name]) => !Object.hasOwn(shared, name)))
  // no trimming unless a setting says so
  const both = { maxItems: 0, ...fixed, ...shared }
  const ceiling = ceilingOf(a, b, both)
  return {
    title: shortened(`A: ${aText} / B: ${bText}`, 80),
    question: shortened(`Does B (${bText}) cost less than A (${aText})?`, 200),
    baseline: 'A',
    ceiling: 'blob',
    arms: {
      A: { settings: own(a), note: aText }, B: { settings: own(b), note: bText }, blob: { load: 'blob', settings: ceiling.settings }
    },
    // also the rate of the ceiling
    levels: { [level]: { settings: { rate: rates.length === 2 ? Math.max(...rates) : rate } } },
    fixed: both,
    seconds: seconds ?? Math.max(5, PERIODS * Math.max(0, ...periods) / 1000),
    warmUpSeconds,
    rounds,
    measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'itemsPerSecond', 'behindMsP99',
      'generatorCpuMicrosPerItem', 'netBytesPerItem'],
    differs: ceiling.differs
  }
}

/** The size of A's values, or the smallest that can be checked in a blob. @param {Settings} a @param {Settings} b @param {Settings} both */
function ceilingOf (a, b, both) {
  const [ofA, ofB] = [a, b].map(({ valueBytes }) => Number(valueBytes ?? both.valueBytes ?? WRITER_DEFAULTS.valueBytes))
  const least = leastValueBytes(Number(both.writers ?? WRITER_DEFAULTS.writers))
  const valueBytes = Math.max(ofA, least)
  return {
    settings: valueBytes === (both.valueBytes ?? WRITER_DEFAULTS.valueBytes) ? {} : { valueBytes },
    differs: [
      ...(ofA === ofB ? [] : ['A and B have values of different sizes; the ceiling uses those of A']),
      ...(valueBytes === ofA ? [] : [`the ceiling uses values of ${least} bytes, because smaller ones do not identify items`])
    ]
  }
}

/** @param {string} text @param {number} most */
const shortened = (text, most) => text.length > most ? text.slice(0, most - 3) + '...' : text

/** @param {Settings} settings @returns {string} as flags */
const flagsOf = (settings) => Object.entries(settings)
  .map(([name, value]) => `--${name.replace(/[A-Z]/g, (letter) => '-' + letter.toLowerCase())} ${value}`).join(' ') || 'defaults'
