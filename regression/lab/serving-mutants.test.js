/**
 * Servers that lie about a feed (L15): the client, as a process, finds them out, and lets the one pass that does not. What they answer is
 * made up in the test's own process, which is busy; so nothing is said of how fast they are. Every lie: test/lab/serving-mutants.test.js.
 */
import t from 'tap'
import { fileURLToPath } from 'node:url'
import { servingFigures, servingInvariants } from '../../lab/serving/figures.js'
import { startProcess } from '../../lab/serving/process.js'
import { IDS, RATE, VALUE_BYTES, startLiar } from '../../test/lab/mutants/servers.js'
import { env } from './serving-commands.js'

const CLIENT = fileURLToPath(new URL('../../lab/serving/client-process.js', import.meta.url))
const WORKLOAD = { ids: IDS, writers: 1, valueBytes: VALUE_BYTES, isWhole: true }
const LONGEST_S = 10
const USAGE = { atMs: 0, cpuSeconds: 0, loopBusyMs: 0, memoryBytes: 0 }

const client = startProcess('the client', [CLIENT], env)
t.teardown(() => client.stop())
await client.receive('up')

/**
 * For longer and longer until something was answered, as on a busy machine nothing may be in a short time.
 * @param {import('tap').Test} t @param {'pages' | 'freshness'} asks @param {string} name of the server
 * @returns {Promise<{ figures: import('../../lab/serving/figures.js').ServingFigures, broken: string[], detail: string }>}
 */
async function asked (t, asks, name, seconds = 1.5) {
  const { url } = await startLiar(t, name)
  const limit = asks === 'pages' ? 20 : 1
  client.send({
    event: 'request',
    urls: [`${url}?limit=${limit}`],
    connections: 1,
    everyMs: asks === 'pages' ? 20 : 2,
    seconds,
    right: { items: limit, bytes: null, workload: WORKLOAD },
    freshness: asks === 'freshness' ? { ratePerSecond: RATE } : null,
    currentWithinMs: asks === 'pages' ? 1000 : null
  })
  const figures = servingFigures({ by: 'reader', asks, processes: 1, connections: 1, everyMs: 1 }, await client.receive('requested'),
    [USAGE], [{ ...USAGE, atMs: 1 }])
  if (figures.answers.looked === 0 && seconds < LONGEST_S) return asked(t, asks, name, 2 * seconds)
  return {
    figures, broken: servingInvariants(figures).filter(({ ok }) => !ok).map(({ name }) => name), detail: String(figures.answers.detail)
  }
}

/** One after the other. @param {import('tap').Test} t @param {'pages' | 'freshness'} asks @param {string[]} names */
async function askedEach (t, asks, names) {
  const all = []
  for (const name of names) all.push(await asked(t, asks, name))
  return all
}

const RIGHT = 'responses are correct'
const SEEN = 'due items became visible'

t.test('L15: a page that lacks something, and one of a server that stands still, are found', async (t) => {
  const [healthy, short, stuck] = await askedEach(t, 'pages', ['healthy', 'leaves one out', 'stuck'])
  t.same(healthy.broken, [], healthy.detail)
  t.ok(Number(healthy.figures.answers.newest?.[0]) > 5000)
  t.same([short.broken, stuck.broken], [[RIGHT], [RIGHT]])
  t.match(short.detail, /^19 items; expected 20/)
  t.match(stuck.detail, /the newest item was \d+ ms old when the request was sent; expected at most 1000 ms/)
})

// a machine that stands still for half a second may leave something unseen
const wrong = (/** @type {string[]} */ broken) => broken.filter((name) => name !== SEEN)

t.test('L15: freshness of a server that is late is reported, of one that stands still it is none', async (t) => {
  const [healthy, stale, stuck] = await askedEach(t, 'freshness', ['healthy', 'stale', 'stuck'])
  t.same(wrong(healthy.broken), [], healthy.detail)
  const { freshness } = healthy.figures
  t.ok(freshness && freshness.p50 > 0 && freshness.betweenMs.p50 > 0 && [999, 1000].includes(freshness.due), JSON.stringify(freshness))
  t.equal(freshness?.wentBack, 0)
  t.same(wrong(stale.broken), [], stale.detail)
  t.ok(Number(stale.figures.freshness?.p50) >= 200, `${stale.figures.freshness?.p50} ms`)
  t.same(stuck.broken, [SEEN], stuck.detail)
})

t.test('L15: everything that is not everything is found', async (t) => {
  /** @param {string} name */
  async function fault (name) {
    const { url } = await startLiar(t, name)
    client.send({ event: 'fetch', url: `${url}?limit=1000000` })
    const { status, bytes, firstMs, lastMs } = await client.receive('fetched')
    t.equal(status, 200)
    t.ok(bytes > IDS * VALUE_BYTES && firstMs > 0 && firstMs <= lastMs)
    const { url: honest } = name === 'healthy' ? { url } : await startLiar(t, 'healthy')
    client.send({
      event: 'check',
      newestUrl: `${name === 'stuck' ? url : honest}?limit=1`,
      bytes: null,
      workload: WORKLOAD,
      currentWithinMs: name === 'stuck' ? 5 : 1000
    })
    return client.receive('checked')
  }
  const healthy = await fault('healthy')
  t.match(healthy, { items: IDS, fault: null })
  t.ok(healthy.newest > 5000)
  t.match((await fault('leaves one out')).fault, /^1 items are missing that were not overwritten during the response/)
  t.match((await fault('stuck')).fault, /the newest item was \d+ ms old when the request was sent; expected at most 5 ms/)
})
