import t from 'tap'
import { admissionKey, openConfirms } from '../../src/admission/index.js'
import { createPrimaries } from '../../src/store/index.js'
import { sharedDeployment } from '../shared.js'

/** @param {string} url */
const serversAt = (url) => ({ primaries: (/** @type {Parameters<typeof createPrimaries>[1]} */ of) => createPrimaries(url, of) })

const AWAY = Object.freeze({
  servers: serversAt('redis://127.0.0.1:1'),
  name: 'test',
  keyOf: () => (/** @type {string} */ part) => part,
  partitions: 1,
  durability: 'replica',
  deadlineMs: 1000
})

t.test('decisions are confirmed while the connection for WAIT is still opening', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const confirms = openConfirms({
    servers: serversAt(primary.url),
    name: 'test',
    keyOf: (partition) => admissionKey(keyPrefix, 'sales', partition),
    partitions: 1,
    durability: 'replica',
    deadlineMs: 10_000,
    waitMs: 10_000
  })
  t.teardown(() => confirms.close())
  await t.resolves(confirms.of(0)())
})

t.test('one WAIT confirms what all partitions of a primary have decided before', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const sent = /** @type {string[]} */ ([])
  const primaries = createPrimaries(primary.url, { name: 'test', deadlineMs: 10_000 })
  await primaries.opened
  const counted = /** @type {any} */ ({
    sendAll (/** @type {any[][]} */ commands) {
      sent.push(...commands.map(([command]) => command))
      return primaries.connections[0].sendAll(commands)
    }
  })
  const confirms = openConfirms({
    servers: {
      primaries: () => /** @type {any} */ ({ route: () => ({ connection: counted, replicationId: 'null' }), close: primaries.close })
    },
    name: 'test',
    keyOf: (partition) => admissionKey(keyPrefix, 'shared', partition),
    partitions: 16,
    durability: 'replica',
    deadlineMs: 10_000,
    waitMs: 10_000
  })
  t.teardown(() => confirms.close())
  await Promise.all(Array.from({ length: 16 }, (_, partition) => confirms.of(partition)()))
  t.same(sent, ['SET', 'WAIT', ...Array(16).fill('HMGET')])
  await t.rejects(confirms.of(3)('other.0'), { code: 'NOT_CONFIRMED' })
})

t.test('without a server the error is SERVER_UNREACHABLE', async (t) => {
  const confirms = openConfirms({ ...AWAY, waitMs: 100 })
  t.teardown(() => confirms.close())
  await t.rejects(confirms.of(0)(), { code: 'SERVER_UNREACHABLE', retryable: true })
})

t.test('what waits for a connection ends when they are closed', async (t) => {
  const confirms = openConfirms({ ...AWAY, waitMs: 60_000 })
  const waiting = confirms.of(0)()
  await confirms.close()
  await t.rejects(waiting, { code: 'SERVER_UNREACHABLE' })
})
