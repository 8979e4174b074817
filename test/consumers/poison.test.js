/** Entries that end their process each time: a dead letter after the last attempt, and the partition goes on. */
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { consumeBatches, createDeadLetters, createOutboxReader, lagOf } from '../../src/consumers/index.js'
import { openerOf } from '../../src/store/index.js'
import { connectFor, eventually, silentLog } from '../servers.js'
import { createAttempt } from '../../src/consumers/partition.js'
import { sharedDeployment } from '../shared.js'
import { askLease } from './lease.js'

const DEADLINE_MS = 10_000
const { primary: { url }, keyPrefix } = await sharedDeployment(t)
const connection = await connectFor(t, url)
let systems = 0

/** A system of its own, with one partition. @param {import('tap').Test} t */
function createSystem (t) {
  const system = `poison${++systems}`
  const key = admissionKey(keyPrefix, system, 0)
  const letters = createDeadLetters({ connectionOf: () => connection, keyOf: () => key, partitions: 1 })
  return {
    system,
    key,
    letters: async () => (await letters.list({ after: null, limit: 100 })).items,
    lag: () => lagOf(connection, key, 'effect'),
    isDone: async () => String(await connection.send('HGET', key('cursors'), 'effect')) ===
      String((await connection.send('XREVRANGE', key('outbox'), '+', '-', 'COUNT', 1))[0][0]),

    /** @param {number} seq @param {string} [type] */
    append: (seq, type = 'event') =>
      connection.send('XADD', key('outbox'), '*', 'rule', 'r', 'key', 'k', 'ts', 1, 'request', 'q', 'seq', seq, 'type', type),

    /** A process that takes the partition over. @param {(place: any) => Promise<void>} run */
    async own (run) {
      await connection.send('HSET', key('owner'), 'until', 0)
      const token = await askLease(connection, key)
      const outbox = openerOf(url, { name: `outbox${token}`, deadlineMs: DEADLINE_MS })
      const reader = createOutboxReader({ ...outbox, keyOf: () => key, log: silentLog })
      const stop = new AbortController()
      const done = run({
        owned: { partition: 0, token, signal: stop.signal },
        connection: () => connection,
        key,
        reader,
        metrics: { finished () {}, failed () {} },
        deadLetter: (/** @type {any} */ letter) => letters.deadLetter(0, letter)
      })
      done.catch(() => {})
      const end = async () => {
        await reader.close()
      }
      t.teardown(end)
      return {
        /** As a kill: nothing that it began comes to an end. */
        kill: end,
        /** It gives the partition back. */
        async stop () {
          stop.abort()
          await done.catch(() => {})
          await end()
        }
      }
    }
  }
}

t.test('an entry that ends its process each time is a dead letter after three attempts alone, and shows as lag until then', async (t) => {
  const one = createSystem(t)
  for (let seq = 1; seq <= 5; seq++) await one.append(seq)
  /** @type {number[][]} sequence numbers of each write */
  const writes = []
  /** @param {any} place */
  const run = (place) => consumeBatches({
    ...place,
    effect: {
      name: 'effect',
      async write (/** @type {any[]} */ entries) {
        writes.push(entries.map(({ seq }) => seq))
        if (entries.some(({ seq }) => seq === 3)) await new Promise(() => {})
      }
    }
  })
  for (let kill = 1; kill <= 4; kill++) {
    const process = await one.own(run)
    await eventually(() => writes.filter((seqs) => seqs.includes(3)).length === kill)
    if (kill === 4) {
      await new Promise((resolve) => setTimeout(resolve, 1100))
      t.ok(await one.lag() >= 1000, 'lag is the age of the oldest entry that is not finished')
    }
    await process.kill()
  }
  t.same(writes, [[1, 2, 3, 4, 5], [1], [2], [3], [3], [3]], 'after a crash one at a time')
  const last = await one.own(run)
  await eventually(one.isDone)
  t.same(writes.slice(6), [[4], [5]])
  t.match(await one.letters(), [{ entry: String, fields: { seq: '3' }, attempts: 3, reason: /3 attempts began and did not end/ }])
  t.equal(await one.lag(), 0)
  for (let seq = 6; seq <= 7; seq++) await one.append(seq)
  await eventually(one.isDone)
  t.equal((await one.letters()).length, 1)
  await last.stop()
})

t.test('an outage makes no dead letter, however often the partition changes hands in it, and splits no batch', async (t) => {
  const one = createSystem(t)
  for (let seq = 1; seq <= 3; seq++) await one.append(seq)
  const down = Object.assign(new Error('down'), { retryable: true })
  let isDown = true
  /** @type {number[]} */
  const sizes = []
  const run = (/** @type {any} */ place) => consumeBatches({
    ...place,
    effect: {
      name: 'effect',
      async write (/** @type {any[]} */ entries) {
        sizes.push(entries.length)
        if (isDown) throw down
      }
    }
  })
  for (let owner = 1; owner <= 5; owner++) {
    const before = sizes.length
    const process = await one.own(run)
    await eventually(() => sizes.length > before + (owner % 2))
    await process.stop()
  }
  isDown = false
  const last = await one.own(run)
  await eventually(one.isDone)
  await last.stop()
  t.same([...new Set(sizes)], [3])
  t.same(await one.letters(), [])
})

t.test('an attempt that is given back while the server still counts it does not stay counted', async (t) => {
  const { key } = createSystem(t)
  await connection.send('HSET', key('owner'), 'token', 1)
  const owned = { partition: 0, token: 1, signal: new AbortController().signal }
  const attempt = createAttempt({ owned, connection: () => connection, key }, { consumer: 'effect', entry: '1-0', most: 1 })
  const begun = attempt.begin()
  await attempt.close()
  await begun
  t.equal(String(await connection.send('HGET', key('attempts'), 'effect')), '1-0 0')
})
