/**
 * The ledger: what was acknowledged against what a server holds. Content is written by the test, whole or with one thing
 * wrong, and each wrong thing has to be found.
 */
import t from 'tap'
import fc from 'fast-check'
import { onlyKey, partitionKey } from '../../src/feeds/keys.js'
import { partitionOf } from '../../src/item/id.js'
import { checkRows } from '../../lab/content/inventory.js'
import { createLedger } from '../../lab/content/ledger.js'
import { layoutOf } from '../../src/layouts/index.js'
import { holds } from '../properties.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { fill, itemsOf, memberOf, recordOf } from './content.js'
import { nightEngines, nightly, wholeTest } from '../scope.js'

/** @typedef {import('../../lab/content/inventory.js').RowStorage} Storage */

const STORAGES = /** @type {Storage[]} */ (['ids', 'values', 'published-ids', 'published-values', 'blob'])
const CHANGES = /** @type {const} */ (['always', 'never'])
/** Blobs always change, the published references never do. @param {Storage} storage */
const changesOf = (storage) =>
  CHANGES.filter((change) => !({ blob: 'never', 'published-ids': 'always' })[/** @type {string} */ (storage)]?.includes(change))
const engines = await nightEngines()
const [anyEngine] = engines
const servers = new Map(engines.map((engine) => [engine, startServer(t, { engine })]))

/** @param {import('../../lab/content/ledger.js').Ledger} ledger */
const sumsOf = ({ missing, foreign, misplaced }) => ({ missing, foreign, misplaced })
const NOTHING = { missing: 0, foreign: 0, misplaced: 0 }
/** of items that do not say */
const VALUE_BYTES = 64
const LARGE = nightly(100_000, 30_000)

let feeds = 0

/**
 * An empty server, and a feed of its own for each question about it.
 * @param {import('tap').Test} t @param {import('../servers.js').Engine} [engine]
 */
async function ask (t, engine = anyEngine) {
  const { url } = /** @type {import('../servers.js').Server} */ (await servers.get(engine))
  const connection = await connectFor(t, url)
  await connection.send('FLUSHALL')
  return {
    connection,
    /**
     * @param {Storage} storage @param {Parameters<typeof itemsOf>[0]} run
     * @param {(feed: { key: (part: string) => string, items: ReturnType<typeof itemsOf> }) => import('./content.js').Words[]} [harm]
     *   commands that are sent after everything was written
     * @param {{ told?: number }} [options] `told`: how many count as acknowledged
     */
    async ledger (storage, run, harm = () => [], { told = run.count } = {}) {
      const key = onlyKey('lab:', `f${++feeds}`)
      const items = itemsOf(run)
      await fill(connection, key, storage, items)
      const commands = harm({ key, items })
      if (commands.length) await connection.sendAll(commands)
      return checkRows(connection, { storage, key }, {
        acknowledged: [told],
        distinctIds: run.ids,
        valueChange: run.valueChange ?? 'always',
        valueBytes: run.valueBytes ?? VALUE_BYTES
      })
    }
  }
}

for (const engine of engines) {
  t.test(`${engineName(engine)}: what is whole has no faults, however many items there were`, async (t) => {
    const { ledger } = await ask(t, engine)
    for (const storage of STORAGES) {
      for (const valueChange of changesOf(storage)) {
        for (const count of [0, 7, 20, 21, 50, 2310]) {
          const found = await ledger(storage, { count, ids: 20, valueChange })
          const every = storage === 'values' || (storage === 'published-values' && valueChange === 'always')
          const versions = every ? count : Math.min(count, 20)
          t.match(found, { ...NOTHING, acknowledged: count, versions, verified: versions, detail: { length: 0 } },
            `${storage}, values change ${valueChange}, ${count} items`)
        }
      }
    }
  })
}

