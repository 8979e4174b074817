/** Rows of entries: each once, in order, whatever is repeated, and only by the owner. */
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { consume, createDeadLetters, createOutboxReader, createOwnership } from '../../src/consumers/index.js'
import { migrate, openDatabase } from '../../src/sql/index.js'
import { createPrimaries, openerOf } from '../../src/store/index.js'
import { sharedDatabase } from '../database.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, silentLog, startServer } from '../servers.js'
import { askLease } from './lease.js'

/** of requests and leases: shorter ones end on a busy machine, and the work begins again */
const DEADLINE_MS = 5000
const server = await sharedDatabase(t)
const database = openDatabase({ url: server.url, name: 'test', max: 4, deadlineMs: DEADLINE_MS, log: silentLog })
t.teardown(() => database.close())
await migrate(database)
await database.query('CREATE TABLE effects (n bigint GENERATED ALWAYS AS IDENTITY, system text, key text, seq int, ' +
  'UNIQUE (system, key, seq))')
/** codes of failures @type {string[]} */
const failures = []
const metrics = { finished () {}, failed: (/** @type {any} */ { code }) => { failures.push(code) } }

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { url } = await startServer(t, { engine })
    const connection = await connectFor(t, url)
    const system = `${engine.name}-sales`
    const keyOf = (/** @type {number} */ partition) => admissionKey('fr:', system, partition)
    const letters = createDeadLetters({ connectionOf: () => connection, keyOf, partitions: 1 })

    /** @type {Record<string, (client: import('../../src/consumers/index.js').SqlClient, id: string) => unknown>} by type of entry */
    const poisons = {
      ending: (client) => client.query('SELECT pg_terminate_backend(pg_backend_pid())'),
      late: (client) => client.query("DO $$ BEGIN RAISE EXCEPTION 'statement timeout' USING ERRCODE = 'query_canceled'; END $$"),
      vanishing: (_client, id) => connection.send('XDEL', keyOf(0)('outbox'), id),
      throwing: () => { throw new TypeError('no such field') }
    }

    /** @type {import('../../src/consumers/index.js').SqlEffect} */
    const effect = {
      name: 'effects',
      async write (client, entries) {
        for (const { id, key, seq, fields } of entries) {
          await poisons[fields.type]?.(client, id)
          const sql = 'INSERT INTO effects (system, key, seq) VALUES ($1, $2, $3) ON CONFLICT (system, key, seq) DO NOTHING'
          await client.query(fields.type === 'poison' ? 'INSERT INTO nowhere VALUES ($1, $2, $3)' : sql, [system, key, seq])
        }
      },
      async after (entries) { if (entries.some(({ fields }) => fields.type === 'unsettled')) throw new Error('after the commit') }
    }

    /** A process of consumers. @param {string} id */
    async function join (id) {
      const routes = createPrimaries(url, { name: id, deadlineMs: DEADLINE_MS })
      const outbox = openerOf(url, { name: `${id}:outbox`, deadlineMs: DEADLINE_MS })
      await routes.opened
      const reader = createOutboxReader({ ...outbox, keyOf, log: silentLog })
      const connectionOf = (/** @type {number} */ partition) => routes.route(keyOf(partition)('')).connection
      const ownership = createOwnership({
        id,
        partitions: 1,
        connectionOf,
        keyOf,
        log: silentLog,
        leaseMs: DEADLINE_MS,
        work: (owned) => consume({
          system,
          effect,
          database,
          owned,
          connection: () => connectionOf(0),
          key: keyOf(0),
          reader,
          metrics,
          deadLetter: (letter) => letters.deadLetter(0, letter)
        })
      })
      return async () => {
        await ownership.close()
        await reader.close()
        await routes.close()
      }
    }

    /** @param {string} key @param {number} seq @param {string} [type] */
    const append = (key, seq, type = 'event') =>
      connection.send('XADD', keyOf(0)('outbox'), '*', 'rule', 'r', 'key', key, 'ts', 1, 'request', 'q', 'seq', seq, 'type', type)
    const effects = async () => (await database.query('SELECT key, seq FROM effects WHERE system = $1 ORDER BY n', [system])).rows
      .map(({ key, seq }) => `${key}${seq}`)

    await t.test('entries become rows in order; what was finished is not taken again', async (t) => {
      for (let seq = 1; seq <= 300; seq++) await append('a', seq)
      const leave = await join('one')
      await eventually(async () => (await effects()).length === 300)
      t.same(await effects(), Array.from({ length: 300 }, (_, i) => `a${i + 1}`))
      await leave()
      await append('b', 1)
      const leaveAgain = await join('two')
      await eventually(async () => (await effects()).includes('b1'))
      await leaveAgain()
      t.equal((await effects()).length, 301)
    })

    await t.test('a poison entry is a dead letter, the partition goes on, and a replay finds its way', async (t) => {
      await append('c', 1)
      await append('c', 2, 'poison')
      await append('c', 3)
      const leave = await join('three')
      await eventually(async () => (await effects()).includes('c3'))
      await eventually(async () => (await letters.list({ after: null, limit: 10 })).items.length === 1)
      const { items: [letter] } = await letters.list({ after: null, limit: 10 })
      t.match(letter, { consumer: 'effects', key: 'c', reason: /nowhere/, attempts: 3, fields: { seq: '2', type: 'poison' } })
      await letters.replay(letter.id)
      await t.rejects(letters.replay(letter.id), { code: 'DEAD_LETTER_UNKNOWN' })
      await eventually(async () => (await letters.list({ after: null, limit: 10 })).items.length === 1, {})
      const { items: [again] } = await letters.list({ after: null, limit: 10 })
      t.not(again.id, letter.id, 'still poison')
      await letters.discard(again.id)
      await t.rejects(letters.discard('0:1-1'), { code: 'DEAD_LETTER_UNKNOWN' })
      await t.rejects(letters.replay('x'), { code: 'DEAD_LETTER_UNKNOWN' })
      await leave()
    })

    await t.test('an entry that ends its connection, takes too long, throws or fails behind its commit is a dead letter', async (t) => {
      const types = ['event', 'ending', 'event', 'late', 'throwing', 'unsettled', 'event']
      for (const [i, type] of types.entries()) await append('p', i + 1, type)
      const leave = await join('poisoned')
      await eventually(async () => (await effects()).includes('p7'))
      await leave()
      t.same((await effects()).filter((one) => one.startsWith('p')), ['p1', 'p3', 'p6', 'p7'])
      const { items } = await letters.list({ after: null, limit: 10 })
      t.match(items, [
        { fields: { type: 'ending' }, attempts: 3, reason: /terminat|does not answer/ },
        { fields: { type: 'late' }, attempts: 3, reason: /statement timeout/ },
        { fields: { type: 'throwing' }, attempts: 3, reason: /no such field/ },
        { fields: { type: 'unsettled' }, attempts: 3, reason: /after the commit/ }
      ])
      for (const { id } of items) await letters.discard(id)
      await connection.send('DEL', keyOf(0)('outbox'), keyOf(0)('cursors'))
    })

    await t.test('with all cursors deleted everything is taken again, without effect', async (t) => {
      const before = await effects()
      await connection.send('DEL', keyOf(0)('cursors'))
      await append('d', 1)
      const leave = await join('four')
      await eventually(async () => (await effects()).includes('d1'))
      await leave()
      t.same(await effects(), [...before, 'd1'])
    })

    await t.test('an entry that is lost with its primary while it is written is no cursor: the next one is taken', async (t) => {
      await append('v', 1, 'vanishing')
      const leave = await join('losing')
      await eventually(async () => (await effects()).includes('v1'))
      await leave()
      await append('v', 2)
      const leaveAgain = await join('going on')
      await eventually(async () => (await effects()).includes('v2'))
      await leaveAgain()
    })

    await t.test('an outbox that was trimmed past the cursor is refused until the cursor is deleted', async (t) => {
      await append('lost', 1)
      await append('left', 1)
      await connection.send('XTRIM', keyOf(0)('outbox'), 'MAXLEN', 1)
      const before = await effects()
      failures.length = 0
      const leave = await join('refused')
      await eventually(async () => failures.length >= 2)
      t.same([...new Set(failures)], ['OUTBOX_TRIMMED'])
      t.same(await effects(), before)
      await connection.send('HDEL', keyOf(0)('cursors'), effect.name)
      await eventually(async () => (await effects()).includes('left1'))
      await leave()
      t.same(await effects(), [...before, 'left1'])
    })

    await t.test('an owner with an older token commits nothing', async (t) => {
      const outbox = openerOf(url, { name: 'late:outbox', deadlineMs: DEADLINE_MS })
      const reader = createOutboxReader({ ...outbox, keyOf, log: silentLog })
      t.teardown(async () => {
        await reader.close()
      })
      const token = await askLease(connection, keyOf(0), { id: 'late' })
      const { signal } = new AbortController()
      const late = consume({
        system,
        effect,
        database,
        owned: { partition: 0, token, signal },
        connection: () => connection,
        key: keyOf(0),
        reader,
        metrics,
        deadLetter: async () => {}
      })
      late.catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 200))
      // a later owner, in the database first
      await database.query('UPDATE consumer_cursor SET token = token + 1 WHERE system = $1', [system])
      const before = await effects()
      await append('e', 1)
      await new Promise((resolve) => setTimeout(resolve, 500))
      t.same(await effects(), before)
      await t.rejects(late, { code: 'LEASE_LOST' })
      const leave = await join('five')
      await t.rejects(consume({
        system,
        effect,
        database,
        owned: { partition: 0, token, signal: new AbortController().signal },
        connection: () => connection,
        key: keyOf(0),
        reader,
        metrics,
        deadLetter: async () => {}
      }), { code: 'LEASE_LOST' })
      await leave()
    })
  })
}
