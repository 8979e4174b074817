import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { endOfMain } from '../bin/in-process.js'
import { askAt, childrenOf, copyCheckout, endOf, runCommand, sendTo } from '../commands.js'
import { allGone, leftIn, pidOf, pidsOf } from '../embedded/checkout.js'
import { eventually } from '../servers.js'
import { main as runReaderCommand } from '../../readers/server.js'
import { main as runGatewayCommand } from '../../writers/gateway.js'
import { lookAtEmbeddedServers } from '../../src/embedded/client.js'
import { nightTest, wholeTest } from '../scope.js'

const LATE = /still running after \d+ s; killed/
/** Each test leaves nothing in it. */
const root = await copyCheckout(t)

/** Everything running, with the ids of all its processes. @param {import('tap').Test} t */
async function startAll (t) {
  const command = runCommand(t, ['start', '--port', '0', '--gateway-port', '0', '--rate', '500', '--ids', '50'], { cwd: root })
  await command.until(/^servers +primary 127\.0\.0\.1:\d+, replica 127\.0\.0\.1:\d+, replica 127\.0\.0\.1:\d+$/m)
  await command.until(/^writer +500 items\/s into feed latest, layout ids, on (valkey|redis) \d+\.\d+\.\d+$/m)
  const [, url] = await command.until(/^reader +(http:\/\/127\.0\.0\.1:\d+) /m)
  const [, gatewayUrl] = await command.until(/^gateway +(http:\/\/127\.0\.0\.1:\d+) /m)
  const servers = /** @type {any} */ (await lookAtEmbeddedServers({ root })).servers
  const pids = [...await pidsOf({ primaryUrl: servers.primaries[0], replicaUrls: servers.replicas }), ...await childrenOf(servers.pid),
    servers.pid, ...await childrenOf(command.pid)]
  return { command, pids, servers, ...askAt(url), ...sendTo(gatewayUrl) }
}

t.test('when a port is in use, one line says so before anything is started', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (taken.address())
  const advice = (/** @type {string} */ flag) =>
    `port ${port} on 127.0.0.1 is in use; stop the other program, or choose another ${flag} (0 = any free port)`
  for (const [flag, other] of [['--port', '--gateway-port'], ['--gateway-port', '--port']]) {
    const { code, stderr, stdout } = await endOfMain(['start', flag, String(port), other, '0'], { cwd: root })
    t.same([code, stderr, stdout], [1, `freshet start: ${advice(flag)}\n`, ''])
  }
  // they look before they log or look for servers
  for (const main of [runReaderCommand, runGatewayCommand]) {
    await t.rejects(main({ argv: ['--port', String(port)], env: {} }), { exitStatus: 1, message: advice('--port') })
  }
  t.notOk(existsSync(join(root, '.freshet')), 'no servers were started')
})

t.test('start runs servers, a reader, a gateway and a writer; Ctrl-C flushes and ends all of it', async (t) => {
  const { command, pids, get, ask, post } = await startAll(t)
  t.ok(new Set(pids).size >= 8, 'three servers, their supervisor and guard, writer, reader, gateway')

  t.match(await ask('/v1/feeds/latest/items?limit=2'), { status: 200 }, 'the feed is there when the lines are')
  t.match(await get('/'), { status: 200, body: /<html/i })
  t.match(await ask('/readyz'), { status: 200 })
  const items = await eventually(async () => {
    const { json } = await ask('/v1/feeds/latest/items?limit=50&encoding=json')
    return json.items?.length === 50 && json.items
  })
  t.match(items[0], { id: /^bus-\d+$/, ts: Number, value: { line: /^M\d\d$/, lat: Number, lon: Number, speedKmh: Number } })
  await eventually(async () => (await ask('/v1/feeds/latest/items?limit=1')).json.items[0].ts > items[0].ts)

  t.match(await post('/v1/feeds/mine/items', [{ id: 'a', value: { n: 1 } }]), { status: 200, json: { accepted: 1 } })
  await eventually(async () => (await ask('/v1/feeds/mine/items/a?encoding=json')).json.value?.n === 1)

  await t.test('feed lists, shows and changes a running feed, but does not drop it', async (t) => {
    /** @param {string[]} words */
    const feed = (...words) => endOfMain(['feed', ...words], { cwd: root })
    const listed = await feed('list')
    t.equal(listed.code, 0)
    const [first, second] = listed.stdout.trim().split('\n').map((line) => JSON.parse(line))
    t.match(second, { feed: 'mine', layout: 'ids', windowMs: 60_000 })
    t.match(first, { feed: 'latest', layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 1_000_000 })
    t.match(JSON.parse((await feed('set', 'latest', '--window-ms', '90000', '--max-items', '40')).stdout),
      { windowMs: 90_000, maxItems: 40 })
    t.match(JSON.parse((await feed('show', 'latest')).stdout), { windowMs: 90_000, maxItems: 40 })
    await eventually(async () => (await ask('/v1/feeds/latest/count')).json.count === 40)
    const dropped = await feed('drop', 'latest')
    t.equal(dropped.code, 1)
    t.match(dropped.stderr, /feed latest is being written/)
  })

  const stoppedAt = performance.now()
  let ended = await command.stop()
  t.comment(`stopped after ${Math.round(performance.now() - stoppedAt)} ms`)
  // a machine that is too busy for it is given two more chances
  for (let n = 0; n < 2 && LATE.test(ended.stderr); n++) ended = await (await startAll(t)).command.stop()
  const { code, stdout, summary, stderr } = ended
  t.equal(code, 0, stderr)
  t.equal(stdout, JSON.stringify(summary) + '\n')
  t.ok(summary.items > 0)
  t.equal(summary.items, summary.offered)
  await allGone(...pids)
  t.same(await leftIn(root), [])
})

