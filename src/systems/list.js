/** The systems of this package, and modules of users. A process loads those that it serves. */
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { asError, SettingsInvalid } from '../errors.js'
import { isModule } from '../settings/index.js'
import { definitionOf } from './complete.js'
import { ALL_SYSTEMS } from './names.js'
import { settingRows } from './settings.js'

/**
 * @import { System } from './definition.js'
 * @import { Definition } from './parts.js'
 */

/** Modules of users: systems, and sources of prices. */

const PLACE_WITHIN_MS = 5000

/**
 * @param {string} path from the working folder
 * @returns {Promise<Record<string, any>>} what it exports @throws {Error} why it cannot be loaded, with the place of a syntax error
 */
export async function importModule (path) {
  const url = String(pathToFileURL(path))
  return import(url).catch(async (thrown) => {
    throw new Error(`${await whereOf(thrown, url)}${asError(thrown).message}`)
  })
}

/**
 * Node.js names the place of a syntax error only where it ends a process.
 * @param {any} error @param {string} url of the module that was imported @returns {Promise<string>} file and line, or nothing
 */
async function whereOf (error, url) {
  if (!(error instanceof SyntaxError)) return ''
  const words = ['--input-type=module', '--eval', `import ${JSON.stringify(url)}`]
  const { stderr } = await promisify(execFile)(process.execPath, words, { timeout: PLACE_WITHIN_MS }).catch((failure) => failure)
  const [, file, line] = /^(file:\S+):(\d+)\n/.exec(stderr ?? '') ?? []
  return file === undefined ? '' : `${fileURLToPath(file)}, line ${line}: `
}

export { SYSTEM_NAMES } from './names.js'

/** @typedef {() => Promise<{ default: System }>} Loader loads a system */

/** @type {Readonly<Record<string, Loader>>} */
export const SYSTEMS = Object.freeze({
  auctions: () => import('./auctions/index.js'),
  orders: () => import('./orders/index.js'),
  prices: () => import('./prices/index.js'),
  sales: () => import('./sales/index.js')
})

/**
 * @param {readonly string[] | null} [names] of ours, `all` of them, and paths; without them, all of ours
 * @param {Readonly<Record<string, Loader>>} [ours]
 * @returns {Promise<Definition[]>}
 * @throws {SettingsInvalid} a module that cannot be loaded, a name or a path of a route that is taken
 */
export async function loadSystems (names, ours = SYSTEMS) {
  const choices = [...new Set((names ?? [ALL_SYSTEMS]).flatMap((name) => name === ALL_SYSTEMS ? Object.keys(ours) : [name]))]
  // codes of our errors are defined first
  await Promise.all(choices.flatMap((name) => isModule(name) ? [] : [loadOurs(ours[name])]))
  const systems = await Promise.all(choices.map((name) => isModule(name) ? loadModule(name) : loadOurs(ours[name])))
  const faults = [...takenNames(systems, choices), ...takenRoutes(systems)]
  if (faults.length > 0) throw new SettingsInvalid(faults)
  return systems
}

/**
 * The settings of modules of users, as rows for the processes that serve them.
 * @param {readonly string[]} names of systems; those that are no paths of modules are left out
 * @param {readonly string[]} taken names of settings
 * @returns {Promise<import('../settings/index.js').Row[]>}
 * @throws {SettingsInvalid} a module that cannot be loaded, a name that is taken
 */
export async function settingsOfModules (names, taken) {
  const systems = await loadSystems(names.filter(isModule))
  const all = systems.flatMap(({ name, settings = {} }) =>
    settingRows(name, settings, { variables: `${name.replaceAll('-', '_').toUpperCase()}_` }).map((row) => ({ system: name, row })))
  const used = [...taken, ...all.map(({ row: { name } }) => name)]
  const faults = all.filter(({ row: { name } }, i) => used.indexOf(name) !== taken.length + i)
    .map(({ system, row: { name } }) => `systems: the setting ${name} of ${system} is taken; choose another name`)
  if (faults.length > 0) throw new SettingsInvalid(faults)
  return all.map(({ row }) => row)
}

/** @param {Loader} load @returns {Promise<Definition>} */
const loadOurs = async (load) => definitionOf((await load()).default)

/** @param {string} path @returns {Promise<Definition>} @throws {SettingsInvalid} */
async function loadModule (path) {
  const file = statSync(path, { throwIfNoEntry: false })?.isDirectory() ? join(path, 'index.js') : path
  const loaded = await importModule(file).catch(({ message }) => {
    throw new SettingsInvalid([`systems: ${path} cannot be loaded (${message}); expected a module whose default export is a system`])
  })
  if (loaded.default === undefined) throw new SettingsInvalid([`systems: ${path} has no default export; expected a system`])
  return definitionOf(loaded.default).catch((error) => {
    throw error instanceof SettingsInvalid ? new SettingsInvalid(error.faults.map((fault) => `systems: ${path}: ${fault}`)) : error
  })
}

/** @param {Definition[]} systems @param {string[]} choices how each was asked for @returns {string[]} faults */
const takenNames = (systems, choices) => systems.flatMap(({ name }, i) => {
  const isTaken = (isModule(choices[i]) && Object.hasOwn(SYSTEMS, name)) || systems.findIndex((other) => other.name === name) < i
  return isTaken ? [`systems: the name ${name} of ${choices[i]} is taken; choose another one`] : []
})

/** @param {Definition[]} systems @returns {string[]} faults */
function takenRoutes (systems) {
  /** @type {Map<string, string>} */
  const owners = new Map()
  return systems.flatMap(({ name, commands, queries, stream }) => [
    ...Object.values(commands).map(({ method = 'POST', path }) => `${method} ${path}`),
    ...[...Object.values(queries), ...stream].map(({ path }) => `GET ${path}`)
  ].flatMap((route) => {
    // names of parameters make no difference
    const key = route.replace(/:\w+/g, ':')
    const owner = owners.get(key)
    owners.set(key, name)
    return owner === undefined ? [] : [`systems: the route ${route} of ${name} is one of ${owner}'s; choose another path`]
  }))
}