t.test('ids: each thing that can be wrong is found', async (t) => {
  const { ledger } = await ask(t)
  const run = { count: 50, ids: 20 }
  /** @type {[string, object, RegExp, Parameters<typeof ledger>[2]][]} */
  const harms = [
    ['an id is not there', { missing: 1, foreign: 0 }, /id-3, number 44, is missing/,
      ({ key }) => [['ZREM', key('ids'), 'id-3'], ['DEL', key('item:id-3')]]],
    ['its key is not there', { missing: 1, foreign: 0 }, /id-3 is in the sorted set, but its key does not exist/,
      ({ key }) => [['DEL', key('item:id-3')]]],
    ['its place is not there', { missing: 1, foreign: 1 }, /belongs to no item/, ({ key }) => [['ZREM', key('ids'), 'id-3']]],
    ['an older version is there', { missing: 1, foreign: 0, misplaced: 0 }, /id-3 holds number 24; 44 was acknowledged/,
      ({ key, items }) => [['SET', key('item:id-3'), recordOf(items[23])], ['ZADD', key('ids'), items[23].score, 'id-3']]],
    ['an unknown id', { missing: 0, foreign: 1 }, /id-20, number 51 was never acknowledged/, ({ key }) => [['SET', key('item:id-20'),
      recordOf(itemsOf({ ...run, count: 51 })[50])], ['ZADD', key('ids'), itemsOf({ ...run, count: 51 })[50].score, 'id-20']]],
    ['a version that was never acknowledged', { missing: 0, foreign: 1 }, /id-10 holds number 51, which was never acknowledged/,
      ({ key }) => {
        const [item] = itemsOf({ ...run, count: 51 }).slice(50)
        return [['SET', key('item:id-10'), recordOf(item)], ['ZADD', key('ids'), item.score, 'id-10']]
      }],
    ['the version of another id', { missing: 0, foreign: 1 }, /id-3 holds number 45/,
      ({ key, items }) => [['SET', key('item:id-3'), recordOf({ ...items[43], value: items[44].value })]]],
    ['another value of the same size', { missing: 1, foreign: 0 }, /missing: id-3 holds a value that the load did not write/,
      ({ key, items }) => [['SET', key('item:id-3'), recordOf({ ...items[43], value: Buffer.alloc(VALUE_BYTES, 'x') })]]],
    ['a value that was cut off', { missing: 1, foreign: 0 }, /missing: id-3 holds a value of 30 bytes; expected 64/,
      ({ key, items }) => [['SET', key('item:id-3'), recordOf({ ...items[43], value: items[43].value.subarray(0, 30) })]]],
    ['the right number in a value of another size', { missing: 1, foreign: 0 }, /id-3 holds a value of 12 bytes/,
      ({ key, items }) => [['SET', key('item:id-3'), recordOf({ ...items[43], value: Buffer.from('000000000044') })]]],
    ['a key of no member', { missing: 0, foreign: 1 }, /item:other belongs to no item/, ({ key }) => [['SET', key('item:other'), 'x']]],
    ['an item behind older ones', { missing: 0, foreign: 0, misplaced: 1 }, /id-3, number 44, is behind older ones/, ({ key, items }) =>
      [['SET', key('item:id-3'), recordOf({ ...items[20], value: items[43].value })], ['ZADD', key('ids'), items[20].score, 'id-3']]],
    ['a key with another time than its place', { missing: 0, foreign: 0, misplaced: 1 },
      /id-3: its key and the sorted set have different times/,
      ({ key, items }) => [['SET', key('item:id-3'), recordOf({ ...items[20], value: items[43].value })]]]
  ]
  for (const [what, sums, why, harm] of harms) {
    const found = await ledger('ids', run, harm)
    t.match(sumsOf(found), sums, what)
    t.match(found.detail.join(), why, what)
  }
  t.same(sumsOf(await ledger('ids', run)), NOTHING)
})

