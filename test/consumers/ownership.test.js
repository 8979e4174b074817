/** Who owns which partition: leases, fencing tokens, processes that come, go, stand still or lose the server. */
import t from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { admissionKey } from '../../src/admission/index.js'
import { createOwnership } from '../../src/consumers/index.js'
import { ownersOf } from '../../src/consumers/ownership.js'
import { createPrimaries } from '../../src/store/index.js'
import { startProxy } from '../proxy.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, silentLog, startServer } from '../servers.js'
import { askLease } from './lease.js'

const engines = await scopedEngines()

const PARTITIONS = 8
const keyOf = (/** @type {number} */ partition) => admissionKey('fr:', 'auctions', partition)

t.test('shares differ by one partition at most, and few move when a process leaves', async (t) => {
  for (const [partitions, processes] of [[4, 2], [4, 3], [16, 2], [16, 5], [3, 8], [256, 7]]) {
    for (let trial = 0; trial < 20; trial++) {
      const ids = Array.from({ length: processes }, (_, i) => `${trial}-${i}`)
      const owners = ownersOf(ids, partitions)
      const shares = ids.map((id) => owners.filter((owner) => owner === id).length)
      t.ok(Math.max(...shares) - Math.min(...shares) <= 1, shares.join())
      t.same(ownersOf(ids.toReversed(), partitions), owners)
    }
  }
  const ids = ['a', 'b', 'c', 'd']
  const [before, after] = [ownersOf(ids, 4000), ownersOf(ids.slice(1), 4000)]
  const moved = before.filter((owner, partition) => owner !== after[partition]).length
  t.ok(moved >= 1000 && moved <= 1300, `${moved} of 4,000 moved, 1,000 of them had lost their owner`)
  t.same(ownersOf([], 8), [])
})

