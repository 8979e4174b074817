/** The plan as text: a table of nodes, and the arithmetic of one of them. */
import { columns } from '../columns.js'
import {
  demandOf, errorsOfFit, fitOf, HEADROOM, maxItemsFor, MEASURED, PARTITIONS_PER_SHARD, PRICES, REQUESTS_PER_READER, SOURCES, STUDY
} from './model.js'

const ROWS = 12
const BYTES_OF_GBIT = 1e9 / 8
const YEAR_MS = 365.25 * 86_400_000
/** of the setting */
const MOST_ITEMS = 1e9

/**
 * @typedef {import('./model.js').Load} Load
 * @typedef {import('./model.js').Option} Option
 * @typedef {{ whole: Option | 'none' | null, byDefault: Option | null }} Others the cheapest option for all of the window, where the plan
 *   is for what --max-items keeps of it; or with the default of --max-items, where the plan is for all of it
 */

const count = (/** @type {number} */ n) => Math.round(n).toLocaleString('en')
const short = (/** @type {number} */ n) => n.toLocaleString('en', { maximumSignificantDigits: 3 })
const percent = (/** @type {number} */ share) => `${Math.round(100 * share)} %`

/** @param {Load} load @param {Option} option @param {Option | null} byDefault */
function loadText (load, { shards, keptMs }, byDefault) {
  const { live, keepsVersions } = demandOf(load, 1)
  const what = keepsVersions ? 'versions' : 'ids'
  const window = load.windowMs === 0 ? 'no window' : `${count(live)} ${what} in ${short(load.windowMs / 1000)} s (--window-ms)`
  return `${count(load.itemsPerSecond)} items/s of ${count(load.valueBytes)} bytes, layout ${load.layout}, ${load.replicas} replicas, ` +
    `${load.readers} readers\n` +
    `Kept: ${window}` +
    (keptMs === null ? '' : `, of which each partition keeps at most the newest ${count(load.maxItems)} (--max-items)`) +
    (keptMs === null ? '' : `: ${seconds(keptMs)}`) +
    (byDefault === null ? '' : `, which needs ${enough(load, shards)}`) + '\n' +
    (keepsVersions || load.ids !== null ? '' : 'Each item is taken for a new id; --ids N plans for N ids that are updated\n') + '\n'
}

const seconds = (/** @type {number} */ ms) => `${short(ms / 1000)} s`

/** @param {Load} load @param {number} shards @returns {string} the flag with which the window decides */
function enough (load, shards) {
  const items = Math.ceil(maxItemsFor(load, shards) / (1 - HEADROOM))
  const step = 10 ** Math.max(0, String(items).length - 2)
  const rounded = Math.ceil(items / step) * step
  return `--max-items ${rounded > MOST_ITEMS ? '0 (no limit)' : rounded}`
}

const priced = (/** @type {Option} */ { node, shards, usdPerHour }) => `${short(usdPerHour)} USD/h (cache.${node.type} x ${shards})`

/** @param {Load} load @param {Option} option */
export const byDefaultText = (load, option) =>
  `with the default of --max-items the feed keeps ${seconds(Number(option.keptMs))} of ${seconds(load.windowMs)}, for ${priced(option)}`

/**
 * What the other limit would keep and cost. Empty where the window decides anyway.
 * @param {Load} load @param {Others} others
 */
export function reachText (load, { whole, byDefault }) {
  if (byDefault) return `\nWindow: ${byDefaultText(load, byDefault)}.\n`
  if (!whole) return ''
  return `\nWindow: all ${seconds(load.windowMs)} cost ` + (whole === 'none'
    ? 'more than any node has, even with 90 shards.\n'
    : `${priced(whole)}, with ${enough(load, whole.shards)}.\n`)
}

/** @param {import('./model.js').Option} option */
const rowOf = ({ node, shards, resources, headroom, tightest, usdPerHour, usdPerMillionItems }) => {
  const most = (/** @type {string} */ name, /** @type {string} */ of) => {
    const uses = resources.filter((resource) => resource.name.startsWith(name) && (of === '' || resource.of === of)).map(({ use }) => use)
    return uses.length > 0 ? short(Math.max(...uses)) : '-'
  }
  return [`cache.${node.type}`, String(shards), most('cores', 'primary'), most('cores', 'replica'), most('Gbit/s', ''), most('GiB', ''),
    percent(headroom), tightest, short(usdPerHour), short(usdPerMillionItems)]
}
const HEAD = ['node', 'shards', 'cores of primary', 'of replica', 'Gbit/s', 'GiB', 'headroom', 'tightest', 'USD/h', 'USD per million items']

