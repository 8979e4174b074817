/**
 * Serving in a plan: what serves HTTP while the load writes, and what the client requests.
 *
 *     pages        connections repeat one request: requests/s, processor time, latency
 *     freshness    the same for the newest item, to measure how long items take to become visible     (freshness.js)
 *     everything   all items in one response, from a process that starts in the window                (exports.js)
 *     push         each client has a stream of server-sent events                                     (following.js)
 *     poll         the same clients poll instead
 *
 * `serving` of a level overrides that of every arm.
 *
 * @typedef {import('../plan/index.js').Settings} Settings
 * @typedef {object} Serving
 * @property {'reader' | 'ask' | 'ask range' | 'bare' | 'centrifugo'} by `npm start reader`, one of the lab's own (serve-process.js), or
 *   Centrifugo (centrifugo-process.js) where it is on PATH
 * @property {'pages' | 'freshness' | 'everything' | 'push' | 'poll'} asks
 * @property {number} processes
 * @property {number} connections of the client, spread over the processes
 * @property {number} everyMs 0 = closed loop: a connection sends its next request when it has the response; else open loop, one
 *   request of each connection every everyMs
 * @property {string} path to request; with push and poll the page that shows whether the feed is filled
 * @property {number} [idsEach] of push and poll: ids that each connection follows, all different; absent = the whole feed
 * @property {number} [maxRate] of push: maximum events a second of a connection; absent = no limit
 * @property {Settings} settings of the reader, by name
 * @typedef {Partial<Pick<Serving, 'connections' | 'everyMs' | 'path' | 'idsEach'>>} ServingOfLevel
 */
import { WARM_UP_MS } from './request-loop.js'
import { NUMBERED_VALUE_BYTES } from '../../src/synthetic.js'
import { integer, matching, named, number, object, oneOf, scalar, text, unfit } from '../plan/shape.js'
import { limitIn } from './responses.js'
import { faultsOfFollowing } from './following-plan.js'
import { SEEN_WITHIN_MS } from './freshness.js'

/** `ask` with one range of the sorted set: of layout ids without the values, of values with all versions. */
export const ASK_RANGE = 'ask range'
const BY = ['reader', 'ask', ASK_RANGE, 'bare', 'centrifugo']
/** They send constant items, which are not of the feed. */
export const CONSTANT = ['bare', 'centrifugo']
const ASKS = ['pages', 'freshness', 'everything', 'push', 'poll']
/** Clients that keep state. */
export const FOLLOWS = ['push', 'poll']
/** Loads whose feed a reader can serve. */
const LOADS = ['writer', 'library']
/** The lab sets these itself. */
const LAB_SETS = ['redisUrl', 'replicaUrl', 'keyPrefix', 'port', 'host', 'open', 'tokens', 'jwtIssuer', 'jwtAudience', 'jwtKeys',
  'tlsCert', 'tlsKey', 'rateLimit', 'server', 'cacheDir', 'logLevel']
const MAX_PAGE = 10_000
/** ids of one request */
const MOST_FOLLOWED = 1000
const MOST_RATE = 100
const MOST_ITEMS = 1_000_000
const PATH = /^\/v1\/[\x21-\x7e]+$/
const PATH_OF_MANY = /^\/v1\/feeds\/lab\/items(\?limit=\d+)?$/
/** at least one item in each millisecond */
const LEAST_RATE = 1000

/** The client's window begins this long after the load's, for its warm-up, and ends earlier by the same time. */
export const LEAD_SECONDS = WARM_UP_MS / 1000 + 0.25
/** The shortest window of the client. */
const LEAST_SECONDS = 0.5
/** The same with asks freshness. */
const LEAST_FRESHNESS_SECONDS = 2 * SEEN_WITHIN_MS / 1000

export const DEFAULT_PATH = '/v1/feeds/lab/items?limit=100'

const connections = integer(1, 2000)
const idsEach = integer(1, MOST_FOLLOWED)
const everyMs = integer(0, 60_000)
const path = matching('a path of the reader, such as ' + DEFAULT_PATH, PATH)

export const servingShape = object({
  by: oneOf(BY),
  asks: [oneOf(ASKS), 'pages'],
  processes: [integer(1, 8), 1],
  connections: [connections, 32],
  everyMs: [everyMs, 0],
  path: [path, DEFAULT_PATH],
  idsEach: [idsEach, undefined],
  maxRate: [number(0.1, MOST_RATE), undefined],
  settings: [named(text(60), scalar), {}]
})

export const servingOfLevelShape =
  object({ connections: [connections, undefined], everyMs: [everyMs, undefined], path: [path, undefined], idsEach: [idsEach, undefined] })

/** @param {Serving | undefined} serving of an arm @param {ServingOfLevel} [ofLevel] @returns {Serving | undefined} what it is there */
export const servingAt = (serving, ofLevel) => serving && { ...serving, ...ofLevel }

/** @param {Serving | undefined} serving @returns {number} the shortest window of the load, besides what periods need; 0 = any */
export const leastSecondsOf = (serving) =>
  serving ? LEAD_SECONDS + (serving.asks === 'freshness' ? LEAST_FRESHNESS_SECONDS : LEAST_SECONDS) : 0

/**
 * What does not fit together in the arm and with the settings of the load. The shape of the parts is checked elsewhere.
 * @param {string} place of the serving in the plan
 * @param {Serving} serving
 * @param {{ load: string, settings: Record<string, any> }} cell `settings` with the writer's defaults
 * @param {import('../plan/index.js').Known['checkSettings']} checkSettings
 * @returns {string[]}
 */
