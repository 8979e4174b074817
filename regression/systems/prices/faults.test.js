/** Prices while exchanges, owners and servers fail: always an answer while there may be one, never a wrong or expired one. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { newest } from '../../../src/embedded/engine.js'
import { isProblem } from '../../../test/gateway/requests.js'
import { eventually, startDeployment, testEngines } from '../../../test/servers.js'
import { startReader } from '../../../test/services.js'
import { EXCHANGES, pricesAt, startPrices } from '../../../test/systems/prices/pricing.js'

const ALL = [...EXCHANGES]
/** of the hot tier: longer than a busy machine may delay a refresh */
const HARD_MS = 8000
const TIERS = `hot=0.5/1/${HARD_MS / 1000},medium=1/2/10,cold=60/120/240`
const WATCH_EVERY_MS = 50
/** between clocks of this process and of the server */
const CLOCK_MS = 20

/**
 * Every reply of a reader for one asset, until `stop`.
 * @param {{ price: (asset: string) => Promise<any> }} reader @param {string} asset
 */
function watch (reader, asset) {
  /** @type {{ sentMs: number, status: number, json: any }[]} */
  const replies = []
  const stop = new AbortController()
  const watching = (async () => {
    while (!stop.signal.aborted) {
      const sentMs = Date.now()
      const { status, json } = await reader.price(asset)
      replies.push({ sentMs, status, json })
      await sleep(WATCH_EVERY_MS)
    }
  })()
  return {
    replies,
    async stop () {
      stop.abort()
      await watching
      return replies
    }
  }
}

/** Version and time never go back. @param {import('tap').Test} t @param {{ status: number, json: any }[]} replies */
function isForward (t, replies) {
  const prices = replies.filter(({ status }) => status === 200).map(({ json }) => json)
  const backwards = prices.find((one, i) => i > 0 && (one.seq < prices[i - 1].seq || one.updatedAt < prices[i - 1].updatedAt))
  t.notOk(backwards, 'no reply is older than the one before')
}

