/** Figures of feeds, writers and nodes in a reader process, over real servers. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import t from 'tap'
import { agree } from '../../src/feeds/definitions.js'
import { readHeartbeat } from '../../src/feeds/changes.js'
import { writersKey } from '../../src/feeds/keys.js'
import { connectFor, engineName, eventually, openWriterFor, startDeployment } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { runCommand } from '../commands.js'
import { scopedEngines } from '../scope.js'

const VALUE = Buffer.from('v')
const PER_SECOND = 1000
/** a late heartbeat and the next one count as so far apart */
const LEAST_MS = 500

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  t.jobs = 4
  const { primary, replicas } = await startDeployment(t, { engine, replicas: 1 })
  const [control, reader] = await Promise.all([connectFor(t, primary.url), startReader(t, { redisUrl: primary.url })])
  const figuresOf = async (/** @type {string} */ feed, query = '') => (await reader.get(`/v1/feeds/${feed}/figures${query}`)).json

  const create = (/** @type {string} */ feed) =>
    agree(control, 'fr:', { feed, layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 1_000_000, format: 1 })

  /** Writes on and on. @param {import('tap').Test} t @param {string} feed @param {number} each how many every 50 ms */
  async function keepWriting (t, feed, each) {
    const writer = await openWriterFor(t, { redisUrl: primary.url, feed })
    let n = 0
    const timer = setInterval(() => {
      for (let i = 0; i < each; i++) writer.pipeline.append(Buffer.from(`id-${n++ % 100}`), Date.now(), VALUE)
    }, 50)
    t.teardown(() => clearInterval(timer))
    return { writer, stop: () => clearInterval(timer) }
  }

  t.test('the rate is what the writers acknowledged between two heartbeats of each', { buffered: true }, async (t) => {
    const feed = 'two'
    /** @type {Map<string, Map<number, number>>} items by time, of each writer: all heartbeats */
    const found = new Map()
    const socket = connect(primary.port, '127.0.0.1')
    t.teardown(() => { socket.destroy() })
    socket.write('MONITOR\r\n')
    const lines = createInterface({ input: socket }).on('line', (line) => {
      const [name, text] = line.split(`"HSET" "${writersKey('fr:', feed)}" `)[1]?.slice(1, -1).split('" "') ?? []
      const heartbeat = name && readHeartbeat(text)
      if (heartbeat) found.set(name, (found.get(name) ?? new Map()).set(heartbeat.atMs, heartbeat.items))
    })
    // +OK: from here on no heartbeat is missed
    await once(lines, 'line')
    for (const each of [10, 30]) await keepWriting(t, feed, each)
    const figures = await eventually(async () => {
      const answer = await figuresOf(feed)
      // the rate of a writer that was seen once is since the reading before
      const areKnown = found.size === 2 && [...found.values()].every((times) => times.size > 3)
      return areKnown && answer.itemsPerSecond > 0 && answer.writers === 2 &&
        answer.history.filter((/** @type {any} */ { itemsPerSecond }) => itemsPerSecond > 0).length > 2 && answer
    })
    /** @param {Map<number, number>} times */
    const ratesIn = (times) => [...times].flatMap(([from, before]) =>
      [...times].filter(([to]) => to > from).map(([to, after]) => (after - before) / Math.max(LEAST_MS, to - from) * PER_SECOND))
    const [ones, others] = [...found.values()].map(ratesIn)
    const known = ones.flatMap((one) => others.map((other) => one + other))
    const nearest = known.reduce((a, b) => Math.abs(b - figures.itemsPerSecond) < Math.abs(a - figures.itemsPerSecond) ? b : a)
    t.ok(Math.abs(nearest - figures.itemsPerSecond) < 0.01 * nearest, `${figures.itemsPerSecond} a second, found ${nearest}`)
  })

  t.test('figures have definition, contents and nodes', { buffered: true }, async (t) => {
    const feed = 'all-of-it'
    const writer = await openWriterFor(t, { redisUrl: primary.url, feed, partitions: 2, windowMs: 3_600_000, maxItems: 500 })
    const ts = Date.now()
    for (let i = 0; i < 30; i++) writer.pipeline.append(Buffer.from(`id-${i % 20}`), ts + i, VALUE)
    await writer.pipeline.flush()
    const figures = await eventually(async () => {
      const answer = await figuresOf(feed)
      return answer?.count === 20 && answer.nodes.length === 2 && answer.nodes.every((/** @type {any} */ { cpu }) => cpu !== null) &&
        answer.history.length > 2 && answer
    })
    t.match(figures, {
      feed,
      layout: 'ids',
      partitions: 2,
      windowMs: 3_600_000,
      maxItems: 500,
      ready: true,
      reasons: { length: 0 },
      count: 20,
      exact: true,
      newestTs: ts + 29,
      everyMs: 1000
    })
    t.ok(Math.abs(figures.asOf - Date.now()) < 60_000)
    const [first, second] = figures.nodes
    t.match(first,
      { role: 'primary', address: `127.0.0.1:${primary.port}`, engine: engineName(engine), state: 'up', lagMs: null, cpu: Number })
    t.match(second,
      { role: 'replica', address: `127.0.0.1:${replicas[0].port}`, engine: engineName(engine), state: /connected|lagging/, cpu: Number })
    t.same(Object.keys(figures.history.at(-1).cpu), [first.address, second.address])
    t.ok(figures.history.every((/** @type {any} */ one, /** @type {number} */ i) => i === 0 || one.at > figures.history[i - 1].at),
      'oldest first')
  })

  t.test('history after a time', { buffered: true }, async (t) => {
    const feed = 'history'
    const { stop } = await keepWriting(t, feed, 5)
    const { history } = await eventually(async () => {
      const answer = await figuresOf(feed)
      return answer.history?.length > 3 && answer
    })
    stop()
    const { at } = history[1]
    const later = (await figuresOf(feed, `?since=${at}`)).history
    t.same(later.slice(0, history.length - 2), history.slice(2))
    const last = later.at(-1).at
    const next = await eventually(async () => {
      const found = (await figuresOf(feed, `?since=${last}`)).history
      return found.length > 0 && found
    })
    t.ok(next[0].at > last)
    t.same((await figuresOf(feed, `?since=${2 ** 41 - 1}`)).history, [])
  })

  t.test('an idle writer counts as none at once', { buffered: true }, async (t) => {
    const { stop } = await keepWriting(t, 'idle', 5)
    await eventually(async () => (await figuresOf('idle')).writers === 1)
    stop()
    await eventually(async () => (await figuresOf('idle')).itemsPerSecond === 0)
    await eventually(async () => (await figuresOf('idle')).writers === 0)
  })

  t.test('one request to an idle feed shows, in a new feed and later', { buffered: true }, async (t) => {
    const gateway = await startGateway(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })
    const feed = 'posted'
    // the reader has looked at the servers before
    await create('watched')
    await eventually(async () => (await figuresOf('watched')).itemsPerSecond === 0)
    let since = -1
    for (let round = 0; round < 2; round++) {
      const postedAt = Date.now()
      t.equal((await gateway.post(`/v1/feeds/${feed}/items`, [{ id: 'a', value: 1 }, { id: 'b', value: 2 }])).status, 200)
      const figures = await eventually(async () => {
        const answer = await figuresOf(feed, since < 0 ? '' : `?since=${since}`)
        return answer.history?.some((/** @type {any} */ { itemsPerSecond }) => itemsPerSecond > 0) && answer
      })
      t.comment(`shown ${Date.now() - postedAt} ms after the request`)
      t.ok(figures.lastWriteAt >= postedAt && figures.lastWriteAt <= figures.asOf)
      const quiet = await eventually(async () => {
        const answer = await figuresOf(feed)
        return answer.writers === 0 && answer.itemsPerSecond === 0 && answer
      })
      t.ok(Math.abs(quiet.lastWriteAt - figures.lastWriteAt) <= 1, 'and is kept')
      since = quiet.asOf
    }
  })

  t.test('a killed writer counts as none, while its heartbeat remains', { buffered: true }, async (t) => {
    const writer = runCommand(t, ['writer', '--redis-url', primary.url, '--feed', 'killed', '--rate', '500', '--read-from', 'primary'])
    await eventually(async () => (await figuresOf('killed')).writers === 1)
    await writer.kill()
    const figures = await eventually(async () => {
      const answer = await figuresOf('killed')
      return answer.itemsPerSecond === 0 && answer
    })
    t.match(figures, { writers: 0, ready: true })
    t.equal(await control.send('HLEN', 'fr:{killed}:writers'), 1)
  })

  t.test('the rate is unknown with a writer without heartbeats', { buffered: true }, async (t) => {
    await create('before')
    await eventually(async () => (await figuresOf('before')).itemsPerSecond === 0)
    await control.send('SET', 'fr:{before:0}:trimmer', 'a writer of another version')
    await eventually(async () => (await figuresOf('before')).itemsPerSecond === null)
    t.equal((await figuresOf('before')).writers, null)
    await control.send('DEL', 'fr:{before:0}:trimmer')
    await eventually(async () => (await figuresOf('before')).itemsPerSecond === 0)
  })

  t.test('a key of heartbeats that holds something else concerns its feed only', { buffered: true }, async (t) => {
    await control.send('SET', 'fr:{odd}:writers', 'mine')
    for (const feed of ['odd', 'even']) await create(feed)
    await eventually(async () => (await figuresOf('even')).itemsPerSecond === 0)
    t.match(await figuresOf('odd'), { itemsPerSecond: null, writers: null, ready: true, count: 0, newestTs: null })
  })

  t.test('no such feed, no such name, no such field', { buffered: true }, async (t) => {
    for (const [path, status, code] of /** @type {[string, number, string][]} */ ([
      ['/v1/feeds/nowhere/figures', 404, 'FEED_UNKNOWN'], ['/v1/feeds/No%20Name/figures', 400, 'FEED_NAME_INVALID'],
      ['/v1/feeds/nowhere/figures?limit=1', 400, 'REQUEST_INVALID'],
      ['/v1/feeds/nowhere/figures?since=1&since=2', 400, 'REQUEST_INVALID'],
      ['/v1/feeds/nowhere/figures?since=-1', 400, 'REQUEST_INVALID'], ['/v1/feeds/nowhere/figures?since=', 400, 'REQUEST_INVALID']])) {
      const answer = await eventually(async () => {
        const found = await reader.get(path)
        return found.status !== 503 && found
      })
      t.same([answer.status, answer.json.code], [status, code], path)
    }
    await control.send('SADD', 'fr:feeds', '{x}*')
    t.equal((await reader.get('/v1/feeds/nowhere/figures')).status, 404, 'an invalid name in the set of feeds has no effect')
  })

  t.test('responses are not cached, and their fields are described', { buffered: true }, async (t) => {
    await create('now')
    const answer = await eventually(async () => {
      const found = await reader.get('/v1/feeds/now/figures')
      return found.status === 200 && found
    })
    t.equal(answer.headers.get('cache-control'), 'no-store')
    const { paths } = (await reader.get('/docs/json')).json
    const described = paths['/v1/feeds/{feed}/figures'].get.responses[200].content['application/json'].schema.properties
    t.same(Object.keys(described).sort(), Object.keys(answer.json).sort())
    t.same(Object.keys(described.nodes.items.properties), Object.keys(answer.json.nodes[0]))
    const { history } = await eventually(async () => {
      const { json } = await reader.get('/v1/feeds/now/figures')
      return json.history.length > 0 && json
    })
    t.same(Object.keys(described.history.items.properties), Object.keys(history[0]))
  })
})