/** How each figure of an option is computed. @param {import('./model.js').Load} load @param {import('./model.js').Option} option */
export function arithmetic (load, { node, shards, resources, usdPerHour, usdPerMillionItems, estimate }) {
  const { cost, kept, memoryGiB, sentGbit } = demandOf(load, shards)
  const like = ['r5', 'm5'].includes(node.family) ? 'r5.large' : 'r6g.large'
  const { primary } = fitOf(like)
  const lines = [
    `cache.${node.type} x ${shards} ${shards === 1 ? 'shard' : 'shards'} x ${1 + load.replicas} nodes (${estimate})`,
    `  processor  published way on ${like}: ${short(primary.fixedCores)} cores + ${short(primary.microsPerItem)} us an item`,
    `             ${load.layout}: ${short(cost.primary)} x that per item (experiment ${cost.experiment})` +
      (load.valueBytes === MEASURED.valueBytes ? '' : `; measured with values of ${MEASURED.valueBytes} bytes, larger ones cost more`),
    ...(cost.why ? [`             ${cost.why}`] : []),
    `  network    ${count(load.itemsPerSecond)} x (${load.valueBytes} + ${cost.sentBytes}) bytes x 8 = ${short(sentGbit)} Gbit/s to the ` +
      `primaries; baseline of this node ${node.networkGbit}`,
    `  memory     ${count(kept)} x (${load.valueBytes} + ${cost.memoryBytes}) bytes = ${short(memoryGiB)} GiB; the node has ` +
      `${node.memoryGiB}, of which 25 % are reserved`,
    ...resources.map(({ name, of, use, limit, headroom }) =>
      `  ${`${name}, ${of}`.padEnd(24)} ${short(use)} of ${short(limit)}, ${percent(headroom)} free`),
    `  durability ${short(sentGbit * BYTES_OF_GBIT / shards / 2 ** 20)} MiB/s written to a primary; with durability ElastiCache takes 100`,
    `  price      ${shards} x ${1 + load.replicas} x ${node.usdPerHour} = ${short(usdPerHour)} USD/h / ` +
      `${short(load.itemsPerSecond * 3600 / 1e6)} million items/h = ${short(usdPerMillionItems)} USD`
  ]
  return lines.map((line) => line + '\n').join('')
}

/** @param {import('./model.js').Load} load @returns {string} whether readers are enough; empty without requests */
function readersText ({ requestsPerSecond, readers }) {
  if (requestsPerSecond === 0) return ''
  const needed = Math.ceil(requestsPerSecond / REQUESTS_PER_READER)
  const each = `one answers about ${count(REQUESTS_PER_READER)} requests/s from its view (experiment 014, newest 100, one core)`
  return needed > readers
    ? `\nReaders: ${readers} are too few for ${count(requestsPerSecond)} requests/s, ${needed} are needed: ${each}.\n`
    : `\nReaders: ${readers} are enough for ${count(requestsPerSecond)} requests/s: ${each}.\n`
}

/** Whether they should be looked up again. @param {Date} now */
export const pricesAreOld = (now) => now.getTime() - Date.parse(PRICES.date) > YEAR_MS

/** @param {Date} now @returns {string} */
export const priceText = (now) =>
  `\nPrices: ${PRICES.what}, ${PRICES.date} (${PRICES.source}).` +
  `${pricesAreOld(now) ? ' They are older than a year: look them up again.' : ''}\nNetwork: ${SOURCES.network}\n`

/** What the published way is, and how far the line is from its rows. @returns {string} */
export function publishedText () {
  const errors = errorsOfFit().filter(({ writers }) => writers === 8)
  return `\nThe published way is one SETEX per item and one ZADD per 1,000 items, as measured on ElastiCache in 2021:\n${STUDY}\n` +
    `Its rows with 8 writers, which the line through those of 4 writers does not meet: ${errors.map(rowText).join('; ')}.\n`
}

/** @param {ReturnType<typeof errorsOfFit>[number]} row */
const rowText = ({ node, itemsPerSecond, primary, planned, error }) =>
  `${node} ${count(itemsPerSecond)}/s ${primary} %, planned ${short(planned)} % (${error > 0 ? '+' : ''}${percent(error)})`

/**
 * @param {import('./model.js').Load} load @param {import('./model.js').Option[]} options the cheapest first @param {Date} now
 * @param {Others} [others]
 */
export function planText (load, options, now, others = { whole: null, byDefault: null }) {
  return loadText(load, options[0], others.byDefault) + columns([HEAD, ...options.slice(0, ROWS).map(rowOf)]) +
    (options.length > ROWS ? `${options.length - ROWS} dearer ones are left out; --node-type shows one of them\n` : '') +
    '\n' + arithmetic(load, options[0]) + reachText(load, others) + readersText(load) +
    (options[0].shards > 1
      ? `\nShards: one feed over a cluster, with --partitions ${PARTITIONS_PER_SHARD * options[0].shards}, ` +
        `${PARTITIONS_PER_SHARD} a shard.\n`
      : '') +
    publishedText() + priceText(now)
}
