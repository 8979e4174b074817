/** Feeds that the gateway holds open, on a real server. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { openFeed } from '../../src/index.js'
import { insideOfFeed } from '../../src/inside.js'
import { agree, dropFeed, listDefinitions, readDefinition } from '../../src/feeds/definitions.js'
import { spreadTag } from '../../src/store/slots.js'
import { createFeeds } from '../../writers/gateway/feeds.js'
import { connectFor, eventually, silentLog, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const openBy = /** @type {any} */ (openFeed)

const [engine] = await scopedEngines()
/** Tests of this file run one after another. */
const server = await startServer(t, { engine })

/** @param {import('tap').Test} t @param {object} [options] */
async function setUp (t, options = {}) {
  const connection = await connectFor(t, server.url)
  await connection.send('FLUSHALL')
  const events = /** @type {string[]} */ ([])
  const feeds = createFeeds({
    async open (name, stored) {
      events.push(`open ${name}`)
      return insideOfFeed(await openBy(name, { redisUrl: server.url, partitions: 2, ...stored }, { isLazy: true }))
    },
    definition: (name) => readDefinition(connection, 'fr:', name),
    onOpen: ({ name }) => events.push(`opened ${name}`),
    onClose: ({ name }) => events.push(`closed ${name}`),
    log: silentLog,
    ...options
  })
  t.teardown(() => feeds.close({ drainMs: 0 }))
  const put = (/** @type {string} */ name) => feeds.use(name, { mayCreate: true }, async (feed) => {
    feed.append({ id: 'a', value: '1' })
    await feed.flush()
    return feed
  })
  return { connection, events, feeds, put }
}

/** Holds a feed until it is released. @param {import('../../writers/gateway/feeds.js').Feeds} feeds @param {string} name */
function hold (feeds, name) {
  /** @type {(value?: any) => void} */
  let release = () => {}
  const until = new Promise((resolve) => { release = resolve })
  return { done: feeds.use(name, { mayCreate: true }, () => until), release }
}

const leasesOf = (/** @type {string} */ name) => [0, 1].map((partition) => `fr:{${spreadTag(name, partition, 2)}}:trimmer`)

/**
 * Drops a feed that was used, as if it had been unused for five seconds: its leases, taken each second, would last so
 * long.
 * @param {import('../../src/store/connection.js').Connection} connection
 * @param {string} name
 */
async function dropUnused (connection, name) {
  await pause(1000)
  await eventually(async () => {
    await connection.send('UNLINK', ...leasesOf(name))
    return await dropFeed(connection, 'fr:', name) > 0
  })
}

t.test('concurrent requests open a feed once, and create it with the given settings', async (t) => {
  const { feeds, events, put, connection } = await setUp(t)
  const held = await Promise.all(Array.from({ length: 20 }, () => put('one')))
  t.equal(new Set(held).size, 1)
  t.same(events, ['open one', 'opened one'])
  t.match(await listDefinitions(connection, 'fr:'), [{ feed: 'one', layout: 'ids', partitions: 2 }])
  t.equal(feeds.heldBytes, 0)
})

t.test('stored definitions are adopted, and requests that may not create fail', async (t) => {
  const { feeds, connection, put } = await setUp(t)
  await agree(connection, 'fr:', { feed: 'stored', layout: 'ids', partitions: 5, windowMs: 1234, maxItems: 77, format: 2, log: 1 })
  t.match((await put('stored')).definition, { partitions: 5, windowMs: 1234, maxItems: 77 })
  await t.rejects(feeds.use('unknown', { mayCreate: false }, async () => t.fail('no feed')), { code: 'FEED_UNKNOWN' })
  t.equal((await listDefinitions(connection, 'fr:')).length, 1)
  t.equal(await feeds.use('stored', { mayCreate: false }, async ({ name }) => name), 'stored')
})

t.test('a feed created at the same time with another definition is adopted too', async (t) => {
  const { connection, put } = await setUp(t, {
    definition: async (/** @type {string} */ name) => {
      try {
        return await readDefinition(connection, 'fr:', name)
      } finally {
        await agree(connection, 'fr:', { feed: name, layout: 'ids', partitions: 9, windowMs: 60_000, maxItems: 0, format: 2, log: 1 })
      }
    }
  })
  t.match((await put('race')).definition, { partitions: 9 })
})

