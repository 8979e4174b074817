/**
 * Options of openFeed and openReader: rows of the settings that name `library`, and objects and functions of the caller. No other file of
 * src reads settings. A test compares the types with the rows.
 */
import { shown } from './arguments.js'
import { createClock } from './clock.js'
import { layoutNames } from './layouts/index.js'
import { ackNames } from './pipeline/index.js'
import { table } from './settings/index.js'
import { SETTINGS } from './settings-table.js'

/** @typedef {'ids' | 'values' | 'stream' | 'segments'} Layout how a feed is stored */

/**
 * What is stored about a feed.
 * @typedef {object} Definition
 * @property {string} feed its name
 * @property {Layout} layout
 * @property {number} partitions
 * @property {number} windowMs maximum age of live items; 0 = no limit
 * @property {number} maxItems maximum number of items per partition; 0 = no limit
 * @property {number} format version of the stored format
 * @property {'newest' | 'overwrite'} [late] which version of an id counts (layout ids)
 * @property {string} createdAt ISO 8601
 * @property {string} [widenedAt] when the retention was last widened: items from before may be gone although they are within it
 */

/**
 * A logger, for example of pino; called as (facts, message) or (message).
 * @typedef {{ info: (...args: any[]) => void, warn: (...args: any[]) => void, error: (...args: any[]) => void }} Log
 */

/**
 * Servers. docs/settings.md lists defaults and limits.
 * @typedef {object} ServerOptions
 * @property {string} redisUrl of the primary, redis:// or rediss://; of nodes of a cluster; or of Sentinels
 * @property {'password' | 'iam'} [redisAuth] of the user of the address
 * @property {string[]} [replicaUrl] of replicas; without it the primary is asked for them
 * @property {'replica' | 'primary'} [readFrom] nodes that answer queries; default: replicas, or the primary while it has not had one
 * @property {string} [keyPrefix] prefix of every key
 * @property {'auto' | 'all' | 'none'} [views] feeds that are held in memory from their first query on
 * @property {number} [maxViewItems] live items of one feed in memory
 * @property {number} [maxViewBytes] memory for them
 * @property {number} [deadlineMs] reply timeout of a server; the connection is then closed
 * @property {Log} [log] default: none
 */

/**
 * How a feed is stored and written. docs/settings.md lists defaults and limits. The first error that a hook throws is logged.
 * @typedef {object} WriteOptions
 * @property {Layout} [layout] how a new feed is stored
 * @property {boolean} [sortedSetContainsActualValue] true = layout values, false = layout ids; `layout` overrides it
 * @property {number} [partitions] number of partitions of a new feed
 * @property {number} [windowMs] maximum age of live items of a new feed; 0 = no limit
 * @property {number} [maxItems] maximum number of items per partition of a new feed; 0 = no limit
 * @property {'newest' | 'overwrite'} [late] which version of an id counts (layout ids): the newest, or the one written last
 * @property {'none' | 'brotli'} [compress] compression of batches (layout segments)
 * @property {number} [maxFutureMs] maximum time that an item may be ahead of the clock; others are refused
 * @property {number} [batchItems] maximum number of items per batch
 * @property {number} [batchBytes] maximum size of a batch
 * @property {number} [batchMs] time after the previous batch at which a partial batch is sent
 * @property {number} [inFlightBytes] bound on bytes appended and not yet acknowledged
 * @property {'primary' | 'replica' | number} [ack] nodes that must have a batch before it counts as acknowledged: the primary, one
 *   replica too, or so many replicas
 * @property {'block' | 'refuse' | 'drop'} [whenFull] what happens to items at the bound on bytes in flight
 * @property {number} [drainMs] maximum time to flush when the feed is closed
 * @property {() => number} [clock] ms since 1970, with fractions
 * @property {(seconds: number) => void} [onFlush] called with the time from sending a batch to its acknowledgement
 * @property {(behindMs: number) => void} [onBehind] called with how late a batch was sent
 * @property {(code: string, id: Buffer, ts: number) => void} [onRefused] called for each item that is refused without an error
 */

/** @typedef {ServerOptions & WriteOptions & { encoding?: 'bytes' }} FeedOptions values are bytes; text is stored as UTF-8 */

/** @typedef {ServerOptions & WriteOptions & { encoding: 'json' }} JsonFeedOptions values are stored as JSON, and parsed when read */

/** @type {Log} */
const SILENT = Object.freeze({ info () {}, warn () {}, error () {} })
/** What values are for the caller. */
export const ENCODINGS = Object.freeze(['bytes', 'json'])
/** Options outside the settings. */
const OTHER_OPTIONS = { openFeed: ['log', 'clock', 'onFlush', 'onBehind', 'onRefused', 'encoding'], openReader: ['log'] }
/** Options of a new feed. Of an existing one, those that are not given are as they are stored. */
const OF_NEW_FEED = ['layout', 'partitions', 'late', 'windowMs', 'maxItems']
/** gives a layout, too */
const OTHER_LAYOUT = 'sortedSetContainsActualValue'
let opened = 0

/**
 * @param {Record<string, any>} options
 * @param {'openFeed' | 'openReader'} opener
 * @returns {any} with defaults, and a name for its connections
 * @throws {import('./errors.js').SettingsInvalid} with all faults
 */
export function checkedOptions (options, opener) {
  const isOther = (/** @type {string} */ name) => OTHER_OPTIONS[opener].includes(name)
  const otherOptions = Object.fromEntries(Object.entries(options).filter(([name, value]) => isOther(name) && isGiven(value)))
  const settings = Object.fromEntries(Object.entries(options).filter(([name]) => !isOther(name)))
  const faults = Object.entries(otherOptions).flatMap(([name, value]) => faultOf(name, value) ?? [])
  const resolved = table.resolveOptions(SETTINGS, settings, { layouts: layoutNames(), acks: ackNames() }, opener, faults)
  return {
    name: `freshet-${process.pid}-${++opened}`,
    clock: createClock(),
    log: SILENT,
    ...otherOptions,
    ...resolved,
    asked: Object.fromEntries(OF_NEW_FEED.filter((name) => isGiven(options[name]) || (name === 'layout' && isGiven(options[OTHER_LAYOUT])))
      .map((name) => [name, resolved[name]]))
  }
}

/** @param {unknown} option */
const isGiven = (option) => option !== undefined && option !== null

/** @param {string} name @param {any} value @returns {string | null} */
function faultOf (name, value) {
  if (name === 'encoding') {
    return ENCODINGS.includes(value) ? null : `encoding: ${shown(value)} (option); expected ${ENCODINGS.join(' | ')}`
  }
  if (name !== 'log') return typeof value === 'function' ? null : `${name}: a value of type ${typeof value} (option); expected a function`
  const missing = Object.keys(SILENT).filter((level) => typeof value[level] !== 'function')
  return missing.length === 0
    ? null
    : `log: a value of type ${typeof value} without ${missing.join(', ')} (option); expected a logger with the functions ` +
      `${Object.keys(SILENT).join(', ')}`
}
