/** What queries and commands of all systems share: waits, and lists by scheduled tasks. */
import t from 'tap'
import { createEventWaits, createReading } from '../../src/systems/reading.js'
import '../../src/systems/sales/replies.js'
import { createSettlement } from '../../src/systems/sales/orders.js'

const SERVER_TASKS = Array.from({ length: 600 }, (_, i) => [i % 2 === 0 ? `own k${String(i).padStart(3, '0')} due` : `own x${i} expire`, i])

/** A key `a` with one event, which the test changes. */
function fakes () {
  /** @type {Set<() => void>} */
  const listeners = new Set()
  const one = /** @type {any} */ ({ key: 'a', fields: { seq: '1' } })
  /** @type {any[][]} */
  const asked = []
  const view = /** @type {any} */ ({
    get: async (/** @type {string} */ key) => key === 'none' ? null : { ...one, key },
    peek: () => one,
    seqOf: (/** @type {any} */ { fields }) => Number(fields.seq),
    fromPrimary: async () => ({ ...one, fields: { seq: 'primary' } }),
    watch (/** @type {string} */ _key, /** @type {() => void} */ listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    }
  })
  const connection = /** @type {any} */ ({
    async send (/** @type {any[]} */ ...words) {
      asked.push(words)
      return SERVER_TASKS.slice(words[2], words[3] + 1).flat()
    }
  })
  const reading = createReading({
    view,
    unknown: 'FEED_UNKNOWN',
    connectionOf: () => connection,
    keyOf: () => (part) => part,
    partitionOf: () => 0,
    partitions: 1
  })
  /** @param {string} seq */
  function change (seq) {
    one.fields = { seq }
    for (const listener of listeners) listener()
  }
  return { reading, change, listeners, asked }
}

t.test('a key is read until it has the event, and asked of the primary after the wait', async (t) => {
  const { reading, change, listeners } = fakes()
  await t.rejects(reading.current('none'), { code: 'FEED_UNKNOWN' })
  const waiting = reading.since('a', { minSeq: 3, waitMs: 60_000 })
  await new Promise(setImmediate)
  change('2')
  await new Promise(setImmediate)
  change('3')
  t.match(await waiting, { fields: { seq: '3' } })
  t.match(await reading.since('a', { minSeq: 4, waitMs: 1 }), { fields: { seq: 'primary' } })
  t.equal(listeners.size, 0, 'nothing is watched any more')
})

t.test('waits end when the reader closes, also those that begin later', async (t) => {
  const { reading, listeners } = fakes()
  const waits = [
    reading.since('a', { minSeq: 9, waitMs: 60_000 }), reading.until('a', () => reading.current('a'), () => false, 60_000),
    reading.waitFor(() => () => {}, 60_000)
  ]
  await new Promise(setImmediate)
  reading.close()
  await Promise.all(waits)
  await reading.waitFor(() => () => {}, 60_000)
  t.equal(listeners.size, 0)
})

t.test('a request and its repetition both get the outcome of their claim, and a gateway that stops keeps neither', async (t) => {
  const waits = createEventWaits()
  const { settled } = createSettlement({ waits, isUp: () => true, statusOf: async () => 'pending', deadlineMs: 60_000 })
  const both = [settled('s', 'c', false), settled('s', 'c', true)]
  waits.note('s c', 'sold')
  await Promise.all(both)
  const stopped = t.rejects(settled('s', 'other', false), { code: 'CLAIM_UNSETTLED' })
  waits.close()
  await stopped
})

t.test('lists by tasks are read in pieces, and pages share one list', async (t) => {
  const { reading, asked } = fakes()
  const due = await reading.due({ rule: 'own', name: 'due', limit: 3 })
  t.same(due.map(({ key }) => key), ['k000', 'k002', 'k004'])
  t.equal(asked.length, 1, 'no more than is needed')
  const names = await reading.names('own', false)
  t.equal(names.length, 600)
  t.equal(asked.length, 4)
  t.equal(await reading.names('own', true), names)
  t.equal(asked.length, 4, 'the next page reads nothing')
})
