/**
 * An arm of a plan as a counted load. It sends batches, calls or pages as large as those of the window, one at a time; the times of items
 * and their order are fixed.
 *
 * @typedef {import('./count.js').Load} Load
 * @typedef {{ itemsPerBatch: number, callsPerUnit: Record<string, number>, commandsPerUnit: number }} Window what the arm did in its window
 * @typedef {{ unit: 'item' | 'decision' | 'reply', node: 'primary' | 'replica', batches?: number, load: Load }} CountedArm `batches` that
 *   a flush of `load.batchUnits` becomes, by default one
 */
import { median } from 'simple-statistics'
import { FreshetError } from '../errors.js'
import { loadNamed, partsAt } from '../plan/cells.js'
import { ackOf, stripesOf } from '../../src/pipeline/index.js'
import { LOADS } from '../loads/index.js'
import { ASK_RANGE } from '../serving/plan.js'
import { limitIn } from '../serving/responses.js'
import { isScripted, READS } from './compare.js'
import { openDecisions } from './decisions.js'
import { openItems } from './items.js'
import { openOwnLoad } from './own-loads.js'
import { openAsked, openPages } from './pages.js'

/** Counted beyond the small size. */
const [ITEMS, CHEAP_ITEMS, DECISIONS, PAGES] = [20_000, 400_000, 1_280, 200]
/** Ids that come again and again are as many, at most: the pass that writes each once takes most of the time of a count. */
const MOST_REPEATED = 20_000
/** More ids are not all written before counting begins: their load is one of new ids. */
const MOST_IDS = 100_000
const SMALL = 20
const LEAST = 5
/** of the library */
const MOST_OF_BATCH = 1000
/** Rules of systems, by technique of a plan, that decide in calls. */
const RULES = Object.freeze(/** @type {Record<string, string>} */ ({
  max: 'max', bounded: 'bounded', seat: 'hall', lua: 'max', function: 'max', batched: 'max'
}))
const CALLS = ['evalsha', 'fcall']

/** @param {string} why */
const cannot = (why) => new FreshetError('COUNT_FAILED', `is not counted: ${why}`)

/** Of a cluster, too. @param {import('../run/sample.js').Sample} sample */
export const primariesOf = ({ nodes }) => nodes.filter(({ role }, i) => role === 'primary' || i === 0)

/** What was called on the primaries of a sample. @param {import('../run/sample.js').Sample} sample @param {string} name */
const callsOn = (sample, name) => primariesOf(sample).reduce((sum, { calls }) => sum + (calls?.[name] ?? 0), 0)

/**
 * What an arm did in the windows of a result, as medians.
 * @param {import('../run/sample.js').Sample[]} samples valid ones of the arm @param {CountedArm['unit']} unit
 * @param {string} [load] a batch of the gateway is a request, of which the server knows nothing
 * @returns {Window | null} null = there is none, or one without calls
 */
export function windowOf (samples, unit, load) {
  const those = samples.filter(({ items, nodes }) => items > 0 && nodes[0]?.calls)
  if (those.length === 0) return null
  const middle = (/** @type {(sample: import('../run/sample.js').Sample) => number} */ of) => median(those.map(of))
  if (unit === 'reply') {
    const replies = (/** @type {import('../run/sample.js').Sample} */ sample) => sample.serving?.requests?.answered ?? 0
    const onReplicas = (/** @type {import('../run/sample.js').Sample} */ sample, /** @type {string} */ name) =>
      sample.nodes.slice(1).reduce((sum, node) => sum + (node.calls?.[name] ?? 0), 0)
    const callsPerUnit = Object.fromEntries(READS.map((name) => [name, middle((sample) => onReplicas(sample, name) / replies(sample))]))
    return {
      itemsPerBatch: middle((sample) => sample.items / sample.batches),
      commandsPerUnit: Object.values(callsPerUnit).reduce((sum, n) => sum + n, 0),
      callsPerUnit
    }
  }
  const names = [...new Set(those.flatMap(({ nodes }) => nodes.flatMap(({ calls }) => Object.keys(calls ?? {}))))]
  const calls = (/** @type {import('../run/sample.js').Sample} */ sample) => CALLS.reduce((sum, name) => sum + callsOn(sample, name), 0)
  return {
    itemsPerBatch: middle((sample) => unit === 'decision'
      // every accepted command of a call is stored by a SET
      ? Math.max(sample.items, callsOn(sample, 'set')) / calls(sample)
      : sample.items / (load === 'gateway' ? callsOn(sample, 'zadd') : sample.batches)),
    commandsPerUnit: middle((sample) => primariesOf(sample).reduce((sum, { commands }) => sum + commands, 0) / sample.items),
    callsPerUnit: Object.fromEntries(names.map((name) => [name, middle((sample) => callsOn(sample, name) / sample.items)]))
  }
}

/** @param {import('../plan/index.js').Plan} plan @param {{ level: string, arm: string }} cell @returns {CountedArm['unit']} */
export function unitAt (plan, cell) {
  const { serving, contention } = partsAt(plan, cell)
  return contention ? 'decision' : serving ? 'reply' : 'item'
}

