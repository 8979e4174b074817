/** Items answered with 200 are stored, whatever fails behind a gateway; a client that retries after 503 gets every item stored. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { newest } from '../../src/embedded/engine.js'
import { say } from '../../test/faults/ledger/run.js'
import { startProxy } from '../../test/proxy.js'
import { connectFor, eventually, inSync, startServer, testEngines } from '../../test/servers.js'
import { startGateway } from '../../test/services.js'
import { startPosting } from '../../test/gateway/posting.js'

const FAULTS = 5
const KILLS = 2
const MOST_PAUSE_MS = 200
const DELAY_MS = 20
// connections are ended here, never silent, but for a busy machine
const FLAGS = ['--window-ms', '86400000', '--max-items', '0', '--read-from', 'primary', '--ack-within-ms', '300', '--deadline-ms', '10000']

/**
 * Everything intended was answered 200 in the end, and is there. Where every version is kept, what was sent twice is there twice.
 * @param {import('tap').Test} t
 * @param {import('../../test/gateway/posting.js').Posting} posting
 * @param {import('../../test/servers.js').Server} server
 * @param {string} layout @param {string} faults
 */
async function expectAll (t, posting, server, layout, faults) {
  await posting.finish()
  const sums = await posting.compare(server, layout)
  say(t, sums, `${faults}, answers ${JSON.stringify(posting.others)}`)
  t.same(posting.wrong, [])
  t.match(sums, { acknowledged: sums.intended, lost: 0, foreign: 0, ...(layout === 'ids' ? { doubled: 0 } : {}) })
  t.ok(sums.intended > 0)
}

t.jobs = 4
t.setTimeout(300_000)
const engine = /** @type {import('../../test/servers.js').Engine} */ (newest(await testEngines()))
for (const layout of ['ids', 'segments']) {
  t.test(`${layout}: connections that end again and again`, { buffered: true }, async (t) => {
    const server = await startServer(t, { engine })
    const admin = await connectFor(t, server.url)
    const proxy = await startProxy(t, server.port)
    const gateway = await startGateway(t, { redisUrl: proxy.url, flags: [...FLAGS, '--layout', layout] })
    const posting = startPosting(t, gateway)
    for (let faults = 0; faults < FAULTS; faults++) {
      await posting.acknowledged(200)
      await pause(Math.random() * MOST_PAUSE_MS)
      if (faults % 2) proxy.resetAll()
      else await admin.send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    }
    await posting.acknowledged(200)
    await expectAll(t, posting, server, layout, `${FAULTS} times all connections ended`)
  })

  t.test(`${layout}, ack: replica: primaries that are killed`, { buffered: true }, async (t) => {
    let primary = await startServer(t, { engine })
    const proxy = await startProxy(t, primary.port)
    /** An empty replica of the primary, over a slow line, so that there is always something that only the primary has. */
    async function follow () {
      const line = await startProxy(t, primary.port, { delayMs: DELAY_MS })
      const replica = await startServer(t, { engine, replicaOf: line })
      await inSync(replica)
      return { line, replica }
    }
    let { line, replica } = await follow()
    const gateway = await startGateway(t, { redisUrl: proxy.url, flags: [...FLAGS, '--layout', layout, '--ack', 'replica'] })
    const posting = startPosting(t, gateway)
    for (let kills = 0; kills < KILLS; kills++) {
      await posting.acknowledged(200)
      await pause(Math.random() * MOST_PAUSE_MS)
      line.stop()
      await primary.kill()
      const connection = await connectFor(t, replica.url)
      await connection.send('REPLICAOF', 'NO', 'ONE')
      primary = replica
      proxy.switchTo(primary.port)
      ;({ line, replica } = await follow())
    }
    await posting.acknowledged(200)
    await expectAll(t, posting, primary, layout, `${KILLS} primaries killed`)
  })

  t.test(`${layout}: a server that has no memory left, and gets some`, { buffered: true }, async (t) => {
    const server = await startServer(t, { engine, args: ['--maxmemory-policy', 'noeviction'] })
    const admin = await connectFor(t, server.url)
    const refusals = async () => Number(/errorstat_OOM:count=(\d+)/.exec(String(await admin.send('INFO', 'errorstats')))?.[1] ?? 0)
    const gateway = await startGateway(t, { redisUrl: server.url, flags: [...FLAGS, '--layout', layout] })
    const posting = startPosting(t, gateway)
    for (let faults = 0; faults < KILLS; faults++) {
      await posting.acknowledged(200)
      const before = await refusals()
      await admin.send('CONFIG', 'SET', 'maxmemory', 1)
      await eventually(async () => await refusals() > before + 3)
      await pause(MOST_PAUSE_MS)
      await admin.send('CONFIG', 'SET', 'maxmemory', 0)
    }
    await posting.acknowledged(200)
    await expectAll(t, posting, server, layout, `${KILLS} times full`)
  })
}
