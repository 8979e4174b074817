/** A load of loads.js, as the lab measures it: what it says, and which invariants do not hold. */
import { invariantsOf } from '../../../lab/analysis/check.js'
import { ledgerOf, loadHere } from '../load.js'
import { MUTANTS } from './loads.js'

const ITEMS = 4600
let feeds = 0

/** @typedef {{ sample: any, summary: any, broken: string[] }} Measured `broken`: names of the invariants that do not hold */

/**
 * One after the other: in one process, each slows the others.
 * @param {import('tap').Test} t @param {{ url: string }} server @param {[load: string, settings?: Record<string, any>][]} loads
 */
export async function measuredAll (t, server, loads) {
  /** @type {Measured[]} */
  const all = []
  for (const [load, settings] of loads) all.push(await measured(t, server, load, settings))
  return all
}

/**
 * @param {import('tap').Test} t @param {{ url: string }} server @param {string} load @param {Record<string, any>} [more] settings
 * @param {(order: { load: string, settings: Record<string, any>, redisUrl: string }) => Promise<import('../load.js').Said>} [run]
 *   in the process of the test if not given
 * @returns {Promise<Measured>}
 */
export async function measured (t, server, load, more = {}, run = (order) => loadHere({ loads: MUTANTS, ...order })) {
  const settings = { keyPrefix: 'lab:', feed: `m${++feeds}`, ids: 1000, valueBytes: 64, batchItems: 100, rate: 0, items: ITEMS, ...more }
  const { failed: failure, summary, acknowledged } = await run({ load, settings, redisUrl: server.url })
  t.same(failure, null, 'it says itself that all is well')
  const ledger = await ledgerOf(t, server,
    { settings, acknowledged: acknowledged ?? [], storage: MUTANTS[load].storage({ layout: 'ids' }) })
  const itemsAcknowledged = ledger.acknowledged
  const { offered, items, dropped, failed, behindMs } = summary
  const sample = {
    ledger, offered, items, dropped, failed, refused: {}, itemsAcknowledged, itemsPresent: itemsAcknowledged - ledger.missing, behindMs
  }
  t.comment(`${load}: ${ledger.missing} missing, ${ledger.foreign} foreign, ${ledger.misplaced} misplaced of ${ledger.versions}; ` +
    `${ledger.detail[0] ?? 'nothing to say'}`)
  return { sample, summary, broken: brokenIn(sample) }
}

/** @param {any} sample */
export const brokenIn = (sample) => invariantsOf(sample).filter(({ ok }) => !ok).map(({ name }) => name)
