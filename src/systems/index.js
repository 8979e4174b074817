/**
 * Systems of users: a rule in Lua decides commands on the server, many in one call, and its events reach followers and consumers.
 *
 *     import { openSystem } from 'freshet-feed/systems'
 *     const seats = await openSystem({ name: 'seats', rules: { seat: { lua: new URL('./seat.lua', import.meta.url) } } }, { redisUrl })
 *     const decision = await seats.submit({ rule: 'seat', key: 'A-12', args: ['hold', 'ann'], requestId: 'r-1' })
 *     for await (const event of seats.follow('A-12')) { ... }
 *     const worker = await seats.consume('receipts', async (entries, { token, signal }) => { ... })
 *     await seats.close()
 *
 * docs/own-systems.md has the contract of a rule.
 *
 * @import { Rule, System } from './definition.js'
 * @import { CheckOptions, Checked, OpenedQueries, OpenedSystem, SystemOptions } from './opened-types.js'
 * @import * as Words from './words.js'
 */
import { idWith as hashed, NAMED_RULES } from '../admission/index.js'
import { asError, define, SettingsInvalid } from '../errors.js'
import { createHttpClient } from '../http-client.js'
import { BREAKERS, createBreaker, MIN_FAILURES } from './breaker.js'
import { checkRule as check } from './check-rule.js'
import { checkedDefinition, faultsOfDriver } from './checked-definition.js'
import * as crowd from './crowd-client.js'
import { numbersIn, otherBody, throwIfRefused, unitsOf } from './decisions.js'
import * as money from './money.js'
import { SYSTEM_NAMES } from './names.js'
import { open } from './opened.js'
import { checkedOptions } from './options.js'
import { localUrl } from './process-figures.js'
import { openOwnQueries } from './queries.js'
import * as vocabulary from './vocabulary.js'

export { FreshetError, SettingsInvalid } from '../errors.js'
export * from './definition.js'
export * from './opened-types.js'

/**
 * Opens a system for commands, queries and consumers. The first process stores the number of partitions, and each one the versions of its
 * rules.
 * @param {System} definition
 * @param {SystemOptions} options
 * @returns {Promise<OpenedSystem>}
 * @throws {FreshetError} SETTINGS_INVALID (all faults at once), RULE_FAILED (a rule cannot be used), RULE_DIFFERS, SYSTEM_DIFFERS,
 *   DURABILITY_UNSUPPORTED, SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
 */
export async function openSystem (definition, options) {
  const system = await checkedDefinition(definition)
  const faults = faultsOfDriver(definition)
  if (SYSTEM_NAMES.includes(system.name)) faults.push(`name: ${system.name} is a system of Freshet; choose another one`)
  if (faults.length > 0) throw new SettingsInvalid(faults)
  return open(system, checkedOptions(options, system))
}

/**
 * Checks that `fold` and `certain` of a rule agree with its Lua, by commands at random on a server: folded events equal the stored state,
 * and what is certainly rejected the Lua rejects with the same code. Prints the seed of the commands, and removes its keys.
 * @param {Rule} rule
 * @param {CheckOptions} options
 * @returns {Promise<Checked>}
 * @throws {FreshetError} RULE_INCONSISTENT, with the commands; RULE_FAILED, and as openSystem
 */
export const checkRule = async (rule, options) => check(rule, options)

/**
 * Opens a system for queries of a program, which get what `reader(parts)` of a definition gets in a reader.
 * @param {System} definition
 * @param {Pick<SystemOptions, 'redisUrl' | 'keyPrefix' | 'deadlineMs' | 'log'>} options
 * @returns {OpenedQueries}
 * @throws {FreshetError} SETTINGS_INVALID, with all faults of the options
 */
export const openQueries = (definition, options) => openOwnQueries(definition, options)

// what definitions are written with; src/systems/auctions is one

/** @type {Words.Rules} */
export const rules = NAMED_RULES

/** @type {Words.Fields} */
export const fields = vocabulary.fields

/** @type {Words.Schemas} */
export const schemas = vocabulary.schemas

/** @type {Words.Queries} */
export const queries = vocabulary.queries

/** @type {Words.Decisions} */
export const decisions = Object.freeze({ taken: throwIfRefused, numbers: numbersIn, units: unitsOf, otherBody })

/** @type {Words.IdWith} */
export const idWith = hashed

/** @type {Words.MoneyText} */
export const moneyText = money.moneyText

/** @type {Words.ColumnsOf} */
export const columnsOf = vocabulary.columnsOf

/** @type {Words.CreateCrowdClient} */
export const createCrowdClient = crowd.createCrowdClient

/** @type {Words.Calls} */
export const calls = Object.freeze({ createBreaker, states: BREAKERS, minFailures: MIN_FAILURES, createHttpClient, localUrl, asError })

/** @type {Words.DefineErrors} */
export function defineErrors (name, errors) {
  define(name, errors)
  return errors
}