t.test('a feed that was dropped and created with another definition is opened again by the next request', async (t) => {
  const { feeds, connection, put, events } = await setUp(t)
  const first = await put('one')
  await eventually(async () => {
    await connection.send('UNLINK', ...leasesOf('one'))
    await dropFeed(connection, 'fr:', 'one')
    await agree(connection, 'fr:', { feed: 'one', layout: 'ids', partitions: 3, windowMs: 60_000, maxItems: 0, format: 2, log: 1 })
    return true
  })
  await eventually(async () => {
    await put('one').catch(() => {})
    return first.writer.pipeline.failure !== null
  })
  const second = await put('one')
  t.equal(second.definition.partitions, 3)
  t.not(first, second)
  t.same(events, ['open one', 'opened one', 'closed one', 'open one', 'opened one'], 'the first is closed before the second is opened')
  t.equal(await feeds.use('one', { mayCreate: true }, async (feed) => feed), second)
})

t.test('an unused feed that was dropped and created with another definition gets items in its new layout', async (t) => {
  const { connection, put, events } = await setUp(t)
  await put('one')
  await dropUnused(connection, 'one')
  await agree(connection, 'fr:', { feed: 'one', layout: 'segments', partitions: 1, windowMs: 60_000, maxItems: 0, format: 1 })
  t.match((await put('one')).definition, { layout: 'segments', partitions: 1 })
  t.equal(await connection.send('XLEN', 'fr:{one:0}:segments'), 1)
  t.same(await connection.send('KEYS', 'fr:{one:0}:i*'), [], 'and nothing where it was')
  t.same(events.slice(2), ['closed one', 'open one', 'opened one'])
})

t.test('an unused feed that was dropped is created again before it gets items; a deletion does not create it', async (t) => {
  const { connection, feeds, put } = await setUp(t)
  await put('one')
  await dropUnused(connection, 'one')
  await t.rejects(feeds.use('one', { mayCreate: false }, async () => t.fail('no feed')), { code: 'FEED_UNKNOWN' })
  await feeds.use('one', { mayCreate: true }, async (feed) => {
    feed.append({ id: 'a', value: '1' })
    await feed.flush()
  })
  t.equal((await readDefinition(connection, 'fr:', 'one')).partitions, 2)
})

t.test('a feed is stored with its first item; until then it counts as one being created, and is closed when it is not used', async (t) => {
  /** @type {Promise<unknown>[]} */
  const created = []
  const { connection, feeds, put, events } = await setUp(t, {
    admit: async () => (/** @type {Promise<unknown>} */ one) => created.push(one)
  })
  const held = hold(feeds, 'one')
  t.ok(await feeds.use('one', { mayCreate: true }, async (feed) => feed.append({ id: 'a', ts: 0, value: '1' })))
  t.same(await listDefinitions(connection, 'fr:'), [])
  t.equal(await Promise.race([created[0], pause(100, 'being created')]), 'being created')
  held.release()
  await held.done
  await Promise.all(created.splice(0))
  t.same(await connection.send('KEYS', '*'), [])
  await put('one')
  await Promise.all(created)
  t.equal(created.length, 1)
  t.match(await listDefinitions(connection, 'fr:'), [{ feed: 'one' }])
  t.same(events, ['open one', 'opened one', 'closed one', 'open one', 'opened one'])
})

t.test('without the primary an open feed accepts items, and a deletion is refused', async (t) => {
  let isSilent = false
  const { connection, feeds, put, events } = await setUp(t, {
    async definition (/** @type {string} */ name) {
      if (isSilent) throw new FreshetError('SERVER_LOST', 'the connection to the primary is being opened again')
      return readDefinition(connection, 'fr:', name)
    }
  })
  const first = await put('one')
  await pause(1100)
  isSilent = true
  t.equal(await put('one'), first)
  await t.rejects(feeds.use('one', { mayCreate: false }, async () => t.fail('the definition is unknown')), { code: 'SERVER_LOST' })
  t.same(events, ['open one', 'opened one'])
})

t.test('an idle feed is closed after a while; one in use or with bytes in flight is not', async (t) => {
  const { feeds, put, events } = await setUp(t, { idleMs: 150 })
  const held = hold(feeds, 'held')
  await put('idle')
  await eventually(() => events.includes('closed idle'))
  t.notOk(events.includes('closed held'))
  held.release()
  await held.done
  await eventually(() => events.includes('closed held'))

  const feed = await put('busy')
  server.freeze()
  feed.append({ id: 'b', value: '2' })
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.notOk(events.includes('closed busy'), 'it waits for its acknowledgement')
  server.thaw()
  await eventually(() => events.includes('closed busy'))
  t.equal(feed.account.items, 2)
  t.equal(feeds.failed, 0)
  await put('idle')
  t.equal(events.filter((event) => event === 'open idle').length, 2, 'the next request opens it again')
})

