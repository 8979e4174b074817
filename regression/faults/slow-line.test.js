/** A line that is slow, and one that cuts everything into little pieces: for writers and for readers. */
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { openFeed, openReader } from '../../src/index.js'
import { startProxy } from '../../test/proxy.js'
import { engineName, eventually, startServer } from '../../test/servers.js'
import { expectWhole, startRun } from '../../test/faults/ledger/run.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const LINES = [
  ...nightly([{ what: '200 ms each way', line: { delayMs: 200 } }, { what: 'pieces of 5 bytes', line: { pieceBytes: 5 } }], []),
  { what: '200 ms each way and pieces of 5 bytes', line: { delayMs: 200, pieceBytes: 5 } }
]
const ITEMS = nightly(600, 200)
/** a batch of 5,000 bytes takes a thousand pieces and as many turns of a busy loop, and is answered behind them */
const DEADLINE_MS = 60_000
const BATCH_ITEMS = 50
const CHANGES = 10
const APPEND_MS = 40
const PAGE = 100

const valueOf = (/** @type {number} */ n) => `value of ${n}`

/**
 * Appends until a subscription has been given so many changes, and then the last.
 * @param {Awaited<ReturnType<typeof openFeed>>} feed @param {import('../../src/index.js').Reading} reading
 * @returns {Promise<{ ids: string[], last: number }>} the changes, and the last item
 */
async function changesMeanwhile (feed, reading) {
  /** @type {string[]} */
  const ids = []
  const startMs = Date.now()
  let next = 0
  let last = Infinity
  const append = () => {
    if (next > last) return
    feed.append({ id: String(next), ts: startMs + next, value: valueOf(next) })
    if (ids.length >= CHANGES) last = next
    next++
  }
  append()
  // the first item creates the feed; without it there is nothing to subscribe to
  await feed.flush({ deadlineMs: DEADLINE_MS })
  const appending = setInterval(append, APPEND_MS)
  try {
    const over = new AbortController()
    for await (const { id } of reading.subscribe({ signal: over.signal })) {
      ids.push(id)
      if (Number(id) === last) over.abort()
    }
  } finally {
    clearInterval(appending)
  }
  await feed.flush({ deadlineMs: DEADLINE_MS })
  return { ids, last }
}

// they wait more than they work
t.jobs = 9
t.setTimeout(300_000)
const [engine] = await scopedEngines()
for (const { what, line } of LINES) {
  t.test(`${engineName(engine)}, ${what}: everything arrives once, over one connection`, { buffered: true }, async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startProxy(t, server.port, line)
    const run = startRun(t, {
      redisUrl: proxy.url, writers: 2, items: ITEMS, itemsPerRound: 100, options: { deadlineMs: DEADLINE_MS, batchItems: BATCH_ITEMS }
    })
    const accounts = await run.ended()
    t.same(accounts.map(({ sessions, retried }) => [sessions, retried]), [[1, 0], [1, 0]], 'slow is not lost')
    expectWhole(t, await run.compare(server), `no faults, ${what}`)
  })

  t.test(`${engineName(engine)}, ${what}: of each id the last version stays`, { buffered: true }, async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startProxy(t, server.port, line)
    const run = startRun(t,
      { redisUrl: proxy.url, items: ITEMS, ids: 37, itemsPerRound: 50, options: { deadlineMs: DEADLINE_MS, batchItems: 10 } })
    await run.ended()
    const sums = await run.compare(server)
    expectWhole(t, sums, `no faults, ${what}`)
    t.equal(sums.there, 37)
  })

  t.test(`${engineName(engine)}, ${what}: readers are given every item, in pages, singly and as changes`, {
    buffered: true
  }, async (t) => {
    const server = await startServer(t, { engine })
    const proxy = await startProxy(t, server.port, line)
    const reader = await openReader({ redisUrl: proxy.url, readFrom: 'primary', views: 'none', deadlineMs: DEADLINE_MS })
    t.teardown(() => reader.close())
    await Promise.all(layoutNames().map(async (layout) => {
      const feed = await eventually(() =>
        openFeed(`slow-${layout}`, { redisUrl: server.url, layout, windowMs: 86_400_000, deadlineMs: DEADLINE_MS }))
      t.teardown(() => feed.close().catch(() => {}))
      const reading = reader.feed(feed.name)
      const changed = await changesMeanwhile(feed, reading)
      const ids = changed.ids.map((_, i) => String(changed.last - i))
      t.same(changed.ids, ids.toReversed(), `${layout}: changes from the first one on`)
      const pages = []
      let after = /** @type {string | null} */ (null)
      do {
        const page = await reading.latest({ limit: PAGE, after })
        pages.push(...page.items)
        after = page.next
      } while (after !== null)
      t.same(pages.map(({ id, value }) => [id, String(value)]),
        Array.from({ length: changed.last + 1 }, (_, i) => [String(changed.last - i), valueOf(changed.last - i)]), `${layout}: pages`)
      t.equal(String((await reading.get('7'))?.value), valueOf(7), layout)
    }))
  })
}