t.test('values that never change: the place shows that the last write of an id is not there', async (t) => {
  const { ledger } = await ask(t)
  for (const storage of /** @type {Storage[]} */ (['ids', 'published-ids', 'published-values'])) {
    const run = { count: 50, ids: 20, valueChange: /** @type {const} */ ('never') }
    const found = await ledger(storage, run, ({ key, items }) => {
      if (storage === 'published-values') return [['ZADD', key('values'), items[23].ts, items[23].value]]
      return [['ZADD', key('ids'), storage === 'ids' ? items[23].score : items[23].ts, 'id-3'],
        ...(storage === 'ids' ? [['SET', key('item:id-3'), recordOf(items[23])]] : [])]
    })
    t.match(sumsOf(found), { missing: 1, foreign: 0, misplaced: 0 }, storage)
    t.match(found.detail.join(), /id-3 is behind older ones: its last write, number 44, is missing/)
    const more = await ledger(storage, run, () => [], { told: 57 })
    t.ok(more.missing > 0, `${storage}: more was acknowledged than written`)
    const strange = storage === 'published-values'
      ? await ledger(storage, run, ({ key }) => [['ZADD', key('values'), 1, 'a value of somebody']])
      : await ledger(storage, run, ({ key, items }) =>
        [['SET', key('item:id-3'), storage === 'ids' ? recordOf({ ...items[43], value: items[44].value }) : items[44].value]])
    t.match(sumsOf(strange), { missing: 0, foreign: 1 }, `${storage}: another value`)
  }
})

t.test('of ids whose later items are late the first version must be there, or the last where nothing is compared', async (t) => {
  const { connection } = await ask(t)
  const items = itemsOf({ count: 50, ids: 20 })
  const firsts = items.filter(({ n }) => n <= 20 && n % 10 === 0)
  for (const newestCounts of [true, false]) {
    const key = onlyKey('lab:', `late-${newestCounts}`)
    await fill(connection, key, 'ids', items)
    const found = async () => {
      const { missing, detail } = await checkRows(connection, { storage: 'ids', key },
        { acknowledged: [50], distinctIds: 20, valueChange: 'always', valueBytes: VALUE_BYTES, lateEvery: 10, newestCounts })
      return [missing, ...detail.sort()].join()
    }
    t.match(await found(), newestCounts ? /^2,.*id-19 holds number 40; 20 was.*id-9 holds number 50; 10 was/ : /^0$/)
    await fill(connection, key, 'ids', firsts)
    t.match(await found(), newestCounts ? /^0$/ : /^2,.*id-19 holds number 20; 40 was.*id-9 holds number 10; 50 was/)
  }
})

for (const [what, make] of /** @type {[string, (value: Buffer) => Buffer][]} */ ([
  ['no byte', () => Buffer.alloc(0)],
  ['a byte less', (value) => value.subarray(1)],
  ['a byte more', (value) => Buffer.concat([value, Buffer.from('x')])],
  ['garbage of the right size', (value) => Buffer.alloc(value.length, 'x')]
])) {
  t.test(`values that are all ${what} are found wherever they are stored`, async (t) => {
    const { connection } = await ask(t)
    for (const storage of STORAGES) {
      for (const valueChange of changesOf(storage)) {
        const key = onlyKey('lab:', `wrong-${storage}-${valueChange}`)
        await fill(connection, key, storage,
          itemsOf({ count: 50, ids: 20, valueChange }).map((item) => ({ ...item, value: make(item.value) })))
        const found = await checkRows(connection, { storage, key },
          { acknowledged: [50], distinctIds: 20, valueChange, valueBytes: VALUE_BYTES })
        t.match(found, { missing: found.versions, verified: 0 }, `${storage}, values change ${valueChange}`)
        t.match(found.detail[0], /(holds|was never acknowledged|belongs to no item)/)
      }
    }
  })
}

t.test('values too short for a number are reported by their size', async (t) => {
  const { ledger } = await ask(t)
  for (const storage of /** @type {Storage[]} */ (['ids', 'values', 'published-ids'])) {
    for (const valueBytes of [0, 5]) {
      const run = { count: 50, ids: 20, valueBytes }
      t.match(await ledger(storage, run), { ...NOTHING, detail: { length: 0 } }, `${storage}, ${valueBytes} bytes`)
      const { missing } = await ledger(storage, run, ({ key, items }) => [
        storage === 'values'
          ? ['ZADD', key('values'), items[43].score, memberOf({ ...items[43], value: Buffer.alloc(7) })]
          : ['SET', key('item:id-3'), storage === 'ids' ? recordOf({ ...items[43], value: Buffer.alloc(7) }) : Buffer.alloc(7)],
        ...(storage === 'values' ? [['ZREM', key('values'), memberOf(items[43])]] : [])
      ])
      t.ok(missing > 0, `${storage}, ${valueBytes} bytes: one of another size`)
    }
  }
})