for (const engine of engines) {
  // in a cluster heartbeats go to each partition
  const isSpread = engine !== engines[0]
  t.test(`${engineName(engine)}, ${isSpread ? 'heartbeats of each partition' : 'heartbeats of each process'}`, async (t) => {
    const server = await startServer(t, { engine })
    /** what is worked on, by partition: ids @type {Map<number, string[]>} */
    const working = new Map()
    /** @type {{ partition: number, token: number, id: string }[]} */
    const taken = []
    const overlaps = /** @type {string[]} */ ([])

    /** work on this partition ends later than it should */
    let slow = -1
    let end = () => {}

    /** @param {string} id @param {string} [firstUrl] of the primary of partition 0, if it is another one */
    async function join (id, firstUrl) {
      const routes = createPrimaries(server.url, { name: id, deadlineMs: 1000 })
      const first = createPrimaries(firstUrl ?? server.url, { name: id, deadlineMs: 60_000 })
      await Promise.all([routes.opened, first.opened])
      const ownership = createOwnership({
        id,
        partitions: PARTITIONS,
        connectionOf: (partition) => (partition === 0 && firstUrl ? first : routes).route(keyOf(partition)('')).connection,
        keyOf,
        log: silentLog,
        leaseMs: 1500,
        homeOf: isSpread || firstUrl ? (partition) => partition : undefined,
        async work ({ partition, token, signal }) {
          const others = working.get(partition) ?? []
          if (others.length > 0) overlaps.push(`${partition}: ${id} beside ${others}`)
          working.set(partition, [...others, id])
          taken.push({ partition, token, id })
          if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
          if (partition === slow) await new Promise((resolve) => { end = () => resolve(null) })
          working.set(partition, (working.get(partition) ?? []).filter((one) => one !== id))
        }
      })
      const close = async () => {
        await ownership.close()
        await Promise.all([routes.close(), first.close()])
      }
      t.teardown(close)
      return { ownership, routes, close }
    }
    const all = Array.from({ length: PARTITIONS }, (_, partition) => partition)
    const ownersAre = (/** @type {string[]} */ ids) => eventually(() =>
      ownersOf(ids, PARTITIONS).every((owner, partition) => working.get(partition)?.[0] === owner))

    const a = await join('a')
    await ownersAre(['a'])
    t.equal(a.ownership.owned.length, PARTITIONS)
    const b = await join('b')
    await ownersAre(['a', 'b'])
    const c = await join('c')
    await ownersAre(['a', 'b', 'c'])
    t.same([...a.ownership.owned, ...b.ownership.owned, ...c.ownership.owned].sort(), [0, 1, 2, 3, 4, 5, 6, 7])

    await t.test('a partition whose work ends late holds up no other', async (t) => {
      slow = /** @type {number} */ (c.ownership.owned[0])
      const before = taken.length
      // its lease is taken from it
      const connection = await connectFor(t, server.url)
      const owner = keyOf(slow)('owner')
      const token = Number(await connection.send('HGET', owner, 'token')) + 1
      await connection.send('HSET', owner, 'id', 'x', 'token', token, 'until', Date.now() + 500)
      await sleep(4000)
      t.same(taken.slice(before).filter(({ partition }) => partition !== slow), [], 'the other leases were renewed')
      slow = -1
      end()
      await ownersAre(['a', 'b', 'c'])
    })

    await t.test('one that leaves gives its partitions back at once', async (t) => {
      await c.close()
      const sinceMs = performance.now()
      await ownersAre(['a', 'b'])
      t.ok(performance.now() - sinceMs < 1500 + 1000)
    })

    await t.test('one that is cut off stops its work before another begins', async (t) => {
      const admin = await connectFor(t, server.url)
      await b.routes.close()
      await ownersAre(['a'])
      t.equal(Number(await admin.send('HGET', keyOf(0)('owner'), 'token')), Math.max(...taken.filter(({ partition }) => partition === 0)
        .map(({ token }) => token)))
    })

    await t.test('an older token changes nothing', async (t) => {
      const connection = await connectFor(t, server.url)
      const token = Number(await connection.send('HGET', keyOf(0)('owner'), 'token'))
      const advance = (/** @type {number} */ held, /** @type {string} */ entry) => connection.runScript('advance',
        ['owner', 'cursors', 'generation', 'outbox'].map(keyOf(0)), [held, 'rows', entry])
      await connection.send('XADD', keyOf(0)('outbox'), '5-0', 'key', 'a')
      t.equal(await advance(token - 1, '9-0'), 0)
      t.equal(await advance(token, '5-0'), 1)
      t.equal(await advance(token, '6-0'), -1, 'an entry that was lost with a primary')
      t.equal(String(await connection.send('HGET', keyOf(0)('cursors'), 'rows')), '5-0')
      t.equal(await askLease(connection, keyOf(0), { id: 'x', token: token - 1, ms: 1000 }), 0)
    })

    await t.test('a server that is away: work ends with the lease, and begins again with higher tokens', async () => {
      const before = taken.length
      await server.kill()
      await eventually(() => [...working.values()].every((ids) => ids.length === 0))
      await server.restart()
      await sleep(100)
      await ownersAre(['a'])
      t.ok(taken.length >= before + PARTITIONS)
    })

    await t.test('a primary that does not answer delays the leases of its own partitions only', async (t) => {
      await a.close()
      const proxy = await startProxy(t, server.port)
      const d = await join('d', proxy.url)
      await ownersAre(['d'])
      const before = taken.length
      proxy.goSilent()
      await eventually(() => working.get(0)?.length === 0)
      await sleep(2000)
      t.equal(taken.length, before, 'the others were renewed')
      t.same(all.slice(1).filter((partition) => working.get(partition)?.length !== 1), [])
      proxy.speak()
      await ownersAre(['d'])
      await d.close()
    })

    t.same(overlaps, [])
    const tokens = taken.filter(({ partition, id }) => partition === 0 && id !== 'd').map(({ token }) => token)
    t.same(tokens.slice(0, -1), [...new Set(tokens.slice(0, -1))].sort((x, y) => x - y), 'tokens rise')
  })
}
