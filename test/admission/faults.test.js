/** Calls in which something fails: one command, the script cache, memory, the role of the server, its history. */
import t from 'tap'
import { admissionKey, createAdmission, createAgreement, prepare } from '../../src/admission/index.js'
import { createPrimaries } from '../../src/store/index.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, startDeployment, startServer } from '../servers.js'
import { admit } from './admit.js'

const OPTIONS = { replicationId: 'id', requestMs: 60_000, keepMs: 60_000 }
const NO_METRICS = { sent () {}, waited () {}, dropped () {} }
const keyOf = admissionKey('fr:', 'auctions', 0)
let requests = 0

/** @param {string} key @param {string[]} args @param {Partial<import('../../src/admission/index.js').Command>} [more] */
const command = (key, args, more) => ({ rule: 'max', key, scope: 'u', requestId: String(++requests), args, ...more })

const create = (/** @type {string} */ key, closeInMs = 600_000) =>
  command(key, ['create', '100', '10', '0', String(Date.now() + closeInMs), '0', '0', '', '', 'EUR'])
const bid = (/** @type {string} */ key, /** @type {number} */ amount, user = 'u') =>
  command(key, ['bid', user, String(amount), String(amount)])

/** @param {import('../../src/store/index.js').Connection} connection @param {string} key @returns {Promise<string>} what it holds */
async function textOf (connection, key) {
  const type = String(await connection.send('TYPE', key))
  const reads = /** @type {Record<string, any[]>} */ ({
    hash: ['HGETALL', key],
    zset: ['ZRANGE', key, 0, -1, 'WITHSCORES'],
    stream: ['XRANGE', key, '-', '+'],
    string: ['GET', key],
    none: ['EXISTS', key]
  })
  const [name, ...words] = reads[type]
  return String(await connection.send(name, ...words))
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
    const connection = await connectFor(t, primary.url)

    await t.test('an error in the 137th command of a call leaves the 255 others as they are', async (t) => {
      await admit(connection, keyOf, OPTIONS, [create('many')])
      const commands = Array.from({ length: 256 }, (_, n) => bid('many', 100 + 10 * n, `u${n}`))
      commands[136] = command('many', ['no such operation'])
      const { decisions } = await admit(connection, keyOf, OPTIONS, commands)
      t.same(decisions.map(({ code }) => code), commands.map((_, n) => n === 136 ? 'failed' : 'accepted'))
      t.match(decisions[136].details.reason, /\w+/)
      t.equal(decisions[255].seq, 255)
      await t.rejects(admit(connection, keyOf, OPTIONS, [...commands, bid('many', 1)]), RangeError)
    })

    await t.test('a key that holds something else fails its command, with the reason', async (t) => {
      await connection.send('SET', keyOf('state:taken'), 'text')
      const { decisions: [taken, other] } = await admit(connection, keyOf, OPTIONS, [bid('taken', 1), create('free')])
      t.match(taken, { code: 'failed', details: { reason: /WRONGTYPE/ } })
      t.equal(other.code, 'created')
    })

    /** What a partition of one key holds, without times. */
    const dump = async (/** @type {string} */ key, parts = ['state', 'events', 'members', 'holds', 'waiting']) => Promise.all(
      [...parts.map((part) => `${part}:${key}`), 'outbox', 'tasks'].map((part) => textOf(connection, keyOf(part))))
    const claim = (/** @type {string} */ key, /** @type {number} */ n, user = `u${n}`) =>
      command(key, ['claim', user, '1', `c${n}`, 'sold', 'direct'], { rule: 'bounded' })
    const sale = (/** @type {string} */ key) => command(key,
      ['create', '100', '5', '0', String(Date.now() + 600_000), '600000', 'direct', '1', '1'], { rule: 'bounded' })
    const adopt = (/** @type {string} */ key) => command(key, ['adopt'], { rule: 'bounded' })

    await t.test('a part of another type, or a number that is none, fails its command, which can be repeated', async (t) => {
      await admit(connection, keyOf, OPTIONS, [sale('odd'), adopt('odd'), claim('odd', 1)])
      for (const part of ['holds:odd', 'tasks', 'outbox'].map(keyOf)) {
        const before = await dump('odd')
        const again = claim('odd', 2)
        await connection.send('RENAME', part, keyOf('kept'))
        await connection.send('SET', part, 'x')
        const { decisions } = await admit(connection, keyOf, OPTIONS, [again, claim('odd', 3), bid('free', 1)])
        t.match(decisions.slice(0, 2), [1, 2].map(() => ({ code: 'failed', details: { reason: /WRONGTYPE/ } })), part)
        await connection.send('RENAME', keyOf('kept'), part)
        t.same(await dump('odd'), before, part)
        t.match((await admit(connection, keyOf, OPTIONS, [again])).decisions, [{ code: 'accepted', isReplay: false }], part)
        await admit(connection, keyOf, OPTIONS, [command('odd', ['release', '', 'c2'], { rule: 'bounded' })])
        await connection.send('HDEL', keyOf('members:odd'), 'claim c2')
      }
      // units are counted after the events were written
      await connection.send('HSET', keyOf('members:odd'), 'user u1', '1e0')
      const release = command('odd', ['release', 'u1', 'c1'], { rule: 'bounded' })
      t.match((await admit(connection, keyOf, OPTIONS, [release, claim('odd', 9)])).decisions,
        [{ code: 'failed', details: { reason: /not an integer/ } }, { code: 'accepted' }])
      await connection.send('HSET', keyOf('members:odd'), 'user u1', '1')
      t.match((await admit(connection, keyOf, OPTIONS, [release])).decisions, [{ code: 'accepted', isReplay: false }])
    })

    await t.test('a key goes on behind the events of its stream, and a request that stored one is not decided again', async (t) => {
      const logged = /** @type {any[]} */ ([])
      const options = { ...OPTIONS, log: { warn: (/** @type {any} */ fields) => { logged.push(fields) } } }
      await admit(connection, keyOf, OPTIONS, [create('ahead'), bid('ahead', 100)])
      const half = bid('ahead', 200, 'half')
      const { request } = prepare(half)
      await connection.send('XADD', keyOf('events:ahead'), '2-0', 'ts', 0, 'request', request, 'seq', 2, 'type', 'bid')
      const { decisions } = await admit(connection, keyOf, options, [bid('ahead', 210, 'v'), half, bid('ahead', 300, 'w')])
      const failed = { code: 'failed', details: { reason: /not decided again/ } }
      t.match(decisions, [{ code: 'accepted', seq: 3 }, failed, { code: 'accepted', seq: 4 }])
      t.same(logged, [{ rule: 'max', key: 'ahead', stateSeq: 1, seq: 2 }])
      await connection.send('XADD', keyOf('events:ahead'), '9-0', 'type', 'x')
      await connection.send('XDEL', keyOf('events:ahead'), '9-0')
      const { decisions: [again, next] } = await admit(connection, keyOf, options, [half, bid('ahead', 400, 'x')])
      t.match([again, next], [failed, { code: 'accepted', seq: 10 }])
      t.equal(logged.length, 2)
      const until = Date.now() + 600_000
      await connection.send('XADD', keyOf('outbox'), `${until}-0`, 'rule', 'x')
      const later = await admit(connection, keyOf, options, [bid('ahead', 500, 'v'), bid('ahead', 600, 'w')])
      t.match(later.decisions, [{ seq: 11 }, { seq: 12 }])
      const [[last]] = await connection.send('XREVRANGE', keyOf('outbox'), '+', '-', 'COUNT', 1)
      t.equal(String(last), `${until}-2`)
      await connection.send('UNLINK', keyOf('outbox'))
    })

    await t.test('a permission that is missing fails the commands that need it, with nothing stored', async (t) => {
      await admit(connection, keyOf, OPTIONS, [sale('may'), adopt('may'), create('may-not')])
      await connection.send('ACL', 'SETUSER', 'limited', 'reset', 'on', '>word', '~*', '+@all')
      const limited = await connectFor(t, primary.url.replace('//', '//limited:word@'))
      for (const word of ['xadd', 'set', 'zadd', 'zrem', 'hdel', 'hincrby']) {
        const before = await dump('may')
        await connection.send('ACL', 'SETUSER', 'limited', '+@all', `-${word}`)
        const { decisions } = await admit(limited, keyOf, OPTIONS, [claim('may', 1)])
        t.match(decisions, [{ code: 'failed', details: { reason: /NOPERM the user may not run all commands of bounded/ } }], word)
        t.same(await dump('may'), before, word)
      }
      await connection.send('ACL', 'SETUSER', 'limited', '+@all', '-pexpire')
      t.match((await admit(limited, keyOf, OPTIONS, [command('may', ['close'], { rule: 'bounded' })])).decisions, [{ code: 'failed' }])
    })

    await t.test('claims that are restored after a sale has ended expire with it', async (t) => {
      await admit(connection, keyOf, OPTIONS, [sale('over'), command('over', ['close'], { rule: 'bounded' })])
      t.equal(Number(await connection.send('PTTL', keyOf('members:over'))), -2)
      const restore = command('over', ['restore', 'c1', 'u1', '1', 'sold'], { rule: 'bounded' })
      const { decisions } = await admit(connection, keyOf, OPTIONS, [restore])
      t.match(decisions, [{ code: 'accepted' }])
      t.ok(await connection.send('PTTL', keyOf('members:over')) > 0)
    })

    await t.test('a flushed script cache is filled again', async (t) => {
      await connection.send('SCRIPT', 'FLUSH')
      t.equal((await admit(connection, keyOf, OPTIONS, [bid('free', 100)])).decisions[0].code, 'accepted')
    })

    await t.test('another history of the primary begins a lineage, once for all who see it', async (t) => {
      const before = (await admit(connection, keyOf, OPTIONS, [bid('free', 100)])).generation
      t.match(before, /^[0-9a-f]{12}\.0$/)
      const other = { ...OPTIONS, replicationId: 'other' }
      const [one, two] = await Promise.all([1, 2].map(() => admit(connection, keyOf, other, [bid('free', 100)])))
      t.equal(one.generation, two.generation)
      t.not(one.generation, before)
    })

    await t.test('a replica, or a server without memory, refuses the whole call', async (t) => {
      const toReplica = await connectFor(t, replica.url)
      await connection.send('WAIT', 1, 20_000)
      await t.rejects(admit(toReplica, keyOf, { ...OPTIONS, replicationId: 'other' }, [bid('free', 100)]), { message: /READONLY/ })
      await connection.send('CONFIG', 'SET', 'maxmemory', '1mb')
      await t.rejects(admit(connection, keyOf, { ...OPTIONS, replicationId: 'other' }, [bid('free', 100)]), { message: /OOM/ })
      await connection.send('CONFIG', 'SET', 'maxmemory', '0')
      const { decisions } = await admit(connection, keyOf, { ...OPTIONS, replicationId: 'other' }, [bid('free', 100)])
      t.match(decisions[0], { code: 'self_outbid', seq: 1 }, 'nothing of it was stored')
    })
  })
}

