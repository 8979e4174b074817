/** Calls in which something fails: one command, the script cache, memory, the role of the server, its history. */
import t from 'tap'
import { admissionKey, createAdmission, createAgreement } from '../../src/admission/index.js'
import { createRoutes } from '../../src/store/index.js'
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
  const open = async (/** @type {number} */ partitions, system = 'auctions') => {
    const routes = createRoutes({ primaryUrl: url, name: 'test', deadlineMs: 5000 })
    t.teardown(routes.close)
    await routes.opened
    return createAdmission({
      route: routes.route,
      agreement: createAgreement({ router: routes.router, keyPrefix: 'fr:', system, partitions }),
      requestMs: 60_000,
      keepMs: 60_000,
      deadlineMs: 5000,
      metrics: NO_METRICS
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

  await t.test('a system that an older version stored keeps its keys', async (t) => {
    const old = await open(4, 'old')
    const partition = old.partitionOf('a')
    await connection.send('SET', 'fr:{@old}:system', JSON.stringify({ partitions: 4, secret: 's' }))
    await admit(connection, admissionKey('fr:', 'old', partition), OPTIONS, [create('a')])
    t.match(await old.submit(command('a', ['bid', 'ann', '100', '100'])), { code: 'accepted', seq: 1 })
    t.match(await old.stateOf('a'), { seq: '1' })
    t.equal(old.keyOf(partition)('outbox'), `fr:{@old:${partition}}:outbox`)

    await connection.send('UNLINK', 'fr:{@old}:system', old.keyOf(partition)('generation'))
    await old.submit(create('b'))
    t.same(JSON.parse(await connection.send('GET', 'fr:{@old}:system')).format, undefined, 'also when the servers lost it')
    await connection.send('SET', 'fr:{@old}:system', JSON.stringify({ partitions: 4, format: 2, secret: 's' }))
    await connection.send('UNLINK', old.keyOf(partition)('generation'))
    await t.rejects(old.submit(command('a', ['bid', 'bea', '200', '200'])), { code: 'SYSTEM_DIFFERS', message: /format 2 now, not 1; restart/ })
    await connection.send('SET', 'fr:{@old}:system', JSON.stringify({ partitions: 4, format: 3, secret: 's' }))
    await t.rejects((await open(4, 'old')).submit(create('c')), { code: 'SYSTEM_DIFFERS', message: /format 3, which this version/ })
  })
})
