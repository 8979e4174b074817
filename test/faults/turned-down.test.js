/**
 * A server that accepts a batch's commands but not its EXEC, because in between it was made a replica, ran out of memory or
 * was left with too few replicas. All of these are temporary, so no item may be given up for them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually, startDeployment, startServer } from '../servers.js'
import { expectWhole, startRun } from './ledger/run.js'
import { scopedEngines } from '../scope.js'

/** the end of a transaction, all of which is on the server by then */
const EXEC = '*1\r\n$4\r\nEXEC\r\n'

/** @typedef {import('../../src/store/connection.js').Connection} Connection */
/** @type {Record<string, { turn: (admin: Connection) => Promise<unknown>, back: (admin: Connection) => Promise<unknown> }>} */
const TURNS = {
  'is made a replica': {
    turn: (admin) => admin.send('REPLICAOF', '127.0.0.1', 1),
    back: (admin) => admin.send('REPLICAOF', 'NO', 'ONE')
  },
  'has no memory left': {
    turn: (admin) => admin.send('CONFIG', 'SET', 'maxmemory', 1),
    back: (admin) => admin.send('CONFIG', 'SET', 'maxmemory', 0)
  },
  'has too few replicas': {
    turn: (admin) => admin.send('CONFIG', 'SET', 'min-replicas-to-write', 1),
    back: (admin) => admin.send('CONFIG', 'SET', 'min-replicas-to-write', 0)
  }
}

t.jobs = 2
t.setTimeout(300_000)
const [engine] = await scopedEngines()
for (const [what, { turn, back }] of Object.entries(TURNS)) {
  t.test(`${engineName(engine)}: a server that ${what} in the middle of a batch is written to when that is over`, {
    buffered: true
  }, async (t) => {
    const server = await startServer(t, { engine })
    const admin = await connectFor(t, server.url)
    const proxy = await startProxy(t, server.port)
    const run = startRun(t, { redisUrl: proxy.url, itemsPerRound: 100, options: { deadlineMs: 10_000, late: 'overwrite' } })
    await run.open()
    await run.acknowledged(500)
    for (const line of proxy.lines) line.holdFrom(EXEC)
    await eventually(() => proxy.lines.some(({ heldBytes }) => heldBytes > 0))
    await turn(admin)
    const errors = async () => Number(/errorstat_EXECABORT:count=(\d+)/.exec(String(await admin.send('INFO', 'errorstats')))?.[1] ?? 0)
    proxy.release()
    await eventually(async () => await errors() > 0)
    await pause(200)
    run.check()
    await back(admin)
    await run.acknowledged(500)
    await run.finish()
    expectWhole(t, await run.compare(server), `once it ${what}`)
  })
}

t.test(`${engineName(engine)}, ack: replica: a primary that is made a replica while it waits for one is left, and written to when it ` +
  'is back', { buffered: true }, async (t) => {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
  const admin = await connectFor(t, primary.url)
  const run = startRun(t, { redisUrl: primary.url, ack: 'replica', options: { deadlineMs: 4000 } })
  await run.open()
  await run.acknowledged(500)
  replica.freeze()
  await eventually(async () => /blocked_clients:[1-9]/.test(String(await admin.send('INFO', 'clients'))))
  // of one that does not answer, so that it keeps what it has
  await admin.send('REPLICAOF', '127.0.0.1', 1)
  await eventually(async () => !/blocked_clients:[1-9]/.test(String(await admin.send('INFO', 'clients'))))
  run.check()
  await admin.send('REPLICAOF', 'NO', 'ONE')
  replica.thaw()
  await run.acknowledged(500)
  await run.finish()
  expectWhole(t, await run.compare(primary), 'once demoted while it waited')
})
