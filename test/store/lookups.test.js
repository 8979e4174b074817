/** Keys that no replica has are asked for together, one round trip at a time, and a primary that cannot be asked is no answer. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createLookupCounts, createLookups } from '../../src/store/lookups.js'
import { createServers } from '../../src/store/servers.js'
import { startCluster } from '../cluster.js'
import { scopedEngines } from '../scope.js'
import { connectFor, eventually, silentLog, startDeployment } from '../servers.js'

const AGAIN_MS = 20

/** A primary that answers when it is let. @param {Map<string, string>} stored */
function pretendPrimary (stored) {
  /** @type {string[][]} keys, by round trip */
  const trips = []
  /** @type {string[]} */
  let keys = []
  let role = 'master'
  /** @type {(() => void)[]} */
  const held = []
  const connection = /** @type {any} */ ({
    address: 'pretended',
    sendDispensable: async (/** @type {string} */ _, /** @type {string} */ key) => {
      keys.push(key)
      return stored.get(key) ?? null
    },
    async send () {
      trips.push(keys)
      keys = []
      await new Promise((resolve) => held.push(() => resolve(undefined)))
      return [role]
    }
  })
  return {
    trips,
    connection,
    demote () { role = 'slave' },
    /** Answers the question of now. */
    answer: async () => {
      await eventually(() => held.length > 0)
      held.shift()?.()
    }
  }
}

t.test('what comes during a round trip waits for the next one, and shares it', async (t) => {
  const primary = pretendPrimary(new Map([['b', '1']]))
  const counts = createLookupCounts()
  const { lookUp } = createLookups(() => primary.connection, counts)
  const first = lookUp(['GET', 'a'])
  await eventually(() => primary.trips.length === 1)
  const others = ['b', 'c', 'b', 'd'].map((key) => lookUp(['GET', key]))
  await pause(20)
  t.same(primary.trips, [['a']], 'one round trip at a time')
  await primary.answer()
  t.equal(await first, null)
  await primary.answer()
  t.same(await Promise.all(others), ['1', null, '1', null])
  t.same(primary.trips, [['a'], ['b', 'c', 'd']], 'each key once')
  t.same(counts, { questions: 2, refused: 0 })
})

t.test('an absent key is asked for again 20 ms later at the earliest, for all that wait, with an answer from then', async (t) => {
  const stored = new Map()
  const primary = pretendPrimary(stored)
  const { lookUp } = createLookups(() => primary.connection, createLookupCounts())
  const before = performance.now()
  const first = lookUp(['GET', 'a'])
  await primary.answer()
  t.equal(await first, null)
  const again = [lookUp(['GET', 'a']), lookUp(['GET', 'a'])]
  stored.set('a', 'created')
  const other = lookUp(['GET', 'b'])
  await primary.answer()
  t.equal(await other, null, 'others do not wait for it')
  await primary.answer()
  t.same(await Promise.all(again), ['created', 'created'])
  t.ok(performance.now() - before >= AGAIN_MS)
  t.same(primary.trips, [['a'], ['b'], ['a']])
})

t.test('a request that comes while its key is being asked for gets a later answer', async (t) => {
  const stored = new Map()
  const primary = pretendPrimary(stored)
  const { lookUp } = createLookups(() => primary.connection, createLookupCounts())
  const early = lookUp(['GET', 'a'])
  await eventually(() => primary.trips.length === 1)
  stored.set('a', 'created')
  const late = lookUp(['GET', 'a'])
  await primary.answer()
  await primary.answer()
  t.same(await Promise.all([early, late]), [null, 'created'])
})

t.test('a primary that is away or was demoted is an error for all that wait', async (t) => {
  const primary = pretendPrimary(new Map())
  const lost = Object.assign(new Error('away'), { code: 'SERVER_UNREACHABLE' })
  const { lookUp: toNone } = createLookups(() => { throw lost }, createLookupCounts())
  for (const one of [toNone(['GET', 'a']), toNone(['GET', 'b'])]) await t.rejects(one, { code: 'SERVER_UNREACHABLE' })
  const { lookUp } = createLookups(() => primary.connection, createLookupCounts())
  const asked = lookUp(['GET', 'a'])
  primary.demote()
  await primary.answer()
  await t.rejects(asked, { code: 'SERVER_LOST', retryable: true, message: /is a replica now/ })
})

t.test('more keys than may wait are refused and counted, and batches are bounded', async (t) => {
  const primary = pretendPrimary(new Map())
  const counts = createLookupCounts()
  const { lookUp } = createLookups(() => primary.connection, counts)
  const all = Array.from({ length: 10_010 }, (_, n) => lookUp(['GET', `key-${n}`]).catch(({ code }) => code))
  const answering = Array.from({ length: 20 }, () => primary.answer())
  const found = await Promise.all(all)
  await Promise.all(answering)
  t.equal(found.filter((one) => one === 'LOOKUPS_FULL').length, 10)
  t.ok(primary.trips.every(({ length }) => length <= 500))
  t.same(counts, { questions: 20, refused: 10 })
})

const [engine] = await scopedEngines()
const OPTIONS = Object.freeze({
  replicaUrls: null, readFrom: /** @type {const} */ ('replica'), name: 'test', deadlineMs: 10_000, log: silentLog
})

t.test('the primary is asked over the connection of a reader', async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const servers = createServers({ redisUrl: primary.url, ...OPTIONS })
  t.teardown(() => servers.close())
  await servers.ready
  const control = await connectFor(t, primary.url)
  await control.send('SET', 'there', 'yes')
  t.same((await Promise.all([servers.lookUp(['GET', 'there']), servers.lookUp(['GET', 'gone'])])).map((one) => one && String(one)),
    ['yes', null])
  t.equal(servers.lookups.questions, 1)
  await control.send('REPLICAOF', '127.0.0.1', 1)
  await t.rejects(servers.lookUp(['GET', 'gone']), { code: /^SERVER_(LOST|UNREACHABLE)$/ })
})

t.test('in a cluster the primary of the key is asked', async (t) => {
  const cluster = await startCluster(t, { engine, primaries: 3, replicas: 0 })
  const servers = createServers({ redisUrl: cluster.url, ...OPTIONS, readFrom: 'primary' })
  t.teardown(() => servers.close())
  await servers.ready
  const keys = Array.from({ length: 30 }, (_, n) => `key-${n}`)
  t.same(await Promise.all(keys.map((key) => servers.lookUp(['GET', key]))), keys.map(() => null))
  t.equal(servers.lookups.questions, 3, 'one round trip for each')
})
