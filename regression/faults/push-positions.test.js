/**
 * Positions that clients send: forged ones, ones of another feed, ones whose data is gone. The reader resets the
 * client; there is never a silent gap.
 */
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { dropFeed } from '../../src/feeds/definitions.js'
import { encodeOffsets } from '../../src/item/position.js'
import { openLive } from '../../test/push/live-client.js'
import { openWritten, textOf } from '../../test/push/written.js'
import { connectFor, engineName, eventually, startServer } from '../../test/servers.js'
import { startReader } from '../../test/services.js'
import { scopedEngines } from '../../test/scope.js'

const LAYOUTS = ['segments', 'ids']

/** Every byte with one bit turned, as base64url. @param {string} position */
function withBitsTurned (position) {
  const bytes = Buffer.from(position, 'base64url')
  return Array.from(bytes, (byte, at) => {
    const turned = Buffer.from(bytes)
    turned[at] = byte ^ (1 << (at % 8))
    return turned.toString('base64url')
  })
}

/**
 * Checks that a stream begins with a reset that gives the reason, and then a snapshot. Returns the items of the snapshot.
 * @param {import('tap').Test} t
 * @param {import('../../test/push/live-client.js').LiveClient} client
 * @param {string} title
 * @param {string} [reason]
 */
async function beginsAnew (t, client, title, reason = 'expired') {
  await client.until('snapshot')
  t.same(client.names().slice(0, 2), ['reset', 'snapshot'], `${title}: a reset, then a snapshot`)
  t.same(client.events[0].data, { reason }, title)
  t.equal(client.events[0].id, '', 'a reset clears the position, so no client reconnects with the expired one')
  return client.events[1].data.items.map((/** @type {any} */ item) => `${item.id} ${textOf(item)}`)
}

/**
 * The same, but other events may come first: until the reader has noticed that the feed was created again.
 * @param {import('tap').Test} t @param {import('../../test/push/live-client.js').LiveClient} client
 */
