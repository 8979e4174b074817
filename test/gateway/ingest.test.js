/** Responses about the items of a request, on a real server. */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { insideOfFeed } from '../../src/inside.js'
import { createIngest } from '../../writers/gateway/ingest.js'
import { silentLog } from '../servers.js'
import { sharedDeployment } from '../shared.js'

const WINDOW_MS = 60_000

t.test('an item that becomes too old between check and append is not counted as accepted', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const feed = insideOfFeed(await openFeed('one', { redisUrl: primary.url, keyPrefix, windowMs: WINDOW_MS }))
  t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
  const ingest = createIngest({
    feeds: /** @type {any} */ ({ heldBytes: 0 }), whenFull: 'block', ackWithinMs: 30_000, inFlightBytes: 1000, log: silentLog
  })
  const now = Date.now()
  const takenAt = (/** @type {number} */ clockMs) => ingest.take(feed, {
    count: 3,
    bytes: 30,
    check () {},
    append (/** @type {typeof feed} */ open) {
      const real = Date.now
      Date.now = () => clockMs
      try {
        for (const [id, ts] of /** @type {[string, number][]} */ ([['a', now], ['b', now - WINDOW_MS], ['c', now - 1]])) {
          open.append({ id, ts, value: '1' })
        }
      } finally {
        Date.now = real
      }
    }
  })
  t.same(await takenAt(now), { accepted: 3 })
  t.same(await takenAt(now + 1), { accepted: 2, refused: 1 })
  t.match(feed.account, { offered: 6, items: 5, refused: { too_old: 1 } })
})
