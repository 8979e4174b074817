/**
 * Servers that die, freeze and change their role under a writer: nothing acknowledged is lost, and of each id the last
 * version stays.
 */
import t from 'tap'
import { setTimeout as pause } from 'node:timers/promises'
import { connectFor, engineName, eventually, openWriterFor, startDeployment, startServer } from '../servers.js'
import { nightEngines, scopedEngines } from '../scope.js'
import { accounted } from './fake-server.js'

const IDS = 2000

/**
 * Appends versions of IDS ids until stopped; the value is the version.
 * @param {Awaited<ReturnType<typeof openWriterFor>>} writer
 */
function keepAppending (writer) {
  let appended = 0
  const timer = setInterval(() => {
    for (let i = 0; i < 300; i++, appended++) {
      writer.pipeline.append(Buffer.from(`id-${appended % IDS}`), Date.now(), Buffer.from(`version ${appended}`))
    }
  }, 5)
  return {
    get appended () { return appended },
    stop: () => clearInterval(timer)
  }
}

/** @param {import('tap').Test} t @param {{ url: string }} server @param {number} appended */
async function expectLastVersions (t, server, appended) {
  const connection = await connectFor(t, server.url)
  const ids = Array.from({ length: Math.min(IDS, appended) }, (_, i) => i)
  const records = await connection.send('MGET', ...ids.map((i) => `fr:{latest:0}:item:id-${i}`))
  const wrong = ids.filter((i) => {
    const last = Math.floor((appended - 1 - i) / IDS) * IDS + i
    return records[i] === null || String(records[i].subarray(8)) !== `version ${last}`
  })
  t.same(wrong, [], 'ids whose last version is not there')
  t.equal(await connection.send('ZCARD', 'fr:{latest:0}:ids'), ids.length)
}

t.jobs = 2
const once = (await nightEngines()).map(engineName)
for (const engine of await scopedEngines()) {
  t.test(engineName(engine), { buffered: true }, async (t) => {
    for (const late of /** @type {const} */ (['overwrite', 'newest'])) {
      await t.test(`a server that is killed and comes back with its log has everything, late: ${late}`, async (t) => {
        const server = await startServer(t, { engine, args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
        const writer = await openWriterFor(t, { redisUrl: server.url, windowMs: 0, maxItems: 0, batchItems: 100, late })
        const load = keepAppending(writer)
        t.teardown(load.stop)
        // a kill may fall where nothing is under way: it is done again until one did not
        for (let round = 1; round <= 2 || (writer.pipeline.account.retried === 0 && round <= 12); round++) {
          const { sessions, pipeline: { account: { items } } } = writer
          await eventually(() => writer.pipeline.account.items > items + 3000)
          await server.kill()
          await pause(50)
          await server.restart()
          await eventually(() => writer.sessions > sessions)
        }
        load.stop()
        await writer.pipeline.flush()
        const { account } = writer.pipeline
        t.match(account, { offered: load.appended, failed: 0, dropped: 0 })
        t.match(accounted(account), { offered: load.appended, ended: load.appended })
        t.ok(account.retried > 0, `${account.retried} sent again`)
        await expectLastVersions(t, server, load.appended)
      })
    }

    await t.test('a server that lost its scripts gets them again', async (t) => {
      const server = await startServer(t, { engine })
      const connection = await connectFor(t, server.url)
      const writer = await openWriterFor(t, { redisUrl: server.url, late: 'newest', batchItems: 100 })
      const load = keepAppending(writer)
      t.teardown(load.stop)
      await eventually(() => writer.pipeline.account.items > 1000)
      await connection.send('SCRIPT', 'FLUSH')
      await eventually(() => writer.sessions >= 2)
      load.stop()
      await writer.pipeline.flush()
      t.match(writer.pipeline.account, { offered: load.appended, failed: 0 })
      await expectLastVersions(t, server, load.appended)
    })

    // what follows has the same commands on all engines
    if (!once.includes(engineName(engine))) return
    await t.test('a server that is frozen for a while has everything', async (t) => {
      const server = await startServer(t, { engine })
      const writer = await eventually(() => openWriterFor(t, { redisUrl: server.url, deadlineMs: 400, batchItems: 100 }))
      const load = keepAppending(writer)
      t.teardown(load.stop)
      await eventually(() => writer.pipeline.account.items > 1000)
      server.freeze()
      await eventually(() => !writer.connected)
      load.stop()
      server.thaw()
      await writer.pipeline.flush()
      t.match(writer.pipeline.account, { offered: load.appended, items: load.appended, failed: 0 })
      await expectLastVersions(t, server, load.appended)
    })

    await t.test('a primary that is made a replica is left, and written to when it is primary again', async (t) => {
      const { primary, replicas: [other] } = await startDeployment(t, { engine, replicas: 1 })
      const connection = await connectFor(t, primary.url)
      const writer = await openWriterFor(t, { redisUrl: primary.url, batchItems: 100 })
      const load = keepAppending(writer)
      t.teardown(load.stop)
      await eventually(() => writer.pipeline.account.items > 1000)
      const onOther = await connectFor(t, other.url)
      await onOther.send('REPLICAOF', 'NO', 'ONE')
      await connection.send('REPLICAOF', '127.0.0.1', other.port)
      await eventually(() => !writer.connected)
      load.stop()
      t.equal(writer.pipeline.failure, null)
      const { items } = writer.pipeline.account
      await pause(100)
      t.equal(writer.pipeline.account.items, items)
      await connection.send('REPLICAOF', 'NO', 'ONE')
      await writer.pipeline.flush()
      t.match(writer.pipeline.account, { offered: load.appended, items: load.appended, failed: 0 })
    })
  })
}
