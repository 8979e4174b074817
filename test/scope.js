/**
 * How much of a long test runs. The tests of regression/ run whole by `npm run regression`; test/ loads the same files, and runs
 * a smoke of each: the newest engine, one layout, few repetitions.
 */
import t from 'tap'
import { newest } from '../src/store/embedded/engine.js'
import { testEngines } from './servers.js'

export const isWhole = process.env.FRESHET_TEST_SCOPE === 'whole'

/** @template T @param {T} whole @param {T} smoke @returns {T} */
export const scoped = (whole, smoke) => isWhole ? whole : smoke

/** @returns {Promise<import('../src/store/embedded/engine.js').Engine[]>} all engines, or the newest, or the others (run.js) */
export const scopedEngines = async () => {
  const engines = await testEngines()
  if (isWhole) return engines
  const first = /** @type {import('../src/store/embedded/engine.js').Engine} */ (newest(engines))
  return process.env.FRESHET_TEST_SCOPE === 'others' ? engines.filter((engine) => engine !== first) : [first]
}

/** A test that runs only when the whole does. @type {typeof t.test} */
export const wholeTest = /** @type {any} */ (isWhole ? t.test.bind(t) : async () => {})
