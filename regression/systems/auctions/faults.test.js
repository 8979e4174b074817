/** Auctions while servers and gateways fail. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { admissionKey } from '../../../src/admission/index.js'
import { LEASE_MS } from '../../../src/consumers/index.js'
import { newest } from '../../../src/embedded/engine.js'
import { runCommand, runConsumers } from '../../../test/commands.js'
import { startProxy } from '../../../test/proxy.js'
import { connectFor, eventually, startDeployment, startServer, testEngines } from '../../../test/servers.js'
import { startReader } from '../../../test/services.js'
import { startAuctionGateway, termsOf } from '../../../test/systems/auctions/auctioning.js'

const FLAGS = ['--system-partitions', '2', '--deadline-ms', '1000']
/** how long a bid waits for its reply */
const ACK_WITHIN_MS = 5000
/** between bids */
const PAUSE_MS = 5
/** what a busy machine may need for what takes a moment */
const BUSY_MS = 10_000
const KEEPS = ['--appendonly', 'yes', '--appendfsync', 'always']

/** Bids in turn, each higher than the last, until it is stopped. @param {any} gateway @param {string} id @param {string} userId */
function bidAlong (gateway, id, userId) {
  const accepted = /** @type {{ seq: number, amount: string }[]} */ ([])
  const statuses = /** @type {Record<number, number>} */ ({})
  const stop = new AbortController()
  const run = async () => {
    for (let n = 0; !stop.signal.aborted; n++) {
      const amount = 10 + n
      const key = `${userId}-${n}`
      // an unknown outcome is settled by the same key
      for (let isSettled = false; !isSettled && !stop.signal.aborted;) {
        const { status, json } = await gateway.bid(id, `${userId}${n % 2}`, amount, { key }).catch(() => ({ status: 0 }))
        statuses[status] = (statuses[status] ?? 0) + 1
        isSettled = status === 200 || status === 201
        if (status === 201) accepted.push({ seq: json.seq, amount: json.currentBid })
        await sleep(isSettled ? PAUSE_MS : 20)
      }
    }
  }
  const running = run()
  return {
    accepted,
    statuses,
    async stop () {
      stop.abort()
      await running
    }
  }
}

/** @param {any} reader @param {string} id @returns {Promise<Map<number, string>>} amounts by sequence number */
async function storedBids (reader, id) {
  const bids = new Map()
  for (let next = ''; next !== null;) {
    const { json } = await reader.ask(`/v1/auctions/${id}/bids?limit=1000${next && `&after=${next}`}`)
    for (const { seq, by, amount } of json.items) if (by === 'bid') bids.set(seq, amount)
    next = json.next
  }
  return bids
}

const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))

t.test('a primary that restarts loses nothing that was accepted; until then requests fail fast', async (t) => {
  const primary = await startServer(t, { engine, args: KEEPS })
  // Redis 7.0 has no WAITAOF
  const flags = [...FLAGS, '--durability', engine.name === 'valkey' ? 'aof' : 'memory']
  const gateway = await startAuctionGateway(t, { redisUrl: primary.url, flags })
  const reader = await startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })
  t.equal((await gateway.create('a')).status, 201)
  const before = (await reader.ask('/v1/auctions/a')).json.generation
  const bidding = bidAlong(gateway, 'a', 'u')
  await eventually(() => bidding.accepted.length > 20)
  await primary.kill()
  await eventually(() => bidding.statuses[503] > 3)
  const startedMs = performance.now()
  const { status, headers } = await gateway.bid('a', 'x', 10)
  t.equal(status, 503)
  t.match(headers.get('retry-after'), /^[123]$/)
  t.ok(performance.now() - startedMs < ACK_WITHIN_MS / 2, 'the outage is known')
  const sofar = bidding.accepted.length
  await primary.restart()
  await eventually(() => bidding.accepted.length > sofar + 20)
  await bidding.stop()
  const stored = await storedBids(reader, 'a')
  t.same(bidding.accepted.filter(({ seq, amount }) => stored.get(seq) !== amount), [], `${bidding.accepted.length} bids`)
  t.not((await reader.ask('/v1/auctions/a')).json.generation, before, 'another history')
  t.same(Object.keys(bidding.statuses).filter((one) => !['200', '201', '503', '0'].includes(one)), [])
})

