/**
 * The ledger of logs: content is written by the test, whole or with one thing wrong, and each wrong thing has to be found.
 */
import t from 'tap'
import { onlyKey, partitionKey } from '../../src/feeds/keys.js'
import { partitionOf } from '../../src/item/id.js'
import { readLog } from '../../lab/content/log-inventory.js'
import { checkLog } from '../../lab/content/log-ledger.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { appendsOf, entryOf, fill, itemsOf, segmentOf } from './content.js'
import { nightEngines, nightly } from '../scope.js'

/** @typedef {import('../../lab/content/log-inventory.js').LogStorage} LogStorage */
/** @typedef {import('./content.js').Item} Item */

const STORAGES = /** @type {LogStorage[]} */ (['segments', 'stream'])
const NOTHING = { missing: 0, foreign: 0, misplaced: 0, doubled: 0 }
const VALUE_BYTES = 64
/** versions, of many buffers */
const LARGE = nightly(500_000, 150_000)
const engines = await nightEngines()
const [anyEngine] = engines
const servers = new Map(engines.map((engine) => [engine, startServer(t, { engine })]))
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
     * @param {LogStorage} storage @param {Parameters<typeof itemsOf>[0]} run
     * @param {(items: Item[], key: (part: string) => string) => import('./content.js').Words[]} [append] the commands by which
     *   the items come
     * @param {{ reported?: number, maxItems?: number }} [options] `reported`: how many count as acknowledged
     */
    async ledger (storage, run, append, { reported = run.count, maxItems = 0 } = {}) {
      const key = onlyKey('lab:', `f${++feeds}`)
      const items = itemsOf(run)
      if (append) await connection.sendAll(append(items, key))
      else await fill(connection, key, storage, items)
      return checkLog(connection, { storage, key }, {
        acknowledged: [reported],
        distinctIds: run.ids,
        valueChange: run.valueChange ?? 'always',
        valueBytes: run.valueBytes ?? VALUE_BYTES,
        maxItems
      })
    }
  }
}

for (const engine of engines) {
  t.test(`${engineName(engine)}: what is whole has no faults, however many items there were`, async (t) => {
    const { ledger } = await ask(t, engine)
    for (const storage of STORAGES) {
      for (const valueChange of /** @type {const} */ (['always', 'never'])) {
        for (const count of [7, 20, 21, 50, 2310]) {
          t.match(await ledger(storage, { count, ids: 20, valueChange }), {
            ...NOTHING,
            acknowledged: count,
            liveItems: Math.min(count, 20),
            versions: count,
            verified: count,
            stored: count,
            released: 0,
            detail: { length: 0 }
          }, `${storage}, values change ${valueChange}, ${count} items`)
        }
      }
      t.match(await ledger(storage, { count: 50, ids: 20, valueBytes: 5 }), { ...NOTHING, verified: 50 },
        `${storage}, values without a number`)
      t.match(await ledger(storage, { count: 50, ids: 20, valueBytes: 20 }), { ...NOTHING, verified: 50 }, `${storage}, values of digits`)
    }
  })
}

t.test('each thing that can be wrong is found', async (t) => {
  const { ledger } = await ask(t)
  const run = { count: 50, ids: 20 }
  const without = (/** @type {Item[]} */ items, /** @type {number} */ n) => items.filter((item) => item.n !== n)
  const changed = (/** @type {Item[]} */ items, /** @type {number} */ n, /** @type {(item: Item) => Partial<Item>} */ change) =>
    items.map((item) => item.n === n ? { ...item, ...change(item) } : item)
  /** @type {[string, object, RegExp, (items: Item[]) => Item[], { reported?: number }?][]} */
  const harms = [
    ['a version is not there', { missing: 1, foreign: 0, misplaced: 0 }, /missing: id-3, number 24, is missing/,
      (items) => without(items, 24)],
    ['more acknowledged than stored', { missing: 2, foreign: 0 }, /missing: id-10, number 51, is missing/, (items) => items, { reported: 52 }],
    ['less acknowledged than stored', { missing: 0, foreign: 1 }, /id-9 holds number 50, which was never acknowledged/, (items) => items,
      { reported: 49 }],
    ['the version of another id', { missing: 1, foreign: 1 }, /id-3 holds number 45/,
      (items) => changed(items, 44, () => ({ value: items[44].value }))],
    ['an unknown id', { missing: 1, foreign: 1 }, /id-20 was never acknowledged/,
      (items) => changed(items, 44, () => ({ id: Buffer.from('id-20') }))],
    ['what is no id of ours', { missing: 1, foreign: 1 }, /bus-7 was never acknowledged/,
      (items) => changed(items, 44, () => ({ id: Buffer.from('bus-7') }))],
    ['a value that was cut off', { missing: 1, foreign: 1 }, /id-3 holds a value of 30 bytes; expected 64/,
      (items) => changed(items, 44, ({ value }) => ({ value: value.subarray(0, 30) }))],
    ['garbage behind the number', { missing: 1, foreign: 1 }, /id-3 holds a value that the load did not write/,
      (items) => changed(items, 44, ({ value }) => ({ value: Buffer.concat([value.subarray(0, 40), Buffer.alloc(24, 'y')]) }))],
    ['garbage before the number', { missing: 1, foreign: 1 }, /id-3 holds a value that the load did not write/,
      (items) => changed(items, 44, ({ value }) => ({ value: Buffer.concat([Buffer.alloc(8, 'y'), value.subarray(8)]) }))],
    ['a place before an older one, in another entry', { missing: 0, foreign: 0, misplaced: 1 },
      /misplaced: id-3, number 44, is behind older ones/, (items) => changed(items, 44, () => ({ ts: items[25].ts, seq: items[25].seq }))]
  ]
  for (const storage of STORAGES) {
    for (const [what, sums, why, harm, options] of harms) {
      const found = await ledger(storage, run, (items, key) => appendsOf(key, storage, harm(items)), options)
      t.match(found, sums, `${storage}: ${what}`)
      t.match(found.detail.join(), why, `${storage}: ${what}`)
    }
  }
})

