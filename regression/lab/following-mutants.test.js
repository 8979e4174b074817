/**
 * Readers that lie to clients that follow a feed (L15): the clients, as a process, find them out, and let the one pass that does not. What
 * they send is made up in the test's own process, which is busy; so nothing is said of how fast they are. What is wrong with items, and
 * too many events: test/lab/following.test.js.
 */
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { servingInvariants } from '../../lab/serving/figures.js'
import { createFollowing } from '../../lab/serving/following.js'
import { startProcess } from '../../lab/serving/process.js'
import { EVERY_MS, IDS, LIES, RATE, VALUE_BYTES, startStreams } from '../../test/lab/mutants/streams.js'
import { env } from './serving-commands.js'

const CLIENTS = fileURLToPath(new URL('../../lab/serving/follow-process.js', import.meta.url))
const WORKLOAD = { ids: IDS, writers: 1, valueBytes: VALUE_BYTES, isWhole: true }
const USAGE = { atMs: 0, cpuSeconds: 0, loopBusyMs: 0, memoryBytes: 1 }
const PUSH = {
  by: 'reader', asks: 'push', processes: 1, connections: 4, idsEach: 10, maxRate: 1000 / EVERY_MS, everyMs: 0, path: '', settings: {}
}
const POLL = { ...PUSH, asks: 'poll', maxRate: undefined, everyMs: EVERY_MS }

/** The servers, as far as they are measured. */
const servers = () => {
  let atMs = 0
  return /** @type {any} */ ({
    running: [{ send () {}, receive: async () => ({ delayMsP99: 1, bytes: 1 }) }], usages: async () => [{ ...USAGE, atMs: ++atMs }]
  })
}

/** @param {import('tap').Test} t */
async function startClients (t) {
  const client = startProcess('the client', [CLIENTS], env)
  t.teardown(() => client.stop())
  await client.receive('up')
  return client
}

/** @typedef {Awaited<ReturnType<typeof startClients>>} Clients */

/** @param {import('tap').Test} t @param {Clients} client @param {string} name @param {any} [serving] @param {number} [seconds] */
async function followed (t, client, name, serving = PUSH, seconds = 1) {
  const { url, end } = await startStreams(t, name)
  const following = createFollowing(serving, { client, feed: 'lab', workload: WORKLOAD, ratePerSecond: RATE })
  await following.open([url], null)
  const figures = await following.measure(servers(), seconds)
  const all = /** @type {any} */ ({ ...figures, following: { ...figures.following, ...await following.settle([end()]) } })
  return {
    figures: all,
    broken: servingInvariants(all).filter(({ ok }) => !ok).map(({ name }) => name),
    detail: JSON.stringify(all.answers) + JSON.stringify(all.following)
  }
}

const LONGEST_S = 8
/** processes of clients, which follow one server after another */
const AT_ONCE = 2
const RIGHT = 'responses are correct'
const NEWEST = 'every client has the newest version of each of its ids'
const STAYED = 'every client stayed connected, without a reset'
/** @type {Record<string, { broken: string[], detail?: RegExp }>} */
const FOUND = {
  'holds back an update': { broken: [NEWEST], detail: /client \d has number \d+ of id-7; expected number \d+/ },
  'ends a stream': { broken: [NEWEST, STAYED], detail: /the server ended the stream/ },
  'sends a reset without a reason': { broken: [STAYED] },
  'refuses a client': { broken: [NEWEST, RIGHT, STAYED, 'every stream began'], detail: /status 503: .*OVERLOADED/ }
}

/**
 * On a busy machine a client may have received too few events.
 * @param {import('tap').Test} t @param {Clients} client @param {string} name @param {any} serving
 * @param {(found: Awaited<ReturnType<typeof followed>>) => boolean} isEnough
 */
async function followedUntil (t, client, name, serving, isEnough) {
  let found = await followed(t, client, name, serving)
  for (let seconds = 2; seconds <= LONGEST_S && !isEnough(found); seconds *= 2) found = await followed(t, client, name, serving, seconds)
  return found
}

const found = Object.entries(FOUND)

t.test('L15: streams that lack something, end, or do not begin are found', async (t) => {
  t.same(Object.keys(LIES).toSorted(), [...Object.keys(FOUND), 'healthy', 'stale'].toSorted())
  const names = ['healthy', 'stale', ...found.map(([name]) => name)]
  /** @type {Record<string, Awaited<ReturnType<typeof followed>>>} */
  const outcomes = {}
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    const client = await startClients(t)
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      const most = FOUND[name]?.broken.length ?? 0
      outcomes[name] = await followedUntil(t, client, name, PUSH, ({ broken }) => broken.length >= most)
    }
  }))
  const { healthy, stale } = outcomes
  t.same(healthy.broken, [], healthy.detail)
  const { following, requests, answers, client } = healthy.figures
  t.match(requests, { planned: 4, sent: 4, answered: 4, missing: 0, byStatus: { 200: 4 } })
  t.match(following, { openAtBegin: 4, openAtEnd: 4, resets: 0, due: IDS, newest: IDS, readClients: 4, maxRate: 20 })
  t.ok(following.events > 4 && following.readEvents === following.events && following.items > following.events, healthy.detail)
  t.ok(following.bytes > following.items * VALUE_BYTES && answers.looked >= following.events)
  t.ok(following.delayMs.p50 >= 0 && following.newestMs.p50 <= following.delayMs.p50 && following.betweenMs.p50 > 0, healthy.detail)
  t.ok(client.loopUse > 0 && healthy.figures.latencyMs.p50 > 0)
  t.same(stale.broken, [], stale.detail)
  t.ok(stale.figures.following.newestMs.p50 >= 250, stale.detail)
  for (const [name, { broken, detail }] of found) {
    const one = outcomes[name]
    t.same(one.broken.toSorted(), broken.toSorted(), `${name}: ${one.detail}`)
    if (detail) t.match(one.detail, detail, name)
  }
})

t.test('L15: clients that ask again and again find the same', async (t) => {
  const client = await startClients(t)
  const ask = (/** @type {string} */ name) => followedUntil(t, client, name, POLL, ({ figures }) => figures.following.items > 0)
  const [healthy, lying] = [await ask('healthy'), await ask('holds back an update')]
  t.same(healthy.broken, [], healthy.detail)
  const { following, requests } = healthy.figures
  t.match(following, { openAtBegin: 4, openAtEnd: 4, due: IDS, newest: IDS, maxRate: null })
  t.ok(requests.planned >= 80 && requests.answered > 4 && following.items > 0 && following.delayMs.p50 >= 0, healthy.detail)
  t.same(lying.broken, [NEWEST], lying.detail)
})
