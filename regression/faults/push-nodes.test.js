/**
 * Nodes behind streams: killed, frozen, all gone, or with less than was read of them. Nothing newest is missed, nothing goes back.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { runReader } from '../../test/commands.js'
import { startProxy } from '../../test/proxy.js'
import { metricsOf } from '../../test/push/live-client.js'
import { startResuming } from '../../test/push/resuming-client.js'
import { openWritten } from '../../test/push/written.js'
import { connectFor, engineName, eventually, inSync, startDeployment, startServer } from '../../test/servers.js'
import { scopedEngines } from '../../test/scope.js'

const IDS = 100
const SOME = ['id-3', 'id-50', 'id-90']
const DEADLINE_MS = 60_000
const FROZEN_MS = 3000
const LAG_MS = 500

/** @typedef {Awaited<ReturnType<typeof runReader>>} Reader */

/**
 * Clients of a feed that is written on and on.
 * @param {import('tap').Test} t
 * @param {{ primary: import('../../test/servers.js').Server, reader: Reader, feed: string, layout?: string }} options
 */
async function startFollowed (t, { primary, reader, feed, layout = 'segments' }) {
  const path = `/v1/feeds/${feed}/live`
  const written = await openWritten(t, { redisUrl: primary.url, feed, layout, partitions: 2 })
  const writing = written.keepWriting({ ids: IDS, perSlice: 10, everyMs: 40, valueAt: (n) => `value ${n}` })
  await eventually(() => writing.written > IDS)
  const ofAll = [startResuming(t, [reader.url], `${path}?limit=${IDS}`), startResuming(t, [reader.url], `${path}?limit=${IDS}&maxRate=2`)]
  const ofSome = startResuming(t, [reader.url], `${path}?${SOME.map((id) => `id=${id}`).join('&')}`)
  const clients = [...ofAll, ofSome]
  const come = () => clients.map(({ visit }) => visit.names.length)
  return {
    /** Waits until each got more. */
    async goesOn () {
      const before = come()
      await eventually(() => come().every((count, i) => count > before[i] + 2), { deadlineMs: DEADLINE_MS })
    },
    /** Nothing is written any more: all have the newest of everything. @param {import('tap').Test} t */
    async isWell (t, { resets = 0 } = {}) {
      await writing.stop()
      await eventually(() => written.reaches(ofAll), { deadlineMs: DEADLINE_MS })
      await written.reaches([ofSome], SOME)
      for (const [i, client] of clients.entries()) {
        t.same(client.wentBack, [], `client ${i}: nothing goes back`)
        t.same([client.resets.length, client.unasked, client.visits.length], [resets, 0, 1], `client ${i}: ${client.resets}`)
      }
    }
  }
}

/** Which replica is followed, by one connection for all feeds. @param {import('../../src/store/connection.js').Connection[]} controls */
const followedOf = (controls) => eventually(async () => {
  for (const [i, control] of controls.entries()) {
    if (String(await control.send('CLIENT', 'LIST')).includes('view-')) return { i }
  }
  return false
}, { deadlineMs: DEADLINE_MS })

