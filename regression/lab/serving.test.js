/**
 * HTTP servers and clients that are measured while a feed is written: on real servers, with the real reader.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { servingInvariants } from '../../lab/serving/figures.js'
import { createHandler } from '../../lab/serving/handler.js'
import { startServing } from '../../lab/serving/index.js'
import { DEFAULT_PATH } from '../../lab/serving/plan.js'
import { makeIds, makeValue } from '../../src/synthetic.js'
import { allGone } from '../../test/embedded/checkout.js'
import { connectFor, eventually, openWriterFor, startDeployment } from '../../test/servers.js'
import { nightly, nightTest, scopedEngines } from '../../test/scope.js'
import { startReader } from '../../test/services.js'
import { commandOf, env } from './serving-commands.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const KEY_PREFIX = 'lab-1234abcd:'
const ITEMS = 300
/** each sends as fast as it is answered */
const CONNECTIONS = nightly(8, 1)

const [engine] = await scopedEngines()

// a feed of 300 items that is not written any more
const { primary, replicas } = await startDeployment(t, { engine })
const writer = await openWriterFor(t, { redisUrl: primary.url, keyPrefix: KEY_PREFIX, feed: 'lab', windowMs: 0 })
for (let i = 0; i < ITEMS; i++) writer.pipeline.append(Buffer.from(`id-${i}`), 1_750_000_000_000 + i, Buffer.from(`value ${i}`))
await writer.pipeline.flush()
const place = {
  redisUrl: primary.url,
  replicaUrls: replicas.map(({ url }) => url),
  keyPrefix: KEY_PREFIX,
  feed: 'lab',
  layout: 'ids',
  workload: null,
  liveItems: ITEMS,
  readerCommand: commandOf('reader'),
  env
}

/** @param {object} [changes] @returns {any} */
const servingOf = (changes) =>
  ({ by: 'ask', asks: 'pages', processes: 1, connections: 8, everyMs: 0, path: DEFAULT_PATH, settings: {}, ...changes })

/** @param {{ pids: (number | undefined)[] }} serving */
const pidsOf = ({ pids }) => pids.map(Number)

/** Up and filled. @param {import('tap').Test} t @param {object} serving @param {Parameters<typeof startServing>[1]} [where] */
async function serve (t, serving, where = place) {
  const running = startServing(servingOf(serving), where)
  t.teardown(() => running.close())
  await running.ready
  await running.fill(Promise.resolve())
  return running
}

t.test('reader, ask and bare serve the same bytes, and every request is accounted for', async (t) => {
  /** @type {number[]} */
  const bytes = []
  for (const by of ['reader', 'ask']) {
    const serving = await serve(t, { by, connections: CONNECTIONS })
    const figures = await serving.measure(1.5)
    await serving.close()
    await allGone(...pidsOf(serving))
    const { requests, answers, latencyMs, bytesPerAnswer } = figures
    t.match(figures, { by, processes: 1, connections: CONNECTIONS, everyMs: 0, client: { connectionsLost: 0 } })
    t.match(requests, { planned: null, missing: 0, errors: 0, timeouts: 0 }, by)
    t.ok(requests.answered > 0)
    t.equal(requests.sent, requests.answered)
    t.same(requests.byStatus, { 200: requests.answered })
    t.same(servingInvariants(figures).filter(({ ok }) => !ok), [])
    t.ok(answers.looked > 0)
    t.ok(latencyMs && latencyMs.p50 > 0 && latencyMs.p50 <= latencyMs.p95 && latencyMs.p95 <= latencyMs.p99 &&
      latencyMs.p99 <= latencyMs.max, JSON.stringify(latencyMs))
    t.equal(figures.requestsPerSecond, requests.answered / figures.seconds)
    t.equal(figures.cpuMicrosPerRequest, figures.cpuSeconds * 1e6 / requests.answered)
    for (const share of [figures.loopUse, figures.client.loopUse]) t.ok(share > 0 && share <= 1)
    for (const seconds of [figures.cpuSeconds, figures.client.cpuSeconds]) t.ok(seconds > 0)
    bytes.push(Number(bytesPerAnswer))
  }
  // in an open loop it is known how many requests there should be; several processes share them
  const serving = await serve(t, { by: 'bare', processes: 2, connections: 4, everyMs: 50 })
  t.equal(serving.pids.length, 3)
  const figures = await serving.measure(1.75)
  // the window is 1 s
  t.equal(figures.requests.planned, 4 * 20)
  t.ok(figures.requests.sent > 0 && figures.requests.sent <= 80, `${figures.requests.sent} sent`)
  t.same(servingInvariants(figures).filter(({ ok }) => !ok), [])
  t.match(figures, { processes: 2, everyMs: 50 })
  bytes.push(Number(figures.bytesPerAnswer))
  t.equal(new Set(bytes).size, 1, `bytes of an answer of reader, ask, bare: ${bytes}`)
  const measured = serving.measure(20)
  process.kill(/** @type {number} */ (serving.pids[2]), 'SIGKILL')
  await t.rejects(measured, { code: 'SERVING_FAILED', message: /the client was ended by SIGKILL/ })
  await serving.close()
  await allGone(...pidsOf(serving))

  const reader = await startReader(t, { redisUrl: primary.url, keyPrefix: KEY_PREFIX })
  const { newest } = createHandler({
    connections: [await connectFor(t, replicas[0].url), await connectFor(t, replicas[1].url)],
    keyPrefix: KEY_PREFIX,
    feed: 'lab',
    layout: 'ids'
  })
  const withoutTime = (/** @type {string} */ body) => body.replace(/"asOf":\d+/, '')
  for (const limit of [1, 100]) {
    const { body } = await reader.ask(`/v1/feeds/lab/items?limit=${limit}`)
    for (let turn = 0; turn < 2; turn++) t.equal(withoutTime(await newest(limit)), withoutTime(body))
  }
})

