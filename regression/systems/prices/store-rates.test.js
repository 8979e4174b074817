/**
 * The history store while consumers write: every version has one row (B7), how evenly rows come, and reading 100 assets with one request
 * against 100 requests. Prints figures; asserts only what a busy machine keeps too.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { admissionKey, fieldsOf } from '../../../src/admission/index.js'
import { partitionOf } from '../../../src/item/index.js'
import { newest } from '../../../src/embedded/engine.js'
import { createPriceStore } from '../../../src/systems/prices/store/index.js'
import { CREDENTIALS, startDynamodb, useCredentials } from '../../../test/dynamodb.js'
import { nightly, nightTest } from '../../../test/scope.js'
import { connectFor, eventually, startDeployment, testEngines } from '../../../test/servers.js'
import { startPrices } from '../../../test/systems/prices/pricing.js'

const TIERS = 'hot=1/2/6,medium=3/6/18,cold=10/20/60'
const ASSETS = nightly({ hot: 15, medium: 45, cold: 90 }, { hot: 5, medium: 5, cold: 5 })
/** an interval of the cold tier, after the first one */
const [SETTLE_MS, WATCH_MS] = nightly([18_000, 11_000], [0, 3000])
const READS = nightly(20, 5)
const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))

const median = (/** @type {number[]} */ values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]

/** @param {() => Promise<unknown>} run @returns {Promise<number>} ms */
async function timed (run) {
  const since = performance.now()
  await run()
  return performance.now() - since
}

nightTest('each version has one row, rows come evenly, and 100 assets are read at once', async (t) => {
  const { url } = await startDynamodb(t)
  const store = await createPriceStore({
    table: 'rates', location: { endpoint: url, region: 'eu-central-1', credentials: CREDENTIALS }, latestMs: 60_000, historyMs: 60_000
  })
  t.teardown(() => store.close())
  await store.make()
  const flags = ['--dynamodb-endpoint', url, '--dynamodb-table', 'rates']
  useCredentials(t)
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const { gateway } = await startPrices(t, { primary, tiers: TIERS, consumerFlags: flags })
  const assets = Object.entries(ASSETS).flatMap(([tier, n]) => Array.from({ length: n }, (_, i) => ({ asset: `${tier}-${i}`, tier })))
  await Promise.all(assets.map(({ asset, tier }) => gateway.asset(asset, { tier, pinned: true })))
  await eventually(async () => (await store.latest(assets.map(({ asset }) => asset))).size === assets.length)
  await sleep(SETTLE_MS)
  const from = Date.now()
  await sleep(WATCH_MS)
  const to = Date.now()

  const connection = await connectFor(t, primary.url)
  /** @param {string} asset @returns {Promise<number[]>} times of its prices */
  async function stored (asset) {
    const key = admissionKey('fr:', 'prices', partitionOf(Buffer.from(asset), 2), 2)(`events:${asset}`)
    const events = (await connection.send('XRANGE', key, '-', '+')).map((/** @type {any} */ [, flat]) => fieldsOf(flat.map(String)))
    return events.filter((/** @type {any} */ { type }) => type === 'price').map((/** @type {any} */ { at }) => Number(at))
      .filter((/** @type {number} */ at) => at <= to)
  }
  /** @type {number[]} */
  const times = []
  for (const { asset } of assets) {
    const versions = await stored(asset)
    const rows = await eventually(async () => {
      const found = (await store.history(asset, 0, to, 10_000)).map(({ at }) => at)
      return found.length >= versions.length && found
    })
    if (JSON.stringify(rows) !== JSON.stringify(versions)) return t.same(rows, versions, asset)
    times.push(...rows.filter((at) => at >= from))
  }
  const seconds = Array.from({ length: Math.floor(WATCH_MS / 1000) }, (_, i) =>
    times.filter((at) => at >= from + 1000 * i && at < from + 1000 * (i + 1)).length)
  const mean = seconds.reduce((sum, n) => sum + n, 0) / seconds.length
  t.comment(`${assets.length} assets: ${mean.toFixed(1)} rows/s, at most ${Math.max(...seconds)}: peak / mean ` +
    `${(Math.max(...seconds) / mean).toFixed(2)}`)

  const some = assets.slice(0, 100).map(({ asset }) => asset)
  /** @type {number[]} */
  const together = []
  /** @type {number[]} */
  const each = []
  for (let n = 0; n < READS; n++) {
    together.push(await timed(() => store.latest(some)))
    each.push(await timed(() => Promise.all(some.map((asset) => store.latest([asset])))))
  }
  t.comment(`${some.length} assets: one request ${median(together).toFixed(1)} ms, one request each ${median(each).toFixed(1)} ms`)
  // on a busy machine a price may have expired
  t.ok(await eventually(async () => (await store.latest(some)).size === some.length), 'all at once')
})