t.jobs = 2
for (const engine of (await scopedEngines()).slice(0, 1)) {
  t.test(engineName(engine), { buffered: true }, async (t) => {
    // Cases that restore all nodes share these servers and a reader.
    const { primary, replicas } = await startDeployment(t, { engine })
    const reader = await runReader(t, { redisUrl: primary.url, flags: ['--deadline-ms', '500'] })

    for (const layout of ['segments', 'ids']) {
      await t.test(`${layout}: the replica behind the streams is killed, and then the other one`, async (t) => {
        const feed = `killed-${layout}`
        const followed = await startFollowed(t, { primary, reader, feed, layout })
        await followed.goesOn()
        const controls = await Promise.all(replicas.map(({ url }) => connectFor(t, url)))
        const { i: first } = /** @type {{ i: number }} */ (await followedOf(controls))
        await replicas[first].kill()
        await followedOf([controls[1 - first]])
        await followed.goesOn()
        await replicas[first].restart()
        await inSync(replicas[first])
        await replicas[1 - first].kill()
        await followedOf([await connectFor(t, replicas[first].url)])
        await followed.goesOn()
        await followed.isWell(t)
        await replicas[1 - first].restart()
        await inSync(replicas[1 - first])
      })
    }

    await t.test('a replica that lags takes over: nothing goes back, not even versions ahead of the clock', async (t) => {
      const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
      const feed = 'lagging'
      const reader = await runReader(t, { redisUrl: primary.url })
      const written = await openWritten(t, { redisUrl: primary.url, feed, layout: 'ids', maxItems: 0 })
      await written.put(['a', '1'])
      const client = startResuming(t, [reader.url], `/v1/feeds/${feed}/live?limit=10`)
      await written.reaches([client])
      const line = await startProxy(t, primary.port, { delayMs: LAG_MS })
      const lagging = await startServer(t, { engine, replicaOf: line })
      await inSync(lagging)
      written.append('a', '2', Date.now() + LAG_MS)
      await written.flush()
      await written.reaches([client])
      await replica.kill()
      await followedOf([await connectFor(t, lagging.url)])
      await written.put(['b', '1'])
      await written.reaches([client])
      t.same([client.wentBack, client.resets, client.items.get('a').ts], [[], [], written.ledger.get('a')?.ts])
    })

    await t.test('all replicas are killed, and one comes back', async (t) => {
      const followed = await startFollowed(t, { primary, reader, feed: 'all-killed' })
      await followed.goesOn()
      await Promise.all(replicas.map((replica) => replica.kill()))
      await eventually(async () => (await reader.get('/readyz')).status === 503, { deadlineMs: DEADLINE_MS })
      await replicas[1].restart()
      await inSync(replicas[1])
      await followed.goesOn()
      await followed.isWell(t)
      await replicas[0].restart()
      await inSync(replicas[0])
    })

    await t.test('the primary stands still for seconds', async (t) => {
      const followed = await startFollowed(t, { primary, reader, feed: 'frozen' })
      await followed.goesOn()
      t.teardown(() => primary.thaw())
      primary.freeze()
      await pause(FROZEN_MS)
      primary.thaw()
      await followed.goesOn()
      await followed.isWell(t)
    })

    await t.test('unread entries are trimmed while no replica answers: clients get a reset and a new snapshot', async (t) => {
      const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
      const control = await connectFor(t, replica.url)
      const proxy = await startProxy(t, replica.port)
      const reader = await runReader(t, { redisUrl: primary.url, flags: ['--deadline-ms', '500', '--replica-url', proxy.url] })
      const feed = 'trimmed'
      const written = await openWritten(t, { redisUrl: primary.url, feed, maxItems: 100, batchItems: 20 })
      await written.put(['gone', '1'], ['kept', '1'])
      const clients = ['?limit=1000', '?limit=1000&maxRate=2', '?id=gone&id=kept'].map((query) =>
        startResuming(t, [reader.url], `/v1/feeds/${feed}/live${query}`))
      await written.reaches(clients, ['gone', 'kept'])
      const name = `fr:{${feed}:0}:segments`
      const [[place]] = await control.send('XREVRANGE', name, '+', '-', 'COUNT', 1)
      proxy.goSilent()
      // trimming comes with housekeeping, while something is written
      await eventually(async () => {
        for (let n = 0; n < 300; n++) written.append(`id-${n}`, `${n}`)
        await written.flush()
        return (await control.send('XRANGE', name, place, place)).length === 0
      }, { deadlineMs: DEADLINE_MS })
      await written.put(['kept', '2'])
      t.same(clients.map(({ resets }) => resets.length), [0, 0, 0])
      proxy.speak()
      await eventually(() => clients.every(({ resets }) => resets.length > 0), { deadlineMs: DEADLINE_MS })
      await written.put(['kept', '3'])
      await written.reaches(clients, ['kept'])
      await written.reaches(clients.slice(0, 2), ['id-299', 'id-280'])
      for (const { resets, visits: [{ names }], visits, unasked, wentBack, items } of clients) {
        t.same([resets, visits.length, unasked, wentBack], [['rebuilt'], 1, 0, []])
        t.equal(names[names.indexOf('reset') + 1], 'snapshot')
        t.equal(items.has('gone'), false, 'it is not live any more')
      }
      t.equal((await metricsOf(reader)).get('freshet_stream_resets_total'), 3)
    })
  })
}
