/** What readers cost: their part of the servers' CPU time, replica lag, readers that fall behind, and one more sorted set. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { analyse } from '../../lab/analysis/index.js'
import { checkRows } from '../../lab/content/inventory.js'
import { lagOf, watchLag } from '../../lab/run/lag.js'
import { servingMarks } from '../../lab/serving/figures.js'
import { readResponse } from '../../lab/serving/responses.js'
import { markdownOf } from '../../lab/report/markdown.js'
import { tableOf } from '../../lab/report/table.js'
import { differenceOfMedians } from '../../lab/analysis/statistics.js'
import { startProxy } from '../proxy.js'
import { connectFor, inSync, startServer, testEngines } from '../servers.js'
import { planOf, resultOf } from './results.js'

const READERS = { by: 'reader', asks: 'pages', processes: 4, connections: 4, everyMs: 1000, path: '', settings: {} }
const REQUESTS = { planned: 16, sent: 16, answered: 16, missing: 0, errors: 0, timeouts: 0, byStatus: { 200: 16 } }
const PLAN = planOf({
  baseline: 'none',
  ceiling: 'blob',
  arms: { none: {}, all: { serving: READERS }, little: { serving: READERS }, blob: { load: 'blob' } },
  measures: ['replicaCpuPercent', 'primaryCpuPercent'],
  expected: [],
  published: null
})

/** Shares of a core added to each node by arm. @param {Record<string, { primary: number, replica: number }>} added */
const resultWith = (added) => resultOf({
  plan: PLAN,
  costs: { none: 2, all: 2, little: 2, blob: 1 },
  change ({ arm, nodes }) {
    const more = added[arm]
    if (!more) return
    return {
      nodes: nodes.map((/** @type {any} */ node) => {
        const cpuPercent = node.cpuPercent + more[/** @type {'primary' | 'replica'} */ (node.role)]
        return { ...node, cpuPercent, cpuSeconds: cpuPercent }
      }),
      serving: { processes: 4, itemsPerAnswer: 10_000, requestsPerSecond: 4, requests: REQUESTS, answers: { looked: 1, wrong: 0 } }
    }
  }
})

t.test('a reader costs what the servers take more than without readers, of which the baseline has two halves', async (t) => {
  const { consumptions } = analyse(resultWith({ all: { primary: 0, replica: 20 }, little: { primary: 0.01, replica: 0.01 } }))
  t.same(consumptions.map(({ arm, readers }) => [arm, readers]), [['all', 4], ['little', 4]])
  const [all, little] = consumptions
  t.equal(all.itemsReadPerSecond, 10_000)
  // 20 % on each of two replicas, for four readers
  t.ok(Math.abs(Number(all.replicasPercent.mid) - 10) < 0.5, JSON.stringify(all.replicasPercent))
  t.ok(Number(all.replicasPercent.low) > 9 && Number(all.replicasPercent.high) < 11)
  t.ok(Number(all.primaryPercent.low) < 0 && Number(all.primaryPercent.high) > 0, 'no cost of the primary is shown')
  // 100,000 us for 10,000 items
  t.ok(Math.abs(Number(all.microsPerItemRead.mid) - 10) < 0.7, JSON.stringify(all.microsPerItemRead))
  // 7 % of a replica are taken by writing
  t.ok(Math.abs(Number(all.readersPerCore.mid) - 9.3) < 0.5, JSON.stringify(all.readersPerCore))
  t.equal(little.readersPerCore.mid, null)
})