wholeTest('when start is killed, everything ends', async (t) => {
  const { command, pids } = await startAll(t)
  const killedAt = performance.now()
  t.equal((await command.kill()).signal, 'SIGKILL')
  await allGone(...pids)
  t.comment(`all gone after ${Math.round(performance.now() - killedAt)} ms`)
  t.same(await leftIn(root), [])
})

wholeTest('when the primary dies, start reports one error and exits with 1', async (t) => {
  const { command, pids, servers, get } = await startAll(t)
  // a writer that has not begun has nothing to say
  await eventually(async () => (await get('/v1/feeds/latest/count')).json.count > 0)
  process.kill(await pidOf(servers.primaries[0]), 'SIGKILL')
  const { code, stderr, stdout, summary } = await command.ended()
  t.equal(code, 1)
  t.match(stderr, /the primary of the embedded servers \(redis:\S+\) ended by SIGKILL, and its items are lost/)
  t.notMatch(stderr, /^\s+at /m)
  t.equal(stdout, JSON.stringify(summary) + '\n', 'the writer still says what it did')
  await allGone(...pids)
  t.same(await leftIn(root), [])
})

wholeTest('when the reader of start cannot start, everything ends, and each process reports once', async (t) => {
  const { code, stderr, stdout } = await endOf(t, ['start', '--port', '0', '--gateway-port', '0'],
    { cwd: root, env: { FRESHET_MAX_STALE_MS: 'soon' } })
  t.equal(code, 1)
  t.match(stderr, /^freshet reader: maxStaleMs: soon /m)
  t.equal(stderr.match(/^reader /gm)?.length, 1, stderr)
  t.match(stderr, /^reader +exited unexpectedly \(exit status 2\)$/m)
  t.equal(stdout, '', 'no writer was started')
  t.same(await leftIn(root), [])
})

nightTest('two commands that start servers at the same time share them', async (t) => {
  const both = ['first', 'second'].map((feed) => runCommand(t, ['writer', '--feed', feed, '--rate', '1000'], { cwd: root }))
  for (const writer of both) await writer.until(/"msg":"writing"/)
  const listed = await endOfMain(['feed', 'list'], { cwd: root })
  t.same(listed.stdout.trim().split('\n').map((line) => JSON.parse(line).feed), ['first', 'second'])
  const { pid } = /** @type {any} */ (await lookAtEmbeddedServers({ root })).servers
  for (const writer of both) {
    const { code, summary } = await writer.stop()
    t.equal(code, 0)
    t.equal(summary.items, summary.offered)
  }
  await allGone(pid)
})

nightTest('feed drop removes a feed whose writers are gone, with all its keys', async (t) => {
  const servers = runCommand(t, ['servers'], { cwd: root })
  const [, redisUrl] = await servers.until(/^primary (redis:\S+)$/m)
  t.equal((await endOf(t, ['writer', '--items', '500', '--rate', '0'], { cwd: root })).code, 0)
  const dropped = await endOfMain(['feed', 'drop', 'latest', '--redis-url', redisUrl])
  t.equal(dropped.code, 0)
  t.match(JSON.parse(dropped.stdout), { event: 'dropped', feed: 'latest', keys: Number })
  const shown = await endOfMain(['feed', 'show', 'latest', '--redis-url', redisUrl])
  t.equal(shown.code, 1)
  t.match(shown.stderr, /^freshet feed: there is no feed latest/m)
  t.equal((await endOfMain(['feed', 'list'], { cwd: root })).stdout, '')
  t.equal((await servers.stop()).code, 0)
})
