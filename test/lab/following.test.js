/**
 * Clients that follow a feed: which ids each has, how events are separated, what a client finds wrong, what a sample must hold.
 */
import fc from 'fast-check'
import t from 'tap'
import { lacksOf } from '../../lab/analysis/contradictions.js'
import { constantEvent } from '../../lab/serving/constant-stream.js'
import { createDechunker, createSplitter, readEvent } from '../../lab/serving/event-stream.js'
import { flowOf, idsOf, nameOf, pathOf } from '../../lab/serving/flow.js'
import { createFollowed } from '../../lab/serving/followed.js'
import { createFollowers, readEvery } from '../../lab/serving/followers.js'
import { followingInvariants, growthOf } from '../../lab/serving/following-figures.js'
import { makeIds, makeValue } from '../../src/synthetic.js'

/** @param {number} number of the item @param {number} [index] of its writer @param {number} [bytes] */
function valueOf (number, index = 0, bytes = 64) {
  const { value } = makeValue(bytes, index)
  return Buffer.from(value.toString().replace(/\d{12}/, String(number).padStart(12, '0'))).toString('base64')
}

t.test('ids of clients are spread over the feed, and none has two clients', async (t) => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 500 }), (connections,
    idsEach, more) => {
    const ids = connections * idsEach + more
    const all = Array.from({ length: connections }, (_, place) => idsOf(place, { connections, idsEach, ids }))
    return all.every((ats) => ats.length === idsEach && ats.every((at) => at >= 0 && at < ids)) &&
      new Set(all.flat()).size === connections * idsEach
  }))
  t.same(idsOf(3, { connections: 500, idsEach: 4, ids: 100_000 }), [150, 25_150, 50_150, 75_150])
  t.same(idsOf(3, { connections: 50, ids: 5 }), [0, 1, 2, 3, 4])
  t.same(makeIds(7, 0, 1).map(String), Array.from({ length: 7 }, (_, at) => nameOf(at)))
  const followers = { feed: 'lab', connections: 2, idsEach: 2, ids: 8, maxRate: 10 }
  t.equal(pathOf('push', 1, followers), '/v1/feeds/lab/live?limit=2&id=id-2&id=id-6&maxRate=10')
  t.equal(pathOf('poll', 1, followers), '/v1/feeds/lab/items?limit=2&id=id-2&id=id-6')
  t.equal(pathOf('push', 1, { feed: 'lab', connections: 2, ids: 8 }), '/v1/feeds/lab/live?limit=8')
})

t.test('what a client is sent follows from how often its ids are written, and how often it is reported', async (t) => {
  const some = { connections: 500, idsEach: 20, ids: 100_000, ratePerSecond: 200_000 }
  const all = { connections: 50, ids: 100, ratePerSecond: 200_000 }
  t.same(flowOf({ ...some, maxRate: 10 }), { eventsPerSecond: 10, itemsPerSecond: 40, itemsPerEvent: 4 })
  t.same(flowOf({ ...all, maxRate: 10 }), { eventsPerSecond: 10, itemsPerSecond: 1000, itemsPerEvent: 100 })
  t.same(flowOf(all), { eventsPerSecond: 100, itemsPerSecond: 10_000, itemsPerEvent: 100 })
  t.same(flowOf(some), { eventsPerSecond: 40, itemsPerSecond: 40, itemsPerEvent: 1 })
  const order = (/** @type {any} */ { ids, ...rest }) =>
    ({ asks: 'push', everyMs: 0, isConstant: false, workload: { ids, writers: 1, valueBytes: 128, isWhole: true }, ...rest })
  t.equal(readEvery(order({ ...some, maxRate: 10 })), 1)
  t.equal(readEvery(order({ ...all, maxRate: 10 })), 1)
  t.equal(readEvery(order(all)), 10)
  t.equal(readEvery(order({ ...some, asks: 'poll', everyMs: 100 })), 2)
})

t.test('events are the same wherever their bytes are cut', async (t) => {
  const events = ['retry: 1000\n\n', 'event: snapshot\ndata: {"items":[]}\nid: a\n\n', ': \n\n',
    'event: items\ndata: {"items":[{"id":"\\n\\n"}]}\nid: b\n\n', '\n\n']
  const chunks = events.map((event) => `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`).join('')
  fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (sizes) => {
    /** @type {string[]} */
    const found = []
    const dechunk = createDechunker(createSplitter((event) => { found.push(event.toString()) }))
    for (let at = 0, i = 0; at < chunks.length; at += sizes[i++ % sizes.length]) {
      dechunk(Buffer.from(chunks.slice(at, at + sizes[i % sizes.length])))
    }
    return JSON.stringify(found) === JSON.stringify(events)
  }), { numRuns: 300 })
  t.throws(() => createDechunker(() => {})(Buffer.from('0\r\n\r\n')), { message: 'the server ended the stream' })
  t.throws(() => createDechunker(() => {})(Buffer.from('{"code":1}\r\n')), { message: /invalid chunk size/ })
  t.same(readEvent(events[1]), { event: 'snapshot', data: '{"items":[]}', id: 'a' })
  t.same(readEvent(events[2]), { event: 'message', data: null, id: null })
  t.same(readEvent('event: items\ndata: 1\ndata: 2\n\n'), { event: 'items', data: '1\n2', id: null })
})

