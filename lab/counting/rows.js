/**
 * The rows of the table of costs. By day ten of them, by night all.
 *
 * Loads of items rotate over 2,000 ids, which all exist before counting begins, with values of 128 bytes. Primaries of decisions keep what
 * they replicate, so that each stored byte is seen.
 *
 * @typedef {import('./count.js').Load} Load
 * @typedef {{ unit: 'item' | 'decision' | 'page', node: 'primary' | 'replica', isDaily: boolean, load: Load }} Row
 */
import { openDecisions } from './decisions.js'
import { openAnchor, openItems } from './items.js'
import { openOwnLoad } from './own-loads.js'
import { openPages } from './pages.js'

const IDS = 2_000
/** Most items of a batch of `ids` where the newest wins. */
const MOST = 996
const BATCH = 250
/** Counted; more of segments, which cost so little that what a server does by the second would be a part of it. */
const ITEMS = 40_000
const DECISIONS = 1_600
const FIXED = Object.freeze({ ids: IDS, valueBytes: 128, valueChange: 'always', windowMs: 60_000, maxItems: 0, writers: 1 })

/**
 * @param {(settings: Record<string, any>) => Load['open']} open
 * @param {{ batchItems?: number, settings?: Record<string, any>, form?: Load['form'], items?: number, isDaily?: boolean }} [of]
 * @returns {Row}
 */
function items (open, { batchItems = BATCH, settings = {}, form = 'primary', items = ITEMS, isDaily = false } = {}) {
  // every id is written, and the form of batches is found, before the small size ends
  const small = Math.max(12, Math.ceil(1.5 * IDS / batchItems))
  return {
    unit: 'item',
    node: 'primary',
    isDaily,
    load: {
      form, batchUnits: batchItems, small, large: small + Math.ceil(items / batchItems), open: open({ ...FIXED, ...settings, batchItems })
    }
  }
}

/** @param {string} layout @param {Parameters<typeof items>[1]} [of] */
const layout = (layout, of) => items(openItems, { ...of, settings: { layout, ...of?.settings } })

/** @param {string} name @param {number} size of a call @param {boolean} [isDaily] @returns {Row} */
function decisions (name, size, isDaily = false) {
  // of whole orders, which have five steps
  const large = Math.max(5, Math.round(DECISIONS / size / 5) * 5)
  return {
    unit: 'decision',
    node: 'primary',
    isDaily,
    load: { form: 'fed', batchUnits: size, small: 10, large: 10 + large, open: openDecisions(name, size) }
  }
}

/** @param {string} layout @param {boolean} [isDaily] @returns {Row} */
const page = (layout, isDaily = false) => ({
  unit: 'page',
  node: 'replica',
  isDaily,
  load: { ...openPages({ layout, ids: 1_000, valueBytes: 128, batchItems: 1_000, limit: 100 }), small: 20, large: 320 }
})

const daily = { isDaily: true }
/** Rules, in calls of 16. */
const BY_DAY = ['max', 'bounded', 'step', 'hall']

/** The row that the others are compared with on other machines: nothing in it is ours. */
export const ANCHOR = 'SET PX of 136 bytes'

/** @type {Readonly<Record<string, Row>>} */
export const ROWS = Object.freeze({
  [ANCHOR]: items(openAnchor, daily),
  'ids, in order': layout('ids', daily),
  'ids, a tenth late': layout('ids', { ...daily, settings: { lateEvery: 10 }, items: 20_000 }),
  values: layout('values', daily),
  segments: layout('segments', { ...daily, items: 10 * ITEMS }),
  'published way': items((settings) => openOwnLoad('reference', settings), daily),
  'max, calls of 16': decisions('max', 16, true),
  'bounded, calls of 16': decisions('bounded', 16, true),
  'step, calls of 16': decisions('step', 16, true),
  "a user's rule, calls of 16": decisions('hall', 16, true),
  'page of 100, ids, from a replica': page('ids', true),

  ...Object.fromEntries([[1, 4_000], [10, 20_000], [50, ITEMS], [MOST, ITEMS]].flatMap(([batchItems, items]) =>
    ['ids', 'values', 'segments'].map((name) => [`${name}, batches of ${batchItems}`, layout(name, {
      batchItems, items: name === 'segments' ? items * Math.ceil(batchItems / 40) : items
    })]))),
  'ids, new ids': layout('ids', { settings: { ids: 1_000_000 } }),
  'ids, overwriting': layout('ids', { settings: { late: 'overwrite' } }),
  'ids, on a primary of a cluster': layout('ids', { form: 'cluster', items: 20_000 }),
  stream: layout('stream'),
  'page of 100, values, from a replica': page('values'),
  ...Object.fromEntries(['max', 'bounded', 'step', 'hall', 'latest', 'once'].flatMap((name) => [1, 16, 256].map((size) =>
    [`${name === 'hall' ? "a user's rule" : name}, calls of ${size}`, decisions(name, size, size === 16 && BY_DAY.includes(name))])))
})
