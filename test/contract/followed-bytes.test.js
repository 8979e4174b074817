/** What followers read of a set, whatever its values weigh: pieces, and versions that arrivals name, in replies of bounded bytes. */
import t from 'tap'
import { createReadSize, layoutNames, layoutOf } from '../../src/layouts/index.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { item, openPartition } from './partition.js'

const VALUE_BYTES = 512 * 1024
const COUNT = 130
/** of a reply, once sizes are known */
const MAX_BYTES = 8 * 1024 * 1024
/** before; with the largest values such a reply still fits */
const FIRST_ITEMS = 60
const SETS = layoutNames().filter((name) => layoutOf(name).piece)
const [engine] = await scopedEngines()

const bytesIn = (/** @type {any} */ reply) => Array.isArray(reply)
  ? reply.reduce((sum, one) => sum + bytesIn(one), 0)
  : Buffer.isBuffer(reply) ? reply.length : 0

for (const name of SETS) {
  t.test(`${engineName(engine)}: ${name}`, async (t) => {
    const { piece, versionsAt } = /** @type {any} */ (layoutOf(name))
    const server = await startServer(t, { engine })
    const { key, append } = await openPartition(t, server, name)
    const nowMs = Date.now()
    const value = 'x'.repeat(VALUE_BYTES)
    // of one order: they lie among each other by their ids
    const items = Array.from({ length: COUNT }, (_, i) => item(`id-${i}`, nowMs, 0, value))
    for (let at = 0; at < COUNT; at += 10) await append(items.slice(at, at + 10))

    const connection = await connectFor(t, server.url)
    /** @type {number[]} */
    let replies = []
    const note = async (/** @type {Promise<any>} */ asked) => {
      const reply = await asked
      const bytes = bytesIn(reply)
      if (bytes > VALUE_BYTES) replies.push(bytes)
      return reply
    }
    const counted = {
      send: (/** @type {any[]} */ ...words) => note(connection.send.apply(connection, /** @type {[any]} */ (words))),
      runScript: (/** @type {string} */ script, /** @type {any} */ keys, /** @type {any} */ args) =>
        note(connection.runScript(script, keys, args))
    }

    /** @param {import('tap').Test} t @param {number} least replies */
    function check (t, least) {
      const [first, ...others] = replies
      t.ok(first <= (FIRST_ITEMS + 2) * (VALUE_BYTES + 256), `the first of ${Math.round(first / VALUE_BYTES)} values`)
      for (const bytes of others) t.ok(bytes <= MAX_BYTES + 3 * VALUE_BYTES, `then of ${Math.round(bytes / VALUE_BYTES)}`)
      t.ok(replies.length >= least, `${replies.length} replies`)
      replies = []
    }

    await t.test('pieces', async (t) => {
      const size = createReadSize()
      const found = []
      let before = null
      do {
        const { versions, next } = /** @type {any} */ (await piece(counted, key, { before, minTs: 0, limit: 1000, size }))
        found.push(...versions.map((/** @type {any} */ { id }) => String(id)))
        before = next
      } while (before !== null)
      t.equal(new Set(found).size, COUNT)
      check(t, 5)
    })

    await t.test('versions that arrivals name', async (t) => {
      const wanted = items.map(({ id, ts, seq }) => ({ id, ts, seq, deleted: false }))
      const versions = await versionsAt(counted, key, wanted, createReadSize())
      t.same(versions.map((/** @type {any} */ one) => String(one.id)), items.map(({ id }) => String(id)))
      check(t, 5)
    })
  })
}
