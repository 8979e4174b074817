/**
 * Settings of systems: the part `settings` of definitions as rows of the table of settings. Rows of the systems of this package are known
 * without loading them; they are plain objects in files that import nothing.
 *
 *     holdMs: { description: 'Time that a seat is held', type: 'integer', minimum: 1000, maximum: 600000, default: 120000, unit: 'ms' }
 *
 * @import { Check, Row } from '../settings/index.js'
 * @import { Setting } from './definition.js'
 */
import { flagOf, httpUrl, integer, matching, number, oneOf, readableFile, trueOrFalse } from '../settings/index.js'
import { SETTINGS as OF_ORDERS } from './orders/settings.js'
import { SETTINGS as OF_PRICES } from './prices/settings.js'
import { SETTINGS as OF_SALES } from './sales/settings.js'

/** Commands that may use a setting; those of a module use all. */
const USES = Object.freeze(['gateway', 'reader', 'consumers', 'doctor', 'demo'])
const ANY = /[^]/

/** @type {Record<string, (setting: Setting) => Check>} */
const CHECKS = {
  string: ({ pattern, expects }) => matching(expects ?? (pattern === undefined ? 'a text' : `a text as ${pattern}`),
    pattern === undefined ? ANY : new RegExp(pattern)),
  integer: ({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }) => integer(minimum, maximum),
  number: ({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }) => number(minimum, maximum),
  boolean: () => trueOrFalse,
  file: () => readableFile,
  url: () => httpUrl
}
export const TYPES = Object.freeze(Object.keys(CHECKS))

/** @param {Setting} setting @returns {Check} */
function checkOf (setting) {
  const { type = 'string', enum: words, read, expects = 'another value', hint } = setting
  if (read) return { expects, hint, read: (text) => read(text) }
  return words ? oneOf(...words) : CHECKS[type](setting)
}

/**
 * @param {string} system @param {Record<string, Setting>} settings
 * @param {{ variables?: string }} [options] what the names of their environment variables begin with; without it FRESHET_, as of the others
 * @returns {Row[]}
 */
export const settingRows = (system, settings, { variables } = {}) => Object.entries(settings).map(([name, setting]) => {
  const { description, uses = USES, default: unset = null, unit, secret, otherwise, fits } = setting
  return {
    name,
    group: system[0].toUpperCase() + system.slice(1),
    uses: [...uses],
    meaning: description,
    default: unset,
    check: checkOf(setting),
    ...unit && { unit },
    ...secret && { secret },
    ...otherwise && { otherwise },
    ...fits && { fits },
    ...variables && { env: `${variables}${flagOf(name).replaceAll('-', '_').toUpperCase()}` }
  }
})

/** Of the systems of this package. @type {readonly Row[]} */
export const OUR_SETTINGS = Object.freeze([
  ...settingRows('orders', /** @type {any} */ (OF_ORDERS)),
  ...settingRows('prices', /** @type {any} */ (OF_PRICES)),
  ...settingRows('sales', /** @type {any} */ (OF_SALES))
])
