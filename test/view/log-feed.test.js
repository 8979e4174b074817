/** Following a log: newest first, and entries that were read but not stored are read again. */
import t from 'tap'
import { onlyKey } from '../../src/feeds/keys.js'
import { layoutOf } from '../../src/layouts/index.js'
import { openConnection } from '../../src/store/connection.js'
import { createLogFeed } from '../../src/view/log-feed.js'
import { createViewStore } from '../../src/view/store/index.js'
import { eventually, openWriterFor, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const ITEMS = 12_000
const [engine] = await scopedEngines()

t.test('history is complete if a node does not have the newest entry yet', async (t) => {
  const { url } = await startServer(t, { engine })
  const writer = await openWriterFor(t, { redisUrl: url, feed: 'latest', layout: 'segments', windowMs: 0, batchItems: 50 })
  const ts = Date.now() - ITEMS
  const value = Buffer.alloc(1000, 'v')
  for (let n = 0; n < ITEMS; n++) {
    if (!writer.pipeline.append(Buffer.from(`id-${n}`), ts + n, value)) await writer.pipeline.ready()
  }
  await writer.pipeline.flush()

  const connection = await openConnection(url, { isForLog: true, name: 'test-log', deadlineMs: 5000 })
  t.teardown(() => connection.close())
  const store = createViewStore({ windowMs: 0, maxItems: 0, boundItems: 1e6, boundBytes: 2 ** 30 })
  let looks = 0
  let pieces = 0
  let oldestFirst = 0
  /** Whether what is held are the newest. */
  function holdsNewest () {
    let oldestTs = Infinity
    const { count } = store.latest({ limit: ITEMS, after: null, sinceMs: null, nowMs: Date.now() },
      (_bytes, _idAt, _idEnd, ts) => { oldestTs = ts })
    return count === 0 || oldestTs === ts + ITEMS - count
  }
  const behind = {
    ...connection,
    /** @param {string} command @param {any[]} args */
    async send (command, ...args) {
      const reply = await connection.send(command, ...args)
      if (command !== 'XREVRANGE') return reply
      // the first look is for the newest entry, the second whether it is still there
      if (args.at(-1) === 1) return ++looks === 2 ? [] : reply
      pieces++
      if (!holdsNewest()) oldestFirst++
      return reply
    }
  }
  const feed = createLogFeed({
    layout: layoutOf('segments'),
    key: onlyKey('fr:', 'latest'),
    partitions: 1,
    store,
    retention: { windowMs: 0, maxItems: 0 },
    now: Date.now,
    onSkipped: () => {},
    onRebuilt: () => t.fail('it is the same log')
  })
  feed.follow(/** @type {any} */ (behind), { blockMs: 50, answered () {} }).catch(() => {})
  await eventually(() => feed.isComplete)
  t.ok(looks >= 3 && pieces > 3, `${looks} looks for the newest entry, history in ${pieces} pieces`)
  t.equal(store.count(Date.now()), ITEMS)
  t.equal(oldestFirst, 0, 'what is in before all is in are the newest')
})
