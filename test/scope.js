/**
 * How much of a long test runs (FRESHET_TEST_SCOPE):
 *
 *     quick   npm test            each behaviour once, on the newest engine; smokes of the long tests
 *     whole   npm run regression  all that a change can break: fault matrices, both engines where commands or Lua differ
 *     night   npm run night       soaks, many repetitions, runs of the lab as whole processes
 */
import t from 'tap'
import { newest } from '../src/embedded/engine.js'
import { testEngines } from './servers.js'

const scope = process.env.FRESHET_TEST_SCOPE || 'quick'
export const isNight = scope === 'night'
export const isWhole = isNight || scope === 'whole'

/** @template T @param {T} whole @param {T} quick @returns {T} */
export const scoped = (whole, quick) => isWhole ? whole : quick

/** @template T @param {T} night @param {T} otherwise @returns {T} */
export const nightly = (night, otherwise) => isNight ? night : otherwise

/** @returns {Promise<import('../src/embedded/engine.js').Engine[]>} all engines, or the newest */
export const scopedEngines = async () => enginesOf(isWhole)

/** For what is the same on all. @returns {Promise<import('../src/embedded/engine.js').Engine[]>} the newest; all at night */
export const nightEngines = async () => enginesOf(isNight)

/** @param {boolean} isAll */
async function enginesOf (isAll) {
  const engines = await testEngines()
  return isAll ? engines : engines.filter((engine) => engine === newest(engines))
}

/** In a lane, `t` is another test for each file. @param {any[]} given */
const test = (...given) => /** @type {any} */ (t).test(...given)
const noTest = async () => {}

/** A test of `npm run regression` and `npm run night`. @type {typeof t.test} */
export const wholeTest = /** @type {any} */ (isWhole ? test : noTest)

/** A test of `npm run night`. @type {typeof t.test} */
export const nightTest = /** @type {any} */ (isNight ? test : noTest)
