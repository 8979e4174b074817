/** Sales while their database is killed, is full, or knows more than the servers. */
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { newest } from '../../../src/embedded/engine.js'
import { startMigratedDatabase } from '../../../test/database.js'
import { isProblem } from '../../../test/gateway/requests.js'
import { startProxy } from '../../../test/proxy.js'
import { connectFor, eventually, startDeployment, testEngines } from '../../../test/servers.js'
import { startConsumers, startReader } from '../../../test/services.js'
import { startSaleGateway } from '../../../test/systems/sales/selling.js'
import { claimAlong, isWhole, ownersOf, PARTITIONS, startAll } from './claiming.js'

const run = promisify(execFile)
const TMPFS_MB = 128
/** claims whose rows need more than the page that the first one has */
const MORE = 200
const MB = 1024 * 1024

/** A file system of its own. @param {import('tap').Test} t @returns {Promise<string | null>} null: this user cannot mount one */
async function mountSmall (t) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-small-'))
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', `size=${TMPFS_MB}m,mode=711`, 'tmpfs', folder]).then(() => true, () => false)
  t.teardown(async () => {
    if (isMounted) await run('umount', ['--lazy', folder])
    await rm(folder, { recursive: true })
  })
  await chmod(folder, 0o711)
  return isMounted ? folder : null
}

/** Takes all space that is left. @param {string} folder @returns {Promise<string>} the file */
async function fill (folder) {
  const file = join(folder, 'filler')
  const handle = await open(file, 'w')
  for (let bytes = MB; bytes >= 1;) {
    const { bytesWritten } = await handle.write(Buffer.alloc(bytes)).catch(() => ({ bytesWritten: 0 }))
    if (bytesWritten < bytes) bytes = Math.floor(bytes / 2)
  }
  await handle.close()
  return file
}

const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))
const own = (/** @type {string} */ name) => `${engine.name}-${name}-${Date.now()}`
const folder = await mountSmall(t)
const database = await startMigratedDatabase(t, folder === null ? {} : { folder })
const { server, gateway, consumers } = await startAll(t, { engine, database })
const { service } = await consumers()

t.test('the disk of the database is full: the reason is in the log, and orders come later', async (t) => {
  if (folder === null) return t.pass('not tested: this user cannot mount a file system')
  const id = own('full')
  await gateway.create(id, { stock: 1_000_000 })
  await gateway.claim(id, 'first')
  await eventually(async () => (await ownersOf(database, id)).length === 1)
  const filler = await fill(folder)
  t.teardown(() => rm(filler, { force: true }))
  const sold = ['first']
  for (let n = 0; n < MORE; n++) {
    t.equal((await gateway.claim(id, `u${n}`)).status, 201)
    sold.push(`u${n}`)
  }
  const [line] = await service.until(/^.*entries are tried again.*$/m)
  t.match(JSON.parse(line), { code: 'DATABASE_DOWN', reason: /cannot execute statements now \(.*No space left on device/ })
  t.ok((await ownersOf(database, id)).length < sold.length)
  await rm(filler)
  await isWhole(t, database, id, sold)
})

t.test('the database is killed inside a transaction: nothing is lost, nothing half done', async (t) => {
  const durable = await startSaleGateway(t, {
    redisUrl: server.url, flags: [...PARTITIONS, '--durability', 'db', '--database-url', database.url, '--ack-within-ms', '1000']
  })
  const ids = ['killed', 'killed-db'].map(own)
  await gateway.create(ids[0], { stock: 1_000_000 })
  await eventually(async () => (await durable.create(ids[1], { stock: 1_000_000 })).status === 201)
  const all = [claimAlong(gateway, ids[0]), claimAlong(durable, ids[1])]
  await eventually(() => all.every(({ sold }) => sold.length > 10))
  const before = all.map(({ sold }) => sold.length)
  // the transactions wait for this lock after their first statement
  const locking = database.query('BEGIN; LOCK TABLE orders IN EXCLUSIVE MODE; SELECT pg_sleep(60)').catch(() => {})
  await eventually(async () => (await database.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).length > 0)
  await database.crash()
  await locking
  await eventually(() => all.every(({ sold }, i) => sold.length > before[i] + 10))
  for (const [i, claiming] of all.entries()) {
    await claiming.stop()
    await isWhole(t, database, ids[i], claiming.sold)
  }
})

t.test('an older copy in place of the primary: what the database has stays sold', async (t) => {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
  const proxy = await startProxy(t, primary.port)
  const flags = ['--database-url', database.url]
  const gateway = await startSaleGateway(t, { redisUrl: proxy.url, flags: [...PARTITIONS, ...flags, '--durability', 'memory'] })
  const reader = await startReader(t, { redisUrl: proxy.url, flags: ['--read-from', 'primary', ...flags] })
  await startConsumers(t, { redisUrl: proxy.url, flags: [...PARTITIONS, '--systems', 'sales', ...flags] })
  const id = own('copy')
  await gateway.create(id, { stock: 3 })
  await eventually(async () => (await gateway.claim(id, 'ann', { key: 'a' })).status === 201)
  const [connection, promoted] = [await connectFor(t, primary.url), await connectFor(t, replica.url)]
  await connection.send('SET', 'mark', '1')
  await connection.send('WAIT', 1, 10_000)
  // it gets nothing from here on
  await promoted.send('REPLICAOF', '127.0.0.1', '1')
  t.match(await gateway.claim(id, 'bob'), { status: 201 })
  await eventually(async () => (await ownersOf(database, id)).length === 2)
  const known = (await reader.ask(`/v1/sales/${id}`)).json
  await primary.kill()
  await promoted.send('REPLICAOF', 'NO', 'ONE')
  proxy.switchTo(replica.port)
  await eventually(async () => {
    const { status, json } = await gateway.claim(id, 'bob')
    t.not(status, 201, 'bob has one')
    return json?.code === 'SALE_ALREADY_CLAIMED'
  })
  t.match(await gateway.claim(id, 'cid'), { status: 201, json: { remaining: 0 } })
  isProblem(t, await gateway.claim(id, 'dan'), 409, 'SALE_SOLD_OUT')
  await eventually(async () => (await ownersOf(database, id)).length === 3)
  t.same((await ownersOf(database, id)).sort(), ['ann', 'bob', 'cid'])
  t.not((await reader.ask(`/v1/sales/${id}`)).json.generation, known.generation)
})
