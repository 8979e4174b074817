/** Prices while exchanges, owners and servers fail: always an answer while there may be one, never a wrong or expired one. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { runCommand } from '../../../test/commands.js'
import { isProblem } from '../../../test/gateway/requests.js'
import { isWhole, scopedEngines } from '../../../test/scope.js'
import { engineName, eventually } from '../../../test/servers.js'
import { EXCHANGES, startPrices } from '../../../test/systems/prices/pricing.js'

const ALL = [...EXCHANGES]

/**
 * Every reply of a reader for one asset, until `stop`.
 * @param {{ price: (asset: string) => Promise<any> }} reader @param {string} asset
 */
function watch (reader, asset) {
  /** @type {{ atMs: number, status: number, json: any }[]} */
  const replies = []
  const stop = new AbortController()
  const watching = (async () => {
    while (!stop.signal.aborted) {
      const { status, json } = await reader.price(asset)
      replies.push({ atMs: Date.now(), status, json })
      await sleep(20)
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
  const backwards = prices.find((one, i) => i > 0 && (one.version < prices[i - 1].version || one.updatedAt < prices[i - 1].updatedAt))
  t.notOk(backwards, 'no reply is older than the one before')
}

const [engine] = await scopedEngines()
t.test(engineName(engine), async (t) => {
  const { gateway, reader, exchanges, owner, startOwner, primary } = await startPrices(t, {
    engine, gatewayFlags: ['--assets', t.testdir({ 'assets.json': '[{"asset":"listed","tier":"medium"}]' }) + '/assets.json']
  })
  const answers = (/** @type {string} */ asset) => eventually(async () => (await reader.price(asset)).json?.price)
  // each takes seconds; the others are the smoke
  const whole = isWhole ? t.test.bind(t) : async () => {}
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
    t.ok(replies.every(({ status }) => status === 200))
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
    const hardMs = 4000
    const tooOld = replies.find(({ atMs, status, json }) => status === 200 && atMs - json.updatedAt > hardMs + 500)
    t.notOk(tooOld, 'no price past its hard expiry')
    t.notOk(replies.some(({ status, json }) => status === 200 && !(Number(json.price) > 0)), 'a failure is never a price')
  })

  await whole('wrong prices of one exchange are dropped, those of two are refused', async (t) => {
    await gateway.asset('wild', { tier: 'hot' })
    const before = Number(await answers('wild'))
    await exchanges.faults(['alpha'], { outlier: 1000 })
    const { json } = await eventually(async () => {
      const answer = await reader.price('wild')
      return answer.json.sources?.some((/** @type {any} */ one) => one.exchange === 'alpha' && one.reason === 'outlier') && answer
    })
    t.ok(Math.abs(Number(json.price) / before - 1) < 0.2)
    await exchanges.faults(['beta'], { outlier: 1000 })
    await eventually(async () => ['degraded', undefined].includes((await reader.price('wild')).json.status))
    const { json: after, status } = await reader.price('wild')
    t.ok(status === 503 || Math.abs(Number(after.price) / before - 1) < 0.2)
    await exchanges.faults(ALL, null)
    await eventually(async () => (await reader.price('wild')).json.status === 'fresh')
  })

  await whole('an owner that is killed during a refresh: others refresh within its lease and the interval', async (t) => {
    const assets = Array.from({ length: 8 }, (_, i) => `orphan-${i}`)
    for (const asset of assets) await gateway.asset(asset, { tier: 'hot' })
    for (const asset of assets) await answers(asset)
    const watched = assets.map((asset) => watch(reader, asset))
    await startOwner().until(/settings/)
    await exchanges.faults(ALL, { latencyMs: 150 })
    await sleep(1000)
    await owner.command.kill()
    await exchanges.faults(ALL, null)
    const killedMs = Date.now()
    await eventually(() => watched.every(({ replies }) => (replies.at(-1)?.json.updatedAt ?? 0) > killedMs))
    t.comment(`all refreshed after ${Date.now() - killedMs} ms`)
    for (const { stop } of watched) isForward(t, await stop())
  })

  await t.test('servers that are stopped: memory goes on, and no reply is past its hard expiry', async (t) => {
    await gateway.asset('memory', { tier: 'cold', pinned: true })
    await answers('memory')
    const alone = runCommand(t, ['reader', '--redis-url', primary.url, '--read-from', 'primary', '--port', '0', ...exchanges.flags])
    const [, url] = await alone.until(/serving at (https?:[^"]+)"/)
    const price = async (/** @type {string} */ asset) => {
      const response = await fetch(`${url}/v1/prices/${asset}`)
      return { status: response.status, headers: response.headers, json: /** @type {any} */ (await response.json()) }
    }
    const isLocal = (/** @type {string} */ asset) => async () => (await price(asset)).headers.get('freshet-cache') === 'local'
    for (const asset of ['memory', 'two-left']) await eventually(isLocal(asset))
    process.kill(primary.pid, 'SIGSTOP')
    try {
      await eventually(async () => (await fetch(`${url}/readyz`)).status === 503)
      t.match(await price('memory'), { status: 200, json: { asset: 'memory' } })
      // hot: past its hard expiry in memory, so the exchanges are asked
      const direct = await eventually(async () => {
        const answer = await price('two-left')
        return answer.headers.get('freshet-cache') === 'origin' && answer
      })
      t.match(direct, { status: 200, json: { price: String, sources: [{ ok: true }, {}, {}] } })
      t.match(await price('never-seen'), { status: 503, json: { code: /^SERVER_/ } })
    } finally {
      process.kill(primary.pid, 'SIGCONT')
    }
    await eventually(isLocal('two-left'))
  })

  await whole('servers that lost their data: the assets of the file are back', async (t) => {
    await primary.restart()
    await eventually(async () => (await reader.price('wild')).status === 404)
    isProblem(t, await reader.price('wild'), 404, 'ASSET_UNKNOWN')
    await eventually(async () => (await reader.price('listed')).status === 200)
  })
})
