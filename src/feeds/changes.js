/**
 * Feeds that are created or changed without an item: `freshet feed create | set`, and PUT of a gateway.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { SettingsInvalid } from '../errors.js'
import { layoutOf } from '../layouts/index.js'
import { createFeed, definitionOf, expectAgreed, findDefinition, isWider, readDefinition, setRetention } from './definitions.js'
import { definitionKey, partitionKey } from './keys.js'

/**
 * Heartbeats: once a second each writer stores how many of its items were acknowledged so far, and the time on its clock. Two
 * heartbeats of a writer give its write rate, in every layout and without a connection to the writer.
 *
 *     fr:{latest}:writers     a hash, one for all partitions
 *         <name of a writer>  "1500000 1790000000000"      items, ms since 1970
 *
 * A writer removes its field when it closes. Other writers remove the fields of killed writers after `HEARTBEAT_KEPT_MS`, and
 * the whole key expires when writing stops.
 *
 * @typedef {{ items: number, atMs: number }} Heartbeat `items`: never decreases, because each opening of a feed has a name of its own
 */

export const HEARTBEAT_KEPT_MS = 60_000
/** of the whole key, after the last heartbeat */
export const HEARTBEATS_EXPIRE_MS = 600_000

const FORMAT = /^(\d{1,16}) (\d{1,16})$/

/** @param {Heartbeat} heartbeat @returns {string} */
export const heartbeatText = ({ items, atMs }) => `${items} ${Math.floor(atMs)}`

/** @param {Buffer | string} text @returns {Heartbeat | null} null = not a heartbeat */
export function readHeartbeat (text) {
  const [, items, atMs] = FORMAT.exec(String(text)) ?? []
  return items === undefined ? null : { items: Number(items), atMs: Number(atMs) }
}

/**
 * @param {Buffer[]} flat reply of HGETALL: name, heartbeat, ...
 * @returns {Map<string, Heartbeat | null>} by writer
 */
export const readHeartbeats = (flat) =>
  new Map(Array.from({ length: flat.length / 2 }, (_, i) => [String(flat[2 * i]), readHeartbeat(flat[2 * i + 1])]))

/** @typedef {import('./definitions.js').Definition} Definition */
/** @typedef {Pick<import('../store/index.js').Primaries, 'router' | 'connectionOf' | 'connections'>} Primaries */
/** @typedef {Partial<Pick<Definition, 'windowMs' | 'maxItems'>>} Changes */

/**
 * Refuses what writers would refuse.
 * @param {Pick<Definition, 'feed' | 'layout' | 'windowMs' | 'maxItems' | 'late'>} definition @throws {SettingsInvalid}
 */
function expectWritable ({ feed, layout, windowMs, maxItems, late }) {
  const guarantees = layoutOf(layout).describe()
  if (late === 'overwrite' && guarantees.late !== 'by feed') {
    throw new SettingsInvalid([`late: overwrite of feed ${feed}; expected newest with layout ${layout}, which keeps the newest version`])
  }
  if (windowMs > 0 || maxItems > 0 || guarantees.versions === 'one') return
  throw new SettingsInvalid([
    `windowMs: 0 and maxItems: 0 of feed ${feed} with layout ${layout}; expected one of them above 0: this layout keeps every version`
  ])
}

/**
 * Changes the retention of a feed, and that of its stored keys. A longer window takes 1.5 s: then writers follow it.
 * @param {Primaries} primaries @param {string} prefix @param {string} feed @param {Changes} changes
 * @returns {Promise<Definition>} as stored
 * @throws {import('../errors.js').FreshetError} FEED_UNKNOWN, SETTINGS_INVALID
 */
export async function changeRetention (primaries, prefix, feed, changes) {
  const { router: primary } = primaries
  const before = await readDefinition(primary, prefix, feed)
  const definition = { ...before, ...changes }
  expectWritable(definition)
  // a user that may not extend stored items changes nothing
  if (isWider(before.windowMs, definition.windowMs)) {
    await Promise.all([
      ...primaries.connections.map((connection) => connection.send('SCAN', '0', 'COUNT', 1)),
      primary.send('PERSIST', definitionKey(prefix, feed))
    ])
  }
  const after = await setRetention(primary, prefix, feed, changes)
  await extendFeed(primaries, prefix, before, after)
  return after
}

/**
 * Creates a feed, or changes the retention of an existing one.
 * @param {Primaries} primaries @param {string} prefix
 * @param {{ feed: string, asked: Partial<Definition>, defaults: Omit<Parameters<typeof definitionOf>[0], 'feed'> }} request `asked`: what
 *   an existing feed must have, or gets; `defaults`: of a new feed
 * @returns {Promise<{ definition: Definition, isNew: boolean }>} as stored
 * @throws {import('../errors.js').FreshetError} FEED_DEFINITION_DIFFERS, SETTINGS_INVALID
 */
export async function putFeed (primaries, prefix, { feed, asked, defaults }) {
  const stored = await findDefinition(primaries.router, prefix, feed)
  if (stored === null) {
    const definition = definitionOf({ ...defaults, ...asked, feed })
    expectWritable(definition)
    return createFeed(primaries.router, prefix, definition)
  }
  expectAgreed(stored, { ...stored, ...asked })
  const { windowMs = stored.windowMs, maxItems = stored.maxItems } = asked
  const isSame = windowMs === stored.windowMs && maxItems === stored.maxItems
  return { definition: isSame ? stored : await changeRetention(primaries, prefix, feed, { windowMs, maxItems }), isNew: false }
}

/**
 * After the window became longer, stored keys get a new expiry. Running writers follow a new window within a second, so the
 * update starts after that.
 */

const WRITERS_FOLLOW_MS = 1500
/** keys outlive the window by this, and by maxFutureMs */
const EXPIRY_GRACE_MS = 5000

/**
 * Lifetime of the keys of a feed. @param {{ windowMs: number }} retention @param {number} maxFutureMs
 * @returns {number} ms, 0 = no expiry
 */
export const expiryMs = ({ windowMs }, maxFutureMs) => windowMs === 0 ? 0 : windowMs + maxFutureMs + EXPIRY_GRACE_MS

/**
 * @param {Pick<import('../store/index.js').Primaries, 'connectionOf'>} primaries @param {string} prefix
 * @param {import('./definitions.js').Definition} before @param {import('./definitions.js').Definition} after
 */
export async function extendFeed (primaries, prefix, before, after) {
  const longer = before.windowMs !== 0 && (after.windowMs === 0 || after.windowMs > before.windowMs)
  const bounded = before.windowMs === 0 && after.windowMs !== 0
  if (!longer && !bounded) return
  await sleep(WRITERS_FOLLOW_MS)
  const layout = layoutOf(after.layout)
  for (let partition = 0; partition < after.partitions; partition++) {
    const key = partitionKey(prefix, after, partition)
    await layout.extend(primaries.connectionOf(key('')), key, { ttlMs: expiryMs(after, 0), condition: longer ? 'GT' : 'NX' })
  }
}
