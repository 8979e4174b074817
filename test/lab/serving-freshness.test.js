/**
 * How fresh answers are, reckoned from their newest items; and what a client connection makes of the bytes it gets.
 */
import { createServer } from 'node:net'
import t from 'tap'
import { servingInvariants } from '../../lab/serving/figures.js'
import { checkAll } from '../../lab/serving/everything.js'
import { createFreshness } from '../../lab/serving/freshness.js'
import { createChecker } from '../../lab/serving/workload.js'
import { openClient } from '../../src/requests/index.js'
import { makeValue } from '../../src/synthetic.js'

const SERVED = {
  requests: { planned: null, sent: 3, answered: 3, missing: 0, errors: 0, timeouts: 0, byStatus: { 200: 3 } },
  answers: { looked: 3, wrong: 0, detail: null }
}

/** of a feed of a thousand items a second that began at 0: item n is due at n ms @param {number} ts */
const item = (ts) => ({ ts, writer: 0, number: ts })

t.test('a millisecond counts once, from its beginning, when an answer holds a later one', async (t) => {
  const freshness = createFreshness({ fromMs: 100, untilMs: 110, ratePerSecond: 1000 })
  t.equal(freshness.figures(), null)
  for (const [ts, heardMs] of [[98, 104], [103, 109], [103, 110], [109, 115], [110, 116], [120, 126]]) {
    t.equal(freshness.observe(item(ts), heardMs), null)
  }
  // 100, 101, 102 at 109; 103 to 108 at 115; 109 at 116
  const figures = freshness.figures()
  t.match(figures, { due: 10, seen: 10, wentBack: 0, max: 12, betweenMs: { max: 10 } })
  t.equal(Math.round(Number(figures?.p50)), 8)
  t.same(servingInvariants(/** @type {any} */ ({ ...SERVED, freshness: figures })).filter(({ ok }) => !ok), [])
})

t.test('what was due and not seen makes it INVALID, and so do figures that do not fit', async (t) => {
  const freshness = createFreshness({ fromMs: 100, untilMs: 110, ratePerSecond: 1000 })
  for (const [ts, heardMs] of [[100, 104], [105, 109], [104, 110]]) t.equal(freshness.observe(item(ts), heardMs), null)
  const figures = freshness.figures()
  t.match(figures, { due: 10, seen: 5, wentBack: 1 })
  const broken = (/** @type {any} */ of) =>
    servingInvariants(/** @type {any} */ ({ ...SERVED, freshness: of })).filter(({ ok }) => !ok).map(({ name }) => name)
  t.same(broken(figures), ['due items became visible'])
  t.same(broken(null), ['due items became visible'])
  const whole = { ...figures, seen: 10 }
  t.same(broken(whole), [])
  t.same(broken({ ...whole, p99: 0 }), ['percentiles of freshness are in order'])
  t.same(broken({ ...whole, betweenMs: { p50: 2, p95: 1, p99: 1, max: 1 } }), ['percentiles of freshness are in order'])
})

t.test('times must follow from the numbers', async (t) => {
  const freshness = createFreshness({ fromMs: 0, untilMs: 100, ratePerSecond: 3000 })
  const due = (/** @type {number} */ number) => ({ ts: Math.floor(5.5 + number / 3), writer: 0, number })
  for (let number = 1; number < 60; number += 7) t.equal(freshness.observe(due(number), 200), null)
  t.match(freshness.observe({ ...due(60), ts: due(60).ts + 2 }, 200),
    /number 60 has time 27, which does not fit the numbers and times before it/)
  t.equal(createFreshness({ fromMs: 0, untilMs: 9, ratePerSecond: 1000 }).observe(item(5), 3.5),
    'an item of 5 in a response received at 3.5, before it was due')
})

t.test('everything is timed as often as it was answered, and ready means that all items are there', async (t) => {
  const everything = {
    startUpMs: 500,
    dueItems: 1000,
    mostItems: 1000,
    liveItems: 1000,
    firstMs: [1, 2, 3],
    lastMs: [10, 20, 30],
    delayMs: [1, 1, 1],
    items: [1000, 990, 1000]
  }
  const broken = (/** @type {any} */ changes) => servingInvariants(/** @type {any} */ ({
    ...SERVED, everything: { ...everything, ...changes }
  })).filter(({ ok }) => !ok).map(({ name }) => name)
  t.same(broken({}), [])
  t.same(broken({ liveItems: 0 }), ['the process was ready with all items'])
  t.same(broken({ liveItems: 1001 }), ['the process was ready with all items'])
  t.same(broken({ dueItems: 600, liveItems: 700 }), [], 'a feed that is not full yet')
  t.same(broken({ lastMs: [10, 20] }), ['every response was timed'])
  t.same(broken({ firstMs: [11, 2, 3] }), ['every response was timed'])
})

