/** Figures while servers are gone, hang, or refuse, and when they are back. */
import t from 'tap'
import { createRates } from '../../src/figures/rates.js'
import {
  connectFor, engineName, eventually, inSync, openWriterFor, silentLog, startDeployment, startServer
} from '../../test/servers.js'
import { startReader } from '../../test/services.js'
import { scopedEngines } from '../../test/scope.js'

const VALUE = Buffer.from('v')

/** Writes on and on, whatever happens. @param {import('tap').Test} t @param {string} redisUrl */
async function keepWriting (t, redisUrl) {
  const writer = await openWriterFor(t, { redisUrl, whenFull: 'drop' })
  let n = 0
  const timer = setInterval(() => { for (let i = 0; i < 5; i++) writer.pipeline.append(Buffer.from(`id-${n++ % 100}`), Date.now(), VALUE) },
    50)
  t.teardown(() => clearInterval(timer))
  return writer
}

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  t.jobs = 3

  t.test('servers that are stopped, and come back', { buffered: true }, async (t) => {
    const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
    const reader = await startReader(t, { redisUrl: primary.url, flags: ['--replica-url', replica.url] })
    const figures = async (feed = 'latest') => (await reader.get(`/v1/feeds/${feed}/figures`)).json
    await keepWriting(t, primary.url)
    await eventually(async () => {
      const { itemsPerSecond, count, ready } = await figures()
      return itemsPerSecond > 0 && count === 100 && ready
    })

    await replica.kill()
    await eventually(async () => (await figures()).ready === false)
    const without = await eventually(async () => {
      const answer = await figures()
      return answer.itemsPerSecond === null && answer.count === null && answer.nodes[0].cpu !== null && answer
    })
    t.match(without, { layout: 'ids', writers: null, newestTs: null, reasons: [/REPLICAS_GONE/] })
    t.match(without.nodes[1], { role: 'replica', state: 'down', lagMs: null, cpu: null })

    await primary.kill()
    await eventually(async () => (await figures()).nodes[0].state === 'down')
    const gone = await eventually(async () => {
      const answer = await figures()
      return answer.nodes.every((/** @type {any} */ { cpu }) => cpu === null) && answer.history.at(-1).itemsPerSecond === null && answer
    })
    t.match(gone, { layout: 'ids', partitions: 1, ready: false, itemsPerSecond: null, count: null })
    t.match(await figures('never-seen'), {
      layout: null,
      partitions: null,
      windowMs: null,
      maxItems: null,
      ready: false,
      itemsPerSecond: null,
      count: null,
      exact: null,
      newestTs: null
    })

    await primary.restart()
    await replica.restart()
    await inSync(replica)
    const back = await eventually(async () => {
      const answer = await figures()
      return answer.itemsPerSecond > 0 && answer.count === 100 && answer.nodes.every((/** @type {any} */ { cpu }) => cpu !== null) &&
        answer
    })
    t.match(back, { ready: true, reasons: { length: 0 }, writers: 1 })
    t.equal((await reader.get('/v1/feeds/never-seen/figures')).status, 404)
  })

  t.test('servers that hang are not waited for', { buffered: true }, async (t) => {
    const server = await startServer(t, { engine })
    const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--deadline-ms', '60000'] })
    const figures = async () => (await reader.get('/v1/feeds/latest/figures')).json
    await keepWriting(t, server.url)
    await eventually(async () => (await figures()).itemsPerSecond > 0)
    server.freeze()
    let isAnswered = false
    const count = reader.get('/v1/feeds/latest/count').then(() => { isAnswered = true })
    const hung = await eventually(async () => {
      const answer = await figures()
      return answer.count === null && answer.itemsPerSecond === null && answer
    })
    t.notOk(isAnswered, 'what needs them waits')
    t.match(hung, { layout: 'ids', newestTs: null, nodes: [{ cpu: null }] })
    server.thaw()
    await count
    await eventually(async () => (await figures()).itemsPerSecond > 0)
    await eventually(async () => (await figures()).count === 100)
  })

  t.test('a user that may not read heartbeats reads everything else', { buffered: true }, async (t) => {
    const server = await startServer(t, { engine })
    const control = await connectFor(t, server.url)
    await control.send('ACL', 'SETUSER', 'old', 'on', '>word', '~*', '+@all', '-hgetall')
    const oldUrl = server.url.replace('//', '//old:word@')
    const reader = await startReader(t, { redisUrl: oldUrl, flags: ['--read-from', 'primary'] })
    await keepWriting(t, server.url)
    const answer = await eventually(async () => {
      const { json } = await reader.get('/v1/feeds/latest/figures')
      return json.count === 100 && json.history.length > 3 && json
    })
    t.match(answer, { ready: true, reasons: { length: 0 }, writers: null, itemsPerSecond: null })
    t.equal(reader.service.log.match(/heartbeats of writers cannot be read/g)?.length, 1)
    t.notMatch(reader.service.log, /node lost|SERVER_LOST/)

    let elapsedMs = 0
    const own = await connectFor(t, oldUrl)
    const rates = createRates({
      deployment: /** @type {any} */ ({ shard: () => ({ pick: () => ({ connection: own, lagMs: 0 }) }) }),
      keyPrefix: 'fr:',
      elapsed: () => elapsedMs,
      log: silentLog
    })
    const read = async () => (await rates.read((feeds) => feeds)).get('latest')
    t.equal(await read(), null)
    await control.send('ACL', 'SETUSER', 'old', '+hgetall')
    elapsedMs += 59_000
    t.equal(await read(), null, 'it is not asked again and again')
    elapsedMs += 2000
    await eventually(async () => Number((await read())?.itemsPerSecond) > 0)
  })
})
