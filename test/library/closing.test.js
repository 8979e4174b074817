/**
 * Closing a feed: unacknowledged items are reported, all connections close, and later calls fail.
 */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { onlyKey } from '../../src/feeds/keys.js'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()
t.test(engineName(engine), async (t) => {
  const server = await startServer(t, { engine })
  const connection = await connectFor(t, server.url, { deadlineMs: 60_000 })
  const othersThere = async () => String(await connection.send('CLIENT', 'LIST')).trim().split('\n').length - 1
  let feeds = 0
  /** @param {Partial<Parameters<typeof openFeed>[1]>} [options] */
  const open = (options) => openFeed(`feed-${++feeds}`, { redisUrl: server.url, readFrom: 'primary', ...options })

  t.test('with everything acknowledged it resolves, however often it is called', async (t) => {
    const feed = await open()
    for (let i = 0; i < 100; i++) feed.append({ id: `id-${i}`, value: 'x' })
    const changes = feed.subscribe({ pollMs: 10 })
    const next = changes.next()
    await Promise.all([feed.close({ drainMs: 60_000 }), feed.close({ drainMs: 0 })])
    await feed.close()
    t.match(feed.account, { offered: 100, items: 100, failed: 0 })
    t.equal((await next).done, true)
    await eventually(async () => await othersThere() === 0)
  })

  t.test('after close every method reports it', async (t) => {
    const feed = await open()
    await feed.latest()
    await feed.close()
    const closed = { code: 'PIPELINE_CLOSED', retryable: false }
    t.throws(() => feed.append({ id: 'a', value: '' }), closed)
    t.throws(() => feed.delete({ id: 'a' }), closed)
    for (const wait of [feed.flush, feed.ready, feed.acknowledged]) await t.rejects(wait(), closed)
    for (const question of [feed.latest, () => feed.since(1), () => feed.get('a'), feed.count, () => feed.subscribe().next()]) {
      await t.rejects(/** @type {Promise<unknown>} */ (question()), closed)
    }
  })

  t.test('unacknowledged items are reported by number, and all connections are closed', async (t) => {
    const feed = await open({ deadlineMs: 60_000 })
    server.freeze()
    feed.append({ id: 'a', value: 'x' })
    feed.append({ id: 'b', value: 'x' })
    const lost = {
      code: 'DEADLINE_PASSED', failed: 2, retryable: false, message: /feed-\d+ is closed, but 2 items were not acknowledged within 50 ms/
    }
    await t.rejects(feed.close({ drainMs: 50 }), lost)
    await t.rejects(feed.close(), lost, 'the same, called again')
    t.match(feed.account, { offered: 2, items: 0, failed: 2 })
    t.throws(() => feed.append({ id: 'a', value: '' }), { code: 'PIPELINE_CLOSED' })
    server.thaw()
    await eventually(async () => await othersThere() === 0)
  })

  t.test('so are those that no replica confirms', async (t) => {
    const feed = await open({ ack: 'replica', deadlineMs: 1000 })
    for (let i = 0; i < 10; i++) feed.append({ id: `id-${i}`, value: 'x' })
    await t.rejects(feed.close({ drainMs: 50 }), { code: 'DEADLINE_PASSED', failed: 10 })
    t.match(feed.account, { offered: 10, items: 0, failed: 10 })
  })

  t.test('a permanent refusal is reported with their number', async (t) => {
    const feed = await open()
    await connection.send('SET', onlyKey('fr:', feed.name)('ids'), 'somebody else\'s')
    for (let i = 0; i < 3; i++) feed.append({ id: `id-${i}`, value: 'x' })
    await t.rejects(feed.close({ drainMs: 60_000 }), { code: 'KEY_HOLDS_OTHER', failed: 3 })
    t.match(feed.account, { offered: 3, items: 0, failed: 3 })
    await eventually(async () => await othersThere() === 0)
  })
})
