/**
 * Names of systems, for settings and checks. It loads no system: the library knows the settings, and no program that bundles it should
 * contain the systems of this package.
 */
import { isModule } from '../settings/index.js'

/** Those of this package, in the order of the list. @type {readonly string[]} */
export const SYSTEM_NAMES = Object.freeze(['auctions', 'orders', 'prices', 'sales'])

/** The word for all of ours. */
export const ALL_SYSTEMS = 'all'

/** @param {string} name @returns {boolean} whether it can be a system */
export const isSystem = (name) => name === ALL_SYSTEMS || SYSTEM_NAMES.includes(name) || isModule(name)
