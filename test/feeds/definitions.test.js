import t from 'tap'
import { agree, checkFeedName, dropFeed, listDefinitions, readDefinition, setRetention } from '../../src/feeds/definitions.js'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const WANTED = { feed: 'latest', layout: 'ids', partitions: 3, windowMs: 60_000, maxItems: 1000, format: 1 }

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    /** @param {import('tap').Test} t */
    const emptyServer = async (t) => {
      const connection = await connectFor(t, server.url)
      await connection.send('FLUSHALL')
      return { server, connection }
    }
    const keysOf = async (/** @type {import('../../src/store/connection.js').Connection} */ connection) =>
      (await connection.send('KEYS', '*')).map(String).sort()

    await t.test('the first writer creates a definition, later ones agree with it', async (t) => {
      const { connection } = await emptyServer(t)
      const first = await agree(connection, 'fr:', WANTED)
      t.match(first, WANTED)
      t.match(first.createdAt, /^\d{4}-\d\d-\d\dT.*Z$/)
      t.same(await agree(connection, 'fr:', { ...WANTED, windowMs: 5, maxItems: 7 }), first, 'the retention that is stored holds')
      t.same(await readDefinition(connection, 'fr:', 'latest'), first)
      t.same(await keysOf(connection), ['fr:feeds', 'fr:{latest}:feed', 'fr:{latest}:secret'])
    })

    await t.test('writers that come at the same time agree on one', async (t) => {
      const { server } = await emptyServer(t)
      const connections = await Promise.all(Array.from({ length: 5 }, () => connectFor(t, server.url)))
      const found = await Promise.all(connections.map((connection, i) => agree(connection, 'fr:', { ...WANTED, maxItems: i })))
      for (const definition of found) t.same(definition, found[0])
    })

    await t.test('a user who may not write the name or the definition leaves no unlisted feed', async (t) => {
      const { server, connection } = await emptyServer(t)
      for (const [user, command] of [['nameless', 'sadd'], ['settled', 'set']]) {
        await connection.send('ACL', 'SETUSER', user, 'on', '>word', '~*', '+@all', `-${command}`)
        const own = await connectFor(t, server.url.replace('//', `//${user}:word@`))
        await t.rejects(agree(own, 'fr:', WANTED), { code: 'SERVER_REFUSED' })
        t.equal(await connection.send('EXISTS', 'fr:{latest}:feed'), 0)
        t.same(await listDefinitions(connection, 'fr:'), [])
      }
      t.match(await agree(connection, 'fr:', WANTED), WANTED)
      t.equal((await listDefinitions(connection, 'fr:')).length, 1)
    })

    await t.test('the error of a different definition has both values', async (t) => {
      const { connection } = await emptyServer(t)
      await agree(connection, 'fr:', WANTED)
      for (const [name, value] of /** @type {[string, any][]} */ ([['partitions', 4], ['layout', 'other'], ['format', 2]])) {
        await t.rejects(agree(connection, 'fr:', { ...WANTED, [name]: value }), {
          code: 'FEED_DEFINITION_DIFFERS',
          exitStatus: 2,
          stored: /** @type {any} */ (WANTED)[name],
          wanted: value,
          message: new RegExp(`${/** @type {any} */ (WANTED)[name]}.*${value}`)
        })
      }
    })

    await t.test('feeds are listed by name, and a prefix has feeds of its own', async (t) => {
      const { connection } = await emptyServer(t)
      t.same(await listDefinitions(connection, 'fr:'), [])
      for (const feed of ['b', 'a', 'a.b']) await agree(connection, 'fr:', { ...WANTED, feed })
      await agree(connection, 'other:', { ...WANTED, feed: 'c' })
      t.same((await listDefinitions(connection, 'fr:')).map(({ feed }) => feed), ['a', 'a.b', 'b'])
      await connection.send('DEL', 'fr:{a}:feed')
      t.same((await listDefinitions(connection, 'fr:')).map(({ feed }) => feed), ['a.b', 'b'], 'a name without a definition is no feed')
      await connection.send('SADD', 'fr:feeds', '', 'No Such', 'text')
      await connection.send('SET', 'fr:{text}:feed', 'not JSON')
      t.same((await listDefinitions(connection, 'fr:')).map(({ feed }) => feed), ['a.b', 'b'],
        'what cannot be read keeps no other from being listed')
    })

    await t.test('an unknown feed, and keys that hold something else, have codes', async (t) => {
      const { connection } = await emptyServer(t)
      await t.rejects(readDefinition(connection, 'fr:', 'nobody'), { code: 'FEED_UNKNOWN' })
      await t.rejects(setRetention(connection, 'fr:', 'nobody', { windowMs: 1 }), { code: 'FEED_UNKNOWN' })
      await t.rejects(dropFeed(connection, 'fr:', 'nobody'), { code: 'FEED_UNKNOWN' })
      await t.rejects(readDefinition(connection, 'fr:', '{x}'), { code: 'FEED_NAME_INVALID' })
      await connection.send('SET', 'fr:{text}:feed', 'not JSON')
      await connection.send('RPUSH', 'fr:{list}:feed', 'a')
      for (const text of ['5', 'null', '"x"', '[]', '{}']) {
        await connection.send('SET', 'fr:{json}:feed', text)
        await t.rejects(readDefinition(connection, 'fr:', 'json'), { code: 'KEY_HOLDS_OTHER' }, text)
      }
      await t.rejects(readDefinition(connection, 'fr:', 'text'), { code: 'KEY_HOLDS_OTHER' })
      await t.rejects(readDefinition(connection, 'fr:', 'list'), { code: 'KEY_HOLDS_OTHER' })
      await t.rejects(agree(connection, 'fr:', { ...WANTED, feed: 'text' }), { code: 'KEY_HOLDS_OTHER' })
    })

    await t.test('set changes retention and nothing else', async (t) => {
      const { connection } = await emptyServer(t)
      const before = await agree(connection, 'fr:', WANTED)
      const after = await setRetention(connection, 'fr:', 'latest', { windowMs: 5000 })
      t.same(after, { ...before, windowMs: 5000 })
      const wider = await setRetention(connection, 'fr:', 'latest', { maxItems: 0 })
      t.match(wider.widenedAt, /^\d{4}-\d\d-\d\dT.*Z$/, 'and says when it was made wider')
      t.same(wider, { ...after, maxItems: 0, widenedAt: wider.widenedAt })
      t.same(await readDefinition(connection, 'fr:', 'latest'), wider)
      t.same(await setRetention(connection, 'fr:', 'latest', { maxItems: 10 }), { ...wider, maxItems: 10 }, 'narrower, that stays')
    })

    await t.test('drop removes every key of that feed and no other', async (t) => {
      const { server, connection } = await emptyServer(t)
      const names = ['a', 'a.b', 'ab', 'a-', 'b']
      for (const feed of names) {
        const writer = await openWriterFor(t, { redisUrl: server.url, feed, partitions: 3 })
        const count = feed === 'a' ? 3000 : 30
        for (let i = 0; i < count; i++) writer.pipeline.append(Buffer.from(`*?[a]{}${i}`), Date.now(), Buffer.from('v'))
        await writer.close({ drainMs: 20_000 })
        t.equal(writer.pipeline.account.items, count)
      }
      await connection.send('SET', 'fr:{a}', 'somebody else\'s')
      await connection.send('SET', 'xfr:{a:0}:ids', 'somebody else\'s')
      const before = await keysOf(connection)
      const removed = await dropFeed(connection, 'fr:', 'a')
      const isOfA = (/** @type {string} */ key) => key.startsWith('fr:{a:') || key === 'fr:{a}:feed' || key === 'fr:{a}:secret'
      t.equal(removed, 3000 + 2 * 3 + 2)
      t.same(await keysOf(connection), before.filter((key) => !isOfA(key)))
      t.same((await listDefinitions(connection, 'fr:')).map(({ feed }) => feed), names.filter((feed) => feed !== 'a').sort())
      await t.rejects(readDefinition(connection, 'fr:', 'a'), { code: 'FEED_UNKNOWN' })
    })

    await t.test('a feed that is being written is not dropped', async (t) => {
      const { server, connection } = await emptyServer(t)
      const writer = await openWriterFor(t, { redisUrl: server.url, partitions: 3 })
      const id = Buffer.from('a')
      const writing = setInterval(() => writer.pipeline.append(id, Date.now(), id), 50)
      t.teardown(() => clearInterval(writing))
      await eventually(async () => (await keysOf(connection)).filter((key) => key.endsWith(':trimmer')).length === 3)
      await t.rejects(dropFeed(connection, 'fr:', 'latest'), { code: 'FEED_IN_USE', retryable: true, message: /test-writer/ })
      t.ok(await connection.send('EXISTS', 'fr:{latest}:feed'))
      clearInterval(writing)
      await writer.close({ drainMs: 20_000 })
      t.ok(await dropFeed(connection, 'fr:', 'latest') > 0, 'a writer that has closed does not prevent the drop')
      t.same(await keysOf(connection), [])
    })
  })
}

t.test('names of feeds follow the pattern', async (t) => {
  for (const name of ['a', '0', 'latest', 'a.b_c-d', 'x'.repeat(64)]) t.equal(checkFeedName(name), name)
  for (const name of ['', 'A', '.a', '-a', '_a', 'a b', 'a:b', 'a}', '{a', 'a*', 'é', 'a\n', 'x'.repeat(65), '__proto__']) {
    t.throws(() => checkFeedName(name), { code: 'FEED_NAME_INVALID', exitStatus: 2 }, JSON.stringify(name))
  }
  // each of them, as text, would be a name
  for (const [name, type] of [[undefined, 'undefined'], [null, 'null'], [7, 'number'], [true, 'boolean'], [['a'], 'object'],
    [{ toString: () => 'a' }, 'object']]) {
    t.throws(() => checkFeedName(/** @type {any} */ (name)),
      { code: 'FEED_NAME_INVALID', message: `feed name of type ${type}; expected text: a-z or 0-9 first, then up to 63 of a-z 0-9 . _ -` })
  }
})
