/** A reader of a primary without replicas. */
import t from 'tap'
import { engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { scopedEngines } from '../scope.js'

t.jobs = 2

const [engine] = await scopedEngines()
/** A single server with items in it. @param {import('tap').Test} t */
async function startPrimary (t) {
  const primary = await startServer(t, { engine, args: ['--repl-ping-replica-period', '1'] })
  for (const layout of ['ids', 'segments']) {
    const { pipeline, close } = await openWriterFor(t, { redisUrl: primary.url, feed: layout, layout, windowMs: 0 })
    for (let n = 0; n < 50; n++) pipeline.append(Buffer.from(`id-${n}`), Date.now(), Buffer.from(`value ${n}`))
    await close({ drainMs: 10_000 })
  }
  return primary
}

t.test(`${engineName(engine)}: without --read-from it is read, with one warning; a replica takes over`, { buffered: true }, async (t) => {
  const primary = await startPrimary(t)
  const { service, get, ask } = await startReader(t, { redisUrl: primary.url })
  for (const feed of ['ids', 'segments']) t.equal((await ask(`/v1/feeds/${feed}/items?limit=50`)).json.items.length, 50, feed)
  t.match(await ask('/readyz'), { status: 200, json: { ready: true } })
  t.match(await service.until(/"level":40,[^\n]*"msg":"(the primary has no replicas[^\n]*)"/), [/--read-from replica/])
  t.equal(service.log.match(/has no replicas/g)?.length, 1)

  const replica = await startServer(t, { engine, replicaOf: primary })
  await service.until(/the primary has a replica now/)
  for (const feed of ['ids', 'segments']) t.equal((await ask(`/v1/feeds/${feed}/items?limit=49`)).json.items.length, 49, feed)

  await replica.kill()
  const gone = await eventually(async () => {
    const answer = await get('/v1/feeds/ids/items?limit=48')
    return answer.status === 503 && answer
  })
  t.match(gone.json, { code: 'REPLICAS_GONE' }, 'a replica that died is not replaced by the primary')
  t.equal((await get('/readyz')).status, 503)
  await service.stop()
  t.equal(service.log.match(/"msg":"[^"]*(has no replicas: it is read|has a replica now)/g)?.length, 2)
})

t.test(`${engineName(engine)}: with --read-from replica replies and /readyz say what to change`, { buffered: true }, async (t) => {
  const primary = await startPrimary(t)
  const { get } = await startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'replica'] })
  const fix = /the primary has no replicas; use --read-from primary .*, or add one/
  t.match(await get('/v1/feeds/ids/items'), { status: 503, json: { code: 'REPLICAS_GONE', detail: fix } })
  t.match(await get('/readyz'), { status: 503, json: { reasons: [fix] } })
  await startServer(t, { engine, replicaOf: primary })
  await eventually(async () => (await get('/v1/feeds/ids/items')).status === 200)
})