t.test('a replica without the last bids becomes the primary', async (t) => {
  for (const durability of ['memory', 'replica']) {
    const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
    const proxy = await startProxy(t, primary.port)
    const flags = [...FLAGS, '--durability', durability, '--ack-within-ms', '300']
    const gateway = await startAuctionGateway(t, { redisUrl: proxy.url, flags })
    const reader = await startReader(t, { redisUrl: proxy.url, flags: ['--read-from', 'primary'] })
    await gateway.create('a')
    await gateway.bid('a', 'ann', 10)
    const connection = await connectFor(t, primary.url)
    await connection.send('SET', 'mark', '1')
    await connection.send('WAIT', 1, 10_000)
    const promoted = await connectFor(t, replica.url)
    // a primary that is not there: it gets nothing from here on
    await promoted.send('REPLICAOF', '127.0.0.1', '1')
    const last = await gateway.bid('a', 'bob', 500)
    if (durability === 'memory') t.match(last, { status: 201 })
    else t.match(last, { status: 503, json: { code: 'NOT_CONFIRMED', retryable: true } }, 'not acknowledged')
    const known = (await reader.ask('/v1/auctions/a?minSeq=2')).json
    t.match(known, { currentBid: '500.00', seq: 2 })
    await primary.kill()
    await promoted.send('REPLICAOF', 'NO', 'ONE')
    proxy.switchTo(replica.port)
    await primary.restart()
    await (await connectFor(t, primary.url)).send('REPLICAOF', '127.0.0.1', String(replica.port))
    const next = await eventually(async () => {
      const answer = await gateway.bid('a', 'cid', 20, { key: 'again' })
      return answer.status === 201 && answer
    })
    t.match(next.json, { seq: 2, currentBid: '20.00', leading: true }, 'decided by what is stored')
    await eventually(async () => (await reader.get('/v1/auctions/a')).json.currentBid === '20.00')
    const { json } = await reader.get('/v1/auctions/a')
    t.not(json.generation, known.generation)
    t.same([...await storedBids(reader, 'a')].sort(), [[1, '10.00'], [2, '20.00']])
    t.match(await gateway.bid('a', 'dan', 21), { status: 201 }, 'a cache that knew 500.00 does not reject it')
  }
})

t.test('scripts that are flushed all the time', async (t) => {
  const primary = await startServer(t, { engine })
  const gateway = await startAuctionGateway(t, { redisUrl: primary.url, flags: FLAGS })
  await gateway.create('a')
  const connection = await connectFor(t, primary.url)
  const bidding = bidAlong(gateway, 'a', 'u')
  for (let n = 0; n < 30; n++) {
    await connection.send('SCRIPT', 'FLUSH')
    await sleep(10)
  }
  await eventually(() => bidding.accepted.length > 20)
  await bidding.stop()
  t.same(Object.keys(bidding.statuses).filter((one) => one !== '201' && one !== '200'), [])
})

t.test('when the process that closes auctions is killed, another closes them', async (t) => {
  const primary = await startServer(t, { engine })
  const flags = ['--system-partitions', '1']
  const key = admissionKey('fr:', 'auctions', 0)
  const connection = await connectFor(t, primary.url)
  const gateway = await startAuctionGateway(t, { redisUrl: primary.url, flags })
  const reader = await startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })
  // chance decides which of them owns the partition
  const processes = [(await runConsumers(t, { redisUrl: primary.url, flags })).command,
    runCommand(t, ['consumers', '--redis-url', primary.url, ...flags])]
  await eventually(async () => await connection.send('ZCARD', key('consumers')) === processes.length)
  const closeAt = Date.now() + 1500
  await gateway.create('a', termsOf({ closeAt }))
  await gateway.bid('a', 'ann', 10)
  const owner = String(await connection.send('HGET', key('owner'), 'id'))
  await processes.find(({ pid }) => owner.includes(`-${pid}-`))?.kill('SIGKILL')
  const last = await eventually(async () =>
    (await reader.get('/v1/auctions/a/bids?limit=1')).json.items.find(({ by }) => by === 'close') ?? false)
  t.ok(last.ts >= closeAt && last.ts < closeAt + LEASE_MS + BUSY_MS, `${last.ts - closeAt} ms after the end`)
  t.not(String(await connection.send('HGET', key('owner'), 'id')), owner)
})
