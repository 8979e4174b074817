/**
 * A line that swallows everything and says nothing, from the beginning or from the middle of a batch: whoever waits is
 * told, by the deadline, and nothing is lost when the line is back.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { openFeed, openReader } from '../../src/index.js'
import { caughtUp } from '../flow/flow.js'
import { startProxy } from '../proxy.js'
import { engineName, eventually, startDeployment, testEngines } from '../servers.js'
import { createLedger } from './ledger/ledger.js'
import { expectWhole } from './ledger/run.js'
import { storedOn } from './ledger/stored.js'

const DEADLINE_MS = 500
const ALLOWED_MS = 1000
/** of a machine that does other things as well */
const BUSY_MS = 6000
const REPLIES_OF_OPENING = 16
const REPLIES_OF_BATCHES = 8

/** @typedef {{ what: string, outcome: string, overMs: number, error: (Error & { code?: string }) | null }} Settled */

/** How a promise ends that has to end within DEADLINE_MS. @param {string} what @param {Promise<unknown>} promise @returns {Promise<Settled>} */
async function settled (what, promise) {
  const startedAt = performance.now()
  const over = new AbortController()
  /** @type {Settled['error']} */
  let error = null
  const outcome = await Promise.race([
    promise.then(() => 'answered', (reason) => {
      error = reason
      return 'rejected'
    }),
    pause(DEADLINE_MS + ALLOWED_MS + BUSY_MS, 'hangs', { signal: over.signal })
  ])
  over.abort()
  return { what, outcome, overMs: Math.round(performance.now() - startedAt - DEADLINE_MS), error }
}

/** @param {import('tap').Test} t @param {Settled[]} all @param {string} where */
function expectSettled (t, all, where) {
  const worst = all.reduce((a, b) => a.overMs > b.overMs ? a : b)
  t.comment(`${where}: ${all.length} awaits, the last (${worst.what}) ${worst.overMs} ms over its deadline of ${DEADLINE_MS} ms`)
  t.same(all.filter(({ outcome }) => outcome === 'hangs').map(({ what }) => what), [], `${where}: nothing hangs`)
  t.same(all.filter(({ error }) => error && error.name !== 'FreshetError').map(({ what, error }) => [what, String(error)]), [], `${where}: all errors have a code`)
}

/** Changes until the deadline. @param {{ subscribe: Function }} feed */
async function changesOf (feed) {
  const changes = []
  for await (const change of feed.subscribe({ signal: AbortSignal.timeout(DEADLINE_MS), pollMs: 20 })) changes.push(change)
}

/** @param {Awaited<ReturnType<typeof openFeed>>} feed @param {string} url */
const everyAwait = (feed, url) => [
  settled('ready', feed.ready({ deadlineMs: DEADLINE_MS })),
  settled('acknowledged', feed.acknowledged({ deadlineMs: DEADLINE_MS })),
  settled('flush', feed.flush({ deadlineMs: DEADLINE_MS })),
  settled('latest', feed.latest(10)),
  settled('since', feed.since(0)),
  settled('get', feed.get('1')),
  settled('count', feed.count()),
  settled('subscribe', changesOf(feed)),
  settled('openFeed', openFeed('latest', { redisUrl: url, deadlineMs: DEADLINE_MS }).then((other) => other.close({ drainMs: 0 }))),
  settled('openReader', openReader({ redisUrl: url, deadlineMs: DEADLINE_MS }).then((reader) => reader.close()))
]

/** @type {Record<string, (proxy: import('../proxy.js').Proxy) => unknown>} */
const BEGINNINGS = {
  'at once': (proxy) => proxy.goSilent(),
  // those that wait for no reply are silenced a moment later
  async 'in the middle of a batch' (proxy) {
    for (const line of proxy.lines) line.goSilentAtReply(1 + Math.floor(Math.random() * REPLIES_OF_BATCHES))
    await eventually(() => proxy.lines.some(({ silent }) => silent))
    proxy.goSilent()
  }
}

