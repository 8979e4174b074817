/**
 * The published way of writing: its client, its commands, its promises. Written down once, so that every ratio to it means
 * the same.
 *
 *     reference          n times SETEX item:<id> seconds value, each with its promise; ZADD ids ts <id> ts <id> ...
 *     published-values   ZADD values ts <value> ts <value> ...
 *
 * Values are objects of their own, for the client keeps them until it writes.
 */
import { FreshetError } from '../../errors.js'
import { partitionKey } from '../../feeds/keys.js'
import { openPublishedClient } from '../../store/published-client.js'
import { NUMBERED_VALUE_BYTES, WHOLE_VALUE_BYTES } from '../../synthetic.js'
import { LOST_AFTER_MS, driveBatches } from './drive.js'
import { createSource } from './source.js'

/** @type {import('./index.js').Load['open']} */
export async function openReference (parts) {
  const { settings, redisUrl, index } = parts
  const key = partitionKey(settings.keyPrefix, settings.feed, 0)
  const seconds = Math.ceil(settings.windowMs / 1000)
  if (seconds === 0) throw new FreshetError('LOAD_FAILED', 'windowMs 0: SETEX wants an expiry; give a window above 0')
  const source = createSource(settings, index)
  const values = source.allValues()
  const ids = source.ids.map(String)
  const keys = ids.map((id) => `${key('item:')}${id}`)
  const client = await openPublishedClient(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })

  return driveBatches(parts, {
    source,
    async send (count, next) {
      const promises = new Array(count + 1)
      const members = new Array(2 * count)
      for (let i = 0; i < count; i++) {
        const { at, ts } = next()
        promises[i] = client.setex(keys[at], seconds, values[at])
        members[2 * i] = ts
        members[2 * i + 1] = ids[at]
      }
      promises[count] = client.zadd(key('ids'), members)
      await Promise.all(promises).catch((error) => { throw client.fault(error) })
      return count
    },
    close: client.close
  })
}

/** @type {import('./index.js').Load['open']} */
export async function openPublishedValues (parts) {
  const { settings, redisUrl, index } = parts
  const { valueBytes, writers, valueChange } = settings
  const least = writers > 1 ? WHOLE_VALUE_BYTES : NUMBERED_VALUE_BYTES
  if (valueBytes < least) throw new FreshetError('LOAD_FAILED', `valueBytes ${valueBytes}: the value is the member, and tells items apart from ${least} bytes on`)
  const key = partitionKey(settings.keyPrefix, settings.feed, 0)
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
