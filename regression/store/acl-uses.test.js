/** Commands and library calls run as the users of docs/acl: nothing is refused. */
import t from 'tap'
import { watchFeed } from '../../bin/feed.js'
import { openFeed } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { tlsEngines, createAuthority } from '../../test/certificates.js'
import { endOfMain } from '../../test/bin/in-process.js'
import { askAt, runCommand, sendTo } from '../../test/commands.js'
import { openLive } from '../../test/push/live-client.js'
import { engineName, eventually, openWriterFor, silentLog } from '../../test/servers.js'
import { startReader } from '../../test/services.js'
import { startGuarded } from '../../test/store/guarded.js'
import { scopedEngines } from '../../test/scope.js'

const bytes = (/** @type {string} */ text) => Buffer.from(text)

/**
 * Writes, reads and follows a feed of each layout with one address.
 * @param {import('tap').Test} t @param {string} redisUrl @param {ReturnType<typeof layoutNames>} layouts
 */
async function useLibrary (t, redisUrl, layouts) {
  for (const layout of layouts) {
    const feed = await openFeed(`both-${layout}`, { redisUrl, layout, ack: 'replica' })
    t.teardown(() => feed.close().catch(() => {}))
    const stop = new AbortController()
    const changes = feed.subscribe({ signal: stop.signal })
    const first = changes.next()
    const now = Date.now()
    feed.append({ id: 'a', ts: now, value: bytes('v') })
    feed.append({ id: 'b', ts: now + 1, value: bytes('v') })
    await feed.flush()
    // a subscription delivers what is appended after it started
    const more = setInterval(() => feed.append({ id: 'b', ts: Date.now(), value: bytes('v') }), 50)
    t.match((await first).value, { id: /a|b/ }, `${layout}: followed`)
    clearInterval(more)
    stop.abort()
    await changes.return?.(undefined)
    await eventually(async () => (await feed.latest(10)).items.length === 2)
    await eventually(async () => (await feed.get('a'))?.ts === now)
    await eventually(async () => (await feed.count()).count === 2)
    await feed.close()
  }
}

const engines = await scopedEngines()
for (const engine of engines) {
  t.test(engineName(engine), async (t) => {
    const { primary, urlOf, refused } = await startGuarded(t, engine)

    await t.test('a reader pushes, and resumes after a cut', async (t) => {
      const reader = await startReader(t, { redisUrl: urlOf('reader') })
      for (const layout of layoutNames()) {
        const path = `/v1/feeds/live-${layout}/live`
        const writer = await openWriterFor(t, { redisUrl: primary.url, feed: `live-${layout}`, layout })
        const put = async (/** @type {string} */ id) => {
          writer.pipeline.append(bytes(id), Date.now(), bytes('v'))
          await writer.pipeline.flush()
        }
        await put('a')
        await eventually(async () => (await reader.get(`/v1/feeds/live-${layout}/items/a`)).status === 200)
        const live = await openLive(t, reader.url, path)
        await eventually(() => live.items.has('a'))
        await put('b')
        await eventually(() => live.items.has('b'))
        const { id } = /** @type {{ id: string }} */ (live.events.at(-1))
        await live.close()
        await put('c')
        const again = await openLive(t, reader.url, path, { headers: { 'last-event-id': id } })
        await eventually(() => again.items.has('c'))
        t.notOk(again.events.some(({ event }) => event === 'snapshot'), `${layout}: it resumed`)
        await again.close()
      }
      const stop = new AbortController()
      await watchFeed('live-segments', {
        primaryUrl: urlOf('reader'), replicaUrls: null, keyPrefix: 'fr:', deadlineMs: 10_000, log: silentLog, signal: stop.signal
      }, ({ newest }) => { if (newest) stop.abort() })
      t.same(await refused(), [])
      t.equal(await reader.service.stop(), 0)
    })

    await t.test('one address for writing and reading: openFeed', async (t) => {
      await useLibrary(t, urlOf('library'), layoutNames())
      t.same(await refused(), [])
    })

    // its processes send no other commands
    if (engine !== engines[0]) return
    await t.test('and npm start', async (t) => {
      const started = runCommand(t,
        ['start', '--redis-url', urlOf('library'), '--port', '0', '--gateway-port', '0', '--rate', '200', '--ids', '50'])
      const [, url] = await started.until(/^reader +(http:\/\/127\.0\.0\.1:\d+) /m)
      const [, gateway] = await started.until(/^gateway +(http:\/\/127\.0\.0\.1:\d+) /m)
      await started.until(/^writer +200 items\/s/m)
      const { get } = askAt(url)
      await eventually(async () => (await get('/v1/feeds/latest/items?limit=10')).json.items?.length === 10)
      t.equal((await sendTo(gateway).post('/v1/feeds/posted/items', [{ id: 'a', value: 1 }])).status, 200)
      await eventually(async () => (await get('/v1/feeds/posted/items/a')).status === 200)
      await eventually(async () => (await get('/readyz')).status === 200)
      // how it ends is the subject of test/flow/start.test.js
      const ended = await started.stop()
      t.equal(ended.code, 0, ended.stderr)
      t.same(await refused(), [])
    })
  })
}

for (const engine of await tlsEngines()) {
  t.test(`${engineName(engine)}: with TLS and a user`, async (t) => {
    const files = await (await createAuthority(t)).issue('server')
    const { primary, urlOf, refused } = await startGuarded(t, engine, { tls: files })
    t.match(urlOf('reader'), /^rediss:\/\/freshet-reader:word@127\.0\.0\.1:\d+\?ca=/)
    await useLibrary(t, urlOf('library'), ['segments'])
    const reader = await startReader(t, { redisUrl: urlOf('reader') })
    await eventually(async () => (await reader.get('/v1/feeds/both-segments/items?limit=10')).json.items?.length === 2)
    t.same(await refused(), [])
    const doctor = await endOfMain(['doctor', '--redis-url', urlOf('reader')])
    t.equal(doctor.code, 0, doctor.stdout)
    t.match(doctor.stdout, /reader +has all permissions/)
    t.match(doctor.stdout, new RegExp(`^server +rediss://\\*\\*\\*@127.0.0.1:${primary.port}`, 'm'))
    t.equal(await reader.service.stop(), 0)
  })
}
