/**
 * The definition of a feed: one JSON text under `fr:{name}:feed`, and the name in the set `fr:feeds`.
 *
 * The first accepted item creates it; later writers must agree on layout, partitions, format and late. Only retention can change, by
 * `set`. Writers read it every second, so they follow a change within that time, and recreate a definition that was removed.
 *
 * @typedef {{ feed: string, layout: string, partitions: number, windowMs: number, maxItems: number, format: number,
 *   late?: 'newest' | 'overwrite', log?: number, createdAt: string, widenedAt?: string }} Definition `late`: of layouts that let a feed
 *   choose; `log`: 1 of layouts with a log of arrivals, which all of its writers write; `widenedAt`: when retention was last widened:
 *   items before it may be gone although they are within it
 * @typedef {import('../store/index.js').Router} Connection to the primary, or to all of them
 */
import { FreshetError } from '../errors.js'
import { newSecret } from '../item/index.js'
import { layoutOf } from '../layouts/index.js'
import { definitionKey, namesKey, partitionKey, partitionPattern, secretKey, writersKey } from './keys.js'

/**
 * How far back a feed reaches where `maxItems` ends before the window does. Most feeds have both limits by default, so the one that counts
 * has to be visible.
 */

/**
 * @param {import('../store/index.js').Router} connection
 * @param {string} prefix
 * @param {Omit<Definition, 'createdAt'>} definition
 * @param {number} nowMs since 1970
 * @returns {Promise<number | null>} ms, of the partition that reaches least far back; null: the window decides, or nothing does yet
 */
export async function keptMs (connection, prefix, definition, nowMs) {
  const { layout, partitions, windowMs, maxItems } = definition
  if (maxItems === 0) return null
  const excluded = await Promise.all(Array.from({ length: partitions }, (_, partition) =>
    layoutOf(layout).excludedMs(connection, partitionKey(prefix, definition, partition), definition)))
  const newest = Math.max(...excluded.map((ms) => ms ?? -Infinity))
  const kept = Math.max(0, nowMs - newest)
  return newest === -Infinity || (windowMs > 0 && kept >= windowMs) ? null : kept
}

/** @param {number} ms @returns {string} */
const seconds = (ms) => `${(ms / 1000).toLocaleString('en', { maximumSignificantDigits: 3 })} s`

/** @param {number} kept ms @param {{ windowMs: number }} retention @returns {string} such as `25 s of the window of 60 s` */
export const keptText = (kept, { windowMs }) => seconds(kept) + (windowMs > 0 ? ` of the window of ${seconds(windowMs)}` : '')

const MAX_NAME_CHARS = 64
const NAME = new RegExp(`^[a-z0-9][a-z0-9._-]{0,${MAX_NAME_CHARS - 1}}$`)
const FIXED = /** @type {const} */ (['layout', 'partitions', 'format', 'late', 'log'])
/** @typedef {Pick<Definition, typeof FIXED[number]>} Fixed the part that never changes: where items are stored */
const SCAN_COUNT = 1000
/** the layouts have format 1 */
const SPREAD_FORMAT = 2
/** a list of feeds skips names with these errors */
const UNREADABLE = ['FEED_UNKNOWN', 'FEED_NAME_INVALID', 'KEY_HOLDS_OTHER']

const EXPECTED_NAME = 'text: a-z or 0-9 first, then up to 63 of a-z 0-9 . _ -'

/** JSON schema of a name. */
export const FEED_SCHEMA = Object.freeze({
  type: 'string', minLength: 1, maxLength: MAX_NAME_CHARS, pattern: NAME.source, description: 'name of the feed'
})
/** A name in a request. */
export const FEED_FIELD = Object.freeze({ schema: FEED_SCHEMA, expects: EXPECTED_NAME, code: 'FEED_NAME_INVALID' })

/** @param {unknown} name @returns {name is string} */
export const isFeedName = (name) => typeof name === 'string' && NAME.test(name)

/**
 * @param {string} feed
 * @returns {string} the same
 * @throws {FreshetError} FEED_NAME_INVALID
 */
export function checkFeedName (feed) {
  if (isFeedName(feed)) return feed
  const received = typeof feed === 'string' ? JSON.stringify(feed) : `of type ${feed === null ? 'null' : typeof feed}`
  throw new FreshetError('FEED_NAME_INVALID', `feed name ${received}; expected ${EXPECTED_NAME}`)
}