t.test('a process submits commands to the partitions of their keys; a system has one number of partitions', async (t) => {
  const [engine] = await scopedEngines()
  const { url } = await startServer(t, { engine })
  const connection = await connectFor(t, url)
  const open = async (/** @type {number} */ partitions, system = 'auctions', more = {}) => {
    const routes = createPrimaries(url, { name: 'test', deadlineMs: 5000 })
    t.teardown(routes.close)
    await routes.opened
    return createAdmission({
      route: routes.route,
      agreement: createAgreement({ router: routes.router, keyPrefix: 'fr:', system, partitions }),
      requestMs: 60_000,
      keepMs: 60_000,
      deadlineMs: 5000,
      metrics: NO_METRICS,
      ...more
    })
  }
  const admission = await open(4)
  const names = Array.from({ length: 20 }, (_, n) => `auction-${n}`)
  t.ok(new Set(names.map((name) => admission.partitionOf(name))).size > 1)
  t.same((await Promise.all(names.map((name) => admission.submit(create(name))))).map(({ code }) => code), names.map(() => 'created'))
  const answers = await Promise.all(names.flatMap((name) => [100, 110, 105].map((amount, n) =>
    admission.submit(command(name, ['bid', `u${n}`, String(amount), String(amount)])))))
  t.same(answers.map(({ code }) => code), names.flatMap(() => ['accepted', 'accepted', 'too_low']))
  t.equal(admission.keyOf(3)('outbox'), admissionKey('fr:', 'auctions', 3, 4)('outbox'), 'tags spread')
  const other = await open(5)
  await t.rejects(other.submit(create('x')), { code: 'SYSTEM_DIFFERS', message: /4 partitions.*--system-partitions 4/ })

  await t.test('commands that two lineages answer are confirmed in both', async (t) => {
    const confirmed = /** @type {string[]} */ ([])
    const rejected = { code: 'too_low', seq: 0, version: 0, isReplay: false, details: {}, generation: 'before.7', now: 0 }
    const two = await open(4, 'auctions', {
      confirmOf: () => async (/** @type {string} */ generation) => { confirmed.push(generation) },
      rejections: { answer: (/** @type {any} */ { args: [, user] }) => user === 'old' ? rejected : null, note () {} }
    })
    const all = await two.submitAll(['old', 'new', 'newer'].map((user, n) => bid('auction-1', 2000 + 10 * n, user)))
    t.same(all.map(({ code }) => code), ['too_low', 'accepted', 'accepted'])
    t.same(confirmed, ['before.7', all[2].generation])
  })

  await t.test('a system that is stored in another format is refused, also by who has it open', async (t) => {
    const system = await open(4, 'stored')
    await system.submit(create('a'))
    for (const [format, shown] of [[3, 3], [undefined, 1]]) {
      await connection.send('SET', 'fr:{@stored}:system', JSON.stringify({ partitions: 4, format, secret: 's' }))
      const refused = { code: 'SYSTEM_DIFFERS', message: new RegExp(`format ${shown}, which this version`) }
      await t.rejects((await open(4, 'stored')).submit(create('c')), refused)
      await connection.send('UNLINK', system.keyOf(system.partitionOf('a'))('generation'))
      await t.rejects(system.submit(command('a', ['bid', 'ann', '100', '100'])), refused)
    }
  })
})
