/** Subscriptions to feeds with a log, and their expected changes, read from the log itself. */
import { setTimeout as pause } from 'node:timers/promises'
import { readDefinition } from '../../src/feeds/definitions.js'
import { partitionKey } from '../../src/feeds/keys.js'
import { openFeed } from '../../src/index.js'
import { layoutOf } from '../../src/layouts/index.js'
import { eventually } from '../servers.js'

/** @typedef {import('../../src/index.js').Change} Change */
/** @typedef {import('../../src/store/connection.js').Connection} Connection */

let feeds = 0

/** @param {import('tap').Test} t @param {{ url: string }} primary @param {Partial<Parameters<typeof openFeed>[1]>} options */
export async function openLog (t, primary, options) {
  const feed = await openFeed(`changes-${++feeds}`, { redisUrl: primary.url, ...options })
  t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
  return feed
}

export const spelt = (/** @type {{ id: string, ts: number, value: Buffer | string | null }} */ { id, ts, value }) =>
  `${id} ${ts} ${value === null ? 'deleted' : value}`

/**
 * All versions in a log, each delivery once.
 * @param {Connection} connection
 * @param {string} feed
 * @param {string} layout
 * @param {number} partition
 */
export async function logged (connection, feed, layout, partition) {
  const log = /** @type {import('../../src/layouts/log.js').Log} */ (layoutOf(layout).log)
  const definition = await readDefinition(connection, 'fr:', feed)
  const origins = new Set()
  /** @type {string[]} */
  const versions = []
  for (const [, [, bytes]] of await connection.send('XRANGE', partitionKey('fr:', definition, partition)(log.part), '-', '+')) {
    const { origin } = log.head(bytes)
    if (origins.has(origin)) continue
    origins.add(origin)
    log.each(bytes, (bytes, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => {
      versions.push(spelt({
        id: bytes.toString('utf8', idAt, idEnd), ts, value: deleted ? null : bytes.toString('utf8', valueAt, valueEnd)
      }))
    })
  }
  return versions
}

/** @param {AsyncGenerator<Change>} changes @param {number} count @returns {Promise<Change[]>} */
export async function take (changes, count) {
  /** @type {Change[]} */
  const taken = []
  while (taken.length < count) taken.push((await changes.next()).value)
  return taken
}

/**
 * A subscription that has begun: what is appended from here on is a change.
 * @param {import('../../src/index.js').Feed} feed
 * @param {{ subscribe: import('../../src/index.js').Feed['subscribe'] }} [reading]
 */
export async function begun (feed, reading = feed) {
  const stop = new AbortController()
  const changes = reading.subscribe({ pollMs: 5, signal: stop.signal })
  const first = changes.next()
  let attempts = 0
  /** @type {any} */
  let change = false
  await eventually(async () => {
    feed.append({ id: 'begun', value: String(attempts++) })
    await feed.flush()
    change = await Promise.race([first.then(({ value }) => value), pause(50, false)])
    return change !== false
  })
  const last = String(attempts - 1)
  while (String(change.value) !== last) change = (await changes.next()).value
  return { changes, stop: () => stop.abort(), position: /** @type {Change} */ (change).position }
}