t.test('the report has it, and says nothing of it where a plan is about something else', async (t) => {
  const result = resultWith({ all: { primary: 0, replica: 20 }, little: { primary: 0, replica: 0 } })
  const analysis = analyse(result)
  t.match(markdownOf(analysis, result, PLAN), /## What a reader costs\n[^]*\| all \| 50 k items\/s \| 4 \| 10,000 \| .* \| 9\.\d+ \[/)
  t.match(tableOf(analysis, result, PLAN), /what each reader costs the servers, % of a core\narm +level +readers/)
  const other = resultOf({ costs: { ids: 4, values: 2, reference: 6, blob: 1 } })
  t.same(analyse(other).consumptions, [])
  t.notMatch(markdownOf(analyse(other), other, other.plan), 'What a reader costs')
})

t.test('a difference of medians has the interval of both', async (t) => {
  t.same(differenceOfMedians([], [1]), { difference: null, low: null, high: null })
  t.same(differenceOfMedians([3, 4], [1, 2, 3]), { difference: 1.5, low: null, high: null })
  const { difference, low, high } = differenceOfMedians([11, 12, 13, 12, 11.5], [1, 2, 3, 2, 1.5])
  t.equal(difference, 10)
  t.ok(Number(low) < 9.5 && Number(low) > 7 && Number(high) > 10.5 && Number(high) < 13, `${low} to ${high}`)
})

t.test('readers that answer fewer requests than planned are marked; results without counted pages are not', async (t) => {
  const marks = (/** @type {any} */ more) => servingMarks(/** @type {any} */ (
    { client: { loopUse: 0.1 }, requests: { planned: 100, answered: 90 }, itemsPerAnswer: 10, ...more }))
  t.same(marks({}), ['reads behind'])
  t.same(marks({ requests: { planned: 100, answered: 99 } }), [])
  t.same(marks({ requests: { planned: null, answered: 90 } }), [])
  t.same(marks({ itemsPerAnswer: undefined }), [])
})

t.test('a page of all items may lack those that were rewritten in the meantime, and no more', async (t) => {
  const page = (/** @type {number} */ count) =>
    JSON.stringify({ items: Array.from({ length: count }, (_, i) => ({ id: `id-${i}`, ts: 100 - i })) })
  const fault = (/** @type {number} */ count) => readResponse(200, page(count), { items: 10, leastItems: 9, bytes: null }).fault
  t.same([9, 10].map(fault), [null, null])
  t.match(fault(8), '8 items; expected 9 to 10')
  t.match(fault(11), '11 items')
})

t.test('lag is how much earlier the primary had what a replica has', async (t) => {
  const primary = [{ atMs: 0, offset: 1000 }, { atMs: 100, offset: 2000 }, { atMs: 200, offset: 2000 }, { atMs: 300, offset: 4000 }]
  t.equal(lagOf(primary, { atMs: 150, offset: 1500 }), 100)
  t.equal(lagOf(primary, { atMs: 310, offset: 3000 }), 60)
  t.equal(lagOf(primary, { atMs: 300, offset: 4000 }), 0, 'it has everything')
  t.equal(lagOf(primary, { atMs: 40, offset: 1900 }), 0, 'it had it before the primary was read again')
  t.equal(lagOf(primary, { atMs: 10, offset: 900 }), null, 'unknown: from before the first reading')
})

t.test('a replica that lags has that lag in the sample', async (t) => {
  const [engine] = await testEngines()
  const primary = await startServer(t, { engine })
  const proxy = await startProxy(t, primary.port, { delayMs: 200 })
  const replica = await startServer(t, { engine, replicaOf: proxy })
  await inSync(replica)
  const connection = await connectFor(t, primary.url)
  const over = new AbortController()
  const watched = watchLag([primary.url, replica.url], over.signal)
  const untilMs = performance.now() + 2000
  for (let n = 0; performance.now() < untilMs; n++) {
    await connection.send('SET', `key-${n}`, 'x'.repeat(1000))
    await sleep(2)
  }
  over.abort()
  const lag = await watched
  t.ok(lag && lag.p50 >= 150, JSON.stringify(lag))
  t.equal(await watchLag([primary.url], over.signal), null)
})

t.test('a second set that lacks a member, has another one, or another score is found out', async (t) => {
  const [engine] = await testEngines()
  const server = await startServer(t, { engine })
  const connection = await connectFor(t, server.url)
  const strays = async (/** @type {string} */ feed, /** @type {(string | number)[]} */ other) => {
    const key = (/** @type {string} */ part) => `${feed}:${part}`
    for (const [id, ts] of [['id-0', 1000], ['id-1', 2000]]) {
      await connection.send('SET', `${key('item:')}${id}`, 'value')
      await connection.send('ZADD', key('ids'), ts, id)
    }
    await connection.send('ZADD', key('ids-2'), ...other)
    const run = /** @type {const} */ ({ distinctIds: 2, valueChange: 'never', valueBytes: 'value'.length })
    return (await checkRows(connection, { storage: 'published-two-sets', key }, { ...run, acknowledged: [2] })).foreign
  }
  t.equal(await strays('same', [1000, 'id-0', 2000, 'id-1']), 0)
  t.equal(await strays('lacks', [1000, 'id-0']), 1)
  t.equal(await strays('more', [1000, 'id-0', 2000, 'id-1', 3000, 'id-2']), 1)
  t.equal(await strays('wrong', [1000, 'id-0', 2001, 'id-1']), 1)
})