const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))
t.test('prices while something fails', async (t) => {
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const assets = t.testdir({ 'assets.json': '[{"asset":"listed","tier":"medium"}]' })
  const { gateway, reader, exchanges, owner, startOwner } = await startPrices(t, {
    primary, tiers: TIERS, isKilled: true, gatewayFlags: ['--assets', `${assets}/assets.json`]
  })
  const answers = (/** @type {string} */ asset) => eventually(async () => (await reader.price(asset)).json?.price)
  const breaker = async (/** @type {string} */ name) =>
    (await reader.get('/v1/sources')).json.items.find((/** @type {any} */ one) => one.exchange === name)?.breaker

  await t.test('assets of a file are there', async () => { await answers('listed') })

  await t.test('one dead exchange does no harm: two remain, and its breaker spares it', async (t) => {
    await gateway.asset('two-left', { tier: 'hot' })
    await answers('two-left')
    const { replies, stop } = watch(reader, 'two-left')
    await exchanges.faults(['beta'], { errorRate: 1 })
    // the breaker counts calls of all assets
    for (let i = 0; i < 40; i++) await gateway.asset(`filler-${i}`)
    await eventually(async () => await breaker('beta') === 'open')
    await eventually(() => replies.some(({ json }) => json.sources?.some((/** @type {any} */ one) => one.reason === 'breaker_open')))
    await exchanges.faults(['beta'], null)
    await eventually(async () => await breaker('beta') === 'closed')
    await stop()
    t.same(replies.filter(({ status }) => status !== 200), [])
    isForward(t, replies)
  })

  await t.test('all exchanges dead: degraded, then expired; then served again', async (t) => {
    await gateway.asset('dark', { tier: 'hot' })
    await answers('dark')
    const { replies, stop } = watch(reader, 'dark')
    await exchanges.faults(ALL, { errorRate: 1 })
    await eventually(() => replies.some(({ json }) => json.status === 'degraded'))
    await eventually(() => replies.some(({ json }) => json.code === 'PRICE_EXPIRED'))
    await exchanges.faults(ALL, null)
    await eventually(() => replies.at(-1)?.status === 200)
    await stop()
    isForward(t, replies)
    const tooOld = replies.find(({ sentMs, status, json }) => status === 200 && sentMs - json.updatedAt > HARD_MS + CLOCK_MS)
    t.notOk(tooOld, 'no price past its hard expiry')
    t.notOk(replies.some(({ status, json }) => status === 200 && !(Number(json.price) > 0)), 'a failure is never a price')
  })

  await t.test('wrong prices of one exchange are dropped, those of two are refused', async (t) => {
    await gateway.asset('wild', { tier: 'hot' })
    const before = Number(await answers('wild'))
    await exchanges.faults(['alpha'], { outlier: 1000 })
    const { json } = await eventually(async () => {
      const answer = await reader.price('wild')
      const isDropped = answer.json.sources?.some((/** @type {any} */ one) => one.exchange === 'alpha' && one.reason === 'outlier')
      return isDropped ? answer : false
    })
    t.ok(Math.abs(Number(json.price) / before - 1) < 0.2)
    await exchanges.faults(['beta'], { outlier: 1000 })
    await eventually(async () => ['degraded', undefined].includes((await reader.price('wild')).json.status))
    const { json: after, status } = await reader.price('wild')
    t.ok(status === 503 || Math.abs(Number(after.price) / before - 1) < 0.2)
    await exchanges.faults(ALL, null)
    await eventually(async () => (await reader.price('wild')).json.status === 'fresh')
  })

  await t.test('an owner that is killed during a refresh: others refresh within its lease and the interval', async (t) => {
    const assets = Array.from({ length: 4 }, (_, i) => `orphan-${i}`)
    for (const asset of assets) await gateway.asset(asset, { tier: 'hot' })
    for (const asset of assets) await answers(asset)
    const watched = assets.map((asset) => watch(reader, asset))
    await startOwner()
    await exchanges.faults(ALL, { latencyMs: 150 })
    await sleep(1000)
    await owner.kill()
    await exchanges.faults(ALL, null)
    const killedMs = Date.now()
    await eventually(() => watched.every(({ replies }) => (replies.at(-1)?.json.updatedAt ?? 0) > killedMs))
    t.comment(`all refreshed after ${Date.now() - killedMs} ms`)
    for (const { stop } of watched) isForward(t, await stop())
  })

  await t.test('servers that are stopped: memory goes on, and no reply is past its hard expiry', async (t) => {
    await gateway.asset('memory', { tier: 'cold', pinned: true })
    await answers('memory')
    const flags = ['--read-from', 'primary', '--deadline-ms', '1000']
    const { url, get } = await startReader(t, { redisUrl: primary.url, flags })
    const { price } = pricesAt(url, get)
    const isLocal = (/** @type {string} */ asset) => async () => (await price(asset)).headers.get('freshet-cache') === 'local'
    for (const asset of ['memory', 'two-left']) await eventually(isLocal(asset))
    process.kill(primary.pid, 'SIGSTOP')
    try {
      await eventually(async () => (await get('/readyz')).status === 503)
      t.match(await price('memory'), { status: 200, json: { asset: 'memory' } })
      // hot: past its hard expiry in memory
      await eventually(async () => (await price('two-left')).status === 503)
      t.match(await price('two-left'), { json: { code: /^SERVER_/ } })
      t.match(await price('never-seen'), { status: 503, json: { code: /^SERVER_/ } })
    } finally {
      process.kill(primary.pid, 'SIGCONT')
    }
    await eventually(isLocal('two-left'))
  })

  await t.test('servers that lost their data: the assets of the file are back', async (t) => {
    await primary.restart()
    await eventually(async () => (await reader.price('wild')).status === 404)
    isProblem(t, await reader.price('wild'), 404, 'ASSET_UNKNOWN')
    await eventually(async () => (await reader.price('listed')).status === 200)
  })
})
