/**
 * More clients than are allowed, at once: as many as are allowed get in, the others get a retryable refusal, and there is
 * room when some leave.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { metricsOf, openLive } from '../push/live-client.js'
import { openWritten } from '../push/written.js'
import { engineName, eventually, startServer } from '../servers.js'
import { runReader } from '../commands.js'
import { startReader } from '../services.js'
import { nightly, scopedEngines } from '../scope.js'

const COMING = nightly(2000, 400)
/**
 * 2,000 clients leave no time to a reader in their process.
 * @type {(...given: Parameters<typeof startReader>) => ReturnType<typeof runReader>}
 */
const startBeside = nightly(runReader, /** @type {any} */ (startReader))
const ALLOWED = 100
const LEAVING = 40
const AGAIN = 60

const SECOND = { authorization: 'Bearer second-token' }

/** @typedef {import('../push/live-client.js').LiveClient} LiveClient */

/** Each refused client gets a retryable 503. @param {import('tap').Test} t @param {LiveClient[]} refused @param {RegExp} detail */
async function areTold (t, refused, detail) {
  await Promise.all(refused.map(({ ended }) => ended))
  const answers = new Set(refused.map(({ status, headers, body }) => {
    const { code, retryable, detail: text } = JSON.parse(body)
    return `${status} ${headers['content-type']} ${/^[123]$/.test(String(headers['retry-after']))} ${code} ${retryable} ${detail.test(text)}`
  }))
  t.same([...answers], ['503 application/problem+json; charset=utf-8 true OVERLOADED true true'], `all ${refused.length}`)
}

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const written = await openWritten(t, { redisUrl: server.url, feed: 'full' })
  await written.put(['a', '1'])

  await t.test(`${COMING} at once, where ${ALLOWED} may be`, async (t) => {
    const reader = await startBeside(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--max-streams', String(ALLOWED)] })
    const come = (/** @type {number} */ count) =>
      Promise.all(Array.from({ length: count }, () => openLive(t, reader.url, '/v1/feeds/full/live')))
    let most = 0
    const over = new AbortController()
    const watching =
      (async () => { while (!over.signal.aborted) most = Math.max(most, Number((await metricsOf(reader)).get('freshet_streams'))) })()

    const all = await come(COMING)
    const inside = all.filter(({ status }) => status === 200)
    t.equal(inside.length, ALLOWED)
    await areTold(t, all.filter(({ status }) => status !== 200), /100 streams .*--max-streams/)
    t.equal((await metricsOf(reader)).get('freshet_streams_refused_total{reason="process"}'), COMING - ALLOWED)
    t.equal((await metricsOf(reader)).get('freshet_streams'), ALLOWED)
    await written.put(['b', '2'])
    await written.reaches(inside)

    for (const client of inside.splice(0, LEAVING)) client.close()
    await eventually(async () => (await metricsOf(reader)).get('freshet_streams') === ALLOWED - LEAVING)
    const again = await come(AGAIN)
    const more = again.filter(({ status }) => status === 200)
    t.equal(more.length, LEAVING)
    await areTold(t, again.filter(({ status }) => status !== 200), /100 streams/)
    await written.put(['b', '3'])
    await written.reaches([...inside, ...more])
    over.abort()
    await watching
    t.equal(most, ALLOWED, 'at no time were there more')
    t.equal((await reader.get('/v1/feeds/full/items')).status, 200, 'other questions are answered')
    t.equal((await reader.get('/livez')).status, 200)
  })

  await t.test('and of one token', async (t) => {
    const file = join(t.testdir(), 'tokens')
    const rows = ['first-token', 'second-token'].map((token) => ({ token, scopes: ['read'], feeds: ['*'] }))
    await writeFile(file, rows.map((row) => JSON.stringify(row)).join('\n'))
    const reader = await startReader(t, {
      redisUrl: server.url, flags: ['--read-from', 'primary', '--tokens', file, '--max-streams-per-token', '3', '--max-streams', '8']
    })
    const come = (/** @type {string} */ token, /** @type {number} */ count) => Promise.all(Array.from({ length: count }, () =>
      openLive(t, reader.url, '/v1/feeds/full/live', { headers: { authorization: `Bearer ${token}` } })))
    const inside = (/** @type {LiveClient[]} */ clients) => clients.filter(({ status }) => status === 200)
    const first = await come('first-token', 50)
    t.equal(inside(first).length, 3)
    await areTold(t, first.filter(({ status }) => status !== 200), /3 streams with this token .*--max-streams-per-token/)
    const second = await come('second-token', 5)
    t.equal(inside(second).length, 3, 'another one has its own')
    for (const client of inside(first)) client.close()
    await eventually(async () => (await metricsOf(reader, SECOND)).get('freshet_streams') === 3)
    t.equal(inside(await come('first-token', 5)).length, 3, 'there is room again')
    const metrics = await metricsOf(reader, SECOND)
    t.equal(metrics.get('freshet_streams_refused_total{reason="token"}'), 47 + 2 + 2)
    t.equal(metrics.get('freshet_streams_refused_total{reason="process"}'), 0)
    const foreign = await come('no-such-token', 20)
    t.same([...new Set(foreign.map(({ status }) => status))], [401])
    t.equal((await metricsOf(reader, SECOND)).get('freshet_streams'), 6, 'a client without a valid token takes no place')
  })

  await t.test('none at all', async (t) => {
    const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--max-streams', '0'] })
    const client = await openLive(t, reader.url, '/v1/feeds/full/live')
    await areTold(t, [client], /0 streams/)

    // after an error status a browser's EventSource would never try again
    let text = ''
    const source = await openLive(t, reader.url, '/v1/feeds/full/live', {
      headers: { accept: 'text/event-stream', 'cache-control': 'no-cache' }, onBytes: (bytes) => { text += bytes }
    })
    await source.ended
    t.match(text, /^: OVERLOADED\nretry: [123]000\n\n$/)
    t.same([source.status, source.headers['content-type'], source.headers['cache-control']],
      [200, 'text/event-stream', 'no-store, no-transform'])
  })
})