t.jobs = 2
t.setTimeout(300_000)
for (const engine of await testEngines()) {
  for (const [n, layout] of layoutNames().entries()) {
    // a layout knows nothing of who confirms: each is met with one of the two
    const ack = n % 2 === 0 ? 'replica' : 'primary'
    t.test(`${engineName(engine)}, ${layout}, ack: ${ack}: over a black hole everything settles, and afterwards nothing is missing`, { buffered: true }, async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 1 })
      const proxy = await startProxy(t, primary.port)
      const feed = await openFeed('latest', { redisUrl: proxy.url, readFrom: 'primary', deadlineMs: DEADLINE_MS, drainMs: DEADLINE_MS, layout, ack, inFlightBytes: 1024 * 1024, batchItems: 20, views: 'none' })
      t.teardown(() => feed.close({ drainMs: 0 }))
      const ledger = createLedger()
      let n = 0
      const append = () => {
        for (let room = true, i = 0; room && i < 50; i++, n++) {
          ledger.intend(n, n + 1)
          room = feed.append({ id: String(n), value: `${n} x` })
        }
      }
      await feed.latest(1)
      for (const [when, begin] of Object.entries(BEGINNINGS)) {
        const load = setInterval(append, 5)
        await eventually(() => feed.account.items > 500)
        await begin(proxy)
        await pause(100)
        const all = await Promise.all(everyAwait(feed, proxy.url))
        clearInterval(load)
        expectSettled(t, all, `silent ${when}`)
        t.same(all.filter(({ outcome, what }) => outcome === 'answered' && !['ready', 'subscribe'].includes(what)).map(({ what }) => what), [], 'a black hole answers nothing')
        proxy.speak()
        await feed.flush({ deadlineMs: 60_000 })
        ledger.acknowledge(0, n)
        t.equal(feed.account.items, n)
        expectWhole(t, ledger.compare(await storedOn(t, primary, { layout })), `once silent ${when}`)
        await eventually(() => feed.count())
      }
      proxy.goSilent()
      append()
      const counting = settled('count', feed.count())
      expectSettled(t, await Promise.all([settled('close', feed.close({ drainMs: DEADLINE_MS })), counting]), 'closed over it')
    })
  }

  t.test(`${engineName(engine)}: opening settles, wherever in its greeting the server falls silent`, { buffered: true }, async (t) => {
    const { primary } = await startDeployment(t, { engine, replicas: 1 })
    for (const [what, open] of /** @type {[string, (url: string) => Promise<{ close: () => Promise<void> }>][]} */ ([
      ['openFeed', (url) => openFeed('latest', { redisUrl: url, deadlineMs: DEADLINE_MS, drainMs: DEADLINE_MS })],
      ['openFeed with ack: replica', (url) => openFeed('latest', { redisUrl: url, deadlineMs: DEADLINE_MS, drainMs: DEADLINE_MS, ack: 'replica' })],
      ['openReader', (url) => openReader({ redisUrl: url, deadlineMs: DEADLINE_MS })]
    ])) {
      const all = await Promise.all(Array.from({ length: REPLIES_OF_OPENING }, async (_, k) => {
        const proxy = await startProxy(t, primary.port, { onLine: (line) => line.goSilentAtReply(k + 1) })
        const opening = open(proxy.url)
        const opened = await settled(`${what}, silent from reply ${k + 1}`, opening)
        if (opened.outcome !== 'answered') return [opened]
        return [opened, await settled(`closing after ${what}, silent from reply ${k + 1}`, (await opening).close())]
      }))
      expectSettled(t, all.flat(), what)
      t.equal(all[0][0].outcome, 'rejected')
    }
  })

  t.test(`${engineName(engine)}: a reader whose replica falls silent between pages goes on with the other`, { buffered: true }, async (t) => {
    const { primary, replicas: [first, second] } = await startDeployment(t, { engine, replicas: 2 })
    const proxy = await startProxy(t, first.port)
    const feed = await openFeed('latest', { redisUrl: primary.url, windowMs: 86_400_000 })
    t.teardown(() => feed.close({ drainMs: 0 }))
    const ts = Date.now()
    const ids = Array.from({ length: 2000 }, (_, n) => String(n))
    ids.forEach((id, n) => feed.append({ id, ts: ts - n, value: id }))
    await feed.flush()
    await caughtUp({ primary, replicas: [first, second] })
    const reader = await openReader({ redisUrl: primary.url, replicaUrl: [proxy.url, second.url], deadlineMs: DEADLINE_MS })
    t.teardown(() => reader.close())
    const reading = reader.feed('latest')
    /** @type {Settled[]} */
    const all = []
    for (let round = 0; round < 10; round++) {
      await eventually(() => reader.status().nodes.filter((/** @type {any} */ { role, state }) => role === 'replica' && state === 'connected').length === 2)
      for (const line of proxy.lines) line.goSilentAtReply(1 + Math.floor(Math.random() * 20))
      /** @type {string[]} */
      const seen = []
      let after = /** @type {string | null} */ (null)
      do {
        const asked = reading.latest({ limit: 100, after })
        all.push(await settled('latest', asked))
        // on a busy machine the other may lag for a moment, and is then not asked
        const page = await asked.catch((error) => {
          if (!error.retryable) throw error
          return { items: [], next: after }
        })
        seen.push(...page.items.map(({ id }) => id))
        after = page.next
      } while (after !== null)
      t.same(seen, ids, 'every page is right')
      proxy.resetAll()
    }
    expectSettled(t, all, 'pages')
  })
}