async function beginsAnewSoon (t, client) {
  await client.until('reset')
  await client.until('snapshot')
  const names = client.names()
  t.equal(names.indexOf('snapshot') - names.indexOf('reset'), 1, 'a reset, then a snapshot')
  return client.events[names.indexOf('snapshot')].data.items.map((/** @type {any} */ item) => `${item.id} ${textOf(item)}`)
}

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })
  const path = (/** @type {string} */ feed, query = '') => `/v1/feeds/${feed}/live${query}`
  const come = (/** @type {import('tap').Test} */ t, /** @type {string} */ feed, /** @type {string} */ position, query = '') =>
    openLive(t, reader.url, path(feed, query), { headers: { 'last-event-id': position } })

  /** Where a client is that has everything. @param {import('tap').Test} t @param {string} feed */
  async function positionOf (t, feed) {
    const client = await openLive(t, reader.url, path(feed))
    await client.until('snapshot')
    const { position } = client
    client.close()
    return position
  }

  for (const layout of LAYOUTS) {
    await t.test(`${layout}: with a forged or foreign one the client is reset`, async (t) => {
      const feed = `forged-${layout}`
      const written = await openWritten(t, { redisUrl: server.url, feed, layout })
      await written.put(['a', '1'])
      const position = await positionOf(t, feed)
      const other = await openWritten(t, { redisUrl: server.url, feed: `foreign-${layout}`, layout })
      await other.put(['a', '1'])
      const parted = await openWritten(t, { redisUrl: server.url, feed: `parted-${layout}`, layout, partitions: 2 })
      await parted.put(['a', '1'])
      const bytes = Buffer.from(position, 'base64url')
      const forged = [
        ...withBitsTurned(position),
        ...Array.from({ length: 10 }, () => randomBytes(bytes.length).toString('base64url')),
        position.slice(0, -4), position.slice(1), `${position}AAAA`, `${position} `.repeat(2), `${position}==`, position.toLowerCase(),
        'A'.repeat(8000),
        '0', 'null', '1-1', `${Date.now()}-0`, '../../x', '{"a":1}', '%00', '\u00e4',
        await positionOf(t, `foreign-${layout}`),
        await positionOf(t, `parted-${layout}`)
      ]
      const answers = await Promise.all(forged.map(async (text) => {
        const client = await come(t, feed, text)
        await client.until('snapshot')
        client.close()
        return `${client.status} ${client.names().slice(0, 2)}`
      }))
      t.same([...new Set(answers)], ['200 reset,snapshot'], `${forged.length} of them`)
      t.equal((await come(t, feed, 'A'.repeat(20_000))).status, 431, 'larger than headers may be')
      const given = await come(t, feed, position)
      await written.put(['b', '2'])
      await given.until('items')
      t.same(given.names().filter((name) => name !== 'items'), [], 'the true one goes on')
      const none = await come(t, feed, '')
      await none.until('snapshot')
      t.equal(none.names()[0], 'snapshot', 'an empty one is none')
    })

    await t.test(`${layout}: with a position that has a valid checksum but was never issued, a client is reset or receives ` +
      'every item', async (t) => {
      const feed = `crafted-${layout}`
      const written = await openWritten(t, { redisUrl: server.url, feed, layout })
      await written.put(['a', '1'], ['b', '2'])
      const createdMs = Date.parse((await reader.get(`/v1/feeds/${feed}`)).json.createdAt)
      const own = (/** @type {number[]} */ ...ms) => encodeOffsets(feed, {
        readMs: Date.now(), offsets: ms.map((ms) => ({ ms, n: 7, versions: 0, isEnd: true }))
      }, createdMs)
      const [future, past, parted] = await Promise.all([own(2 ** 41 - 1), own(1), own(1, 2)].map((text) => come(t, feed, text)))
      t.same(await beginsAnew(t, parted, 'of other partitions'), ['a 1', 'b 2'])
      t.same(await beginsAnew(t, future, 'of the future', 'unknown'), ['a 1', 'b 2'])
      await eventually(() => past.items.size === 2)
      await written.put(['b', '3'])
      await written.reaches([future, past])
    })
  }

  await t.test('segments: a position whose entry was trimmed leads to a reset', async (t) => {
    const feed = 'trimmed'
    const written = await openWritten(t, { redisUrl: server.url, feed, maxItems: 50, batchItems: 10 })
    await written.put(['gone', '1'])
    const position = await positionOf(t, feed)
    const [[entryId]] = await admin.send('XREVRANGE', `fr:{${feed}:0}:segments`, '+', '-', 'COUNT', 1)
    await eventually(async () => {
      for (let n = 0; n < 60; n++) written.append(`id-${n}`, `${n}`)
      await written.flush()
      return (await admin.send('XRANGE', `fr:{${feed}:0}:segments`, entryId, entryId)).length === 0
    })
    const all = await come(t, feed, position)
    const some = await come(t, feed, position, '?id=gone&id=id-59')
    t.same((await beginsAnew(t, all, 'all')).length, 50)
    t.same(await beginsAnew(t, some, 'some ids'), ['id-59 59'])
    await written.put(['id-59', 'new'])
    await written.reaches([all, some], ['id-59'])
  })

  await t.test('segments: a position whose entry has left the window leads to a reset', async (t) => {
    const feed = 'passed'
    const written = await openWritten(t, { redisUrl: server.url, feed, windowMs: 500 })
    await written.put(['a', '1'])
    const position = await positionOf(t, feed)
    const [[entryId]] = await admin.send('XREVRANGE', `fr:{${feed}:0}:segments`, '+', '-', 'COUNT', 1)
    await eventually(async () => {
      await written.put(['b', '2'])
      return (await admin.send('XRANGE', `fr:{${feed}:0}:segments`, entryId, entryId)).length === 0
    })
    t.match(await beginsAnew(t, await come(t, feed, position), 'its entry is trimmed'), [/^b 2$/])
  })

  for (const layout of LAYOUTS) {
    await t.test(`${layout}: a feed that was dropped and created again leads to a reset`, async (t) => {
      const feed = `anew-${layout}`
      const before = await openWritten(t, { redisUrl: server.url, feed, layout })
      await before.put(['old', '1'])
      const position = await positionOf(t, feed)
      await before.put(['missed', '2'])
      await before.writer.close({ drainMs: 1000 })
      await eventually(() => dropFeed(admin, 'fr:', feed))
      const after = await openWritten(t, { redisUrl: server.url, feed, layout })
      await after.put(['new', '3'])
      await eventually(async () => (await reader.allItems(feed)).map(({ id }) => id).join() === 'new')
      // of ids a node answers queries, not the view of the streams
      await eventually(async () => {
        const fresh = await openLive(t, reader.url, path(feed))
        await fresh.until('snapshot')
        fresh.close()
        return fresh.items.size === 1 && fresh.items.has('new')
      })
      const client = await come(t, feed, position)
      t.same(await beginsAnewSoon(t, client), ['new 3'])
      await after.put(['newer', '4'])
      await after.reaches([client])
    })

    await t.test(`${layout}: a server that lost all data leads to a reset`, async (t) => {
      const own = await startServer(t, { engine })
      const reading = await startReader(t, { redisUrl: own.url, flags: ['--read-from', 'primary', '--deadline-ms', '2000'] })
      const written = await openWritten(t, { redisUrl: own.url, feed: 'lost', layout })
      await written.put(['old', '1'])
      const open = await openLive(t, reading.url, path('lost'))
      await open.until('snapshot')
      const { position } = open
      await own.restart()
      // its writer defines it again
      await eventually(() => written.put(['new', '3']))
      await open.until('reset')
      await open.until('snapshot', 2)
      await written.reaches([open], ['new'])
      const client = await openLive(t, reading.url, path('lost'), { headers: { 'last-event-id': position } })
      t.same(await beginsAnewSoon(t, client), ['new 3'])
    })
  }
})
