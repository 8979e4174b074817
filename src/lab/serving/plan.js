/**
 * What a plan says of serving: who answers HTTP while the load writes, and who asks.
 *
 * @typedef {import('../plan.js').Settings} Settings
 * @typedef {object} Serving
 * @property {'reader' | 'ask' | 'bare'} by `npm start reader`, or one of the lab's own (serve-process.js)
 * @property {number} processes
 * @property {number} connections of the client, spread over the processes
 * @property {number} everyMs 0 = closed loop: a connection asks again as soon as it is answered; else each asks once in so
 *   many ms: open loop
 * @property {string} path
 * @property {Settings} settings of the reader, by name
 */
import { integer, matching, named, object, oneOf, scalar, text, unfit } from '../shape.js'
import { limitIn } from './answers.js'
import { WARM_UP_MS } from './asking.js'

const BY = ['reader', 'ask', 'bare']
/** Loads that write a feed which a reader finds. */
const LOADS = ['writer', 'library']
/** The lab sets these itself. */
const LAB_SETS = ['redisUrl', 'replicaUrl', 'keyPrefix', 'port', 'host', 'open', 'authToken', 'server', 'cacheDir', 'logLevel']
const MAX_PAGE = 10_000
const PATH = /^\/v1\/[\x21-\x7e]+$/

/** The client begins so long after the load's window, its warm-up, and ends so long before it. */
export const LEAD_SECONDS = WARM_UP_MS / 1000 + 0.25
/** The shortest window of the client. */
export const LEAST_SECONDS = 0.5

export const DEFAULT_PATH = '/v1/feeds/lab/items?limit=100'

export const servingShape = object({
  by: oneOf(BY),
  processes: [integer(1, 8), 1],
  connections: [integer(1, 256), 32],
  everyMs: [integer(0, 60_000), 0],
  path: [matching('a path of the reader, such as ' + DEFAULT_PATH, PATH), DEFAULT_PATH],
  settings: [named(text(60), scalar), {}]
})

/**
 * What does not fit together, in the arm and with the settings that the load has. What its shape has told is not told again.
 * @param {string} path of the serving in the plan
 * @param {Serving} serving
 * @param {{ load: string, settings: Settings }} cell
 * @param {import('../plan.js').Known['checkSettings']} checkSettings
 * @returns {string[]}
 */
export function faultsOfServing (path, { by, processes, connections, path: question, settings = {} }, { load, settings: settingsOfLoad }, checkSettings) {
  /** @type {string[]} */
  const faults = []
  if (!BY.includes(by)) return faults
  if (connections >= 1 && connections < processes) faults.push(unfit(`${path}.connections`, connections, `at least ${processes}: one for each process`))
  if (!LOADS.includes(load)) faults.push(`${path}: load ${load} stores no feed that can be served; expected load ${LOADS.join(' or ')}`)
  for (const name of LAB_SETS) if (Object.hasOwn(settings, name)) faults.push(`${path}.settings.${name}: the lab sets it; leave it out`)
  if (by === 'reader') return [...faults, ...checkSettings(settings, 'reader').map((fault) => `${path}.settings: ${fault}`)]
  const limit = /^\/v1\/feeds\/lab\/items(\?limit=\d+)?$/.test(question) ? limitIn(question) : null
  if (PATH.test(question) && (limit === null || limit < 1 || limit > MAX_PAGE)) faults.push(unfit(`${path}.path`, question, `${DEFAULT_PATH}, or another limit: ${by} answers nothing else`))
  for (const name of Object.keys(settings)) if (name !== 'readFrom') faults.push(`${path}.settings.${name}: a setting of the reader; ${by} takes readFrom only`)
  if (!['replica', 'primary', undefined].includes(/** @type {any} */ (settings.readFrom))) faults.push(unfit(`${path}.settings.readFrom`, settings.readFrom, 'replica or primary'))
  const { layout = 'ids', partitions = 1, sortedSetContainsActualValue = false } = settingsOfLoad
  if (layout !== 'ids' || sortedSetContainsActualValue === true) faults.push(`${path}: ${by} knows layout ids; expected that, not ${layout === 'ids' ? 'values' : layout}`)
  if (partitions !== 1) faults.push(`${path}: ${by} reads one partition; expected partitions 1, not ${partitions}`)
  return faults
}
