/** The follower of streams: many keys on one connection, subscribers of different pace, and servers that change. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openConnection } from '../../src/store/connection.js'
import { createStreamFollower, followStream, streamsAt } from '../../src/store/stream-follower.js'
import { slotOf, SLOTS } from '../../src/store/slots.js'
import { moveSlots, startCluster } from '../cluster.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, startDeployment, startServer } from '../servers.js'
import { deploymentFor } from './deployments.js'
import { scopedEngines } from '../scope.js'

/** A block lasts a quarter of it. */
const SLOW_MS = 40_000

/** @param {string} url @param {Partial<Parameters<typeof createStreamFollower>[0]>} [more] */
const followerOf = (url, more) => createStreamFollower({
  isSpread: () => false,
  deadlineMs: SLOW_MS,
  nodeOf: () => ({
    id: url,
    async open ({ purpose, signal }) {
      const connection = await openConnection(url, { name: `follower:${purpose}`, deadlineMs: SLOW_MS, signal })
      return { connection, end: () => connection.close() }
    }
  }),
  ...more
})

/**
 * Follows a key from a position until the test ends.
 * @param {import('tap').Test} t @param {import('../../src/store/stream-follower.js').StreamFollower} follower @param {string} key
 * @param {{ position?: string, count?: number, blockMs?: number, takes?: () => Promise<unknown> | void }} [options]
 */
function follow (t, follower, key, { position = '0-0', count = 100, blockMs = SLOW_MS, takes = () => {} } = {}) {
  const stop = new AbortController()
  /** @type {string[]} */
  const found = []
  /** @type {any[]} */
  const failures = []
  let sessions = 0
  const ended = followStream(follower.open, {
    key: () => key,
    count,
    blockMs,
    signal: stop.signal,
    firstWaitMs: 20,
    begin () {
      sessions++
      return position
    },
    take (entries) {
      for (const [id, [, value]] of entries) {
        position = String(id)
        found.push(String(value))
      }
      return takes()
    },
    failed: (error) => failures.push(error)
  })
  const leave = () => {
    stop.abort()
    return ended
  }
  t.teardown(leave)
  return { found, failures, leave, get sessions () { return sessions } }
}

/**
 * Appends numbers.
 * @param {import('../../src/store/connection.js').Connection} connection @param {string} key @param {number} from @param {number} to
 */
const append = (connection, key, from, to) => connection.sendAll(numbers(from, to).map((n) => ['XADD', key, '*', 'n', n]))

/** @param {number} from @param {number} to */
const numbers = (from, to) => Array.from({ length: to - from }, (_, i) => String(from + i))