/**
 * The format of keys and items: that of the layout, or with several partitions, whose tags spread, another one.
 * @param {Pick<Definition, 'layout' | 'partitions'>} definition @returns {number} @throws {FreshetError} FEED_LAYOUT_UNKNOWN
 */
export function formatOf ({ layout, partitions }) {
  const { format } = layoutOf(layout)
  return partitions > 1 ? SPREAD_FORMAT : format
}

/**
 * The definition of a feed to be created.
 * @param {{ feed: string, layout: string, partitions: number, windowMs: number, maxItems: number, late: 'newest' | 'overwrite' }} settings
 * @returns {Omit<Definition, 'createdAt'>}
 * @throws {FreshetError} FEED_LAYOUT_UNKNOWN
 */
export function definitionOf ({ feed, layout, partitions, windowMs, maxItems, late }) {
  const { describe, arrivals } = layoutOf(layout)
  const format = formatOf({ layout, partitions })
  // what a layout does not let a feed choose is stored nowhere, and differs from what is stored
  const hasLate = describe().late === 'by feed' || late === 'overwrite'
  return { feed, layout, partitions, windowMs, maxItems, format, ...(hasLate ? { late } : {}), ...(arrivals ? { log: 1 } : {}) }
}

/**
 * Creates the definition, or checks it against the stored one.
 * @param {Connection} primary
 * @param {string} prefix
 * @param {Omit<Definition, 'createdAt'> & { createdAt?: string }} definition `createdAt`: default now
 * @returns {Promise<{ definition: Definition, isNew: boolean }>} the stored one; its retention may differ from `definition`
 * @throws {FreshetError} FEED_DEFINITION_DIFFERS
 */
export async function createFeed (primary, prefix, definition) {
  const key = definitionKey(prefix, checkFeedName(definition.feed))
  const isMissing = await primary.send('GET', key) === null
  // the name first: a definition without its name would never be listed
  await primary.send('SADD', namesKey(prefix), definition.feed)
  const text = JSON.stringify({ createdAt: new Date().toISOString(), ...definition })
  const [set] = await Promise.all([
    isMissing ? primary.send('SET', key, text, 'NX') : null,
    primary.send('SET', secretKey(prefix, definition.feed), newSecret(), 'NX')
  ])
  const isNew = set !== null
  return { definition: expectAgreed(await readDefinition(primary, prefix, definition.feed), definition), isNew }
}

/** As createFeed. @type {(...args: Parameters<typeof createFeed>) => Promise<Definition>} */
export const agree = async (...args) => (await createFeed(...args)).definition

/**
 * @param {Connection} node @param {string} prefix @param {string} feed
 * @returns {Promise<Definition | null>} null = none is stored
 */
export const findDefinition = (node, prefix, feed) => readDefinition(node, prefix, feed).catch((error) => {
  if (error.code !== 'FEED_UNKNOWN') throw error
  return null
})

/** @param {Definition} stored @param {Fixed} definition @returns {boolean} whether both store items in the same way */
export const isAgreed = (stored, definition) => FIXED.every((name) => fixed(stored, name) === fixed(definition, name))

/** @param {Fixed} definition @param {typeof FIXED[number]} name */
const fixed = (definition, name) => definition[name] ?? (name === 'late' ? 'newest' : undefined)

/**
 * @param {Definition} stored
 * @param {Omit<Definition, 'createdAt'>} definition
 * @returns {Definition} the stored one
 * @throws {FreshetError} FEED_DEFINITION_DIFFERS
 */
export function expectAgreed (stored, definition) {
  if (isAgreed(stored, definition)) return stored
  const name = /** @type {typeof FIXED[number]} */ (FIXED.find((field) => fixed(stored, field) !== fixed(definition, field)))
  const value = fixed(stored, name)
  if (name === 'log') throw withoutLog(stored, definition)
  throw new FreshetError('FEED_DEFINITION_DIFFERS',
    `feed ${definition.feed} is stored with ${name} ${value}, not ${fixed(definition, name)}; ` +
      `${name === 'format' ? 'use the version that wrote it,' : `write with ${name} ${value},`} or into another feed, ` +
      'or drop it first',
    { stored: value, wanted: fixed(definition, name) })
}

/** @param {Definition} stored @param {Pick<Definition, 'log'>} definition */
export const withoutLog = ({ feed, log }, definition) => new FreshetError('FEED_DEFINITION_DIFFERS',
  `feed ${feed} was created ${log === undefined ? 'by an older version, without' : 'with'} a log of arrivals; ` +
    'use the version that wrote it, write into another feed, or drop it first', { stored: log, wanted: definition.log })

