import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { infoOf } from '../../test/embedded/checkout.js'
import { caughtUp, startOwnFlow } from '../../test/flow/flow.js'
import { engineName, eventually, freePort, inSync, startDeployment, startServer } from '../../test/servers.js'
import { nightly, scopedEngines } from '../../test/scope.js'
import { startReader } from '../../test/services.js'
import { startWriter } from '../../test/flow/writer.js'

const IDS = 4000
const ASK_EVERY_MS = nightly(0, 5)
const [engine] = await scopedEngines()
/** a replica that is silent for so long is not asked */
const SOON = ['--deadline-ms', '2000']

t.jobs = 2
t.setTimeout(300_000)

/**
 * The states of the replicas, as the reader says them.
 * @param {{ get: (path: string) => Promise<any> }} reader
 * @returns {Promise<string[]>} sorted
 */
async function statesOf (reader) {
  const { json } = await reader.get('/readyz')
  return json.nodes.filter((/** @type {any} */ node) => node.role === 'replica').map((/** @type {any} */ node) => node.state).sort()
}

/**
 * Asks all the time; each answer has to be whole. Without an answer it may be only when the other replica lagged, as it
 * does on a busy machine.
 * @param {{ get: (path: string) => Promise<any>, service: { log: string } }} reader @param {() => Promise<unknown>} meanwhile
 */
async function askedThroughout (reader, meanwhile) {
  const wrong = []
  let answers = 0
  const mayRefuse = () => reader.service.log.includes('replica lags, no longer used')
  const over = new AbortController()
  const asking = (async () => {
    while (!over.signal.aborted) {
      const [count, one] = await Promise.all([reader.get('/v1/feeds/latest/count'),
        reader.get(`/v1/feeds/latest/items/bus-${answers % IDS}`)])
      const stale = [count, one].some(({ status, headers }) => status === 503 || headers.get('freshet-stale'))
      if (stale ? !mayRefuse() : count.json.count !== IDS || one.status !== 200) wrong.push([count.status, count.json, one.status])
      answers++
      await pause(ASK_EVERY_MS)
    }
  })()
  await meanwhile().finally(() => {
    over.abort()
    return asking
  })
  return { wrong, answers }
}

t.test(`${engineName(engine)}: while one replica is killed or frozen, the other answers, and it comes back`, {
  buffered: true
}, async (t) => {
  const { replicas: [victim], reader, write } = await startOwnFlow(t, { engine, replicas: 2, flags: SOON })
  t.equal((await write(t, ['--items', `${IDS}`, '--ids', `${IDS}`, '--rate', '0'])).code, 0)
  await eventually(async () => (await statesOf(reader)).join() === 'connected,connected')

  const killed = await askedThroughout(reader, async () => {
    await victim.kill()
    await eventually(async () => (await statesOf(reader)).join() === 'connected')
    await victim.restart()
    await inSync(victim)
    await eventually(async () => (await statesOf(reader)).join() === 'connected,connected')
  })
  t.same(killed.wrong, [], `killed: ${killed.answers} answers, all of them whole`)

  const frozen = await askedThroughout(reader, async () => {
    victim.freeze()
    await eventually(async () => (await statesOf(reader)).join() === 'connected,down')
    victim.thaw()
    await eventually(async () => (await statesOf(reader)).join() === 'connected,connected')
  })
  t.same(frozen.wrong, [], `frozen: ${frozen.answers} answers, all of them whole`)
})

t.test('a replica that is loading is not asked', { buffered: true }, async (t) => {
  const { primary, reader, write } = await startOwnFlow(t, { engine, flags: SOON })
  t.equal((await write(t, ['--items', `${IDS}`, '--ids', `${IDS}`, '--rate', '0'])).code, 0)
  // half a millisecond for each key; other commands are processed during the load
  const slowly = ['--key-load-delay', '500', '--loading-process-events-interval-bytes', '1024']
  const port = await freePort()
  const { wrong, answers } = await askedThroughout(reader, async () => {
    const starting = startServer(t, { engine, port, replicaOf: primary, args: slowly })
    await eventually(async () => (await infoOf(`redis://127.0.0.1:${port}`)).loading === '1')
    await inSync(await starting)
    await eventually(async () => (await statesOf(reader)).join() === 'connected,connected')
  })
  t.same(wrong, [], `${answers} answers, all of them whole`)
})