t.test('where every version is kept: one that is lost, one too many, one in another place', async (t) => {
  const { ledger } = await ask(t)
  const run = { count: 50, ids: 20 }
  const again = (/** @type {{ score: number }} */ item) => item.score + 1 / 4096
  t.match(sumsOf(await ledger('values', run, ({ key, items }) => [['ZREM', key('values'), memberOf(items[23])]])),
    { missing: 1, foreign: 0 })
  t.match(sumsOf(await ledger('values', run,
    ({ key, items }) => [['ZADD', key('values'), again(items[43]), memberOf({ ...items[43], n: 99 })]])), { missing: 0, foreign: 1 })
  t.match(sumsOf(await ledger('values', run, ({ key, items }) => [['ZADD', key('values'), items[4].score, memberOf(items[43])]])),
    { missing: 0, foreign: 0, misplaced: 1 })
  t.match(sumsOf(await ledger('values', run, () => [], { told: 49 })), { missing: 0, foreign: 1 })
  t.match(sumsOf(await ledger('values', run, () => [], { told: 52 })), { missing: 2, foreign: 0 })
  t.match(sumsOf(await ledger('published-values', run, ({ key, items }) => [['ZREM', key('values'), items[23].value]])),
    { missing: 1, foreign: 0 })

  const never = { ...run, valueChange: /** @type {const} */ ('never') }
  t.ok((await ledger('values', never, ({ key, items }) => [['ZREM', key('values'), memberOf(items[23])]])).missing > 0)
  t.match(sumsOf(await ledger('values', never,
    ({ key, items }) => [['ZADD', key('values'), again(items[49]), memberOf({ ...items[43], n: 99 })]])), { missing: 0, foreign: 1 })
})

t.test('blobs: the newest of each id has to be in one of them', async (t) => {
  const { ledger } = await ask(t)
  const run = { count: 55, ids: 20 }
  t.same(sumsOf(await ledger('blob', run)), NOTHING)
  t.match(sumsOf(await ledger('blob', run, ({ key }) => [['DEL', key('blob:0:0-10')]])), { missing: 10, foreign: 0 })
  t.match(sumsOf(await ledger('blob', run, () => [], { told: 53 })), { missing: 0, foreign: 2 })
  t.match(sumsOf(await ledger('blob', run, ({ key }) => [['SET', key('blob:other'), 'x']])), { missing: 0, foreign: 1 })
  t.match(sumsOf(await ledger('blob', run, ({ key }) => [['SET', key('blob:0:5-5'), 'x']])), { missing: 0, foreign: 1 })
  t.match(sumsOf(await ledger('blob', run, ({ key }) => [['APPEND', key('blob:0:0-10'), 'x']])), { missing: 10, foreign: 1 },
    'one that is a byte too long')
})

t.test('several writers and partitions: each has its own count and its own order', async (t) => {
  const { connection } = await ask(t)
  const runs = [0, 1, 2].map((index) => itemsOf({ count: 30 + 11 * index, ids: 20, index, writers: 3 }))
  const keys = [0, 1].map((partition) => partitionKey('lab:', { feed: 'split', partitions: 2 }, partition))
  for (const items of runs) {
    for (const [partition, key] of keys.entries()) {
      await fill(connection, key, 'ids', items.filter(({ id }) => partitionOf(id, 2) === partition))
    }
  }
  const check = (/** @type {number[]} */ acknowledged) => checkRows(connection, { storage: 'ids', key: keys },
    { acknowledged, distinctIds: 20, valueChange: 'always', valueBytes: VALUE_BYTES })
  t.match(await check([30, 41, 52]), { ...NOTHING, acknowledged: 123, versions: 20, detail: { length: 0 } })
  t.match(sumsOf(await check([30, 41, 51])), { missing: 0, foreign: 1 })
  t.match(sumsOf(await check([30, 42, 52])), { missing: 1, foreign: 0 })
})