/** Whether it can be followed. @param {Definition} definition */
export const isFollowable = ({ layout, log }) => layoutOf(layout).arrivals === undefined || log === 1

/**
 * @param {Pick<Connection, 'send'>} node
 * @param {string} prefix @param {string} feed
 * @returns {Promise<Definition>}
 * @throws {FreshetError} FEED_NAME_INVALID, FEED_UNKNOWN, KEY_HOLDS_OTHER
 */
export async function readDefinition (node, prefix, feed) {
  const key = definitionKey(prefix, checkFeedName(feed))
  const text = await node.send('GET', key)
  if (text === null) {
    throw new FreshetError('FEED_UNKNOWN',
      `there is no feed ${feed}; write to it first, or list the feeds: npx freshet feed list, GET /v1/feeds`)
  }
  try {
    const definition = JSON.parse(text)
    if (definition?.feed === feed) return definition
  } catch {}
  throw new FreshetError('KEY_HOLDS_OTHER', `${key} does not hold a definition; expected JSON written by Freshet`)
}

/**
 * The secret of a feed, for what readers seal.
 * @param {Pick<Connection, 'send'>} node @param {string} prefix @param {string} feed
 * @returns {Promise<string | null>} null: no writer of this version has opened the feed yet
 */
export const readSecret = async (node, prefix, feed) => (await node.send('GET', secretKey(prefix, checkFeedName(feed))))?.toString() ?? null

/** @param {Connection} node @param {string} prefix @returns {Promise<string[]>} of all feeds */
export const listNames = async (node, prefix) => (await node.send('SMEMBERS', namesKey(prefix))).map(String)

/**
 * All readable definitions; unreadable ones are skipped.
 * @param {Connection} node @param {string} prefix
 * @returns {Promise<Definition[]>} by name
 */
export async function listDefinitions (node, prefix) {
  const names = (await listNames(node, prefix)).sort()
  const definitions = await Promise.all(names.map((feed) => readDefinition(node, prefix, feed).catch((error) => {
    if (UNREADABLE.includes(error.code)) return null
    throw error
  })))
  return definitions.filter((definition) => definition !== null)
}

/**
 * @param {Connection} primary @param {string} prefix @param {string} feed
 * @param {Partial<Pick<Definition, 'windowMs' | 'maxItems'>>} changes
 * @returns {Promise<Definition>} as stored
 */
export async function setRetention (primary, prefix, feed, changes) {
  const before = await readDefinition(primary, prefix, feed)
  const definition = { ...before, ...changes }
  if (isWider(before.windowMs, definition.windowMs) || isWider(before.maxItems, definition.maxItems)) {
    definition.widenedAt = new Date().toISOString()
  }
  await primary.send('SET', definitionKey(prefix, feed), JSON.stringify(definition), 'XX')
  return definition
}

/** Whether a limit became wider; 0 = no limit. @param {number} before @param {number} after */
export const isWider = (before, after) => before !== 0 && (after === 0 || after > before)

/**
 * Removes a feed and its items. Refuses while the feed is being written.
 * @param {Connection} primary @param {string} prefix @param {string} feed
 * @param {Pick<Connection, 'send'>[]} [nodes] all primaries
 * @returns {Promise<number>} keys removed
 * @throws {FreshetError} FEED_UNKNOWN, FEED_IN_USE
 */
export async function dropFeed (primary, prefix, feed, nodes = [primary]) {
  const definition = await readDefinition(primary, prefix, feed)
  for (let partition = 0; partition < definition.partitions; partition++) {
    const writer = await primary.send('GET', partitionKey(prefix, definition, partition)('trimmer'))
    if (writer !== null) {
      throw new FreshetError('FEED_IN_USE', `feed ${feed} is being written by ${writer}; stop its writers first, then wait 5 seconds`)
    }
  }
  let removed = 0
  for (const node of nodes) {
    let cursor = '0'
    do {
      const [next, keys] = await node.send('SCAN', cursor, 'MATCH', partitionPattern(prefix, feed), 'COUNT', SCAN_COUNT)
      const gone = await Promise.all(keys.map((/** @type {Buffer} */ key) => primary.send('UNLINK', key)))
      removed += gone.reduce((sum, count) => sum + count, 0)
      cursor = String(next)
    } while (cursor !== '0')
  }
  removed += await primary.send('UNLINK', definitionKey(prefix, feed), secretKey(prefix, feed), writersKey(prefix, feed))
  await primary.send('SREM', namesKey(prefix), feed)
  return removed
}
