/** A server that forgets its scripts, again and again, while it is written to and read with them. */
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { openFeed, openReader } from '../../src/index.js'
import { connectFor, engineName, startServer } from '../../test/servers.js'
import { expectWhole, startRun } from '../../test/faults/ledger/run.js'
import { nightEngines, nightly } from '../../test/scope.js'

const FAULTS = nightly(15, 5)
const KNOWN = 3000
const PAGE = 250
const DEADLINE_MS = 20_000
const PATIENCE_MS = 60_000

/** On a busy machine a server may seem gone. @template T @param {() => Promise<T>} ask @returns {Promise<T>} */
async function patiently (ask) {
  for (const untilMs = performance.now() + PATIENCE_MS; ;) {
    try {
      return await ask()
    } catch (error) {
      if (!error.retryable || performance.now() > untilMs) throw error
    }
  }
}

/**
 * Reads all pages of a feed that is not written, again and again; each time it has to be the same.
 * @param {any} reading
 * @param {string[]} expected
 * @param {AbortSignal} over
 */
async function keepReading (reading, expected, over) {
  const said = { rounds: 0, pages: 0, wrong: /** @type {unknown[]} */ ([]) }
  while (!over.aborted) {
    /** @type {string[]} */
    const ids = []
    let after = null
    do {
      const page = await patiently(() => reading.latest({ limit: PAGE, after }))
      ids.push(...page.items.map((/** @type {any} */ item) => item.id))
      after = page.next
      said.pages++
      // a view answers without a server, so nothing else in this process would get a turn
      await turn()
    } while (after !== null)
    if (ids.join() !== expected.join()) said.wrong.push({ length: ids.length, first: ids.slice(0, 3) })
    said.rounds++
  }
  return said
}

t.jobs = 2
t.setTimeout(300_000)
for (const engine of await nightEngines()) {
  t.test(`${engineName(engine)}: SCRIPT FLUSH under load loses nothing and no page is wrong`, { buffered: true }, async (t) => {
    const server = await startServer(t, { engine })
    const admin = await connectFor(t, server.url)
    const ids = Array.from({ length: KNOWN }, (_, n) => `item-${n}`)
    const reader = await openReader({ redisUrl: server.url, readFrom: 'primary', views: 'none', deadlineMs: DEADLINE_MS })
    t.teardown(() => reader.close())
    const over = new AbortController()
    const readings = await Promise.all(layoutNames().map(async (layout) => {
      const feed = await openFeed(`known-${layout}`, { redisUrl: server.url, layout, windowMs: 86_400_000, deadlineMs: DEADLINE_MS })
      t.teardown(() => feed.close().catch(() => {}))
      const ts = Date.now()
      ids.forEach((id, n) => feed.append({ id, ts: ts - n, value: id }))
      await feed.flush({ deadlineMs: 3 * DEADLINE_MS })
      const reading = keepReading(reader.feed(feed.name), ids, over.signal)
      reading.catch(() => {}) // looked at below
      return { layout, reading }
    }))
    const run = startRun(t, { redisUrl: server.url, writers: 4, options: { late: 'newest' } })
    await run.open()
    for (let faults = 0; faults < FAULTS; faults++) {
      await run.acknowledged(50)
      await pause(Math.random() * 100)
      await admin.send('SCRIPT', 'FLUSH')
    }
    const accounts = await run.finish()
    over.abort()
    for (const { layout, reading } of readings) {
      const { rounds, pages, wrong } = await reading
      t.comment(`${layout}: ${pages} pages read in ${rounds} rounds, ${wrong.length} rounds wrong`)
      t.same(wrong, [])
      t.ok(rounds > 0)
    }
    t.ok(accounts.reduce((sum, { sessions }) => sum + sessions, 0) > accounts.length, 'scripts were missed')
    expectWhole(t, await run.compare(server), `${FAULTS} times all scripts forgotten`)
  })
}
