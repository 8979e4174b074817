/**
 * The face of the library.
 *
 *     import { openFeed } from 'freshet-feed'
 *     const feed = await openFeed('positions', { redisUrl: 'redis://127.0.0.1:6379' })
 *     feed.append({ id: 'bus-7', ts: Date.now(), value: 'stop 12' })     // false: await feed.ready() before the next
 *     await feed.flush()
 *     const { items } = await feed.latest(100)
 *     for await (const change of feed.subscribe()) { ... }
 *     await feed.close()
 *
 * Options are the rows of settings.js that name `library`, checked by that table. Like a process file, this file reads
 * settings; no other file of src does.
 */
// values are Buffers, whose types must be referenced
/// <reference types="node" preserve="true" />
import { resolveOptions } from '../settings.js'
import { createClock } from './runtime/index.js'
import { FreshetError } from './errors.js'
import { openWritableFeed } from './feed.js'
import { checkFeedName } from './feeds/index.js'
import { layoutNames } from './layouts/index.js'
import { ackNames } from './pipeline/index.js'
import { createReading, openQueries } from './view/index.js'

export { FreshetError } from './errors.js'
export { SettingsInvalid } from '../settings.js'

/** @typedef {import('./feed.js').Feed} Feed a feed opened for writing and reading */
/** @typedef {import('./feed.js').Appended} NewItem what `append` takes */
/** @typedef {import('./view/index.js').ReadItem} ReadItem an item as it is read */
/** @typedef {import('./view/index.js').Page} Page an answer of `latest` and `since` */
/** @typedef {import('./view/index.js').Reading} Reading a feed opened for reading */
/** @typedef {import('./view/index.js').Change} Change what `subscribe` yields */
/** @typedef {import('./feeds/index.js').Definition} Definition what is stored about a feed */

/**
 * A logger, for example of pino; called as (facts, message) or (message).
 * @typedef {{ info: (...args: any[]) => void, warn: (...args: any[]) => void, error: (...args: any[]) => void }} Log
 */

/**
 * Servers. docs/settings.md lists defaults and limits.
 * @typedef {object} ServerOptions
 * @property {string} redisUrl of the primary: redis:// or rediss://
 * @property {string[]} [replicaUrl] of replicas; without it the primary is asked for them
 * @property {'replica' | 'primary'} [readFrom] nodes that answer queries
 * @property {string} [keyPrefix] prefix of every key
 * @property {'auto' | 'all' | 'none'} [views] feeds that are held in memory from their first query on
 * @property {number} [maxViewItems] live items of one feed in memory
 * @property {number} [maxViewBytes] memory for them
 * @property {number} [deadlineMs] reply timeout; the connection is then closed
 * @property {Log} [log] default: none
 */

/**
 * How a feed is stored and written. docs/settings.md lists defaults and limits. `clock`: ms since 1970, with fractions. Hooks:
 * `onFlush`: time from sending a batch to its acknowledgement; `onBehind`: how late a batch was sent; `onRefused`: a refused
 * item. The first error that a hook throws is logged.
 * @typedef {ServerOptions & {
 *   layout?: string, sortedSetContainsActualValue?: boolean, partitions?: number, windowMs?: number, maxItems?: number,
 *   late?: 'newest' | 'overwrite', compress?: 'none' | 'brotli', maxFutureMs?: number, batchItems?: number,
 *   batchBytes?: number, batchMs?: number,
 *   inFlightBytes?: number, ack?: 'primary' | 'replica', whenFull?: 'block' | 'refuse' | 'drop', drainMs?: number,
 *   clock?: () => number, onFlush?: (seconds: number) => void, onBehind?: (behindMs: number) => void,
 *   onRefused?: (code: string, id: Buffer, ts: number) => void }} FeedOptions
 */

