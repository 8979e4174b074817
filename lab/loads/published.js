/**
 * The published way of writing: its client, commands and promises. The reference of every ratio.
 *
 *     reference          n times SETEX item:<id> seconds value, each with its promise; ZADD ids ts <id> ts <id> ...
 *     published-values   ZADD values ts <value> ts <value> ...
 *     published-list, published-list-hll, published-set      the reference with another structure instead of the sorted set
 *     published-two-sets                                     the reference with one more sorted set of the same members
 *
 * Every value is an object of its own, because the client keeps it until it writes.
 */
import { FreshetError } from '../errors.js'
import { onlyKey } from '../../src/feeds/index.js'
import { openPublishedClient } from '../../src/store/index.js'
import { LOST_AFTER_MS, driveBatches } from './drive.js'
import { createSource, needIdentifying } from './source.js'

/**
 * The structure beside the item keys that lists their ids.
 * @typedef {{ key: (part: string) => string, seconds: number, maxItems: number }} Target
 * @typedef {{ does: string, storage: import('../content/inventory.js').Storage, bounds: readonly ('windowMs' | 'maxItems')[],
 *   index: (client: import('../../src/store/index.js').PublishedClient, target: Target, ids: string[],
 *   times: number[]) => Promise<unknown>[] }} Index
 *   `index` sends a batch of it
 */

const MINUTE_SECONDS = 60
const KEYS = 'one SETEX promise per item, auto-pipelined by the client; values that never change; per 1,000'

/** @param {string} name @param {number[]} times of its items @returns {string} name and minute of the first */
const ofMinute = (name, [first]) => `${name}:${Math.floor(first / 1000 / MINUTE_SECONDS)}`

/** @type {Index['index']} */
const push = (client, { key, maxItems }, ids) => [
  client.send('lpush', key('ids'), ids),
  ...(maxItems > 0 ? [client.send('ltrim', key('ids'), [0, maxItems - 1])] : [])
]

/** @type {(command: 'sadd' | 'pfadd', name: string) => Index['index']} */
const addToMinute = (command, name) => (client, { key, seconds }, ids, times) => {
  const set = key(ofMinute(name, times))
  return [client.send(command, set, ids), client.send('expire', set, [seconds + MINUTE_SECONDS])]
}

/** @param {string[]} ids @param {number[]} scores @returns {(string | number)[]} arguments of ZADD */
function membersOf (ids, scores) {
  const members = new Array(2 * ids.length)
  for (let i = 0; i < ids.length; i++) {
    members[2 * i] = scores[i]
    members[2 * i + 1] = ids[i]
  }
  return members
}

/** @type {Index} */
const SORTED_SET = {
  does: '',
  storage: 'published-ids',
  bounds: ['windowMs'],
  index: (client, { key }, ids, times) => [client.zadd(key('ids'), membersOf(ids, times))]
}

/**
 * The other structures of the published tables. Their code was not published, so these are the reference with another structure
 * instead of the sorted set, or with one more.
 * @type {Readonly<Record<string, Index>>}
 */
export const PUBLISHED_STRUCTURES = Object.freeze({
  'published-list': {
    does: `${KEYS} one LPUSH of ids, and LTRIM`, storage: 'published-list', bounds: ['windowMs', 'maxItems'], index: push
  },
  'published-list-hll': {
    does: `${KEYS} one LPUSH of ids, LTRIM, and a PFADD of them to the HyperLogLog of the minute`,
    storage: 'published-list-hll',
    bounds: ['windowMs', 'maxItems'],
    index: (...batch) => [...push(...batch), ...addToMinute('pfadd', 'hll')(...batch)]
  },
  'published-set': {
    does: `${KEYS} one SADD of ids to the set of the minute`,
    storage: 'published-set',
    bounds: ['windowMs'],
    index: addToMinute('sadd', 'ids')
  },
  'published-two-sets': {
    does: `${KEYS} two ZADD of ids, to two sorted sets`,
    storage: 'published-two-sets',
    bounds: ['windowMs'],
    index: (client, { key }, ids, times) => ['ids', 'ids-2'].map((set) => client.zadd(key(set), membersOf(ids, times)))
  }
})

/** @type {import('./index.js').Load['open']} */
export const openReference = (parts) => openPublishedStructure(SORTED_SET, parts)

/**
 * @param {Index} structure
 * @param {Parameters<import('./index.js').Load['open']>[0]} parts
 * @returns {Promise<import('./index.js').Opened>}
 */
export async function openPublishedStructure ({ index: send }, parts) {
  const { settings, redisUrl, index } = parts
  const key = onlyKey(settings.keyPrefix, settings.feed)
  const seconds = Math.ceil(settings.windowMs / 1000)
  if (seconds === 0) throw new FreshetError('LOAD_FAILED', 'windowMs 0: SETEX needs an expiry; expected a window above 0')
  const source = createSource(settings, index)
  const values = source.allValues()
  const names = source.ids.map(String)
  const keys = names.map((id) => `${key('item:')}${id}`)
  const client = await openPublishedClient(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })
  const target = { key, seconds, maxItems: settings.maxItems }

  return driveBatches(parts, {
    source,
    async send (count, next) {
      const [promises, ids, times] = [new Array(count), new Array(count), new Array(count)]
      for (let i = 0; i < count; i++) {
        const { at, ts } = next()
        promises[i] = client.setex(keys[at], seconds, values[at])
        ids[i] = names[at]
        times[i] = ts
      }
      promises.push(...send(client, target, ids, times))
      await Promise.all(promises).catch((error) => { throw client.fault(error) })
      return count
    },
    close: client.close
  })
}

/** @type {import('./index.js').Load['open']} */
export async function openPublishedValues (parts) {
  const { settings, redisUrl, index } = parts
  const { valueChange } = settings
  needIdentifying(settings)
  const key = onlyKey(settings.keyPrefix, settings.feed)
  const source = createSource(settings, index)
  const values = valueChange === 'never' ? source.allValues() : null
  const client = await openPublishedClient(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })

  return driveBatches(parts, {
    source,
    async send (count, next) {
      const members = new Array(2 * count)
      for (let i = 0; i < count; i++) {
        const { at, ts, value } = next()
        members[2 * i] = ts
        members[2 * i + 1] = values ? values[at] : Buffer.from(value)
      }
      await client.zadd(key('values'), members).catch((error) => { throw client.fault(error) })
      return count
    },
    close: client.close
  })
}
