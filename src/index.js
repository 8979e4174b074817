/**
 * The face of the library.
 *
 *     import { openFeed } from 'freshet'
 *     const feed = await openFeed('positions', { redisUrl: 'redis://127.0.0.1:6379' })
 *     feed.append({ id: 'bus-7', ts: Date.now(), value: 'stop 12' })     // false: await feed.ready() before the next
 *     await feed.flush()
 *     const { items } = await feed.latest(100)
 *     for await (const change of feed.subscribe()) { ... }
 *     await feed.close()
 *
 * Options are the rows of settings.js that name `library`, checked by that table: this file stands where a process file
 * would, so it is the one of src that reads it.
 */
// values are Buffers, and TypeScript takes no types that nobody names
/// <reference types="node" preserve="true" />
import { resolveOptions } from '../settings.js'
import { createClock } from './clock.js'
import { FreshetError } from './errors.js'
import { openWritableFeed } from './feed.js'
import { checkFeedName } from './feeds/definitions.js'
import { layoutNames } from './layouts/index.js'
import { ackNames } from './pipeline/acks.js'
import { createReading, openAsk } from './view/reader.js'

export { FreshetError } from './errors.js'
export { SettingsInvalid } from '../settings.js'

/** @typedef {import('./feed.js').Feed} Feed a feed opened for writing and reading */
/** @typedef {import('./feed.js').Appended} NewItem what `append` takes */
/** @typedef {import('./view/reader.js').ReadItem} ReadItem an item as it is read */
/** @typedef {import('./view/reader.js').Page} Page an answer of `latest` and `since` */
/** @typedef {import('./view/reader.js').Reading} Reading a feed opened for reading */
/** @typedef {import('./view/subscribe.js').Change} Change what `subscribe` yields */
/** @typedef {import('./feeds/definitions.js').Definition} Definition what is stored about a feed */

/**
 * Where log lines go: such as a logger of pino, called as (facts, message) or (message).
 * @typedef {{ info: (...args: any[]) => void, warn: (...args: any[]) => void, error: (...args: any[]) => void }} Log
 */

/**
 * Which servers. README lists defaults and bounds.
 * @typedef {object} ServerOptions
 * @property {string} redisUrl of the primary: redis:// or rediss://
 * @property {string[]} [replicaUrl] of replicas; without it the primary is asked for them
 * @property {'replica' | 'primary'} [readFrom] which nodes answer questions
 * @property {string} [keyPrefix] what every key begins with
 * @property {'auto' | 'all' | 'none'} [views] feeds that are held in memory once they are asked about, and answered from there
 * @property {number} [maxViewItems] live items held of one feed
 * @property {number} [maxViewBytes] and memory for them
 * @property {number} [deadlineMs] a server that is silent for so long while asked is given up
 * @property {Log} [log] silent without
 */

/**
 * Which feed, and how it is written. README lists defaults and bounds. `clock`: ms since 1970, with fractions; `onFlush`: how long a batch
 * took until it was acknowledged; `onBehind`: how late one was sent; `onRefused`: an item that was. What they throw is logged, once.
 * @typedef {ServerOptions & {
 *   layout?: string, sortedSetContainsActualValue?: boolean, partitions?: number, windowMs?: number, maxItems?: number,
 *   late?: 'overwrite' | 'drop', compress?: 'none' | 'brotli', maxFutureMs?: number, batchItems?: number, batchBytes?: number, batchMs?: number,
 *   inFlightBytes?: number, ack?: 'primary' | 'replica', whenFull?: 'block' | 'refuse' | 'drop', drainMs?: number,
 *   clock?: () => number, onFlush?: (seconds: number) => void, onBehind?: (behindMs: number) => void,
 *   onRefused?: (code: string, id: Buffer, ts: number) => void }} FeedOptions
 */

/**
 * Servers opened for reading.
 * @typedef {object} Reader
 * @property {() => Promise<Definition[]>} feeds definitions of all feeds
 * @property {(name: string) => Reading} feed questions about one feed
 * @property {() => { ready: boolean, reasons: string[], nodes: object[] }} status
 * @property {import('./view/views.js').Views} ask the same questions in bytes, for those who encode answers themselves
 * @property {import('./store/deployment.js').Deployment} deployment
 * @property {() => Promise<void>} close
 */

/** @type {Log} */
const SILENT = Object.freeze({ info () {}, warn () {}, error () {} })
/** Options that are no settings: objects and functions of the caller. */
const HOOKS = { openFeed: ['log', 'clock', 'onFlush', 'onBehind', 'onRefused'], openReader: ['log'] }
/** Of what is stored about a feed, what may differ from what is asked for. */
const RETENTION = ['windowMs', 'maxItems']
let opened = 0

/** @param {Record<string, any>} options @param {'openFeed' | 'openReader'} opener @throws {import('../settings.js').SettingsInvalid} with all faults */
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
  return missing.length === 0 ? null : `log: a value of type ${typeof hook} without ${missing.join(', ')} (option); expected a logger with the functions ${Object.keys(SILENT).join(', ')}`
}

/**
 * Opens a feed for writing and reading. The first to open it creates its definition; others must agree with it.
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
 * Opens servers for reading alone: nothing is written, no feed is created.
 * @param {ServerOptions} options
 * @param {import('./view/reader.js').Serving} [serving] for a process that serves whatever feeds there are
 * @returns {Promise<Reader>}
 * @throws {import('../settings.js').SettingsInvalid | import('./errors.js').FreshetError}
 */
export async function openReader (options, serving) {
  const closing = new AbortController()
  const given = split(options ?? {}, 'openReader')
  const { ask, deployment, close } = await openAsk(/** @type {any} */ (given), serving)

  /** @returns {Promise<import('./view/views.js').Views>} */
  async function asking () {
    if (closing.signal.aborted) throw new FreshetError('PIPELINE_CLOSED', 'the reader is closed; open it again')
    return ask
  }

  return {
    feeds: async () => (await asking()).definitions(),
    feed: (name) => createReading(asking, checkFeedName(name), closing.signal, given.log),
    status: ask.status,
    ask,
    deployment,
    async close () {
      closing.abort()
      await close()
    }
  }
}