t.test('with all replicas gone the last answer is given and marked, other questions are 503, and it ends when one is back', {
  buffered: true
}, async (t) => {
  const { primary, replicas, reader, write } = await startOwnFlow(t, { engine, replicas: 2, flags: SOON })
  t.equal((await write(t, ['--items', `${IDS}`, '--ids', `${IDS}`, '--rate', '0'])).code, 0)
  const impatient = await startReader(t, { redisUrl: primary.url, flags: [...SOON, '--max-stale-ms', '300'] })
  const path = '/v1/feeds/latest/items?limit=10'
  const before = await reader.ask(path)
  t.equal((await impatient.ask(path)).status, 200)
  await Promise.all(replicas.map((replica) => replica.kill()))
  await eventually(async () => (await reader.get('/readyz')).status === 503)

  const stale = await reader.get(path)
  t.equal(stale.status, 200)
  t.same(stale.json.items, before.json.items)
  t.equal(stale.headers.get('freshet-stale'), 'true')
  t.match(stale.headers.get('age'), /^\d+$/)
  const other = await reader.get('/v1/feeds/latest/items?limit=11')
  t.match([other.status, other.json.code, other.headers.get('retry-after')], [503, 'REPLICAS_GONE', /^[123]$/])
  t.match((await reader.get('/readyz')).json, { code: 'NOT_READY', reasons: [/REPLICAS_GONE/] })
  t.equal((await reader.get('/livez')).status, 200)
  await eventually(async () => (await impatient.get(path)).status === 503)

  const late = await startReader(t, { redisUrl: primary.url, flags: [...SOON, '--replica-url', replicas[0].url] })
  t.equal((await late.get(path)).status, 503, 'a reader can start before its replicas')

  await replicas[0].restart()
  await inSync(replicas[0])
  for (const one of [reader, impatient, late]) {
    await eventually(async () => {
      const { status, headers } = await one.get(path)
      return status === 200 && !headers.get('freshet-stale')
    })
  }
})

t.test('a primary that is gone and comes back: replicas answer what they have, then what is new', { buffered: true }, async (t) => {
  const deployment = await startDeployment(t, { engine, replicas: 1, args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
  const { primary } = deployment
  const reader = await startReader(t, { redisUrl: primary.url, flags: SOON })
  const write = (/** @type {number} */ items) => startWriter(t,
    ['--window-ms', '86400000', '--items', `${items}`, '--rate', '0', '--ids', `${items}`], { redisUrl: primary.url }).ended()
  t.equal((await write(1000)).code, 0)
  await caughtUp(deployment)
  await primary.kill()
  await eventually(async () =>
    (await reader.get('/readyz')).json.nodes.some((/** @type {any} */ node) => node.role === 'primary' && node.state === 'down'))
  const { status, json } = await reader.get('/v1/feeds/latest/count')
  t.same([status, json.count], [200, 1000])
  await eventually(async () => (await reader.get('/v1/feeds/latest/count')).headers.get('freshet-lag-ms') === null)
  await primary.restart()
  t.equal((await write(2000)).code, 0)
  await eventually(async () => (await reader.get('/v1/feeds/latest/count')).json.count === 2000)
})

t.test('a writer does not mind its replicas', { buffered: true }, async (t) => {
  const { primary, replicas: [first, second] } = await startDeployment(t, { engine, replicas: 2 })
  const writer = startWriter(t, ['--rate', '5000', '--deadline-ms', '2000'], { redisUrl: primary.url })
  await writer.until(/"msg":"writing"/)
  await first.kill()
  second.freeze()
  await pause(500)
  const { code, summary } = await writer.stop()
  t.equal(code, 0)
  t.equal(summary.items, summary.offered)
  t.same(summary.nodes.map((/** @type {any} */ node) => node.role), ['primary'], 'only nodes that could be asked at the end')
})