t.test('nodes with the same content have the same digest, others another', async (t) => {
  const servers = await Promise.all([1, 2].map(() => startServer(t, { engine: anyEngine })))
  const connections = await Promise.all(servers.map(({ url }) => connectFor(t, url)))
  for (const storage of STORAGES) {
    const key = onlyKey('lab:', storage)
    const digests = () => Promise.all(connections.map(async (connection) => (await checkRows(connection, { storage, key },
      { acknowledged: [50], distinctIds: 20, valueChange: 'always', valueBytes: VALUE_BYTES })).digest))
    for (const connection of connections) await fill(connection, key, storage, itemsOf({ count: 50, ids: 20 }))
    const [first, second] = await digests()
    t.equal(first, second, storage)
    await connections[1].send('SET', key(storage === 'blob' ? 'blob:x' : 'item:x'), 'x')
    await connections[1].send('ZADD', key(storage.endsWith('ids') ? 'ids' : 'values'), 1,
      Buffer.concat([Buffer.from('id-5\0'), Buffer.alloc(12)]))
    t.not((await digests())[1], first, storage)
  }
})

t.test('whatever is taken away, doubled or moved is found', async (t) => {
  const gen = fc.record({
    count: fc.integer({ min: 1, max: 200 }), ids: fc.integer({ min: 1, max: 30 }), pick: fc.nat(), valueChange: fc.constantFrom(...CHANGES)
  })
  const values = itemsOf({ count: 200, ids: 200 }).map(({ value }) => value)
  /** Newest first, as a server would list them. @param {{ count: number, ids: number }} run @param {boolean} every */
  const rowsOf = ({ count, ids }, every) => Array.from({ length: every ? count : Math.min(count, ids) }, (_, i) => count - i)
  /**
   * @param {Storage} storage
   * @param {{ count: number, ids: number, valueChange: 'always' | 'never' }} run
   * @param {number[]} rows numbers, newest first
   * @param {number[]} scores
   */
  function check (storage, { count, ids, valueChange }, rows, scores) {
    const ledger = createLedger({ storage, partitions: 1, acknowledged: [count], distinctIds: ids, valueChange, valueBytes: VALUE_BYTES })
    rows.forEach((n, i) => {
      const id = (n - 1) % ids
      ledger.add(id, values[valueChange === 'never' ? id : n - 1], scores[i])
    })
    return ledger.end()
  }
  const faults = (/** @type {ReturnType<typeof check>} */ { missing, foreign, misplaced }) => missing + foreign + misplaced
  for (const storage of /** @type {Storage[]} */ (['ids', 'values'])) {
    await holds(t, fc.property(gen, ({ pick, ...run }) => {
      const rows = rowsOf(run, storage === 'values')
      const at = pick % rows.length
      const isRight = faults(check(storage, run, rows, rows)) === 0
      const findsLoss = check(storage, run, rows.toSpliced(at, 1), rows.toSpliced(at, 1)).missing > 0
      const findsDouble = check(storage, run, rows.toSpliced(at, 0, rows[at]), rows.toSpliced(at, 0, rows[at])).foreign > 0
      const moved = rows.toSpliced(at, 1).concat(rows[at])
      // versions of one id that do not differ may change places
      const looks = (/** @type {number[]} */ list) => list.map((n) => run.valueChange === 'never' ? (n - 1) % run.ids : n).join()
      const findsMove = looks(moved) === looks(rows) || faults(check(storage, run, moved, rows)) > 0
      return isRight && findsLoss && findsDouble && findsMove
    }), { runs: 500 })
  }
})

wholeTest('many items are looked through in one go', async (t) => {
  const { connection } = await ask(t)
  const key = onlyKey('lab:', 'large')
  const run = { count: LARGE, ids: LARGE }
  const { createBatch, append } = layoutOf('ids')
  const batch = createBatch({ key, ttlMs: 600_000, late: 'overwrite', dialect: { msetex: false, sha: () => '' } })
  for (const { n, id, ts, seq, value } of itemsOf(run)) {
    batch.add(id, ts, seq, value)
    if (n % 1000 !== 0) continue
    await append(connection, batch)
    batch.reset()
  }
  const startedAt = performance.now()
  const found = await checkRows(connection, { storage: 'ids', key },
    { acknowledged: [run.count], distinctIds: run.ids, valueChange: 'always', valueBytes: VALUE_BYTES })
  t.comment(`${Math.round(performance.now() - startedAt)} ms`)
  t.match(found, { ...NOTHING, versions: LARGE })
})
