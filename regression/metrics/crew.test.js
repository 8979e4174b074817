/** Metrics of processes that write: where they are served, what several writers do, and what is lost. */
import { createServer } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { askAt, endOf, logOf, runCommand } from '../../test/commands.js'
import { startWriter } from '../../test/flow/writer.js'
import { main } from '../../writers/feed.js'
import { connectFor, eventually, freePort, startServer } from '../../test/servers.js'
import { startGateway } from '../../test/services.js'
import { valueOf } from '../../test/metrics/registries.js'
import { scopedEngines } from '../../test/scope.js'

const [engine] = await scopedEngines()
const { url } = await startServer(t, { engine })
const admin = await connectFor(t, url)
t.beforeEach(() => admin.send('FLUSHALL'))
const PORTS_TRIED = 20

/** @param {import('tap').Test} t @param {number} port @returns {Promise<boolean>} whether it is taken now, by this test */
async function take (t, port) {
  const server = createServer()
  const taken = await new Promise((resolve) => server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)))
  if (taken) t.teardown(() => server.close())
  return taken
}

/**
 * The first of so many free ports in a row; the next program may take one all the same.
 * @param {number} count
 * @returns {Promise<number>}
 */
async function portsInRow (count) {
  for (let tried = 0; tried < PORTS_TRIED; tried++) {
    const first = await freePort()
    const servers = Array.from({ length: count }, () => createServer())
    const taken = await Promise.all(servers.map((server, i) =>
      new Promise((resolve) => server.once('error', () => resolve(false)).listen(first + i, '127.0.0.1', () => resolve(true)))))
    await Promise.all(servers.map((server) => server.listening && once(server.close(), 'close')))
    if (taken.every(Boolean)) return first
  }
  throw new Error('no free ports in a row')
}

t.test('of several writers each serves its own metrics, on the port given and those behind it; when they fail later, that is logged at ' +
  'once, with the code', async (t) => {
  const port = await portsInRow(2)
  const writing = runCommand(t,
    ['writer', '--redis-url', url, '--read-from', 'primary', '--writers', '2', '--rate', '500', '--metrics-port', String(port)])
  await writing.until(/"msg":"writing"/)
  for (const one of [port, port + 1]) {
    const { get } = askAt(`http://127.0.0.1:${one}`)
    await eventually(async () => Number(valueOf((await get('/metrics')).body, 'freshet_items_total', { feed: 'latest' })) > 0)
    t.equal((await get('/readyz')).status, 200)
  }
  await admin.send('SET', 'fr:{latest:0}:ids', 'mine')
  const ended = await writing.ended()
  t.equal(ended.code, 1)
  const reported = logOf(ended).filter(({ level }) => level === 50)
  t.match(reported.toSorted((a, b) => a.writer - b.writer),
    [0, 1].map((writer) => ({ writer, code: 'KEY_HOLDS_OTHER', msg: /^a writer failed: .*WRONGTYPE/ })))
  const { offered, items, failed } = ended.summary
  t.ok(items > 0 && failed > 0)
  t.equal(items + failed, offered)
})

t.test('when one of several writers finds its port in use, none begins', async (t) => {
  const port = await portsInRow(2)
  t.ok(await take(t, port + 1))
  // it would run until Ctrl-C
  const { code, stdout, stderr } = await endOf(t,
    ['writer', '--redis-url', url, '--read-from', 'primary', '--writers', '2', '--rate', '100', '--metrics-port', String(port)])
  t.equal(code, 1)
  t.match(stderr, new RegExp(`^freshet writer: port ${port + 1} on 127\\.0\\.0\\.1 is in use; .* choose another --metrics-port`, 'm'))
  t.equal(stdout, '', 'there is nothing to sum up')
  t.equal(await admin.send('EXISTS', 'fr:{latest:0}:ids'), 0)
})

t.test('metrics are served at the given address', {
  skip: process.platform !== 'linux' && 'one address that is not 127.0.0.1 is needed'
}, async (t) => {
  const flags = ['--read-from', 'primary', '--rate', '100', '--metrics-port', '0', '--host', '127.0.0.2']
  await t.rejects(main({ argv: ['--redis-url', url, ...flags], env: {} }),
    { exitStatus: 2, message: /host: 127\.0\.0\.2 \(--host\); expected 127\.0\.0\.1, or --tokens, or --jwt-keys, or --open/ })
  const writing = startWriter(t, [...flags, '--open'], { redisUrl: url })
  const [, at] = await writing.until(/"url":"(http:\/\/127\.0\.0\.2:\d+)\/metrics"/)
  await eventually(async () => Number(valueOf((await askAt(at).get('/metrics')).body, 'freshet_items_total')) > 0)
  t.equal((await writing.stop()).code, 0)
})

t.test('items that a gateway could not bring home are counted, and stay counted', async (t) => {
  await admin.send('SET', 'fr:{lost:0}:ids', 'mine')
  const { post, send, service } = await startGateway(t, { redisUrl: url, flags: ['--read-from', 'primary'] })
  t.ok((await post('/v1/feeds/lost/items', [{ id: 'a', value: 1 }, { id: 'b', value: 2 }])).status >= 500)
  const failed = async () => valueOf((await send('GET', '/metrics')).body, 'freshet_failed_total', { feed: 'lost' })
  await eventually(async () => Number(await failed()) >= 2)
  const before = await failed()
  await admin.send('DEL', 'fr:{lost:0}:ids')
  await eventually(async () => (await post('/v1/feeds/lost/items', [{ id: 'a', value: 1 }])).status === 200)
  t.equal(await failed(), before, 'the feed is open again, and its counter goes on')
  t.equal(await service.stop(), 1, 'something was not acknowledged')
})
