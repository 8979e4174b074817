/**
 * Loads that are broken on purpose (L15): each must be found out by what the lab checks of every measurement, and the same
 * load without its fault must pass. In a whole run of the lab: regression/lab/runner-faults.test.js.
 */
import t from 'tap'
import { nightly, scopedEngines, wholeTest } from '../scope.js'
import { engineName, startServer } from '../servers.js'
import { ledgerOf, loadHere } from './load.js'
import { MUTANTS, withSwappedPercentiles } from './mutants/loads.js'
import { brokenIn, measured, measuredAll } from './mutants/measured.js'

/** above it a run is marked as bound by its generator (L7) */
const STARVED_AT = 0.8
const TRIES = 10
const ITEMS = 4600

const RIGHT = 'items acknowledged are present'
const NOT_MORE = 'nothing is present that was not acknowledged'
const SUMS = 'offered items add up'
const ORDER = 'items are in order'
const PERCENTILES = 'percentiles are in order'

const [engine] = await scopedEngines()
const server = await startServer(t, { engine })

t.test(`${engineName(engine)}: loads that lie about what they wrote are found out`, async (t) => {
  for (const valueChange of nightly(['always', 'never'], ['always'])) {
    const names = ['healthy', 'drops', 'answers early', 'counts one batch more', 'counts twice']
    const [healthy, drops, early, more, twice] = await measuredAll(t, server, names.map((name) => [name, { valueChange }]))

    t.same(healthy.broken, [], `values change ${valueChange}: the load without a fault passes`)
    t.match(healthy.sample.ledger, { missing: 0, foreign: 0, misplaced: 0, versions: 1000 })

    t.same(drops.broken, [RIGHT], 'an item of a thousand was dropped')
    t.equal(drops.sample.ledger.missing, 1, 'of the last round one')

    t.ok(early.broken.includes(RIGHT), 'it answered before it wrote')
    t.ok(early.sample.ledger.missing >= 100, 'the last batch, and what was not sent either when it ended')

    t.ok([RIGHT, SUMS].every((name) => more.broken.includes(name)), 'a batch too many was counted')
    t.ok([RIGHT, SUMS].every((name) => twice.broken.includes(name)), 'everything was counted twice')
  }
})

t.test('loads that write less than they say, or something else, are found out by what is in the values', async (t) => {
  const [empty, garbage] = await measuredAll(t, server,
    [['writes empty values', { valueChange: 'always' }], ['writes garbage', { valueChange: 'never' }]])
  t.same(empty.broken, [RIGHT])
  t.match(empty.sample.ledger, { missing: 1000, verified: 0, versions: 1000, detail: [/id-\d+ holds a value of 0 bytes; expected 64/] })
  t.same(garbage.broken, [RIGHT])
  t.match(garbage.sample.ledger,
    { missing: 1000, verified: 0, versions: 1000, detail: [/id-\d+ holds a value that the load did not write/] })
})

t.test('a log that lacks a version, though not the newest of its id, has one twice or in the wrong place is found out', async (t) => {
  const [healthy, drops, twice, times] = await measuredAll(t, server,
    [['healthy log'], ['log that drops'], ['log that writes twice'], ['log with wrong times']])
  t.same(healthy.broken, [])
  t.match(healthy.sample.ledger, { versions: ITEMS, verified: ITEMS, stored: ITEMS })
  t.same(drops.broken, [RIGHT])
  t.equal(drops.sample.ledger.missing, 5, 'every one of them, not only those of the last round')
  t.same(twice.broken, [NOT_MORE])
  t.same(times.broken, [ORDER])
})

t.test('percentiles in the wrong columns are found', async (t) => {
  const { sample, summary } = await measured(t, server, 'healthy', { rate: 2000, items: 1000 })
  t.same(brokenIn(sample), [])
  const { behindMs } = withSwappedPercentiles(summary)
  t.ok(summary.behindMs.p50 < summary.behindMs.p99, JSON.stringify(summary.behindMs))
  t.same(brokenIn({ ...sample, behindMs }), [PERCENTILES])
})

wholeTest('a generator that is starved shows it', async (t) => {
  const load = { rate: 1000, items: 500 }
  const starved = await measured(t, server, 'starved', load)
  t.same(starved.broken, [], 'what it wrote is right')
  t.ok(starved.summary.loopUse > STARVED_AT, `${starved.summary.loopUse}`)
  // what else runs on the machine can starve one run, but not each of them
  const healthy = []
  while (!(healthy.at(-1) < STARVED_AT) && healthy.length < TRIES) {
    healthy.push((await measured(t, server, 'healthy', load)).summary.loopUse)
  }
  t.ok(healthy.at(-1) < STARVED_AT, healthy.join(', '))
})

t.test('content that another program added is found', async (t) => {
  const settings = { keyPrefix: 'lab:', feed: 'foreign', ids: 100, valueBytes: 64, batchItems: 100, items: 250 }
  const { acknowledged } = await loadHere({ loads: MUTANTS, load: 'healthy', settings, redisUrl: server.url })
  await loadHere({ loads: MUTANTS, load: 'healthy', settings: { ...settings, ids: 101, items: 101 }, redisUrl: server.url })
  const ledger = await ledgerOf(t, server, { settings, acknowledged: acknowledged ?? [], storage: 'ids' })
  t.ok(ledger.foreign > 0, ledger.detail.join())
  t.ok(brokenIn({
    ledger,
    offered: 250,
    items: 250,
    dropped: 0,
    failed: 0,
    refused: {},
    itemsAcknowledged: 250,
    itemsPresent: 250 - ledger.missing,
    behindMs: null
  }).includes(NOT_MORE))
})
