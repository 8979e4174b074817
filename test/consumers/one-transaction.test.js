/** Rows of all partitions in one transaction: what fails in one of them fails there alone, and a killed process takes nothing along. */
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { consume, createDeadLetters, createOutboxReader, createTogether } from '../../src/consumers/index.js'
import { migrate, openDatabase } from '../../src/sql/index.js'
import { openerOf } from '../../src/store/index.js'
import { sharedDatabase } from '../database.js'
import { connectFor, eventually, silentLog } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { askLease } from './lease.js'

const DEADLINE_MS = 10_000
const PARTITIONS = 16
const [{ url: databaseUrl }, { primary: { url }, keyPrefix }] = await Promise.all([sharedDatabase(t), sharedDeployment(t)])
const connection = await connectFor(t, url)
const database = openDatabase({ url: databaseUrl, name: 'test', max: 20, deadlineMs: DEADLINE_MS, log: silentLog })
t.teardown(() => database.close())
await migrate(database)
await database.query('CREATE TABLE numbers (system text, partition int, seq int CHECK (seq <> 13), PRIMARY KEY (system, partition, seq))')

/** @typedef {import('../../src/consumers/index.js').SqlClient} SqlClient */
/** @typedef {{ partition: number, entries: import('../../src/admission/index.js').Entry[] }} Batch */

/** @param {import('tap').Test} t @param {string} system */
function createSystem (t, system) {
  const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, system, partition)
  const letters = createDeadLetters({ connectionOf: () => connection, keyOf, partitions: PARTITIONS })
  const all = Array.from({ length: PARTITIONS }, (_, partition) => partition)
  /** partitions of each transaction that was committed @type {number[]} */
  const transactions = []

  return {
    keyOf,
    transactions,
    letters: async () => (await letters.list({ after: null, limit: 100 })).items,
    rows: async () => (await database.query('SELECT partition, seq FROM numbers WHERE system = $1 ORDER BY 1, 2', [system])).rows
      .map(({ partition, seq }) => `${partition}:${seq}`),
    append: (/** @type {number[]} */ partitions, /** @type {number} */ seq) => Promise.all(partitions.map((partition) => connection.send(
      'XADD', keyOf(partition)('outbox'), '*', 'rule', 'r', 'key', String(partition), 'ts', 1, 'request', 'q', 'seq', seq, 'type', 'e'))),
    all,

    /**
     * A process that owns all partitions.
     * @param {{ hang?: (partitions: number) => boolean }} [options] `hang`: a transaction with so many ends with its process
     */
    async start ({ hang = () => false } = {}) {
      const stop = new AbortController()
      let isKilled = false
      const failed = /** @type {number[]} */ ([])
      const lost = /** @type {number[]} */ ([])
      /** @param {SqlClient} client @param {Batch[]} batches */
      async function writeAll (client, batches) {
        for (const { entries } of batches) {
          for (const { key, seq } of entries) {
            await client.query('INSERT INTO numbers VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [system, Number(key), seq])
          }
        }
        if (!hang(batches.length)) return
        isKilled = true
        throw new Error('killed')
      }
      const own = {
        query: database.query,
        get isUp () { return database.isUp },
        /** Nothing follows in a process that was killed. @type {typeof database.transaction} */
        transaction: (run) => database.transaction(run).catch((error) => isKilled ? new Promise(() => {}) : Promise.reject(error))
      }
      const effect = {
        name: 'effect',
        write: async (/** @type {SqlClient} */ client, /** @type {Batch['entries']} */ entries) => {
          await writeAll(client, [{ partition: Number(entries[0].key), entries }])
          transactions.push(1)
        },
        writeAll
      }
      const counted = {
        ...effect,
        async writeAll (/** @type {SqlClient} */ client, /** @type {Batch[]} */ batches) {
          await writeAll(client, batches)
          transactions.push(batches.length)
        }
      }
      const together = createTogether({ system, effect: counted, database: own })
      const outbox = openerOf(url, { name: system, deadlineMs: DEADLINE_MS })
      const reader = createOutboxReader({ ...outbox, keyOf, everyMs: 200, log: silentLog })
      const done = all.map(async (partition) => {
        const token = await askLease(connection, keyOf(partition), { ms: 1 })
        await consume({
          system,
          effect,
          database: own,
          together,
          owned: { partition, token, signal: stop.signal },
          connection: () => connection,
          key: keyOf(partition),
          reader,
          metrics: { finished () {}, failed: () => { failed.push(partition) } },
          deadLetter: (letter) => letters.deadLetter(partition, letter)
        }).catch((error) => { if (error.code === 'LEASE_LOST') lost.push(partition) })
      })
      const close = async () => {
        await reader.close()
        if (isKilled) return
        stop.abort()
        await Promise.all(done)
      }
      t.teardown(close)
      return { failed, lost, close, isKilled: () => isKilled }
    }
  }
}

t.test('what comes in all partitions is one transaction, and each partition has its cursor', async (t) => {
  const system = createSystem(t, 'whole')
  const { failed, close } = await system.start()
  await system.append(system.all, 1)
  await eventually(async () => (await system.rows()).length === PARTITIONS)
  t.ok(system.transactions.length <= 4, `transactions of ${system.transactions.join()} partitions`)
  await close()
  const { rows } = await database.query("SELECT entry FROM consumer_cursor WHERE system = 'whole' AND entry <> '0-0'")
  t.equal(rows.length, PARTITIONS)
  t.same(failed, [])
})

t.test('an entry that the database rejects becomes a dead letter; the other partitions fail at nothing', async (t) => {
  const system = createSystem(t, 'poison')
  const { failed, close } = await system.start()
  await system.append(system.all, 1)
  await system.append([5], 13)
  await system.append(system.all, 2)
  await eventually(async () => (await system.rows()).length === 2 * PARTITIONS && (await system.letters()).length === 1)
  t.match(await system.letters(), [{ key: '5' }])
  t.same([...new Set(failed)], [5])
  await close()
})

t.test('a lease that is lost rolls back for its partition alone', async (t) => {
  const system = createSystem(t, 'lost')
  const { lost, close } = await system.start()
  await system.append(system.all, 1)
  await eventually(async () => (await system.rows()).length === PARTITIONS)
  await database.query("UPDATE consumer_cursor SET token = token + 1 WHERE system = 'lost' AND partition = 7")
  await system.append(system.all, 2)
  await eventually(async () => (await system.rows()).length === 2 * PARTITIONS - 1)
  t.notOk((await system.rows()).includes('7:2'))
  await eventually(() => lost.length > 0)
  t.same(lost, [7])
  await close()
})

t.test('a process that is killed in the middle of a transaction has written nothing; the next one writes each entry once', async (t) => {
  const system = createSystem(t, 'killed')
  for (let kills = 0; kills < 4; kills++) {
    const process = await system.start({ hang: (partitions) => partitions > 1 })
    await system.append(system.all, kills)
    await eventually(async () => process.isKilled() || (await system.rows()).length === (kills + 1) * PARTITIONS)
    await process.close()
  }
  const last = await system.start()
  await eventually(async () => (await system.rows()).length === 4 * PARTITIONS)
  t.same(await system.letters(), [], 'no entry pays for the process that others were written with')
  await last.close()
})
