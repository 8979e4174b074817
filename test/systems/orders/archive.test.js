/** The archive: an entry that is written again changes nothing, and a stored event is never replaced. */
import t from 'tap'
import { openDatabase } from '../../../src/sql/index.js'
import { createArchive } from '../../../src/systems/orders/index.js'
import { SOLD, VIEWS } from '../../../src/systems/orders/archive.js'
import { sharedDatabase } from '../../database.js'
import { silentLog } from '../../servers.js'

const { url } = await sharedDatabase(t, { isMigrated: true })
const database = openDatabase({ url, name: 'test', max: 2, deadlineMs: 20_000, log: silentLog })
t.teardown(() => database.close())

/** @type {any[]} */
const errors = []
let different = 0
const archive = createArchive({
  partitionOf: () => 0,
  generationOf: async () => 'lineage',
  resume: async () => {},
  onDifferent: () => { different++ },
  log: /** @type {any} */ ({ error: (/** @type {any} */ fields) => errors.push(fields) })
})

/** @param {number} seq @param {Record<string, string>} fields */
const entry = (seq, fields) => ({
  id: `${seq}-0`, rule: 'step', key: 'o:a', seq, fields: { ts: String(seq), request: 'r', seq: String(seq), reason: '', ...fields }
})
const placed = entry(1, { type: 'placed', status: 'placed', customer: 'ann', total: '100', lines: '[]', address: 'Here 1', deadline: '9' })
const held = entry(2, { type: 'held', status: 'held' })

/** @param {any[]} entries */
const write = (entries) => database.transaction((client) => archive.write(client, entries))
const stored = async () => ({
  events: (await database.query('SELECT * FROM events ORDER BY version')).rows,
  orders: (await database.query('SELECT * FROM order_view')).rows
})

t.test('the same entries again change nothing', async (t) => {
  await write([placed, held])
  const before = await stored()
  t.match(before, { events: [{ type: 'placed' }, { type: 'held' }], orders: [{ aggregate: 'o:a', version: '2', status: 'held' }] })
  await write([placed, held])
  await write([held])
  t.same(await stored(), before)
  t.same([different, errors], [0, []])
})

t.test('another event with the same number is counted and logged; the stored one stays, and the rest is written', async (t) => {
  const before = await stored()
  await write([entry(2, { type: 'declined', status: 'cancelling' }), entry(3, { type: 'capture_requested', status: 'capturing' })])
  const { events, orders } = await stored()
  t.same(events.slice(0, 2), before.events)
  t.match(events[2], { version: '3', type: 'capture_requested' })
  t.match(orders, [{ version: '3', status: 'capturing' }])
  t.equal(different, 1)
  t.same(errors, [{ code: 'EVENTS_DIFFER', sagaId: 'a', aggregate: 'o:a', version: 2 }])
})

t.test('neither the view of a product nor the question whether it sold a claim reads its history', async (t) => {
  await database.query(`INSERT INTO events (partition, generation, seq, aggregate, version, type, data, at)
    SELECT 1, 'lineage', n, 'p:long', n, CASE n % 2 WHEN 1 THEN CASE n WHEN 1 THEN 'open' ELSE 'held' END ELSE 'sold' END,
      jsonb_build_object('about', '{}', 'stock', '9', 'held', '1', 'claim', 'c' || n), now()
    FROM generate_series(1, 20000) AS n`)
  await database.query('ANALYZE events')
  /** @param {any} plan @returns {number} rows that were read, by all parts of it */
  const readBy = (plan) => (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops'] +
    (plan.Plans ?? []).reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + readBy(one), 0)
  for (const [name, text, values] of [
    ...VIEWS.map(({ name, select }) => /** @type {const} */ ([name, select, [['p:long']]])),
    ...([['sold', SOLD, ['p:long', 'c9000']], ['not sold', SOLD, ['p:long', 'c9001']]])
  ]) {
    const { rows: [{ 'QUERY PLAN': [{ Plan: plan }] }] } = await database.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...values])
    t.ok(readBy(plan) < 50, `${name}: ${readBy(plan)} rows`)
  }
  const isSold = async (/** @type {string} */ claim) => (await database.query(SOLD, ['p:long', claim])).rows.length === 1
  t.same(await Promise.all(['c9000', 'c9001', 'other'].map(isSold)), [true, false, false])
})
