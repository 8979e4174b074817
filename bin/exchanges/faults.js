/**
 * Faults of a local exchange, switched over HTTP. Fields that a request does not name are off.
 *
 * @typedef {{ latencyMs: number | null, errorRate: number, hang: boolean, badJson: boolean, html: boolean, wrongSymbol: boolean,
 *   zeroVolume: boolean, outlier: number, stale: number, skewMs: number, rateLimited: number | null, redirect: boolean,
 *   tenMegabytes: boolean, slowBody: boolean }} Faults
 */
import { unknownName } from '../../src/settings/index.js'

const HOUR_MS = 3_600_000

/** @type {Readonly<Faults>} */
export const NO_FAULTS = Object.freeze({
  latencyMs: null,
  errorRate: 0,
  hang: false,
  badJson: false,
  html: false,
  wrongSymbol: false,
  zeroVolume: false,
  outlier: 1,
  stale: 0,
  skewMs: 0,
  rateLimited: null,
  redirect: false,
  tenMegabytes: false,
  slowBody: false
})

/** Numbers, and their bounds; the other fields are true or false. @type {Record<string, [low: number, high: number]>} */
const NUMBERS = {
  latencyMs: [0, 60_000],
  errorRate: [0, 1],
  outlier: [-1e6, 1e6],
  stale: [0, 24 * HOUR_MS],
  skewMs: [-24 * HOUR_MS, 24 * HOUR_MS],
  rateLimited: [0, 86_400]
}
const NAMES = Object.keys(NO_FAULTS)

/**
 * @param {string} text JSON
 * @returns {{ faults: Faults } | { wrong: string }} `wrong`: one sentence per mistake
 */
export function readFaults (text) {
  /** @type {any} */
  let given
  try {
    given = JSON.parse(text)
  } catch {
    return { wrong: 'the body is not JSON; expected an object such as {"hang": true}' }
  }
  if (given === null || typeof given !== 'object' || Array.isArray(given)) {
    return { wrong: 'the body is not an object; expected one such as {"hang": true}' }
  }
  const wrong = Object.entries(given).flatMap(([name, value]) => {
    if (!NAMES.includes(name)) return [unknownName(name, NAMES, `the faults are ${NAMES.join(' ')}`)]
    return isValid(name, value) ? [] : [`${name}: ${JSON.stringify(value)}; expected ${expected(name)}`]
  })
  return wrong.length ? { wrong: wrong.join('\n') } : { faults: { ...NO_FAULTS, ...given } }
}

/** @param {string} name @param {unknown} value */
function isValid (name, value) {
  if (!(name in NUMBERS)) return typeof value === 'boolean'
  const [low, high] = NUMBERS[name]
  return typeof value === 'number' && value >= low && value <= high
}

/** @param {string} name */
const expected = (name) => name in NUMBERS ? `a number from ${NUMBERS[name].join(' to ')}` : 'true or false'