t.test('a client finds what goes back, was not requested, or is not due; new versions are timed', async (t) => {
  /** @type {number[]} */
  const times = []
  const followed = createFollowed(['id-1', 'id-2'])
  const take = (/** @type {any[]} */ items, heardMs = 1000) => followed.take(items, heardMs, (ms) => times.push(ms))
  const [a, b] = [valueOf(2), valueOf(12)]
  t.equal(take([{ id: 'id-1', ts: 900, value: a }]), null)
  t.same(times, [], 'of what it hears for the first time it is not known since when it could')
  t.equal(take([{ id: 'id-1', ts: 900, value: a }]), null)
  t.same(times, [], 'nor is the same again')
  t.equal(take([{ id: 'id-1', ts: 940, value: b }, { id: 'id-2', ts: 950, value: a }]), null)
  t.same(times, [60])
  t.match(take([{ id: 'id-1', ts: 939, value: a }]), /^id-1 went back: from 940 to 939/)
  t.match(take([{ id: 'id-1', ts: 940, value: a }]), /^id-1 went back/, 'within a millisecond as well')
  t.match(take([{ id: 'id-3', ts: 950, value: a }]), /^id-3 was not requested/)
  t.match(take([{ id: 'id-2', ts: 960, deleted: true }]), /^id-2 is marked as deleted/)
  t.match(take([{ id: 'id-2', ts: 1002, value: b }]), /^id-2 of 1002 was received at 1000.0, before it was due/)
  t.same(followed.values, [b, a])
  followed.forget()
  t.equal(take([{ id: 'id-1', ts: 900, value: a }]), null)
})

const ORDER = /** @type {import('../../lab/serving/followers.js').Order} */ ({
  asks: 'push',
  connections: 2,
  idsEach: 2,
  maxRate: 10,
  everyMs: 0,
  ratePerSecond: 8,
  isConstant: false,
  workload: { ids: 4, writers: 2, valueBytes: 64, isWhole: true }
})

t.test('clients have the newest of each of their ids, or the client that has not is reported; several writers too', async (t) => {
  const followers = createFollowers(ORDER)
  followers.count(true)
  const now = Date.now()
  // writer 0 has id-0 and id-2, and wrote 1, 2, 3; writer 1 has id-1 and id-3, and wrote 1 and 2
  followers.read(0, [{ id: 'id-0', ts: now, value: valueOf(1) }, { id: 'id-2', ts: now, value: valueOf(2) }], now)
  followers.read(1, [{ id: 'id-1', ts: now, value: valueOf(1, 1) }, { id: 'id-3', ts: now, value: valueOf(2, 1) }], now)
  t.match(followers.settled([3, 2]), { due: 4, newest: 3, detail: 'client 1 has number 1 of id-0; expected number 3', behind: [0] })
  followers.read(0, [{ id: 'id-0', ts: now + 1, value: valueOf(3) }], now + 200)
  t.same(followers.settled([3, 2]), { due: 4, newest: 4, detail: null, behind: [] })
  t.match(followers.figures(),
    { answers: { looked: 3, wrong: 0 }, following: { readEvents: 3, items: 1, delayMs: { p50: 199, max: 199 } } })
  followers.read(1, [{ id: 'id-1', ts: now + 2, value: valueOf(2, 1) }], now + 400)
  t.match(followers.figures().answers, { wrong: 1, detail: 'id-1 has a value that was not written for it' })
  followers.reset(0)
  t.match(followers.settled([3, 2]), { newest: 1, detail: 'client 1 has nothing of id-0; expected number 3' })
})

t.test('only the window counts; when it is over every client is read', async (t) => {
  const followers = createFollowers({
    ...ORDER,
    connections: 50,
    idsEach: undefined,
    maxRate: undefined,
    ratePerSecond: 200_000,
    workload: { ids: 100, writers: 1, valueBytes: 64, isWhole: true }
  })
  const wanted = () => Array.from({ length: 50 }, (_, client) => followers.wants(client)).filter(Boolean).length
  followers.received(0, 100, 1)
  t.equal(wanted(), 5)
  followers.count(true)
  followers.received(0, 100, 1000)
  followers.received(0, 120, 1010)
  followers.received(7, 100, 1011)
  t.equal(wanted(), 5)
  followers.count(false)
  followers.received(0, 100, 1020)
  t.equal(wanted(), 50)
  t.match(followers.figures(),
    { bytes: 320, following: { events: 3, bytes: 320, mostEvents: 2, readClients: 5, betweenMs: { max: 10 }, delayMs: null } })
})