/**
 * Servers opened for reading.
 * @typedef {object} Reader
 * @property {() => Promise<Definition[]>} feeds definitions of all feeds
 * @property {(name: string) => Reading} feed queries of one feed
 * @property {() => { ready: boolean, reasons: string[], nodes: object[] }} status
 * @property {import('./view/index.js').Views} queries the same queries with bytes, for callers that encode answers themselves
 * @property {import('./store/index.js').Deployment} deployment
 * @property {() => Promise<void>} close
 */

/** @type {Log} */
const SILENT = Object.freeze({ info () {}, warn () {}, error () {} })
/** Options outside the settings: objects and functions of the caller. */
const HOOKS = { openFeed: ['log', 'clock', 'onFlush', 'onBehind', 'onRefused'], openReader: ['log'] }
/** Options that may differ from the stored definition. */
const RETENTION = ['windowMs', 'maxItems']
let opened = 0

/**
 * @param {Record<string, any>} options
 * @param {'openFeed' | 'openReader'} opener
 * @throws {import('../settings.js').SettingsInvalid} with all faults
 */
function split (options, opener) {
  const isHook = (/** @type {string} */ name) => HOOKS[opener].includes(name)
  const hooks = Object.fromEntries(Object.entries(options).filter(([name, given]) => isHook(name) && isGiven(given)))
  const settings = Object.fromEntries(Object.entries(options).filter(([name]) => !isHook(name)))
  const faults = Object.entries(hooks).flatMap(([name, hook]) => faultOfHook(name, hook) ?? [])
  const resolved = resolveOptions(settings, { layouts: layoutNames(), acks: ackNames() }, opener, faults)
  return {
    name: `freshet-${process.pid}-${++opened}`,
    clock: createClock(),
    log: SILENT,
    ...hooks,
    ...resolved,
    asked: Object.fromEntries(RETENTION.filter((name) => isGiven(options[name])).map((name) => [name, resolved[name]]))
  }
}

/** @param {unknown} option */
const isGiven = (option) => option !== undefined && option !== null

/** @param {string} name @param {any} hook @returns {string | null} */
function faultOfHook (name, hook) {
  if (name !== 'log') return typeof hook === 'function' ? null : `${name}: a value of type ${typeof hook} (option); expected a function`
  const missing = Object.keys(SILENT).filter((level) => typeof hook[level] !== 'function')
  return missing.length === 0
    ? null
    : `log: a value of type ${typeof hook} without ${missing.join(', ')} (option); expected a logger with the functions ` +
      `${Object.keys(SILENT).join(', ')}`
}

/**
 * Opens a feed for writing and reading. The first opening creates its definition; later ones must agree with it.
 * @param {string} name of the feed
 * @param {FeedOptions} options
 * @returns {Promise<Feed>}
 * @throws {import('../settings.js').SettingsInvalid | import('./errors.js').FreshetError} SETTINGS_INVALID (all faults at
 *   once), FEED_NAME_INVALID, FEED_DEFINITION_DIFFERS, SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
 */
export async function openFeed (name, options) {
  return openWritableFeed(checkFeedName(name), /** @type {any} */ (split(options ?? {}, 'openFeed')))
}

/**
 * Opens servers for reading only: nothing is written, no feed is created.
 * @param {ServerOptions} options
 * @param {import('./view/index.js').Serving} [serving] for a process that serves all feeds
 * @returns {Promise<Reader>}
 * @throws {import('../settings.js').SettingsInvalid | import('./errors.js').FreshetError}
 */
export async function openReader (options, serving) {
  const closing = new AbortController()
  const given = split(options ?? {}, 'openReader')
  const { queries, deployment, close } = await openQueries(/** @type {any} */ (given), serving)

  /** @returns {Promise<import('./view/index.js').Views>} */
  async function openedQueries () {
    if (closing.signal.aborted) throw new FreshetError('PIPELINE_CLOSED', 'the reader is closed; open it again')
    return queries
  }

  return {
    feeds: async () => (await openedQueries()).definitions(),
    feed: (name) => createReading(openedQueries, checkFeedName(name), closing.signal, given.log),
    status: queries.status,
    queries,
    deployment,
    async close () {
      closing.abort()
      await close()
    }
  }
}
