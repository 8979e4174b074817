/**
 * Batches of a stripe with equal orders, and replies that are lost: whatever is sent again, the last append of the highest order of
 * each id is stored (go-back-N: a batch that is sent again takes all later ones with it). On a server in memory, then on real ones.
 */
import t from 'tap'
import fc from 'fast-check'
import { onlyKey } from '../../src/feeds/keys.js'
import { layoutOf } from '../../src/layouts/index.js'
import { createWindow } from '../../src/pipeline/window.js'
import { readScript } from '../../src/store/scripts.js'
import { holds } from '../properties.js'
import { connectFor, engineName } from '../servers.js'
import { nightly, scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'
import { fakePartition } from './fake-partition.js'
import { faultsOf, storedIn } from './stored.js'

const ids = layoutOf('ids')
const START = 1_750_000_000_000

/** Few ids and few orders, so that most batches have an order that an earlier one has for the same id. */
const anyBatch = fc.array(fc.record({ id: fc.constantFrom('a', 'b', 'c'), step: fc.constantFrom(0, 0, 0, 0, 1, -1) }),
  { minLength: 1, maxLength: 3 })
/** The replies of a connection are lost from its `lostFrom`-th request on; the server still executes `executed` requests from there on. */
const anyEnd = fc.record({ lostFrom: fc.integer({ min: 0, max: 9 }), executed: fc.integer({ min: 0, max: 4 }) })
const anyStory = fc.record({ batches: fc.array(anyBatch, { minLength: 3, maxLength: 12 }), ends: fc.array(anyEnd, { maxLength: 4 }) })

/** @typedef {typeof anyStory extends fc.Arbitrary<infer S> ? S : never} Story */

/** A connection that ends as anyEnd says. @param {any} inner @param {{ lostFrom: number, executed: number }} end */
function ending (inner, { lostFrom, executed }) {
  let requests = 0
  /** @type {Promise<unknown>[]} */
  const sent = []
  const over = () => Object.assign(new Error('the connection was lost'), { outcome: 'over' })
  const request = (/** @type {string} */ name) => async (/** @type {any[]} */ ...words) => {
    const at = requests++
    if (at >= lostFrom + executed) throw over()
    const reply = inner[name](...words)
    sent.push(reply.catch(() => {}))
    if (at < lostFrom) return reply
    await Promise.allSettled([reply])
    throw over()
  }
  return {
    connection: { send: request('send'), sendDispensable: request('sendDispensable'), sendEncoded: request('sendEncoded'), close () {} },
    /** What was sent reaches the server before the next connection is opened (pipeline/stripes.js). */
    fenced: () => Promise.all(sent)
  }
}

/**
 * @param {Story} story @param {() => any} connect @param {Parameters<typeof ids.createBatch>[0]} how
 * @returns {Promise<{ values: Record<string, string>, again: number, forms: Set<string | undefined> }>} `values` that must be stored
 */
async function run ({ batches, ends }, connect, how) {
  let again = 0
  const forms = new Set()
  const left = [...ends, { lostFrom: Infinity, executed: 0 }]
  let session = ending(connect(), left[0])
  await /** @type {Promise<void>} */ (new Promise((resolve, reject) => {
    const window = createWindow({
      async send (connection, [batch]) {
        try {
          return [await ids.append(connection, batch)]
        } catch (error) {
          if (session.connection === connection) reopen().catch(reject)
          throw error
        }
      },
      isAlone: ids.isAlone,
      onSent: (_, isAgain) => { if (isAgain) again++ },
      onAcknowledged (_, { form }) {
        forms.add(form)
        if (window.length === 0) resolve()
      },
      onFull: () => reject(new Error('full')),
      onRefused: reject
    })
    async function reopen () {
      const before = session
      left.shift()
      session = ending(connect(), left[0])
      await before.fenced()
      window.detach()
      window.attach(/** @type {any} */ (session.connection))
    }
    window.attach(/** @type {any} */ (session.connection))
    for (const batch of batchesOf(batches, how)) window.push(batch)
  }))
  return { values: newestOf(batches), again, forms }
}

/**
 * Calls back for each item, with a value of its own.
 * @param {Story['batches']} batches @param {(batch: number, id: string, ts: number, value: string) => void} visit
 */
function eachItem (batches, visit) {
  let ts = START
  batches.forEach((items, batch) => items.forEach(({ id, step }, i) => {
    ts += step
    visit(batch, id, ts, `${batch}.${i}`)
  }))
}

/** @param {Story['batches']} batches @param {Parameters<typeof ids.createBatch>[0]} how */
function batchesOf (batches, how) {
  const made = batches.map(() => ids.createBatch(how))
  eachItem(batches, (batch, id, ts, value) => made[batch].add(Buffer.from(id), ts, 0, Buffer.from(value)))
  return made
}

/** Of equal orders the later append wins. @param {Story['batches']} batches @returns {Record<string, string>} values by id */
function newestOf (batches) {
  /** @type {Record<string, { ts: number, value: string }>} */
  const newest = {}
  eachItem(batches, (_, id, ts, value) => { if (!(newest[id]?.ts > ts)) newest[id] = { ts, value } })
  return Object.fromEntries(Object.entries(newest).sort().map(([id, { value }]) => [id, value]))
}

/** @param {{ values: Record<string, string>, faults: string[] }} found @param {Record<string, string>} wanted */
function expectStored ({ values, faults }, wanted) {
  const text = JSON.stringify([Object.entries(values).sort(), faults])
  if (text !== JSON.stringify([Object.entries(wanted), []])) throw new Error(`stored ${text}, wanted ${JSON.stringify(wanted)}`)
}

t.test('a server in memory', async (t) => {
  let again = 0
  const met = new Set()
  const dialect = { msetex: true, mayWatch: true, sha: (/** @type {string} */ name) => name }
  const how = /** @type {const} */ ({ key: onlyKey('fr:', 'again'), ttlMs: 60_000, late: 'newest', dialect })
  await holds(t, fc.asyncProperty(anyStory, async (story) => {
    const { state: { ids: scores, records }, connect } = fakePartition()
    const { values, ...rest } = await run(story, connect, how)
    again += rest.again
    rest.forms.forEach((form) => met.add(form))
    const found = Object.fromEntries([...records].map(([id, record]) => [id, record.slice(8)]))
    expectStored({ values: found, faults: faultsOf(scores, (id) => records.get(id)) }, values)
  }), { runs: nightly(3000, 300), timeLimitMs: 60_000 })
  t.ok(again > 0, `${again} batches sent again`)
  t.same([...met].sort(), ['script', 'watched'])
})

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { primary, keyPrefix } = await sharedDeployment(t, { engine })
    const [reader, ...others] = await Promise.all(Array.from({ length: 6 }, () => connectFor(t, primary.url)))
    for (const name of ['append-newest', 'mend-scores']) await reader.send('SCRIPT', 'LOAD', readScript(name).body)
    const dialect = { msetex: engine.hasMsetex, mayWatch: true, sha: (/** @type {string} */ name) => readScript(name).sha }
    let again = 0
    let feeds = 0
    await holds(t, fc.asyncProperty(anyStory, async (story) => {
      const key = onlyKey(keyPrefix, `again-${++feeds}`)
      let opened = 0
      const { values, ...rest } = await run(story, () => others[opened++], { key, ttlMs: 60_000, late: 'newest', dialect })
      again += rest.again
      expectStored(await storedIn(reader, key), values)
      // the next run uses a connection that ended under WATCH
      await Promise.all(others.map((one) => one.send('UNWATCH')))
    }), { runs: nightly(300, 60), timeLimitMs: 60_000 })
    t.ok(again > 0, `${again} batches sent again`)
  })
}