t.test('ask reads every layout, as the reader answers it', async (t) => {
  const reader = await startReader(t, { redisUrl: primary.url, keyPrefix: KEY_PREFIX })
  for (const layout of layoutNames()) {
    const feed = `of-${layout}`
    const { pipeline } = await openWriterFor(t,
      { redisUrl: primary.url, keyPrefix: KEY_PREFIX, feed, layout, windowMs: layout === 'ids' ? 0 : 60_000, batchItems: 70 })
    const sinceMs = Date.now() - 20_000
    for (let i = 0; i < ITEMS; i++) pipeline.append(Buffer.from(`id-${i % 200}`), sinceMs + i, Buffer.from(`value ${i}`))
    await pipeline.flush()
    const handler = createHandler({ connections: [await connectFor(t, primary.url)], keyPrefix: KEY_PREFIX, feed, layout })
    for (const limit of [1, 20, 150]) {
      let body = ''
      await eventually(async () => {
        const answer = await reader.ask(`/v1/feeds/${feed}/items?limit=${limit}`)
        body = answer.body
        return answer.status === 200 && JSON.parse(body).items[0]?.ts === sinceMs + ITEMS - 1
      })
      t.same(JSON.parse(await handler.newest(limit)).items, JSON.parse(body).items, `${layout}, ${limit}`)
    }
  }
})

nightTest('everything comes out of a process that was started in the window', async (t) => {
  const ids = 2500
  const feed = 'all'
  const { pipeline } = await openWriterFor(t, { redisUrl: primary.url, keyPrefix: KEY_PREFIX, feed, windowMs: 0 })
  const { value, change } = makeValue(64, 0)
  for (const id of [...makeIds(ids, 0, 1), ...makeIds(1000, 0, 1)]) {
    change()
    pipeline.append(id, Date.now(), value)
  }
  await pipeline.flush()
  const workload = { ids, writers: 1, valueBytes: 64, isWhole: false }
  /** @type {number[]} */
  const bytes = []
  const ways = /** @type {[string, object][]} */ ([['reader', { views: 'all' }], ['bare', {}], ['ask', {}], ['reader', { views: 'none' }]])
  for (const [by, settings] of ways) {
    const serving = await serve(t, { by, asks: 'everything', connections: 1, path: '/v1/feeds/all/items?limit=1000000', settings },
      { ...place, feed, liveItems: ids, workload })
    const first = serving.pids[0]
    const figures = await serving.measure(1.5)
    t.same(servingInvariants(figures).filter(({ ok }) => !ok), [], by)
    t.ok(serving.pids[0] !== first)
    const { requests, latencyMs, everything } = figures
    t.ok(everything && everything.startUpMs > 0 && everything.items.every((items) => items === ids), JSON.stringify(everything))
    t.match(everything, { dueItems: ids, mostItems: ids, liveItems: ids })
    t.equal(everything?.lastMs.length, requests.answered)
    t.equal(latencyMs?.max, everything?.lastMs.toSorted((a, b) => b - a)[0])
    bytes.push(Number(figures.bytesPerAnswer))
    t.ok(everything?.delayMs.every((ms) => ms >= 0))
    t.ok(await serving.cpuSeconds() > 0)
    await serving.close()
    await allGone(...pidsOf(serving))
  }
  t.equal(new Set(bytes).size, 1, `bytes of an answer of readers, ask, bare: ${bytes}`)
})