/** @param {import('../../src/store/connection.js').Connection} admin */
async function figures (admin) {
  const [stats, info, list] = (await admin.sendAll([['INFO', 'commandstats'], ['INFO', 'clients'], ['CLIENT', 'LIST']])).map(String)
  return {
    blocked: Number(/blocked_clients:(\d+)/.exec(info)?.[1]),
    connections: list.split('\n').filter((line) => line.includes('name=follower')).length,
    calls: (/** @type {string} */ name) => Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'mi').exec(stats)?.[1] ?? 0)
  }
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const admin = await connectFor(t, server.url)
    let keys = 0
    const newKey = () => `k${++keys}`

    await t.test('many keys share a connection and a read; each subscriber gets all from its position on, in order', async (t) => {
      const follower = followerOf(server.url)
      const [a, b] = [newKey(), newKey()]
      await append(admin, a, 0, 50)
      const [first] = await admin.send('XREVRANGE', a, '+', '-', 'COUNT', 1)
      const all = [follow(t, follower, a), follow(t, follower, a, { position: String(first[0]) }), follow(t, follower, b)]
      await eventually(() => all[0].found.length === 50)
      const [before, sinceMs] = [await figures(admin), performance.now()]
      for (let n = 50; n < 400; n += 2) {
        await Promise.all([append(admin, a, n, n + 2), append(admin, b, n, n + 2)])
        await pause(1)
      }
      await eventually(() => all.every(({ found }) => found.at(-1) === '399'))
      const after = await figures(admin)
      t.same(all.map(({ found }) => found), [numbers(0, 400), numbers(50, 400), numbers(50, 400)])
      const ways = (performance.now() - sinceMs) / 10
      t.ok(after.calls('xread') - before.calls('xread') <= ways + 10, 'a read each 10 ms at most')
      t.equal((await eventually(async () => {
        const now = await figures(admin)
        return now.blocked > 0 && now
      })).blocked, 1)
      for (const { leave } of all) await leave()
      await eventually(async () => (await figures(admin)).connections === 0)
    })

    await t.test('idle: a read blocks for long; a key that is added is read at once, and nothing goes on after all left', async (t) => {
      const follower = followerOf(server.url)
      const [a, b] = [newKey(), newKey()]
      const one = follow(t, follower, a)
      await eventually(async () => (await figures(admin)).blocked === 1)
      const before = await figures(admin)
      await pause(300)
      t.equal((await figures(admin)).calls('xread'), before.calls('xread'), 'nothing is asked')
      await append(admin, b, 0, 1)
      const other = follow(t, follower, b)
      await eventually(() => other.found.length === 1, { deadlineMs: SLOW_MS / 8 })
      await append(admin, a, 0, 1)
      await append(admin, b, 1, 2)
      await eventually(() => one.found.length === 1 && other.found.length === 2, { deadlineMs: SLOW_MS / 8 })
      t.ok((await figures(admin)).calls('client\\|unblock') > before.calls('client\\|unblock'))
      await Promise.all([one.leave(), other.leave()])
      await eventually(async () => {
        const { blocked, connections } = await figures(admin)
        return blocked === 0 && connections === 0
      })
      t.same([one.sessions, one.failures], [1, []])
    })

    await t.test('a subscriber that is far behind reads by itself, and delays no other', async (t) => {
      const follower = followerOf(server.url)
      const key = newKey()
      let resume = () => {}
      const slow = follow(t, follower, key, {
        takes: () => slow.found.length === 1 ? new Promise((resolve) => { resume = () => resolve(null) }) : undefined
      })
      const quick = follow(t, follower, key, { count: 1000 })
      await append(admin, key, 0, 1)
      await eventually(() => slow.found.length === 1)
      for (let n = 1; n < 5001; n += 100) {
        await append(admin, key, n, n + 100)
        await eventually(() => quick.found.length === n + 100)
      }
      t.equal(slow.found.length, 1)
      resume()
      await eventually(() => slow.found.length === 5001)
      await append(admin, key, 5001, 5002)
      await eventually(() => slow.found.length === 5002 && quick.found.length === 5002)
      t.same([slow.found, quick.found], [numbers(0, 5002), numbers(0, 5002)])
      t.same([slow.sessions, quick.sessions], [1, 1])
    })

    await t.test('entries that were trimmed are not waited for', async (t) => {
      const key = newKey()
      await append(admin, key, 0, 20)
      await admin.send('XTRIM', key, 'MAXLEN', '=', 5)
      const one = follow(t, followerOf(server.url), key)
      await eventually(() => one.found.length === 5)
      t.same(one.found, numbers(15, 20))
    })

    await t.test('a key that may not be read, or holds something else, is refused to its subscribers only', async (t) => {
      await admin.send('ACL', 'SETUSER', 'some', 'on', '>pw', '~may*', '-@all', '+xread', '+client|id', '+client|setname', '+info')
      await admin.send('SET', 'may-not', 'a string')
      const follower = followerOf(server.url.replace('//', '//some:pw@'))
      const good = follow(t, follower, 'may')
      await append(admin, 'may', 0, 1)
      await eventually(() => good.found.length === 1)
      const [hidden, other] = [follow(t, follower, newKey()), follow(t, follower, 'may-not')]
      await append(admin, 'may', 1, 2)
      await eventually(() => hidden.failures.length > 0 && other.failures.length > 0 && good.found.length === 2)
      t.match([hidden.failures[0], other.failures[0]], [{ code: 'SERVER_REFUSED', outcome: 'forbidden' }, { code: 'KEY_HOLDS_OTHER' }])
      t.same([good.sessions, good.failures], [1, []])
    })

    await t.test('what subscribers look up in one turn is one command, and a refusal is that of one of them', async (t) => {
      await admin.sendAll([['MSET', 'a:1', 'one', 'a:2', 'two', 'b:1', 'three'],
        ['ACL', 'SETUSER', 'looking', 'on', '>pw', '~a:*', '-@all', '+mget', '+client|id', '+client|setname', '+info']])
      const stop = new AbortController()
      t.teardown(() => stop.abort())
      const follower = followerOf(server.url.replace('//', '//looking:pw@'))
      const sessions = await Promise.all(['a', 'b', 'c'].map((key) => follower.open(stop.signal, key)))
      const calls = async () => Number(/cmdstat_mget:calls=(\d+)/.exec(String(await admin.send('INFO', 'commandstats')))?.[1] ?? 0)
      const lookUp = (/** @type {string[][]} */ ...keys) => Promise.allSettled(keys.map(async (some, i) =>
        (await sessions[i].connection.send('MGET', ...some)).map((/** @type {Buffer | null} */ value) => value && String(value))))
      const before = await calls()
      const found = await lookUp(['a:2', 'a:1'], ['a:0'], ['a:1'])
      t.same(found.map((/** @type {any} */ { value }) => value), [['two', 'one'], [null], ['one']])
      t.equal(await calls() - before, 1)
      const [first, refused, last] = /** @type {any[]} */ (await lookUp(['a:1'], ['b:1'], ['a:2']))
      t.same([first.value, refused.reason?.outcome, last.value], [['one'], 'forbidden', ['two']])
      for (const { end } of sessions) end(null)
    })

    await t.test('look-ups of one turn are joined as far as a reply stays small, whatever was absent before', async (t) => {
      await admin.send('SET', 'large', Buffer.alloc(128 * 1024))
      const stop = new AbortController()
      t.teardown(() => stop.abort())
      const follower = followerOf(server.url)
      const sessions = await Promise.all(Array.from({ length: 16 }, (_, i) => follower.open(stop.signal, `s${i}`)))
      for (const key of ['absent', 'large', 'large']) {
        const found = (await Promise.all(sessions.map(({ connection }) => connection.send('MGET', ...Array(60).fill(key))))).flat()
        t.equal(found.filter((value) => value?.length === 128 * 1024).length, key === 'absent' ? 0 : 16 * 60)
      }
      t.notOk(sessions.some(({ isLeft }) => isLeft()), 'the connection goes on')
    })

    await t.test('after a failover it goes on at the new primary', async (t) => {
      const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
      const [onPrimary, onReplica] = await Promise.all([primary, replica].map(({ url }) => connectFor(t, url)))
      const proxy = await startProxy(t, primary.port)
      const follower = streamsAt(proxy.url, { name: 'follower', deadlineMs: 1000 })
      const all = ['a', 'b'].map((key) => follow(t, follower, key))
      for (const key of ['a', 'b']) await append(onPrimary, key, 0, 3)
      await eventually(async () => all.every(({ found }) => found.length === 3) && await onReplica.send('XLEN', 'b') === 3)
      await onReplica.send('REPLICAOF', 'NO', 'ONE')
      await primary.kill()
      proxy.switchTo(replica.port)
      proxy.resetAll()
      for (const key of ['a', 'b']) await append(onReplica, key, 3, 5)
      await eventually(() => all.every(({ found }) => found.length === 5))
      for (const { found, sessions, failures: [failure] } of all) {
        t.same([found, sessions > 1], [numbers(0, 5), true])
        t.match(failure, { code: 'SERVER_LOST', retryable: true })
      }
    })

    await t.test('a primary that is demoted while a read is blocked is left', async (t) => {
      const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
      const follower = followerOf(primary.url)
      const one = follow(t, follower, 'a')
      const control = await connectFor(t, primary.url)
      await eventually(async () => (await figures(control)).blocked === 1)
      await control.send('REPLICAOF', '127.0.0.1', String(replica.port))
      await eventually(() => one.failures.length > 0)
      t.match(one.failures[0], { code: 'SERVER_LOST', outcome: 'over' })
    })

    await t.test('a reply stays valid until it was taken, however often others read', async (t) => {
      const deployment = await deploymentFor(t, server, { readFrom: 'primary', deadlineMs: SLOW_MS })
      const stop = new AbortController()
      t.teardown(() => stop.abort())
      const [holding, reading] = await Promise.all(['h', 'r'].map((key) => deployment.streams.open(stop.signal, key)))
      const read = async (/** @type {typeof holding} */ { connection }, /** @type {string} */ key, /** @type {string} */ after) =>
        (await connection.send('XREAD', 'COUNT', 50, 'BLOCK', SLOW_MS, 'STREAMS', key, after))[0][1]
      await append(admin, 'h', 0, 20)
      const held = await read(holding, 'h', '0-0')
      const shown = JSON.stringify(held)
      let after = '0-0'
      for (let n = 0; n < 10; n++) {
        await append(admin, 'r', n * 50, n * 50 + 50)
        after = String((await read(reading, 'r', after)).at(-1)[0])
        reading.taken()
      }
      t.equal(JSON.stringify(held), shown)
      holding.taken()
    })

    await t.test('in a cluster: a line for each slot, and one that moves is followed', async (t) => {
      const cluster = await startCluster(t, { engine, primaries: 2, replicas: 0 })
      const follower = streamsAt(cluster.url, { name: 'follower', deadlineMs: 4000 })
      const controls = await Promise.all(cluster.primaries.map(({ url }) => connectFor(t, url)))
      const names = ['{a}1', '{a}2', '{b}1', '{c}1']
      const ownerOf = (/** @type {string} */ key) => slotOf(key) < SLOTS / 2 ? 0 : 1
      const all = names.map((key) => follow(t, follower, key))
      for (const key of names) await append(controls[ownerOf(key)], key, 0, 2)
      await eventually(() => all.every(({ found }) => found.length === 2))
      await eventually(async () => (await Promise.all(controls.map(figures))).reduce((sum, { blocked }) => sum + blocked, 0) === 3)
      await moveSlots(t, cluster, { slots: [slotOf('{a}1')], to: 1 - ownerOf('{a}1'), isAtomic: false })
      for (const key of names) {
        const { found } = all[names.indexOf(key)]
        const owner = key.startsWith('{a}') ? 1 - ownerOf(key) : ownerOf(key)
        await append(controls[owner], key, 2, 4)
        await eventually(() => found.length === 4)
        t.same(found, numbers(0, 4), key)
      }
      t.same([all[2].sessions, all[3].sessions], [1, 1], 'other slots are not disturbed')
    })

    await t.test('a process follows a bounded number of slots', async (t) => {
      const follower = followerOf(server.url, { isSpread: () => true, budget: { lines: 0, max: 2 } })
      const stop = new AbortController()
      t.teardown(() => stop.abort())
      const sessions = await Promise.all(['{a}1', '{b}1', '{b}2'].map((key) => follower.open(stop.signal, key)))
      await t.rejects(follower.open(stop.signal, '{c}1'), {
        code: 'FOLLOWED_FULL', retryable: true, message: /\{c\}1 cannot be followed: this process follows 2 slots, and 2 is the maximum/
      })
      sessions[0].end(null)
      t.equal((await follower.open(stop.signal, '{c}1')).isLeft(), false)
    })
  })
}
