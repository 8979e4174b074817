/**
 * Ways to decide bids, behind one function.
 *
 * @typedef {import('../../../src/admission/index.js').Fields} Fields
 * @typedef {object} Technique
 * @property {{ calls: number, attempts: number, gatewayCpuMicros?: number }} counts `calls`: requests to the server; `attempts`: of
 *   accepted commands, by optimistic techniques
 * @property {() => Promise<unknown>} [look] brings the counts of another process up to date
 * @property {(command: import('../../../src/admission/index.js').Command) =>
 *   Promise<import('../../../src/admission/index.js').Answer>} submit
 * @property {(key: string) => Promise<number>} [read] the price of an auction
 * @property {(key: string) => Promise<{ events: Fields[], state: Fields }>} stored of an auction; events in order
 * @property {() => Promise<void>} close
 */
import { openEngine } from './engine.js'
import { openOptimistic } from './optimistic.js'

const ENGINE = Object.freeze(/** @type {Record<string, { batches: boolean, hasCache: boolean, isFunction?: boolean }>} */ ({
  lua: { batches: false, hasCache: false, isFunction: false },
  function: { batches: false, hasCache: false },
  batched: { batches: true, hasCache: false },
  'batched+cache': { batches: true, hasCache: true }
}))
export const TECHNIQUES = Object.freeze(['noop', ...Object.keys(ENGINE), 'watch'])

/** Decides nothing. @returns {Technique} */
function openNoop () {
  const details = { currentBid: '0', minNext: '0' }
  const decision = { code: 'too_low', seq: 0, version: 0, isReplay: false, generation: '', now: 0, details }
  const counts = { calls: 0, attempts: 0 }
  return { counts, submit: async () => decision, read: async () => 0, stored: async () => ({ events: [], state: {} }), async close () {} }
}

/** @param {string} technique one of TECHNIQUES @param {{ redisUrl: string, keyPrefix: string }} place @returns {Promise<Technique>} */
export async function openTechnique (technique, place) {
  if (technique === 'noop') return openNoop()
  if (technique === 'watch') return openOptimistic(place)
  return openEngine({ ...place, ...ENGINE[technique] })
}