t.test('entries that are no versions are foreign, and those behind them are looked at', async (t) => {
  const { ledger } = await ask(t)
  const run = { count: 50, ids: 20 }
  const add = (/** @type {import('./content.js').Words} */ ...more) => (
    /** @type {Item[]} */ items, /** @type {(part: string) => string} */ key
  ) => [['XADD', key('segments'), '*', ...more], ...appendsOf(key, 'segments', items)]
  const [item] = itemsOf(run)
  const torn = segmentOf([item]).subarray(0, -1)
  const newer = segmentOf([item])
  newer[3] = 2
  t.match(await ledger('segments', run, add('s', torn)),
    { missing: 0, foreign: 1, detail: [/entry \d+-\d+: .*bytes of items; its head says/] })
  t.match(await ledger('segments', run, add('s', newer)), { missing: 0, foreign: 1, detail: [/a segment of format version 2/] })
  t.match(await ledger('segments', run, add('other', segmentOf([item]))),
    { missing: 0, foreign: 1, detail: [/entry \d+-\d+ is not an entry of the layout/] })
  t.match(await ledger('segments', run, add('s', 'x', 't', 'y')), { missing: 0, foreign: 1, detail: [/is not an entry of the layout/] })
  t.match(await ledger('segments', run, add('s', segmentOf([item], { deleted: true }))), { foreign: 1, detail: [/a deletion of id-0/] })
})

t.test('an entry that was delivered twice counts once; a version that was written twice does not', async (t) => {
  const { ledger } = await ask(t)
  const run = { count: 50, ids: 20 }
  for (const valueChange of /** @type {const} */ (['always', 'never'])) {
    t.match(await ledger('segments', { ...run, valueChange }, (items, key) =>
      appendsOf(key, 'segments', items).flatMap((words) => [words, words])), { ...NOTHING, doubled: 50, stored: 100, verified: 50 })
    t.match(await ledger('stream', { ...run, valueChange }, (items, key) =>
      appendsOf(key, 'stream', items).flatMap((words, i) => i % 7 ? [words] : [words, words])), { ...NOTHING, doubled: 8, stored: 58 })
    t.match(await ledger('stream', { ...run, valueChange }, (items, key) => [...appendsOf(key, 'stream', items),
      ['XADD', key('stream'), '*', 'v', entryOf({ ...items[43], n: 99 })]]), { missing: 0, foreign: 1, doubled: 0 })
  }
  t.match(await ledger('segments', run, (items, key) => [...appendsOf(key, 'segments', items),
    ['XADD', key('segments'), '*', 's', segmentOf(items.slice(43, 45))]]), { missing: 0, foreign: 2, doubled: 0 })
})

t.test('what arrives out of order over several lanes is in its place', async (t) => {
  const { ledger } = await ask(t)
  const run = { count: 100, ids: 20 }
  const stripes = (/** @type {Item[]} */ items) => [items.filter(({ n }) => n % 2), items.filter(({ n }) => n % 2 === 0)]
  const turns = (/** @type {any[][]} */ [one, other]) => one.flatMap((words, i) => other[i] ? [other[i], words] : [words])
  t.match(await ledger('segments', run, (items, key) => turns(stripes(items).map((of) => appendsOf(key, 'segments', of)))),
    { ...NOTHING, verified: 100 })
  t.match(await ledger('stream', run, (items, key) => turns(stripes(items).map((of) => appendsOf(key, 'stream', of)))),
    { ...NOTHING, verified: 100 })
})

