/** A reader that cannot tell whether the primary has more than its replica: it answers, and says how old that is. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startProxy } from '../proxy.js'
import { engineName, eventually, inSync, openWriterFor, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { scopedEngines } from '../scope.js'

const PATH = '/v1/feeds/latest/items'
const OLD_S = 2
const LOOK_EVERY_MS = 100

/** @param {Awaited<ReturnType<typeof startReader>>} reader */
async function ask (reader, path = PATH) {
  const { status, headers, json } = await reader.get(path)
  return { status, json, stale: headers.get('freshet-stale'), age: Number(headers.get('age')), askedMs: Date.now() }
}

/** @param {Awaited<ReturnType<typeof startReader>>} reader */
const isStale = (reader) => eventually(async () => {
  const { status, stale, age, json, askedMs } = await ask(reader)
  return status === 200 && stale === 'true' && age >= OLD_S && askedMs - json.asOf >= OLD_S * 1000
}, { everyMs: LOOK_EVERY_MS })

/** @param {Awaited<ReturnType<typeof startReader>>} reader */
const isFresh = (reader) => eventually(async () => {
  const { status, stale, age } = await ask(reader)
  return status === 200 && stale === null && age < OLD_S
}, { everyMs: LOOK_EVERY_MS })

for (const engine of (await scopedEngines()).slice(0, 1)) {
  t.test(engineName(engine), async (t) => {
    const primary = await startServer(t, { engine })
    const [toPrimary, ofReplica] = [await startProxy(t, primary.port), await startProxy(t, primary.port)]
    const replica = await startServer(t, { engine, replicaOf: ofReplica })
    await inSync(replica)
    const writer = await openWriterFor(t, { redisUrl: primary.url })
    writer.pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v'))
    await writer.pipeline.flush({ deadlineMs: 60_000 })
    const start = (/** @type {string[]} */ ...flags) =>
      startReader(t, { redisUrl: toPrimary.url, flags: ['--replica-url', replica.url, '--deadline-ms', '1000', ...flags] })
    const [viewing, asking, strict] = [await start('--views', 'all'), await start('--views', 'none'),
      await start('--views', 'all', '--max-unconfirmed-ms', '3000')]
    const readers = [viewing, asking]
    await Promise.all([...readers, strict].map(isFresh))

    await t.test('a reader without a link to the primary is confirmed by a replica that hears from it', async (t) => {
      toPrimary.goSilent()
      await eventually(async () => (await asking.get('/readyz')).json.nodes.some((/** @type {any} */ node) => node.state === 'down'))
      await pause(1500)
      for (const reader of readers) {
        const { stale, age } = await ask(reader)
        t.equal(stale, null)
        t.ok(age < OLD_S)
        t.same((await reader.get('/readyz')).json.reasons, [])
      }
    })

    await t.test('reader and replica cut off together: replies go on, their age grows, and they are marked', async (t) => {
      ofReplica.goSilent()
      ofReplica.resetAll()
      await Promise.all(readers.map(isStale))
      for (const reader of readers) {
        const ready = await reader.get('/readyz')
        t.equal(ready.status, 200)
        t.match(ready.json.reasons, [/^PRIMARY_UNCONFIRMED: no contact with the primary for \d/])
        t.match((await reader.get('/metrics')).body, /^freshet_primary_unconfirmed_seconds [1-9]/m)
        t.equal((await ask(reader, '/v1/feeds')).stale, 'true')
        t.equal((await ask(reader, '/v1/feeds/latest/count')).stale, 'true')
        t.equal((await ask(reader, '/v1/feeds/latest/figures')).status, 200)
      }
      await eventually(async () => (await ask(strict)).json.code === 'PRIMARY_UNCONFIRMED')
      t.match(await ask(strict), { status: 503 })
      t.match(await strict.get('/readyz'), { status: 503, json: { reasons: [/^PRIMARY_UNCONFIRMED/] } })
    })

    await t.test('the links work again: replies are as fresh as before', async () => {
      toPrimary.speak()
      ofReplica.speak()
      await Promise.all([...readers, strict].map(isFresh))
    })

    await t.test('the primary is killed: its replicas answer, with their age', async () => {
      await primary.kill()
      await Promise.all(readers.map(isStale))
    })
  })
}
