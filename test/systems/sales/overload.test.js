/** Claims that the database must have (durability db), while the writer of its rows is too slow. */
import t from 'tap'
import { admissionKey } from '../../../src/admission/index.js'
import { askLease } from '../../consumers/lease.js'
import { sharedDatabase } from '../../database.js'
import { isProblem } from '../../gateway/requests.js'
import { connectFor, eventually } from '../../servers.js'
import { startConsumers } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { startSaleGateway } from './selling.js'

const ONE = ['--system-partitions', '1']
const LATE = { id: 'c', ms: 3_600_000, waitMs: 20_000 }

t.test('a claim that must be settled is refused; a repeated one, a confirmation and a claim that needs no row are not', async (t) => {
  const database = await sharedDatabase(t)
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, redisUrl)
  const flags = [...ONE, '--database-url', database.url]
  const [durable, { claim: claimInMemory }, { service }] = await Promise.all([
    startSaleGateway(t, { redisUrl, keyPrefix, flags: [...flags, '--durability', 'db', '--ack-within-ms', '1000'] }),
    startSaleGateway(t, { redisUrl, keyPrefix, flags: ONE }),
    startConsumers(t, { redisUrl, keyPrefix, flags: [...flags, '--systems', 'sales'] })
  ])
  const { create, claim, confirm } = durable
  await eventually(async () => (await create('shoes', { stock: 10, holdMs: 3_600_000 })).status === 201)
  await create('hats', { stock: 10 })
  const held = await eventually(async () => {
    const one = await claim('shoes', 'ann', { key: 'first' })
    return one.status === 201 && one
  })
  await eventually(async () => (await claim('hats', 'ann', { key: 'sold' })).status === 201)
  await service.stop()
  const key = admissionKey(keyPrefix, 'sales', 0)
  await connection.send('HSET', key('owner'), 'until', 0)
  await askLease(connection, key, LATE)

  const refused = await claim('shoes', 'bob')
  isProblem(t, refused, 503, 'ADMISSION_BACKLOG')
  t.match(refused.json, { waitMs: 20_000 })
  t.match(await claim('shoes', 'ann', { key: 'first' }), { status: 201, json: held.json })
  t.match(await claim('hats', 'ann', { key: 'sold' }), { status: 201 })
  isProblem(t, await claim('hats', 'ann'), 409, 'SALE_ALREADY_CLAIMED')
  isProblem(t, await confirm('shoes', held.json.claimId, 'ann'), 503, 'CLAIM_UNSETTLED')
  t.match(await claimInMemory('shoes', 'cid'), { status: 201 })
})
