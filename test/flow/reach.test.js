/** How far back a feed reaches where max-items ends before the window: in the log and the summary of a writer, and in figures. */
import t from 'tap'
import { keptMs, partitionKey } from '../../src/feeds/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { isWhole, scoped, scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, startDeployment } from '../servers.js'
import { startFlow } from './flow.js'

const WINDOW_MS = 600_000
const WARNING = /"level":40,.*"keptMs":\d+,.*the feed keeps [\d.,]+ s of the window of 600 s, because each partition keeps the newest 500 \(maxItems\); to keep more: npx freshet feed set [a-z-]+ --max-items N/
/** @param {string} feed @param {...string} more */
const flags = (feed, ...more) => ['--feed', feed, '--window-ms', String(WINDOW_MS), '--rate', '1000', ...more]

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const deployment = { ...await startDeployment(t, { engine, replicas: 1 }), keyPrefix: 'fr:' }
    const { reader, startWriter, write, target } = await startFlow(t, deployment)

    for (const layout of scoped(layoutNames(), ['ids', 'segments'])) {
      await t.test(`${layout}: less than the window is in log, summary and figures`, async (t) => {
        const writer = startWriter(t, flags(layout, '--layout', layout, '--max-items', '500', '--partitions', '2'))
        const { keptMs: kept } = await eventually(async () => {
          const { json } = await reader.ask(`/v1/feeds/${layout}/figures`)
          return typeof json.keptMs === 'number' && json
        })
        t.ok(kept >= 0 && kept < WINDOW_MS, `${kept} ms`)
        await writer.until(WARNING)
        const { code, summary, stderr } = await writer.stop()
        t.equal(code, 0)
        t.equal(stderr.match(/the feed keeps/g)?.length, 1, 'logged once')
        t.equal(summary.windowMs, WINDOW_MS)
        t.ok(summary.keptMs >= 0 && summary.keptMs < WINDOW_MS, `${summary.keptMs} ms`)
      })
    }

    await t.test('a window that decides is not mentioned', async (t) => {
      // as many ids as are kept: none is excluded
      const exact = ['exact', '--max-items', '500', '--ids', '500']
      for (const [feed, ...more] of scoped([exact, ['wide', '--max-items', '100000'], ['endless', '--max-items', '0']], [exact])) {
        const { summary, stderr } = await write(t, [...flags(feed), ...more, '--items', '2500'])
        t.equal(summary.items, 2500)
        t.notOk('keptMs' in summary || 'windowMs' in summary)
        t.notMatch(stderr, /the feed keeps/)
        t.equal((await reader.ask(`/v1/feeds/${feed}/figures`)).json.keptMs, null)
      }
    })

    await t.test('the partition that reaches least far back counts', async (t) => {
      const connection = await connectFor(t, target.redisUrl)
      const definition = { feed: 'uneven', layout: 'ids', partitions: 2, windowMs: 60_000, maxItems: 2, format: 2 }
      await connection.sendAll([
        ['ZADD', partitionKey('fr:', definition, 0)('ids'), 10_000, 'a', 11_000, 'b', 50_000, 'c', 51_000, 'd'],
        ['ZADD', partitionKey('fr:', definition, 1)('ids'), 40_000, 'e', 51_000, 'f', 52_000, 'g']
      ])
      t.equal(await keptMs(connection, 'fr:', definition, 60_000), 20_000)
      t.equal(await keptMs(connection, 'fr:', { ...definition, maxItems: 3 }, 60_000), 50_000)
      t.equal(await keptMs(connection, 'fr:', { ...definition, maxItems: 4 }, 60_000), null)
      t.equal(await keptMs(connection, 'fr:', { ...definition, windowMs: 20_000 }, 60_000), null, 'the window ends there, too')
      t.equal(await keptMs(connection, 'fr:', { ...definition, windowMs: 0 }, 60_000), 20_000)
    })

    if (!isWhole) return
    await t.test('without a window, and at a terminal', async (t) => {
      // on a busy machine few items are there when the writer looks for the first time
      const unlimited = await write(t, ['--feed', 'all', '--window-ms', '0', '--rate', '1000', '--max-items', '100', '--items', '3000'])
      t.match(unlimited.summary, { windowMs: 0, keptMs: Number })
      t.match(unlimited.stderr, /the feed keeps [\d.,]+ s, because each partition/)
      const { stdout } = await startWriter(t, flags('shown', '--max-items', '500', '--items', '3000'), { isTTY: true }).ended()
      t.match(stdout, /\n {2}feed keeps +[\d.,]+ s of the window of 600 s +--max-items ends before\n/)
    })
  })
}
