/**
 * Answers that lie about a feed (L15): what the client of a measurement makes of them, without a client and a server. As processes:
 * regression/lab/serving-mutants.test.js.
 */
import t from 'tap'
import { checkAll } from '../../lab/serving/everything.js'
import { servingInvariants } from '../../lab/serving/figures.js'
import { createFreshness } from '../../lab/serving/freshness.js'
import { createInspector } from '../../lab/serving/responses.js'
import { numberIn } from '../../lab/serving/workload.js'
import { IDS, RATE, VALUE_BYTES, liarOf } from './mutants/servers.js'

const WORKLOAD = { ids: IDS, writers: 1, valueBytes: VALUE_BYTES, isWhole: true }
const BEGAN_MS = Date.parse('2026-01-01')
const LIMIT = 20

/** @param {string} name of the server */
function pagesOf (name) {
  const liar = liarOf(name, BEGAN_MS)
  const inspector = createInspector({ items: LIMIT, bytes: null, workload: WORKLOAD })
  for (let ms = 0; ms < 1500; ms += 20) {
    const body = Buffer.from(JSON.stringify({ items: liar.page(BEGAN_MS + ms, LIMIT) }))
    inspector.inspect(200, body.length, body, { sentMs: ms, receivedMs: ms, index: 0 })
  }
  return inspector.figures().answers
}

t.test('L15: pages that lack something, hold it twice, in another order or under another id are found', async (t) => {
  t.match(pagesOf('healthy'), { looked: 75, wrong: 0, detail: null })
  for (const [name, detail] of /** @type {[string, RegExp][]} */ ([
    ['leaves one out', /^19 items; expected 20/],
    ['shows one twice', /item 6 \(id-\d+\) appears twice/],
    ['mixes up two', /is newer than the one before it/],
    ['pairs a value with another id', /item 3 \(id-\d+\): number \d+ was written for id-\d+/],
    ['shows what was overwritten', /item 20 \(id-\d+\)( appears twice|: number \d+ follows \d+; the numbers between them are missing)/],
    ['cuts values', /item 1 \(id-\d+\): not a value that was written/]
  ])) t.match(pagesOf(name), { looked: 75, wrong: 75, detail }, name)
})

/** A look every 2 ms, of which the first second is the window. @param {string} name */
function looksOf (name) {
  const liar = liarOf(name, BEGAN_MS)
  const freshness = createFreshness({ fromMs: BEGAN_MS, untilMs: BEGAN_MS + 1000, ratePerSecond: RATE })
  /** @type {string[]} */
  const faults = []
  for (let ms = 0; ms < 1500; ms += 2) {
    const [{ ts, value }] = liar.page(BEGAN_MS + ms, 1)
    const { writer, number } = numberIn(value) ?? { writer: -1, number: -1 }
    const fault = freshness.observe({ ts, writer, number }, BEGAN_MS + ms + 0.5)
    if (fault !== null) faults.push(fault)
  }
  const figures = freshness.figures()
  const requests = { planned: null, sent: 1, answered: 1, missing: 0, errors: 0, timeouts: 0, byStatus: { 200: 1 } }
  const broken = servingInvariants(/** @type {any} */ ({ requests, answers: { looked: 1, wrong: 0, detail: null }, freshness: figures }))
    .filter(({ ok }) => !ok).map(({ name }) => name)
  return { figures, faults, broken }
}

t.test('L15: freshness of a server that is late is reported, of one that stands still or forges times it is none', async (t) => {
  const [healthy, stale, stuck] = ['healthy', 'stale', 'stuck'].map(looksOf)
  t.same([healthy.faults, healthy.broken], [[], []])
  t.match(healthy.figures, { due: 1000, seen: 1000, wentBack: 0 })
  t.same([stale.faults, stale.broken], [[], []])
  t.ok(Number(stale.figures?.p50) >= 200 && Number(stale.figures?.p50) < 210, `${stale.figures?.p50} ms`)
  t.same([stuck.faults, stuck.broken], [[], ['due items became visible']])
  t.match(looksOf('of tomorrow').faults[0], /before it was due/)
  t.match(looksOf('forges times').faults[0], /has time \d+, which does not fit the numbers and times before it/)
})

t.test('L15: everything that is not everything is found', async (t) => {
  /** @param {string} name */
  function checked (name) {
    const liar = liarOf(name, BEGAN_MS)
    const body = Buffer.from(liar.all(BEGAN_MS).map((item) => JSON.stringify(item) + '\n').join(''))
    return checkAll(body, { ids: IDS, valueBytes: VALUE_BYTES, newestNow: liar.newestAt(BEGAN_MS) })
  }
  t.match(checked('healthy'), { items: IDS, newest: 5000, fault: null })
  for (const [name, fault] of /** @type {[string, RegExp][]} */ ([
    ['leaves one out', /^1 items are missing that were not overwritten during the response/],
    ['shows one twice', /appears twice/],
    ['mixes up two', /^line \d+ is newer than the one before it/],
    ['pairs a value with another id', /was written for/],
    ['cuts values', /not a value that was written/]
  ])) t.match(checked(name).fault, fault, name)
})