t.test('at the bound the least recently used idle feed is closed; with none idle the request is refused', async (t) => {
  const { feeds, put, events } = await setUp(t, { maxOpen: 3 })
  for (const name of ['a', 'b', 'c', 'a']) await put(name)
  await put('d')
  t.same(events.filter((event) => event.startsWith('closed')), ['closed b'])
  const held = ['a', 'c', 'd'].map((name) => hold(feeds, name))
  await t.rejects(put('e'), { code: 'OVERLOADED', message: /^3 feeds are open and in use/ })
  t.ok(await put('a'), 'those that are open are used as before')
  held[1].release()
  await held[1].done
  await put('e')
  t.same(events.filter((event) => event.startsWith('closed')), ['closed b', 'closed c'])
  for (const { release } of held) release()
  await Promise.all(held.map(({ done }) => done))
})

t.test('a feed that cannot be opened is tried again after a while', async (t) => {
  let broken = true
  let tries = 0
  const { put } = await setUp(t, {
    maxOpen: 3,
    tryAgainMs: 2000,
    async open (/** @type {string} */ name, /** @type {object} */ stored) {
      tries++
      return insideOfFeed(await openBy(name, { redisUrl: broken ? 'redis://127.0.0.1:1' : server.url, ...stored }, { isLazy: true }))
    }
  })
  const askedMs = performance.now()
  for (let n = 0; n < 20; n++) await t.rejects(put('one'), { code: 'SERVER_UNREACHABLE' })
  const seconds = (performance.now() - askedMs) / 1000
  t.ok(tries <= 1 + seconds / 2, `${tries} tries in ${seconds} s`)
  for (const name of ['a', 'b', 'c']) await t.rejects(put(name), { code: 'SERVER_UNREACHABLE' })
  broken = false
  t.equal((await put('one')).name, 'one', 'as many are remembered as may be open')
  t.equal((await eventually(() => put('c'))).name, 'c')
})

t.test('a feed that does not acknowledge is a reason; one that failed is not, and is closed by the sweep', async (t) => {
  const { feeds, put, events } = await setUp(t, {
    idleMs: 2000,
    open: async (/** @type {string} */ name, /** @type {object} */ stored) => insideOfFeed(
      await openFeed(name, { redisUrl: server.url, ...stored, ack: name === 'safe' ? 'replica' : 'primary', deadlineMs: 400 }))
  })
  await put('one')
  t.same(feeds.reasons(), [])
  await feeds.use('safe', { mayCreate: true }, async (feed) => feed.append({ id: 'a', value: '1' }))
  await eventually(() => feeds.reasons().length > 0)
  t.match(feeds.reasons(), [/^safe: REPLICAS_GONE: /])
  t.equal(feeds.reasons().length, 1)
  const feed = await feeds.use('safe', { mayCreate: true }, async (open) => open)
  feed.writer.pipeline.fail(new Error('dropped'))
  t.same(feeds.reasons(), [])
  await eventually(() => events.includes('closed safe'))
  t.equal(feeds.heldBytes, 0, 'what it held makes room')
})

t.test('closing flushes, counts unacknowledged items, and opens no more feeds', async (t) => {
  const { feeds, put, events } = await setUp(t)
  const [kept, lost] = [await put('kept'), await put('lost')]
  kept.append({ id: 'b', value: '2' })
  await kept.flush()
  server.freeze()
  lost.append({ id: 'b', value: '2' })
  await feeds.close({ drainMs: 200 })
  server.thaw()
  t.equal(kept.account.items, 2)
  t.equal(feeds.failed, 1)
  t.same(events.slice(-2).sort(), ['closed kept', 'closed lost'])
  await t.rejects(put('kept'), { code: 'NOT_READY' })
  const connection = await connectFor(t, server.url)
  await eventually(async () => !String(await connection.send('CLIENT', 'LIST')).includes('name=freshet-'))
})

t.test('the sweep does not keep the process alive', async (t) => {
  const { spawn } = await import('node:child_process')
  const file = new URL('../../writers/gateway/feeds.js', import.meta.url).href
  const child = spawn(process.execPath,
    ['--input-type=module', '-e', `import { createFeeds } from '${file}'; createFeeds({ open: null, definition: null, log: null })`],
    { env: { ...process.env, NODE_OPTIONS: '' } })
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
})