t.test('what maxItems lets go of is not missing; a gap, an id without its newest version, or too few are', async (t) => {
  const { ledger } = await ask(t)
  const run = { count: 100, ids: 20 }
  const from = (/** @type {number} */ first) => (/** @type {Item[]} */ items, /** @type {(part: string) => string} */ key) =>
    appendsOf(key, 'segments', items.filter(({ n }) => n >= first))
  t.match(await ledger('segments', run, from(51), { maxItems: 50 }),
    { ...NOTHING, acknowledged: 100, versions: 50, verified: 50, released: 50, stored: 50 })
  t.match(await ledger('segments', run, from(41), { maxItems: 50 }), { ...NOTHING, versions: 60, released: 40 },
    'more is there than must be')
  t.match(await ledger('segments', run, from(61), { maxItems: 50 }),
    { missing: 10, released: 50, detail: [/partition 0 has 40 versions; expected at least the newest 50/] })
  t.match(await ledger('segments', run, from(51)), { missing: 50, released: 0 }, 'without maxItems')
  t.match(await ledger('segments', run, (items, key) =>
    appendsOf(key, 'segments', items.filter(({ n }) => n > 40 && n !== 70)), { maxItems: 50 }), { missing: 1, detail: [/id-9, number 70/] })
  t.match(await ledger('segments', run, from(91), { maxItems: 10 }), { missing: 10, detail: [/id-0, number 81, is missing/] },
    'the newest of each id')
  t.match(await ledger('segments', { ...run, valueChange: 'never' }, from(51), { maxItems: 50 }),
    { ...NOTHING, released: 50, versions: 50 })
})

t.test('several writers and partitions: each has its own count and its own order', async (t) => {
  const { connection } = await ask(t)
  const runs = [0, 1, 2].map((index) => itemsOf({ count: 30 + 11 * index, ids: 20, index, writers: 3 }))
  const key = [0, 1].map((partition) => partitionKey('lab:', { feed: 'split', partitions: 2 }, partition))
  for (const [w, items] of runs.entries()) {
    for (const [partition, of] of key.entries()) {
      const mine = items.filter(({ id }) => partitionOf(id, 2) === partition).map((item) => ({ ...item, n: 1000 * w + item.n }))
      await connection.sendAll(appendsOf(of, 'segments', mine))
    }
  }
  const check = async (/** @type {number[]} */ acknowledged, maxItems = 0) => checkLog(connection, { storage: 'segments', key },
    { acknowledged, distinctIds: 20, valueChange: 'always', valueBytes: VALUE_BYTES, maxItems })
  t.match(await check([30, 41, 52]), { ...NOTHING, acknowledged: 123, liveItems: 20, versions: 123, detail: { length: 0 } })
  t.match(await check([30, 41, 51]), { missing: 0, foreign: 1 })
  t.match(await check([30, 42, 52]), { missing: 1, foreign: 0 })
  t.match(await check([30, 41, 52], 40), { ...NOTHING, versions: 123 }, 'nothing was let go')
})

t.test('nodes with the same entries have the same digest, others another', async (t) => {
  const { connection } = await ask(t)
  for (const storage of STORAGES) {
    const key = onlyKey('lab:', `digest-${storage}`)
    await fill(connection, key, storage, itemsOf({ count: 50, ids: 20 }))
    const first = await readLog(connection, { storage, key })
    t.equal(await readLog(connection, { storage, key }), first, storage)
    await connection.sendAll(appendsOf(key, storage, itemsOf({ count: 51, ids: 20 }).slice(50)))
    t.not(await readLog(connection, { storage, key }), first, storage)
  }
})

t.test('many versions are looked through in buffers', async (t) => {
  const { connection } = await ask(t)
  const key = onlyKey('lab:', 'large')
  const items = itemsOf({ count: LARGE, ids: 100_000 })
  for (let at = 0; at < items.length; at += 1000) {
    await connection.send('XADD', key('segments'), '*', 's', segmentOf(items.slice(at, at + 1000)))
  }
  const startedAt = performance.now()
  t.match(await checkLog(connection, { storage: 'segments', key }, {
    acknowledged: [items.length], distinctIds: 100_000, valueChange: 'always', valueBytes: VALUE_BYTES
  }), { ...NOTHING, verified: LARGE })
  t.comment(`${Math.round(performance.now() - startedAt)} ms`)
})
