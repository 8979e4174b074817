import t from 'tap'
import { childrenOf, logOf, runCommand } from '../../test/commands.js'
import { allGone } from '../../test/embedded/checkout.js'
import { eventually, startServer } from '../../test/servers.js'
import { caughtUp, startFlow } from '../../test/flow/flow.js'
import { scopedEngines } from '../../test/scope.js'
import { sharedDeployment } from '../../test/shared.js'

const [engine] = await scopedEngines()
const flow = await startFlow(t, await sharedDeployment(t, { engine }))
const { reader, write, runWriter } = flow

/** @param {string} feed */
const itemsOf = (feed) => reader.allItems(feed, 'limit=1000&encoding=json')

t.test('--items and --rate: so many items, and the time of each is when it was due', async (t) => {
  const { code, summary } = await write(t, ['--feed', 'steady', '--items', '300', '--rate', '1000', '--ids', '300'])
  t.equal(code, 0)
  t.match(summary, { offered: 300, items: 300 })
  const times = (await itemsOf('steady')).map(({ ts }) => ts).reverse()
  t.equal(times.length, 300)
  t.same(times.filter((ts, i) => Math.abs(ts - times[0] - i) > 1), [], 'a millisecond apart each, however late the sending was')
})

t.test('--duration makes what was due by its end, no more and no less', async (t) => {
  const { code, summary } = await write(t, ['--feed', 'timed', '--duration', '0.5', '--rate', '4000', '--ids', '10000'])
  t.equal(code, 0)
  t.match(summary, { offered: 2000, items: 2000 })
  t.equal((await reader.ask('/v1/feeds/timed/count')).json.count, 2000)
})

t.test('--rate 0 goes as fast as it can, until its duration is over', async (t) => {
  const { code, summary } = await write(t, ['--feed', 'flat-out', '--duration', '0.5', '--rate', '0'])
  t.equal(code, 0)
  t.ok(summary.offered > 1000)
  t.equal(summary.items, summary.offered)
  t.ok(summary.seconds >= 0.5)
})

t.test('--pace burst: all items of a burst are due at its beginning', async (t) => {
  const { code, summary } = await write(t,
    ['--feed', 'bursts', '--items', '600', '--rate', '1000', '--pace', 'burst', '--period-ms', '400', '--chunks', '2', '--ids', '600'])
  t.equal(code, 0)
  t.match(summary, { offered: 600, items: 600 })
  const times = (await itemsOf('bursts')).map(({ ts }) => ts).reverse()
  const [first] = times
  t.same([...new Set(times)].map((ts) => Math.round((ts - first) / 200)), [0, 1, 2], 'three bursts, half a period apart')
  t.same([0, 200, 400].map((ms) => times.filter((ts) => Math.abs(ts - first - ms) <= 1).length), [200, 200, 200])
})

t.test('--writers 3 share the ids out and end in one summary', async (t) => {
  const ended = await runWriter(t,
    ['--feed', 'crew', '--writers', '3', '--items', '1000', '--rate', '0', '--ids', '300', '--batch-items', '100']).ended()
  await caughtUp(flow)
  t.equal(ended.code, 0)
  t.equal(ended.stdout, JSON.stringify(ended.summary) + '\n')
  t.match(ended.summary, { writers: 3, offered: 3000, items: 3000, failed: 0, bytes: 3000 * 128 })
  t.ok(ended.summary.batches >= 30, 'batches of all three')
  const { p50, p95, p99, max } = ended.summary.behindMs
  t.ok(p50 <= p95 && p95 <= p99 && p99 <= max && max > 0)
  const items = await itemsOf('crew')
  t.equal(items.length, 300)
  t.same(items.filter(({ id, value }) => (value.n - 1) % 100 !== Math.floor(Number(id.slice(4)) / 3)), [], 'each id has one writer')
  t.ok(items.every(({ value }) => Number(value.n) > 900 && Number(value.n) <= 1000), 'the newest of each')
  t.equal(ended.stderr.trim().split('\n').length, logOf(ended).length, 'nothing but log lines')
})

t.test('one writer of several that is killed costs its unacknowledged items, and the summary says so', async (t) => {
  const writer = runWriter(t, ['--feed', 'killed', '--writers', '2', '--rate', '5000', '--items', '20000', '--ids', '40000'])
  await writer.until(/"msg":"writing"/)
  const [one] = await childrenOf(writer.pid)
  process.kill(one, 'SIGKILL')
  const { code, summary, stderr } = await writer.ended()
  t.equal(code, 1)
  t.match(stderr, /"writer":[01],"fault":"SIGKILL","msg":"a writer died"/)
  t.equal(summary.offered, summary.items + summary.refused + summary.dropped + summary.failed)
  t.ok(summary.items >= 20000, 'the other one finished')
  await eventually(async () => (await reader.ask('/v1/feeds/killed/count')).json.count >= summary.items)
})

t.test('Ctrl-C on several writers flushes what each of them offered', async (t) => {
  const writer = runWriter(t, ['--feed', 'stopped', '--writers', '2', '--rate', '1000', '--ids', '1000000'])
  await writer.until(/"items":[1-9]/)
  const { code, summary } = await writer.stop()
  t.equal(code, 0)
  t.ok(summary.items > 0)
  t.equal(summary.items, summary.offered)
  await eventually(async () => (await reader.ask('/v1/feeds/stopped/count')).json.count === summary.items)
})

t.test('writers do not outlive the command that started them', async (t) => {
  const writer = runWriter(t, ['--feed', 'orphans', '--writers', '2', '--rate', '1000'])
  await writer.until(/"msg":"writing"/)
  const workers = await childrenOf(writer.pid)
  t.equal(workers.length, 2)
  await writer.kill()
  await allGone(...workers)
})

t.test('--catch-up no skips what was missed while the server was busy, and counts it', async (t) => {
  const server = await startServer(t, { engine })
  const writer = runCommand(t, ['writer', '--redis-url', server.url, '--rate', '5000', '--catch-up', 'no', '--in-flight-bytes', '16384'])
  await writer.until(/"msg":"writing"/)
  server.freeze()
  await writer.until(/connection to the primary lost/)
  server.thaw()
  await eventually(() => /"dropped":[1-9]/.test(writer.stderr))
  const { code, summary } = await writer.stop()
  t.equal(code, 0)
  t.ok(summary.dropped > 0)
  t.equal(summary.offered, summary.items + summary.dropped)
})
