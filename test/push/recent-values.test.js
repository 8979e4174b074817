/** Streams of layout `values` without a view: an arrival may be late, and the newest version of each id is found by its order. */
import t from 'tap'
import { openQueries } from '../../src/view/reader.js'
import { scopedEngines } from '../scope.js'
import { engineName, eventually, silentLog, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { openLive } from './live-client.js'
import { openWritten } from './written.js'

const ITEMS = 3000
const HOT = 10
/** more than a node reads for one answer */
const VERSIONS = 25_000
const ROUNDS = 60
const LATE_MS = 30_000

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--views', 'none'] })
  const open = (/** @type {import('tap').Test} */ t, /** @type {string} */ feed, options = {}) =>
    openWritten(t, { redisUrl: server.url, feed, layout: 'values', ...options })
  const live = (/** @type {import('tap').Test} */ t, /** @type {string} */ feed, query = '', from = '') =>
    openLive(t, reader.url, `/v1/feeds/${feed}/live?encoding=utf8${query}`, { headers: from === '' ? {} : { 'last-event-id': from } })
  const isGone = (/** @type {{ items: Map<string, any> }} */ { items }, /** @type {string} */ id) => Boolean(items.get(id)?.deleted)
  const sorted = (/** @type {{ items: Map<string, any> }} */ { items }) =>
    [...items].filter(([, one]) => !one.deleted).map(([id]) => id).sort()
  const sent = (/** @type {{ events: { data: any }[] }} */ { events }, /** @type {string} */ id) =>
    events.flatMap(({ data }) => data.items ?? []).filter((one) => one.id === id).map(({ value }) => value)

  await t.test('snapshots, changes, deletions and resumed streams', async (t) => {
    const { put, remove, append, flush } = await open(t, 'lean', { partitions: 3 })
    for (let n = 0; n < ITEMS; n++) append(`n${n}`, '1')
    await flush()
    const newest = await live(t, 'lean', '&limit=2000')
    const some = await live(t, 'lean', '&id=n1&id=n2&id=none&limit=10')
    const none = await live(t, 'lean', '&limit=0')
    await eventually(() => newest.items.size === 2000 && some.items.size === 2 && none.events.length === 1)
    await put(['n1', '2'], ['later', '1'])
    await remove('n2')
    await eventually(() => newest.items.has('later') && isGone(newest, 'n2'))
    await eventually(() => some.items.get('n1').value === '2' && isGone(some, 'n2') && isGone(none, 'n2'))
    t.same([sorted(some), sorted(none)], [['n1'], ['later', 'n1']])
    const { position } = some
    await put(['n2', '3'], ['n3', '3'])
    await remove('n1')
    const again = await live(t, 'lean', '&id=n1&id=n2', position)
    await eventually(() => again.items.size === 2)
    t.same([again.names(), sorted(again), again.items.get('n1').deleted], [['items'], ['n2'], true], 'with the deletion')
  })

  await t.test('a late item is sent if its id has no newer version, also of ids that never changed while they were followed', async (t) => {
    const { writer: { pipeline }, put, append, flush } = await open(t, 'late')
    const nowMs = Date.now()
    for (let n = 0; n < ITEMS; n++) append(`n${n}`, 'stored', nowMs - ITEMS + n)
    pipeline.remove(Buffer.from('gone'), nowMs - 10)
    await flush()
    const all = await live(t, 'late', '&limit=0')
    await all.until('snapshot')
    const late = nowMs - 2 * ITEMS
    for (const id of ['n7', 'gone', 'fresh', 'older']) append(id, 'late', late)
    append('n9', 'newer', nowMs - 5)
    await flush()
    append('older', 'later still', late - 1)
    append('older', 'between', late + 1)
    pipeline.remove(Buffer.from('n9'), nowMs - 6)
    pipeline.remove(Buffer.from('fresh'), late + 1)
    await flush()
    await put(['last', '1'])
    await eventually(() => all.items.has('last') && isGone(all, 'fresh'))
    t.same([sent(all, 'n7'), sent(all, 'gone'), sent(all, 'n9'), sent(all, 'older').at(-1)], [[], [], ['newer'], 'between'])
    t.same([sorted(all), all.wentBack], [['last', 'n9', 'older'], []])
  })

  await t.test('few ids with more versions than a node reads for one answer', async (t) => {
    const { put, append, flush } = await open(t, 'deep')
    const nowMs = Date.now()
    for (let n = 0; n < 5; n++) append(`old${n}`, '1', nowMs - 2 * VERSIONS + n)
    for (let n = 0; n < VERSIONS; n++) append(`n${n % HOT}`, `${n}`, nowMs - VERSIONS + n)
    await flush()
    const [all, old] = await Promise.all([live(t, 'deep', '&limit=12'), live(t, 'deep', '&id=old1&id=none&limit=10')])
    await eventually(() => all.items.size === 12 && old.items.size === 1)
    await put(['old1', '2'])
    await eventually(() => all.items.get('old1')?.value === '2' && old.items.get('old1').value === '2')
    t.same(sorted(await untilSome(await live(t, 'deep', '&limit=3'), 3)), ['n8', 'n9', 'old1'])
  })

  await t.test('items so late that much is read before they are sent', async (t) => {
    const { put, append, flush, writer: { pipeline } } = await open(t, 'hours')
    const nowMs = Date.now()
    append('oldest', 'stored', nowMs - 2 * VERSIONS)
    for (let n = 0; n < VERSIONS; n++) append(`n${n}`, '1', nowMs - VERSIONS + n)
    await flush()
    const all = await live(t, 'hours', '&limit=0')
    await all.until('snapshot')
    const { position } = all
    const late = nowMs - 3 * VERSIONS
    append('oldest', 'late', late)
    append('n5', 'late', late)
    append('new', 'late', late)
    pipeline.remove(Buffer.from('gone'), late)
    append('n7', '2', nowMs)
    await flush()
    await put(['last', '1'])
    await eventually(() => all.items.has('last') && all.items.has('new') && all.items.has('n7') && isGone(all, 'gone'))
    t.same([sorted(all), all.wentBack], [['last', 'n7', 'new'], []])
    const again = await live(t, 'hours', '', position)
    await eventually(() => again.items.has('last') && again.items.has('new') && isGone(again, 'gone'))
    await put(['last', '2'])
    await eventually(() => all.items.get('last').value === '2')
    const end = await live(t, 'hours', '&limit=0', all.position)
    await put(['last', '3'])
    await eventually(() => end.items.get('last')?.value === '3')
    t.notOk(end.items.has('new'), 'the position went on')
  })

  await t.test('where feeds are not discovered, a stream opens no view, and a query does; streams go on as they were', async (t) => {
    const { put } = await open(t, 'library')
    await put(['a', '1'])
    const { queries, close } = await openQueries({
      redisUrl: server.url,
      replicaUrl: null,
      readFrom: 'primary',
      keyPrefix: 'fr:',
      deadlineMs: 10_000,
      views: 'auto',
      maxViewItems: 1000,
      maxViewBytes: 1_048_576,
      name: 'library',
      log: silentLog
    })
    t.teardown(close)
    const watched = await queries.watch('library')
    const view = await eventually(() => watched.view()?.isComplete && watched.view())
    t.ok(view && 'load' in view)
    t.equal(queries.revision('library'), null, 'no view')
    t.match(await queries.count('library'), { count: 1, exact: true }, 'of a view')
    t.equal(watched.view(), view)
    const later = await queries.watch('library')
    t.equal(later.view(), view)
    for (const { release } of [watched, later]) release()
    const viewed = await queries.watch('library')
    t.notOk('load' in /** @type {any} */ (viewed.view()), 'that of queries')
    viewed.release()
  })

  await t.test('maxItems: what it excludes is in no snapshot', async (t) => {
    const { append, flush } = await open(t, 'few', { maxItems: 10 })
    const nowMs = Date.now()
    for (let n = 0; n < 30; n++) append(`n${n}`, '1', nowMs - 30 + n)
    await flush()
    const [all, some] = await Promise.all([live(t, 'few', '&limit=100'), live(t, 'few', '&id=n1&id=n25&limit=10')])
    await untilSome(all, 10)
    await untilSome(some, 1)
    t.same([all.items.size, sorted(some)], [10, ['n25']])
  })

  await t.test('random versions, a third of them late: every stream has the newest of each id', async (t) => {
    const { writer: { pipeline } } = await open(t, 'random', { partitions: 2 })
    /** @type {Map<string, { ts: number, value: string | null }>} */
    const model = new Map()
    let n = 0
    const used = new Set()
    async function round () {
      for (let i = 0; i < 40; i++) {
        const id = `n${Math.floor(Math.random() * 60)}`
        let ts = Math.random() < 0.3 ? Date.now() - Math.floor(Math.random() * LATE_MS) : Date.now()
        while (used.has(ts)) ts++
        used.add(ts)
        const value = Math.random() < 0.1 ? null : `${++n}`
        if (value === null) pipeline.remove(Buffer.from(id), ts)
        else pipeline.append(Buffer.from(id), ts, Buffer.from(value))
        if ((model.get(id)?.ts ?? -1) < ts) model.set(id, { ts, value })
      }
      await pipeline.flush()
    }
    for (let i = 0; i < 20; i++) await round()
    const clients = [await live(t, 'random', '&limit=1000'), await live(t, 'random', '&limit=1000&id=n1&id=n2&id=n3')]
    await Promise.all(clients.map((one) => one.until('snapshot')))
    for (let i = 0; i < ROUNDS; i++) {
      await round()
      if (i % 20 === 10) {
        clients.push(await live(t, 'random', '&limit=1000'))
        if (clients[0].position) {
          const resumed = await live(t, 'random', '', clients[0].position)
          for (const [id, item] of clients[0].items) if (!resumed.items.has(id)) resumed.items.set(id, item)
          clients.push(resumed)
        }
      }
    }
    const state = (/** @type {Map<string, any>} */ items, ids = [...model.keys()]) => ids.sort().map((id) => {
      const one = items.get(id)
      return `${id} ${!one || one.deleted ? null : one.value}`
    })
    for (const [i, { items }] of clients.entries()) {
      const ids = i === 1 ? ['n1', 'n2', 'n3'] : [...model.keys()]
      const wanted = state(model, ids).join()
      await eventually(() => {
        if (state(items, ids).join() !== wanted) throw new Error(`client ${i}: ${state(items, ids)} instead of ${wanted}`)
      })
    }
    t.same(clients.flatMap(({ wentBack }) => wentBack), [])
    t.same(clients.flatMap((client) => client.names().filter((name) => name === 'reset')), [])
  })

  /** @template {{ items: Map<string, any> }} T @param {T} client @param {number} count */
  async function untilSome (client, count) {
    await eventually(() => client.items.size >= count)
    return client
  }
})
