/**
 * What is done with the table of settings: options of the library, settings of files. Command lines: command-line/.
 *
 * @typedef {import('./checks.js').Context} Context
 * @typedef {import('./rows.js').Row} Row
 */
import { SettingsInvalid } from '../errors.js'
import { flagOf, givenBy, readRows, rowsOf } from './rows.js'
import { checkTogether } from './rules.js'
import { unknownName } from './unknown.js'

/**
 * @param {readonly Row[]} table @param {'openFeed' | 'openReader'} [opener]
 * @returns {string[]} names of its options: a reader has those of the reader process
 */
const optionNames = (table, opener = 'openFeed') => rowsOf(table, 'library')
  .filter(({ uses }) => opener === 'openFeed' || uses.includes('reader')).map(({ name }) => name)

/**
 * @param {readonly Row[]} table @param {Record<string, any>} settings of a command
 * @returns {Record<string, any>} those that openFeed takes
 */
export const optionsOf = (table, settings) => Object.fromEntries(optionNames(table)
  .flatMap((name) => name in settings && settings[name] !== null ? [[name, settings[name]]] : []))

/**
 * The same table for callers in the same process: values are given by name instead of flags and variables.
 * @param {readonly Row[]} table
 * @param {Record<string, unknown>} options by name; undefined and null = the default
 * @param {Omit<Context, 'command'>} rest
 * @param {'openFeed' | 'openReader'} [opener]
 * @param {readonly string[]} [found] faults that the caller has already found
 * @returns {Readonly<Record<string, any>>} all rows of the library
 * @throws {SettingsInvalid} with all faults
 */
export function resolveOptions (table, options, rest, opener, found = []) {
  const context = { ...rest, command: 'library' }
  const faults = [...found]
  const names = optionNames(table, opener)
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) faults.push(unknownName(name, names, `the options are ${names.join(' ')}`))
  }
  const { values, origins } = readRows(rowsOf(table, 'library'), context, faults, givenBy(options, 'option'))
  faults.push(...checkTogether({ values, origins, context }))
  if (values.redisUrl === null && origins.redisUrl === 'default') {
    faults.push('redisUrl is missing; expected the URL of the primary, such as redis://127.0.0.1:6379')
  }
  if (faults.length) throw new SettingsInvalid(faults.map((fault) => byName(table, fault)))
  return Object.freeze(values)
}

/** Names options as callers write them: rules speak of flags. @param {readonly Row[]} table @param {string} fault */
const byName = (table, fault) =>
  fault.replace(/--([a-z][a-z-]*)/g, (flag, word) => table.find(({ name }) => flagOf(name) === word)?.name ?? flag)

/**
 * Checks settings that stand in a file, such as the plan of an experiment.
 * @param {readonly Row[]} table
 * @param {Record<string, unknown>} settings by name; undefined and null = the default
 * @param {Omit<Context, 'command'>} rest
 * @param {'writer' | 'reader'} [command]
 * @returns {string[]} faults
 */
export function checkSettings (table, settings, rest, command = 'writer') {
  const context = { ...rest, command }
  const names = rowsOf(table, command).map(({ name }) => name)
  const faults = Object.keys(settings).filter((name) => !names.includes(name))
    .map((name) => unknownName(name, names, `the settings of a ${command} are ${names.join(' ')}`))
  const { values, origins } = readRows(rowsOf(table, command), context, faults, givenBy(settings, 'setting'))
  return [...faults, ...checkTogether({ values, origins, context })]
}

/** Groups that describe a load; the others say where items come from and go to. */
const OF_LOADS = ['Feed', 'Load', 'Write path']

/**
 * The load that such settings describe, with defaults.
 * @param {readonly Row[]} table
 * @param {Record<string, unknown>} settings by name, without faults
 * @param {Omit<Context, 'command'>} rest
 * @returns {Record<string, any>} the writer's settings in the groups feed, load and write path that have a value
 */
export function settledSettings (table, settings, rest) {
  const context = { ...rest, command: 'writer' }
  const { values, origins } = readRows(rowsOf(table, 'writer'), context, [], givenBy(settings, 'setting'))
  checkTogether({ values, origins, context })
  const names = rowsOf(table, 'writer')
    .map((row) => OF_LOADS.includes(row.group) && row.name !== 'sortedSetContainsActualValue' ? row.name : '')
  return Object.fromEntries(names.flatMap((name) => values[name] === null || values[name] === undefined ? [] : [[name, values[name]]]))
}

/**
 * @param {readonly Row[]} table @param {Record<string, any>} settings by name
 * @returns {string[]} the same as flags; null and undefined are left out
 */
export const flagsOf = (table, settings) => Object.entries(settings).flatMap(([name, value]) => {
  if (value === null || value === undefined) return []
  if (table.find((row) => row.name === name)?.check.flagOnly) return value ? [`--${flagOf(name)}`] : []
  return [`--${flagOf(name)}`, String(value)]
})