export function faultsOfServing (place, serving, { load, settings: settingsOfLoad }, checkSettings) {
  const { by, asks, processes, connections, settings = {} } = serving
  /** @type {string[]} */
  const faults = []
  if (!BY.includes(by) || !ASKS.includes(asks)) return faults
  if (connections >= 1 && connections < processes) {
    faults.push(unfit(`${place}.connections`, connections, `at least ${processes}: one for each process`))
  }
  if (by === 'centrifugo' && asks !== 'push') faults.push(unfit(`${place}.asks`, asks, 'push: centrifugo serves nothing else'))
  if (!LOADS.includes(load)) faults.push(`${place}: load ${load} writes no feed that can be served; expected load ${LOADS.join(' or ')}`)
  for (const name of LAB_SETS) if (Object.hasOwn(settings, name)) faults.push(`${place}.settings.${name}: the lab sets it; leave it out`)
  if (!FOLLOWS.includes(asks)) {
    for (const name of /** @type {const} */ (['idsEach', 'maxRate'])) {
      if (serving[name] !== undefined) faults.push(`${place}.${name}: only for asks push and poll; leave it out`)
    }
  }
  faults.push(...faultsOfRequests(place, serving, settingsOfLoad))
  if (by === 'reader') return [...faults, ...checkSettings(settings, 'reader').map((fault) => `${place}.settings: ${fault}`)]
  return [...faults, ...faultsOfReference(place, serving, settingsOfLoad)]
}

/** @param {string} place @param {Serving} serving @param {Record<string, any>} load settings */
function faultsOfRequests (place, serving, load) {
  const { by, asks, processes, connections, everyMs, path } = serving
  if (FOLLOWS.includes(asks)) return faultsOfFollowing(place, serving, load)
  if (asks === 'pages') return []
  /** @type {string[]} */
  const faults = []
  const limit = PATH_OF_MANY.test(path) ? limitIn(path) : null
  if (processes > 1) faults.push(unfit(`${place}.processes`, processes, `1: asks ${asks} measures one process`))
  if (load.valueBytes < NUMBERED_VALUE_BYTES || load.valueChange === 'never') {
    faults.push(
      `${place}: asks ${asks} reads the numbers in values; expected valueBytes ${NUMBERED_VALUE_BYTES} or more, and values that change`
    )
  }
  if (asks === 'everything') {
    if (connections > 1) faults.push(unfit(`${place}.connections`, connections, '1: asks everything sends one request after the other'))
    if (everyMs > 0) faults.push(unfit(`${place}.everyMs`, everyMs, '0: asks everything sends one request after the other'))
    if (PATH.test(path) && !(limit !== null && limit >= load.ids && limit <= MOST_ITEMS)) {
      faults.push(unfit(`${place}.path`, path,
        `/v1/feeds/lab/items?limit=${MOST_ITEMS}, or another limit from ${load.ids}, the ids of the load`))
    }
    if (load.writers > 1) faults.push(`${place}: asks everything checks the numbers of one writer; expected writers 1, not ${load.writers}`)
    return faults
  }
  if (!(everyMs > 0)) faults.push(unfit(`${place}.everyMs`, everyMs, 'at least 1: asks freshness needs an interval'))
  if (by === 'bare') faults.push(`${place}: asks freshness of bare, whose response is constant; expected by reader or ask`)
  if (PATH.test(path) && limit !== 1) faults.push(unfit(`${place}.path`, path, '/v1/feeds/lab/items?limit=1'))
  if (!(load.rate * load.writers >= LEAST_RATE) || load.pace !== 'steady' || load.catchUp === 'no') {
    faults.push(`${place}: asks freshness needs an item in each millisecond; expected a steady pace with catchUp and at least ` +
      `${LEAST_RATE} items/s, not ${load.rate * load.writers}`)
  }
  return faults
}

/** What `ask` and `bare` support. @param {string} place @param {Serving} serving @param {Record<string, any>} load settings */
function faultsOfReference (place, { by, asks, path, settings = {} }, { layout, partitions = 1 }) {
  /** @type {string[]} */
  const faults = []
  const limit = PATH_OF_MANY.test(path) ? limitIn(path) : null
  if (['pages', 'push'].includes(asks) && PATH.test(path) && (limit === null || limit < 1 || limit > MAX_PAGE)) {
    faults.push(unfit(`${place}.path`, path, `${DEFAULT_PATH}, or another limit: ${by} serves nothing else`))
  }
  for (const name of Object.keys(settings)) {
    if (name !== 'readFrom') faults.push(`${place}.settings.${name}: a setting of the reader; ${by} takes readFrom only`)
  }
  if (!['replica', 'primary', undefined].includes(/** @type {any} */ (settings.readFrom))) {
    faults.push(unfit(`${place}.settings.readFrom`, settings.readFrom, 'replica or primary'))
  }
  if (partitions !== 1) faults.push(`${place}: ${by} reads one partition; expected partitions 1, not ${partitions}`)
  if (by === ASK_RANGE && (!['ids', 'values'].includes(layout) || asks !== 'pages')) {
    faults.push(`${place}: ${by} reads pages of layouts ids and values only; expected that, not ${asks} of ${layout}`)
  }
  if (asks === 'everything' && by === 'ask' && layout !== 'ids') {
    faults.push(`${place}: ${by} reads all items of layout ids only; expected that, not ${layout}`)
  }
  return faults
}