t.test('a feed not filled when the window begins, a window that is too short, and a server that ends, are reported', async (t) => {
  const serving = startServing(servingOf({ path: '/v1/feeds/lab/items?limit=400' }), { ...place, liveItems: 1000 })
  t.teardown(() => serving.close())
  await serving.ready
  await t.rejects(serving.fill(Promise.resolve()),
    { code: 'SERVING_FAILED', message: /ask did not return a correct response when the window began: 300 items; expected 400/ })
  await t.rejects(serving.measure(1),
    { code: 'SERVING_FAILED', message: /1\.0 s of the window are left for requests; expected at least 1\.25/ })
  const measured = serving.measure(20)
  process.kill(/** @type {number} */ (serving.pids[0]), 'SIGKILL')
  await t.rejects(measured, { code: 'SERVING_FAILED', message: /the server ask was ended by SIGKILL/ })
  await serving.close()
  await allGone(...pidsOf(serving))
})

t.test('a reader that cannot start is reported', async (t) => {
  const unable = startServing(servingOf({ by: 'reader', settings: { maxStaleMs: -1 } }), place)
  await t.rejects(unable.ready, { code: 'SERVING_FAILED', message: /the reader ended with status 2: .*maxStaleMs: -1/ })
  await unable.close()
  await allGone(...pidsOf(unable))
})

nightTest('a server without servers to read is reported', async (t) => {
  const nowhere = startServing(servingOf(), { ...place, replicaUrls: ['redis://127.0.0.1:1'] })
  await t.rejects(nowhere.ready, { code: 'SERVING_FAILED', message: /the server ask ended with status 1: .*127\.0\.0\.1:1/ })
  await nowhere.close()
})

t.test('nothing outlives a lab that was killed', async (t) => {
  const text = `
    import { startServing } from ${JSON.stringify(join(ROOT, 'lab/serving/index.js'))}
    const { readerArgs, place, servings } = JSON.parse(process.argv[1])
    const readerCommand = ({ keyPrefix, port }) => [...readerArgs, '--key-prefix', keyPrefix, '--port', port]
    const all = servings.map((serving) => startServing(serving, { ...place, env: process.env, readerCommand }))
    await Promise.all(all.map(({ ready }) => ready))
    process.stdout.write(JSON.stringify(all.flatMap(({ pids }) => pids)) + '\\n')
    setInterval(() => {}, 60_000)`
  const order = { place, readerArgs: commandOf('reader')({}), servings: ['reader', 'ask'].map((by) => servingOf({ by })) }
  const lab = spawn(process.execPath, ['--input-type=module', '-e', text, JSON.stringify(order)],
    { env: /** @type {any} */ (env), stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => { lab.kill('SIGKILL') })
  let said = ''
  lab.stdout.on('data', (chunk) => { said += chunk })
  await eventually(() => said.includes('\n'))
  const pids = JSON.parse(said)
  t.equal(pids.length, 4)
  lab.kill('SIGKILL')
  await allGone(...pids)
})

nightTest('settings of the reader, and other paths; the replicas are not needed when the primary is read', async (t) => {
  for (const replica of replicas) await replica.kill()
  const serving = await serve(t, { by: 'reader', settings: { readFrom: 'primary' }, path: '/v1/feeds/lab/count' },
    { ...place, replicaUrls: [] })
  const figures = await serving.measure(1.5)
  t.same(servingInvariants(figures).filter(({ ok }) => !ok), [])
  const asking = await serve(t, { by: 'ask', settings: { readFrom: 'primary' } }, { ...place, replicaUrls: [] })
  t.same(servingInvariants(await asking.measure(1.5)).filter(({ ok }) => !ok), [])
})
