/**
 * A line that swallows everything and says nothing, from the beginning or from the middle of a batch: every await is
 * settled within a second of the deadline, and nothing is lost when the line is back.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { openFeed, openReader } from '../../src/index.js'
import { caughtUp } from '../../test/flow/flow.js'
import { startProxy } from '../../test/proxy.js'
import { connectFor, engineName, eventually, startDeployment } from '../../test/servers.js'
import { expectWhole, startRun } from '../../test/faults/ledger/run.js'
import { ownTime } from '../../test/faults/own-time.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const DEADLINE_MS = 500
const ALLOWED_MS = 1000
const REPLIES_OF_OPENING = 16
const REPLIES_OF_BATCHES = 8
/** a batch has that, a greeting has not */
const BYTES_OF_BATCH = 1000
const APPEND_MS = nightly(5, 25)
/** so few that an append waits once nothing is acknowledged */
const IN_FLIGHT_BYTES = nightly(1024 * 1024, 65_536)
/** Each round reads all pages of a feed. */
const ROUNDS = nightly(10, 5)

/** @typedef {{ what: string, outcome: string, overMs: number, error: (Error & { code?: string }) | null }} Settled */

/**
 * How a promise ends that has to end within DEADLINE_MS and a second, in the own time of this process.
 * @param {string} what @param {Promise<unknown>} promise
 * @param {{ silences?: () => number, beat?: () => Promise<unknown> }} [options] `silences`: how many lines fell silent so far;
 *   each one restarts the time limit. `beat`: the answer of a server that is needed, too
 * @returns {Promise<Settled>}
 */
async function settled (what, promise, { silences = () => 1, beat } = {}) {
  const startedAt = performance.now()
  const over = new AbortController()
  /** @type {Settled['error']} */
  let error = null
  async function isLate () {
    for (let before = 0; silences() !== before || before === 0;) {
      before = silences()
      if (before === 0) await pause(10)
      else await ownTime(DEADLINE_MS + ALLOWED_MS, { signal: over.signal, beat })
      if (over.signal.aborted) break
    }
    return 'hangs'
  }
  const outcome = await Promise.race([
    promise.then(() => 'answered', (reason) => {
      error = reason
      return 'rejected'
    }),
    isLate()
  ])
  over.abort()
  return { what, outcome, overMs: Math.round(performance.now() - startedAt - DEADLINE_MS), error }
}

/** @param {import('tap').Test} t @param {Settled[]} all @param {string} where */
function expectSettled (t, all, where) {
  const worst = all.reduce((a, b) => a.overMs > b.overMs ? a : b)
  t.comment(`${where}: ${all.length} awaits, the last (${worst.what}) ${worst.overMs} ms over its deadline of ${DEADLINE_MS} ms`)
  t.same(all.filter(({ outcome }) => outcome === 'hangs').map(({ what }) => what), [],
    `${where}: each is settled by its deadline and ${ALLOWED_MS} ms`)
  t.same(all.filter(({ error }) => error && error.name !== 'FreshetError').map(({ what, error }) => [what, String(error)]), [],
    `${where}: all errors have a code`)
}

/** On a busy machine a server may need more than the deadline. @template T @param {() => Promise<T>} work @returns {Promise<T>} */
const patiently = (work) => eventually(work, { deadlineMs: 200_000 })

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
  settled('openFeed', openFeed('awaits', { redisUrl: url, deadlineMs: DEADLINE_MS }).then((other) => other.close({ drainMs: 0 }))),
  settled('openReader', openReader({ redisUrl: url, deadlineMs: DEADLINE_MS }).then((reader) => reader.close()))
]

const isForItems = (/** @type {import('../../test/proxy.js').Line} */ { name }) => name?.endsWith(':items') ?? false

/**
 * Those that have batches on their way fall silent in the middle of them, the others behind them.
 * @param {import('../../test/proxy.js').Proxy} proxy
 * @param {(line: import('../../test/proxy.js').Line, onSilent: () => void) => void} silence
 */
async function inBatches (proxy, silence) {
  const speaking = new Set(proxy.lines.filter(isForItems))
  for (const line of speaking) silence(line, () => speaking.delete(line))
  // on a busy machine one may be given up before: its client has another one
  await patiently(async () => proxy.lines.every((line) => !speaking.has(line)))
  proxy.goSilent()
}

/** @type {Record<string, (proxy: import('../../test/proxy.js').Proxy) => unknown>} */
const BEGINNINGS = {
  'at once': (proxy) => proxy.goSilent(),
  'between the replies to batches': (proxy) =>
    inBatches(proxy, (line, onSilent) => line.goSilentAtReply(1 + Math.floor(Math.random() * REPLIES_OF_BATCHES), onSilent)),
  'in the middle of a batch': (proxy) => inBatches(proxy, (line, onSilent) => line.goSilentInside(BYTES_OF_BATCH, onSilent))
}