/** @param {number} n @param {number} ids @param {number} [bytes] */
function written (n, ids, bytes = 64) {
  const { value, change } = makeValue(bytes, 0)
  for (let i = 0; i < n; i++) change()
  return { id: `id-${(n - 1) % ids}`, ts: 1000 + n, value: value.toString('base64') }
}

t.test('everything: items that stayed newest are required; those overwritten during the response are optional', async (t) => {
  const ids = 10
  const lines = (/** @type {number[]} */ ...numbers) => Buffer.from(numbers.map((n) => JSON.stringify(written(n, ids)) + '\n').join(''))
  const all = [30, 29, 28, 27, 26, 25, 24, 23, 22, 21]
  t.same(checkAll(lines(...all), { ids, valueBytes: 64, newestNow: 30 }), { items: 10, newest: 30, fault: null })
  // 21 to 23 were overwritten by 31 to 33 before it ended
  t.same(checkAll(lines(...all.slice(0, 7)), { ids, valueBytes: 64, newestNow: 33 }).fault, null)
  t.same(checkAll(lines(...all.slice(0, 7), 22), { ids, valueBytes: 64, newestNow: 33 }).fault, null)
  t.same(checkAll(lines(...all.slice(0, 6)), { ids, valueBytes: 64, newestNow: 33 }).fault,
    '1 items are missing that were not overwritten during the response')
  t.same(checkAll(lines(...all.filter((n) => n !== 27)), { ids, valueBytes: 64, newestNow: 30 }).fault,
    '1 items are missing that were not overwritten during the response')
  t.same(checkAll(lines(), { ids, valueBytes: 64, newestNow: 30 }).fault, 'the response is empty')
  t.same(checkAll(Buffer.from('{"id":'), { ids, valueBytes: 64, newestNow: 30 }).fault, 'a line is not valid JSON')
})

t.test('answers of several writers are held to each of them', async (t) => {
  const of = (/** @type {number} */ writer, /** @type {number} */ n) => {
    const { value, change } = makeValue(80, writer)
    for (let i = 0; i < n; i++) change()
    return { id: `id-${((n - 1) % 5) * 2 + writer}`, ts: n, value: value.toString('base64') }
  }
  const checker = createChecker({ ids: 10, writers: 2, valueBytes: 80, isWhole: true })
  t.equal(checker.faultOf([of(0, 9), of(1, 7), of(0, 8), of(1, 6)]), null)
  t.same(checker.newest, [9, 7])
  t.equal(checker.faultOf([of(0, 9), of(1, 7), of(0, 7), of(1, 6)]),
    'item 3 (id-2): number 7 follows 9; the numbers between them are missing')
  t.equal(checker.faultOf([of(1, 7), { ...of(1, 6), id: 'id-4' }]), 'item 2 (id-4): number 6 was written for id-1')
})

t.test('an answer is read however its bytes come; one without a length ends the connection', async (t) => {
  /** @param {string[]} pieces of each answer @returns {Promise<any[]>} what the client eventsOf */
  async function eventsOf (pieces) {
    const server = createServer((socket) => {
      socket.on('error', () => {}).on('data', async () => {
        for (const piece of pieces) {
          socket.write(piece)
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
      })
    })
    await /** @type {Promise<void>} */ (new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve) }))
    t.teardown(() => server.close())
    /** @type {any[]} */
    const events = []
    await /** @type {Promise<void>} */ (new Promise((resolve) => {
      const client = openClient(`http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}/x?y=1`, {
        ready () {
          if (events.filter(([what]) => what === 'response').length < 2) return client.send()
          client.close()
          resolve()
        },
        head: (status) => status === 200,
        response: (status, bytes, body) => { events.push(['response', status, bytes, body && String(body)]) },
        lost: () => { events.push(['lost']) },
        end () {
          events.push(['end'])
          resolve()
        }
      })
    }))
    return events
  }
  const response = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nx: y\r\n\r\nhello'
  t.same(await eventsOf([response]), [['response', 200, 5, 'hello'], ['response', 200, 5, 'hello']])
  t.same(await eventsOf([response.slice(0, 30), response.slice(30, 48), response.slice(48, 53), response.slice(53)]),
    [['response', 200, 5, 'hello'], ['response', 200, 5, 'hello']])
  t.same(await eventsOf(['HTTP/1.1 304 Not Modified\r\ncontent-length: 0\r\n\r\n']),
    [['response', 304, 0, null], ['response', 304, 0, null]])
  t.same(await eventsOf(['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n']), [['lost'], ['end']])
  t.same(await eventsOf([response + 'more']), [['lost'], ['end']])
  t.same(await eventsOf(['HTTP/1.1 200 OK\r\n' + 'x: y\r\n'.repeat(4000)]), [['lost'], ['end']])
})