/**
 * @param {import('../plan/index.js').Plan} plan @param {{ level: string, arm: string }} cell
 * @param {Record<string, any>} settings of the writer, with defaults @param {Window | null} window
 * @returns {CountedArm}
 * @throws {FreshetError} COUNT_FAILED: there is no counted load for it
 */
export function countedArm (plan, cell, settings, window) {
  const { load, serving, contention, servers } = partsAt(plan, cell)
  const form = formAt(plan, servers, settings)
  if (contention) return decisionArm(contention, window)
  if (serving) return readingArm(serving, settings, window)
  const isLibrary = ['writer', 'library', 'gateway'].includes(load)
  if (!isLibrary && !Object.hasOwn(LOADS, load)) throw cannot(`there is no load ${load}`)
  const { ids: wanted, batchItems = 1000 } = /** @type {Record<string, any>} */ ({ ...settings, ...loadNamed(load).always })
  const ids = wanted > MOST_IDS ? wanted : Math.min(wanted, MOST_REPEATED)
  const ofBatch = Math.min(MOST_OF_BATCH, window?.itemsPerBatch ?? batchItems)
  const batches = isLibrary ? batchesOfFlush(settings, window) : 1
  const batchUnits = Math.max(1, Math.round(ofBatch * batches))
  const small = ids > MOST_IDS ? SMALL : Math.ceil(1.05 * ids / batchUnits) + LEAST
  // of what costs so little, what a server does by the second would be a part
  const isCheap = load === 'blob' || (isLibrary && settings.layout === 'segments')
  // one writer has the ids of all
  const given = { ...settings, ids, writers: 1, batchItems: batches > 1 ? MOST_OF_BATCH : batchUnits, wholeBatches: true }
  return {
    unit: 'item',
    node: 'primary',
    batches,
    load: {
      form,
      batchUnits,
      small,
      large: small + Math.max(LEAST, Math.ceil((isCheap ? CHEAP_ITEMS : ITEMS) / batchUnits)),
      open: isLibrary
        ? openItems({ ...given, flushItems: batchUnits, mayWatch: !isScripted(window) })
        : openOwnLoad(load, given)
    }
  }
}

/**
 * A plan with clusters is counted without replicas: the cluster of a count has one primary, and no other node.
 * @param {import('../plan/index.js').Plan} plan @param {string | null} servers @param {Record<string, any>} settings
 * @returns {'pair' | 'primary' | 'cluster'}
 */
function formAt ({ arms }, servers, { partitions = 1 }) {
  if (servers === 'cluster' && partitions === 1) return 'cluster'
  if (servers && servers !== 'pair') throw cannot(`it needs servers of the form ${servers}; a count has one primary`)
  return Object.values(arms).some((arm) => arm.servers === 'cluster') ? 'primary' : 'pair'
}

/**
 * Batches that a flush of the library becomes: one for each connection of each partition, and where these wait for replicas, as many as
 * share a WAIT.
 * @param {Record<string, any>} settings @param {Window | null} window
 */
function batchesOfFlush ({ partitions = 1, ack = 'primary' }, window) {
  const waits = (window?.callsPerUnit.wait ?? 0) * (window?.itemsPerBatch ?? 0)
  return partitions * stripesOf(ackOf(ack), partitions) * (waits > 0 ? Math.max(1, Math.round(1 / waits)) : 1)
}

/** @param {import('../systems/plan.js').Contention} contention @param {Window | null} window @returns {CountedArm} */
function decisionArm ({ technique, driver = 'direct' }, window) {
  const rule = ['own', 'direct'].includes(driver) ? RULES[technique] : undefined
  if (!rule) throw cannot(`what ${technique} sends depends on who is faster, or it does more than decide`)
  const size = Math.min(256, Math.max(1, Math.round(window?.itemsPerBatch ?? 1)))
  return {
    unit: 'decision',
    node: 'primary',
    load: {
      form: 'pair',
      batchUnits: size,
      small: LEAST,
      large: LEAST + Math.max(LEAST, Math.round(DECISIONS / size)),
      open: openDecisions(rule, size)
    }
  }
}

/**
 * @param {import('../serving/plan.js').Serving} serving @param {Record<string, any>} settings @param {Window | null} window
 * @returns {CountedArm}
 */
function readingArm ({ by, asks, path, settings: ofReader }, { layout, ids, valueBytes, batchItems = 1000 }, window) {
  const isAsked = by === 'ask' || by === ASK_RANGE || (by === 'reader' && ofReader.views === 'none')
  if (!isAsked || asks !== 'pages' || ofReader.readFrom === 'primary') {
    throw cannot('its replies come from memory, or are not pages from a replica')
  }
  const limit = limitIn(path) ?? 100
  const ofBatch = Math.max(1, Math.round(window?.itemsPerBatch ?? batchItems))
  const pages = { layout, ids, valueBytes, batchItems: ofBatch, limit }
  return {
    unit: 'reply',
    node: 'replica',
    load: {
      ...(by === 'reader' ? openPages(pages) : openAsked({ ...pages, isRange: by === ASK_RANGE })),
      small: LEAST,
      // many, beside what loading a large feed costs
      large: LEAST + PAGES
    }
  }
}