t.jobs = 4
t.setTimeout(300_000)
const [engine] = await scopedEngines()
for (const [n, layout] of layoutNames().entries()) {
  // a layout does not depend on the ack setting: each runs with one of the two
  const ack = n % 2 === 0 ? 'replica' : 'primary'
  t.test(`${engineName(engine)}, ${layout}, ack: ${ack}: over a black hole everything settles, and afterwards nothing is missing`, {
    buffered: true
  }, async (t) => {
    const { primary } = await startDeployment(t, { engine, replicas: 1 })
    const proxy = await startProxy(t, primary.port)
    const options = { layout, inFlightBytes: IN_FLIGHT_BYTES, batchItems: 20, deadlineMs: DEADLINE_MS }
    // the ledger is of writers elsewhere, the awaits are those of a feed here
    const run = startRun(t, { redisUrl: proxy.url, ack, options })
    const feed = await patiently(() =>
      openFeed('awaits', { redisUrl: proxy.url, readFrom: 'primary', drainMs: DEADLINE_MS, ack, views: 'none', ...options }))
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    let n = 0
    /** @type {NodeJS.Timeout | undefined} */
    let load
    t.teardown(() => clearInterval(load))
    const append = () => {
      for (let room = true, i = 0; room && i < 50; i++) room = feed.append({ id: String(n++), value: 'x'.repeat(64) })
    }
    await run.open()
    await patiently(() => feed.latest(1))
    for (const [when, begin] of Object.entries(BEGINNINGS)) {
      load = setInterval(append, APPEND_MS)
      const { items } = feed.account
      await patiently(async () => feed.account.items > items + 500)
      await run.acknowledged(500)
      await begin(proxy)
      append()
      const all = await Promise.all(everyAwait(feed, proxy.url))
      clearInterval(load)
      expectSettled(t, all, `silent ${when}`)
      t.same(all.filter(({ outcome, what }) => outcome === 'answered' && !['ready', 'subscribe'].includes(what)).map(({ what }) => what),
        [], 'a black hole answers nothing')
      const { acknowledged } = run.ledger
      proxy.speak()
      await run.reached(() => run.ledger.acknowledged, acknowledged + 1)
      await feed.flush({ deadlineMs: 60_000 })
      t.equal(feed.account.items, n)
      await patiently(() => feed.count())
    }
    await run.finish()
    expectWhole(t, await run.compare(primary), `silent ${Object.keys(BEGINNINGS).join(', ')}`)
    proxy.goSilent()
    append()
    const counting = settled('count', feed.count())
    expectSettled(t, await Promise.all([settled('close', feed.close({ drainMs: DEADLINE_MS })), counting]), 'closed over it')
  })
}

t.test(`${engineName(engine)}: opening settles, wherever in its greeting the server falls silent`, { buffered: true }, async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const admin = await connectFor(t, primary.url)
  for (const [what, open] of /** @type {[string, (url: string) => Promise<{ close: () => Promise<void> }>][]} */ ([
    ['openFeed', (url) => openFeed('latest', { redisUrl: url, deadlineMs: DEADLINE_MS, drainMs: DEADLINE_MS })],
    ['openFeed with ack: replica', (url) =>
      openFeed('latest', { redisUrl: url, deadlineMs: DEADLINE_MS, drainMs: DEADLINE_MS, ack: 'replica' })],
    ['openReader', (url) => openReader({ redisUrl: url, deadlineMs: DEADLINE_MS })]
  ])) {
    const all = await Promise.all(Array.from({ length: REPLIES_OF_OPENING }, async (_, k) => {
      let silent = 0
      const timing = { silences: () => silent, beat: () => admin.send('PING') }
      const proxy = await startProxy(t, primary.port, { onLine: (line) => line.goSilentAtReply(k + 1, () => { silent++ }) })
      const opening = open(proxy.url)
      const opened = await settled(`${what}, silent from reply ${k + 1}`, opening, timing)
      if (opened.outcome !== 'answered') return [opened]
      return [opened, await settled(`closing after ${what}, silent from reply ${k + 1}`, (await opening).close(), timing)]
    }))
    expectSettled(t, all.flat(), what)
    t.equal(all[0][0].outcome, 'rejected')
  }
})

t.test(`${engineName(engine)}: a reader whose replica falls silent between pages goes on with the other`, {
  buffered: true
}, async (t) => {
  const { primary, replicas: [first, second] } = await startDeployment(t, { engine, replicas: 2 })
  const proxy = await startProxy(t, first.port)
  const admin = await connectFor(t, second.url)
  const feed = await openFeed('latest', { redisUrl: primary.url, windowMs: 86_400_000, deadlineMs: 20_000 })
  t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
  const ts = Date.now()
  const ids = Array.from({ length: 2000 }, (_, n) => String(n))
  ids.forEach((id, n) => feed.append({ id, ts: ts - n, value: id }))
  await feed.flush({ deadlineMs: 60_000 })
  await caughtUp({ primary, replicas: [first, second] })
  const reader = await patiently(() =>
    openReader({ redisUrl: primary.url, replicaUrl: [proxy.url, second.url], deadlineMs: DEADLINE_MS }))
  t.teardown(() => reader.close())
  const reading = reader.feed('latest')
  /** @type {Settled[]} */
  const all = []
  for (let round = 0; round < ROUNDS; round++) {
    await patiently(async () =>
      reader.status().nodes.filter((/** @type {any} */ { role, state }) => role === 'replica' && state === 'connected').length === 2)
    for (const line of proxy.lines) line.goSilentAtReply(1 + Math.floor(Math.random() * 20))
    /** @type {string[]} */
    const seen = []
    for (let [after, isMore] = /** @type {[string | null, boolean]} */ ([null, true]); isMore;) {
      const asked = reading.latest({ limit: 100, after })
      all.push(await settled('latest', asked, { beat: () => admin.send('PING') }))
      // on a busy machine the other may lag for a moment, and is then not asked
      const page = await asked.catch((error) => {
        if (!error.retryable) throw error
        return null
      })
      if (page === null) continue
      seen.push(...page.items.map(({ id }) => id))
      after = page.next
      isMore = after !== null
    }
    t.same(seen, ids, 'every page is right')
    proxy.resetAll()
  }
  expectSettled(t, all, 'pages')
})
