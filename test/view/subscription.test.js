/** Subscriptions that are left, closed or aborted while they wait, many at once, and how often they poll. */
import { getEventListeners } from 'node:events'
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { agree } from '../../src/feeds/definitions.js'
import { openFeed, openReader } from '../../src/index.js'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { subscribe } from '../../src/view/subscribe.js'
import { createSubscription } from '../../src/view/subscription.js'
import { connectFor, engineName, eventually, inSync, silentLog, startServer } from '../servers.js'
import { begun } from './changes.js'
import { scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()

/** longer than any test */
const NEVER_MS = 2 ** 31 - 1
const DONE = { value: undefined, done: true }

/** Yields what it is given, then waits until it is aborted. @param {number[]} numbers @param {string[]} [said] */
const waiting = (numbers, said = []) => async function * (/** @type {AbortSignal} */ signal) {
  try {
    yield * numbers
    await pause(NEVER_MS, undefined, { signal }).catch(() => said.push('aborted'))
  } finally {
    said.push('over')
  }
}

t.test('a waiting subscription ends on return, throw, and abort of a signal', async (t) => {
  /** @type {string[]} */
  const said = []
  const left = createSubscription(waiting([1], said), [])
  t.same(await left.next(), { value: 1, done: false })
  const next = left.next()
  t.same(await left.return(), DONE)
  t.same(await next, DONE)
  t.same(await left.next(), DONE)
  t.same(said, ['aborted', 'over'])

  const failed = createSubscription(waiting([]), [])
  const asked = failed.next()
  await t.rejects(failed.throw(new Error('no more')), { message: 'no more' })
  t.same(await asked, DONE)

  const stop = new AbortController()
  const aborted = createSubscription(waiting([]), [new AbortController().signal, stop.signal])
  const last = aborted.next()
  stop.abort()
  t.same(await last, DONE)
  t.same(await createSubscription(waiting([]), [stop.signal]).next(), DONE)
})

t.test('a subscription that ended or never began leaves no listener on its signals', async (t) => {
  const signals = [new AbortController().signal, new AbortController().signal]
  const listeners = () => signals.map((signal) => getEventListeners(signal, 'abort').length)
  const unused = createSubscription(waiting([1]), signals)
  t.same(listeners(), [0, 0])
  t.same(await unused.return(), DONE)
  for await (const number of createSubscription(waiting([1, 2]), signals)) {
    t.same(listeners(), [1, 1])
    if (number === 2) break
  }
  t.same(listeners(), [0, 0])
  const failing = createSubscription(async function * () { throw new Error('gone') }, signals)
  await t.rejects(failing.next(), { message: 'gone' })
  t.same(listeners(), [0, 0])
})

t.test('it polls every pollMs, by default 100 ms', async (t) => {
  const definition = { feed: 'x', layout: 'values', partitions: 1, windowMs: 0, log: 1, createdAt: '2027-01-15T08:00:00.000Z' }
  /** @param {object} options */
  function start (options) {
    const stop = new AbortController()
    const asked = { times: 0, sinceMs: performance.now() }
    const queries = /** @type {any} */ ({
      status: () => ({ ready: true, nodes: [] }),
      definition: async () => definition,
      async ofLog (/** @type {string} */ feed, /** @type {any} */ read) {
        const connection = {
          send: async (/** @type {string} */ command) => {
            if (command === 'XREAD') asked.times++
            return command === 'XREAD' ? null : []
          }
        }
        return { ...await read(connection, { definition, log: layoutOf('values').arrivals, keys: [String] }), asOf: 0, lagMs: 0 }
      }
    })
    const changes = subscribe(async () => queries, 'x', /** @type {any} */ ({ signal: stop.signal, log: silentLog, ...options }))
    const ending = changes.next()
    return {
      asked,
      async stop () {
        stop.abort()
        t.same(await ending, DONE)
      }
    }
  }
  const [often, usual, seldom] = [start({ pollMs: 1 }), start({}), start({ pollMs: NEVER_MS })]
  await eventually(() => often.asked.times > 100 && usual.asked.times > 4)
  const passedMs = performance.now() - usual.asked.sinceMs
  // a timer may be a millisecond early
  t.ok(usual.asked.times <= 1 + passedMs / 99, `${usual.asked.times} times in ${passedMs} ms`)
  t.equal(seldom.asked.times, 1)
  for (const one of [often, usual, seldom]) await one.stop()
})

t.test(engineName(engine), async (t) => {
  const server = await startServer(t, { engine })
  /** @param {string} name @param {import('../../src/index.js').Layout} layout */
  async function open (name, layout) {
    const feed = await openFeed(name, { redisUrl: server.url, readFrom: 'primary', layout })
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    return feed
  }

  for (const layout of layoutNames()) {
    await t.test(`${layout}: an idle subscription ends when it is left, and so does a stream over it`, async (t) => {
      const feed = await open(`left-${layout}`, layout)
      const { changes } = await begun(feed)
      const next = changes.next()
      t.same(await changes.return(), DONE)
      t.same(await next, DONE)
      const failing = feed.subscribe({ pollMs: NEVER_MS })
      const asked = failing.next()
      await t.rejects(failing.throw(new Error('no more')), { message: 'no more' })
      t.same(await asked, DONE)
      const stream = Readable.from(feed.subscribe({ pollMs: NEVER_MS }))
      stream.read()
      stream.destroy()
      await eventually(() => stream.closed)
    })
  }

  await t.test('many subscriptions get changes, log no warning, and end with the feed', async (t) => {
    /** @type {string[]} */
    const warnings = []
    const onWarning = (/** @type {Error} */ { name }) => warnings.push(name)
    process.on('warning', onWarning)
    t.teardown(() => process.off('warning', onWarning))
    const feed = await open('many', 'segments')
    const stop = new AbortController()
    /** @type {Set<number>} */
    const heard = new Set()
    const following = Array.from({ length: 30 }, async (_, n) => {
      for await (const { id } of feed.subscribe({ pollMs: 10, signal: n % 2 ? stop.signal : undefined })) if (id === 'a') heard.add(n)
    })
    await eventually(async () => {
      feed.append({ id: 'a', value: '' })
      await feed.flush()
      return heard.size === 30
    })
    stop.abort()
    await Promise.all(following.filter((_, n) => n % 2))
    await feed.close()
    await Promise.all(following)
    // warnings are emitted on the next turn
    await pause(1)
    t.same(warnings, [])
  })

  await t.test('without replicas to read from it is refused; one that already runs logs once why it waits, and resumes', async (t) => {
    const primary = await startServer(t, { engine })
    const name = 'alone'
    const feed = await openFeed(name, { redisUrl: primary.url, readFrom: 'replica' })
    t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
    await agree(await connectFor(t, primary.url), 'fr:', feed.definition)
    /** @type {any[]} */
    const said = []
    const say = (/** @type {string} */ level) => (/** @type {any} */ facts, /** @type {string} */ message) => {
      if (/subscription/.test(message)) said.push([level, facts.code, message])
    }
    const log = { info: say('info'), warn: say('warn'), error: say('error') }
    const reader = await openReader({ redisUrl: primary.url, readFrom: 'replica', log })
    t.teardown(() => reader.close())
    for (const { subscribe } of [feed, reader.feed(name)]) {
      await t.rejects(subscribe().next(), { code: 'REPLICAS_GONE', message: /no replicas; use --read-from primary/ })
    }
    t.same(said, [])
    const replica = await startServer(t, { engine, replicaOf: primary })
    await inSync(replica)
    await eventually(() => reader.status().ready)
    const stop = new AbortController()
    const { changes } = await begun(feed, { subscribe: (options) => reader.feed(name).subscribe({ ...options, signal: stop.signal }) })
    const next = changes.next()
    await replica.kill()
    await eventually(() => said.length > 0)
    await replica.restart()
    feed.append({ id: 'begun', value: 'again' })
    await feed.flush()
    t.equal(String((await next).value?.value), 'again')
    t.match([said[0], said.at(-1)],
      [['warn', String, 'subscription waits for a server, retrying'], ['info', undefined, 'subscription resumes']])
    t.ok(said.every(([level, code], n) => n === 0 || level !== said[n - 1][0] || code !== said[n - 1][1]), JSON.stringify(said))
    stop.abort()
    t.same((await changes.next()).done, true)
  })

  await t.test('a subscription after close fails', async (t) => {
    const feed = await open('closed', 'ids')
    const unused = feed.subscribe()
    await feed.close()
    await t.rejects(unused.next(), { code: 'PIPELINE_CLOSED' })
    await t.rejects(feed.subscribe().next(), { code: 'PIPELINE_CLOSED' })
    t.same(await feed.subscribe().return(), DONE)
  })
})