t.test('bare sends the time at which an event was made, and always as many bytes', async (t) => {
  const event = constantEvent({ ats: [0, 5000, 10_000, 15_000], valueBytes: 128, feed: 'lab' })
  const now = Date.now()
  for (const ms of [now, now + 1]) {
    const bytes = event.at(ms)
    t.equal(bytes.length, event.bytes)
    const { event: name, data, id } = readEvent(bytes.toString())
    t.equal(name, 'items')
    t.ok(id && id.length > 20)
    const { items } = JSON.parse(String(data))
    t.same(items.map((/** @type {any} */ { id, ts }) => [id, ts]), [['id-0', ms], ['id-5000', ms], ['id-10000', ms], ['id-15000', ms]])
    t.ok(items.every((/** @type {any} */ { value }) => Buffer.from(value, 'base64').length === 128))
  }
})

const PERCENTILES = { p50: 1, p95: 2, p99: 3, max: 4 }
const FOLLOWING = {
  openAtBegin: 50,
  openAtEnd: 50,
  ended: {},
  resets: 0,
  events: 2500,
  bytes: 1e6,
  mostEvents: 50,
  readClients: 50,
  readEvents: 2500,
  items: 9000,
  maxRate: 10,
  due: 1000,
  newest: 1000,
  detail: null,
  memoryBytes: [1, 2],
  liveBytes: [1, 2],
  loopDelayMsP99: 3,
  delayMs: PERCENTILES,
  newestMs: PERCENTILES,
  betweenMs: PERCENTILES
}
const SERVING = /** @type {any} */ ({ by: 'reader', asks: 'push', connections: 50, seconds: 5, requests: { byStatus: { 200: 50 } } })

t.test('L15: what makes a measurement of clients that follow INVALID', async (t) => {
  const failing = (/** @type {object} */ changes, /** @type {object} */ serving = {}) =>
    followingInvariants(/** @type {any} */ ({ ...FOLLOWING, ...changes }), { ...SERVING, ...serving }).filter(({ ok }) => !ok)
      .map(({ name, detail }) => `${name}: ${detail}`)
  t.same(failing({}), [])
  t.same(failing({ newest: 999, detail: 'client 3 has nothing of id-7; expected number 12' }),
    ['every client has the newest version of each of its ids: 999 of 1000: client 3 has nothing of id-7; expected number 12'])
  t.match(failing({ due: 0, newest: 0 }), [/^every client has the newest/])
  t.same(failing({ due: 0, newest: 0 }, { by: 'bare' }), [])
  t.match(failing({ openAtEnd: 49, ended: { 'the server ended the stream': 1 } }), [
    /^every client stayed connected, without a reset: 50 clients; 50 were connected at the beginning, 49 at the end \(1: the server ended the stream\)/
  ])
  t.match(failing({ openAtEnd: undefined }), [/^every client stayed/], 'connections were not counted at the end')
  t.match(failing({ resets: 1 }), [/1 resets$/])
  t.match(failing({}, { requests: { byStatus: { 200: 49, 503: 1 } } }), ['every stream began: 49 of 50'])
  t.match(failing({ mostEvents: 57 }), [/^no client received more events than it requested: 57 in 5\.0 s; expected at most 10 a second/])
  t.same(failing({ mostEvents: 500, maxRate: null }), [])
  t.match(failing({ events: 0 }), [/^clients received events/])
  t.match(failing({ delayMs: { ...PERCENTILES, p95: 9 } }), [/^percentiles of delivery are in order/])
  t.match(failing({ delayMs: null }), [/^percentiles of delivery are in order/])
})

t.test('growth of memory is that of a line through all looks', async (t) => {
  t.equal(growthOf([100, 110, 120, 130, 140]), 40)
  t.equal(growthOf([100, 100, 180, 100, 100]), 0)
  t.equal(growthOf([100, 110]), null)
})

t.test('a sample whose figures of following lack something is found', async (t) => {
  const lacks = (/** @type {any} */ following) => lacksOf({ serving: { following } }).filter((name) => name.includes('following'))
  t.same(lacks(FOLLOWING), [])
  t.same(lacks({ ...FOLLOWING, openAtEnd: undefined, memoryBytes: 5, liveBytes: undefined }),
    ['serving.following.openAtEnd', 'serving.following.memoryBytes', 'serving.following.liveBytes'])
})
