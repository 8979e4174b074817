/** Prices of the lab: the checker catches every mutant, and no technique that is right; each arm answers. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { checkPrices, checkRecovery, historyText, readPrices } from '../../lab/systems/prices/history.js'
import { runPrices } from '../../lab/systems/prices/load.js'
import { installPeers } from '../../lab/peers/index.js'
import { PEERS } from '../../lab/systems/prices/peers.js'
import { readTiers, ruleTiers } from '../../lab/systems/prices/assets.js'
import { isScheduled, TECHNIQUES } from '../../lab/systems/prices/techniques.js'
import { syntheticTick } from '../../src/systems/prices/index.js'
import { endOfMain } from '../bin/in-process.js'
import { nightTest, scopedEngines } from '../scope.js'
import { startDeployment } from '../servers.js'
import { MUTANTS, openMutant } from './mutants/prices.js'

/** @typedef {import('../../lab/systems/prices/history.js').History} History */
/** @typedef {import('../../lab/systems/prices/client.js').Heard} Heard */

const [SEED, TICK_MS] = [1, 1000]
const TIERS = 'hot=0.02/0.04/0.08,medium=1/2/3,cold=1/2/3'
const EXCHANGES = ['alpha', 'beta', 'gamma']
const broken = (/** @type {ReturnType<typeof checkPrices>} */ invariants) =>
  invariants.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`)

/**
 * Ticks without a network; assets whose name ends with x have none.
 * @param {() => number} now @returns {import('../../lab/systems/prices/sources.js').Sources}
 */
const sourcesAt = (now) => ({
  fetches: 0,
  async ticks (asset) {
    if (asset.endsWith('x')) return EXCHANGES.map((exchange) => ({ exchange, ok: false, reason: 'timeout' }))
    const tick = Math.floor(now() / TICK_MS)
    return EXCHANGES.map((exchange) =>
      ({ exchange, ok: true, ...syntheticTick({ seed: SEED, exchange, symbol: asset, tick, tickMs: TICK_MS }) }))
  },
  close () {}
})

/** One user asks for an asset that lives 40 ms, now and then. @param {string} technique @returns {Promise<History>} */
async function listen (technique) {
  let clock = Date.parse('2026-01-01')
  const now = () => clock
  const arm = openMutant(technique, { sources: sourcesAt(now), tiers: TIERS, now })
  /** @type {Heard[]} */
  const heard = []
  /** @type {Record<string, number>} */
  const counted = {}
  /** as of client.js, the same object in all replies @type {Map<string, import('../../lab/systems/prices/client.js').Value>} */
  const values = new Map()
  const ask = async (/** @type {string} */ asset) => {
    const sent = clock++
    const { status, level, body } = await arm.price(asset)
    const { price, updatedAt, seq: version, sources = [] } = JSON.parse(String(body))
    const id = `${asset} ${version}`
    if (status === 200 && !values.has(id)) values.set(id, { asset, price, updatedAt, version, isDegraded: false, sources })
    const value = status === 200 ? values.get(id) ?? null : null
    counted[level] = (counted[level] ?? 0) + 1
    heard.push({ user: 0, gateway: 0, asset, due: sent, sent, answered: clock++, status, level, value })
  }
  for (const waitMs of [0, 45, 120]) {
    clock += waitMs
    for (const asset of ['hot-1', 'hot-1', 'hot-1', 'hot-x', 'hot-x']) await ask(asset)
  }
  const terms = { seed: SEED, tickMs: TICK_MS, tiers: readTiers(TIERS), elapsedMs: 1000, storms: 0, dead: null, killedAt: null }
  return { technique, terms, heard, calls: {}, stored: null, counted }
}

/** What finds each. @type {Record<string, string>} */
const FINDS = { 'null-cached': 'B5', backwards: 'B2', 'no-hard-expiry': 'B3', 'zero-on-failure': 'B5' }

t.test('every mutant is caught, by what it breaks', async (t) => {
  t.same(Object.keys(FINDS).sort(), [...MUTANTS].sort())
  for (const mutant of MUTANTS) {
    const faults = broken(checkPrices(await listen(mutant), false))
    t.ok(faults.some((text) => text.startsWith(FINDS[mutant])), `${mutant}: ${faults.join(' | ') || 'nothing'}`)
  }
})

t.test('a technique that is right passes, and what it has no price for is no fault', async (t) => {
  const history = await listen('right')
  t.same(broken(checkPrices(history, false)), [])
  t.ok(history.heard.some(({ status }) => status === 503))
})

t.test('what the checker must see in the figures of server, exchanges and gateways', async (t) => {
  const right = await listen('right')
  const terms = { ...right.terms, tiers: readTiers('hot=1/2/3,medium=1/2/3,cold=1/2/3'), elapsedMs: 2000 }
  const asset = 'hot-1'
  const prices = [...new Set(right.heard.flatMap(({ value }) => value?.asset === asset ? [value] : []))]
    .map(({ version, price, updatedAt }) => ({ version, price: String(price), at: updatedAt }))
  t.equal(prices.length, 3)
  const calls = { alpha: { [asset]: 3 }, beta: { [asset]: 3 }, gamma: { [asset]: 3 } }
  /** @param {Partial<History>} change */
  const faultsOf = (change) =>
    broken(checkPrices({ ...right, terms, calls, stored: { [asset]: { failed: 0, prices } }, ...change }, false)).join(' | ')
  t.equal(faultsOf({}), '')
  const more = Array.from({ length: 3 }, (_, n) => ({ version: Date.now() + n, price: '1', at: Date.now() }))
  t.match(faultsOf({ stored: { [asset]: { failed: 0, prices: [...prices, ...more] } } }), /^B4 .*refreshed 6 times, 3 were due$/)
  t.match(faultsOf({ calls: { ...calls, beta: { [asset]: 5 } } }), /^B4 .*5 calls of beta in 3 refreshes/)
  t.match(faultsOf({ terms: { ...terms, dead: 'gamma' }, calls: { ...calls, gamma: { 'hot-2': 23 } } }),
    /^B6 .*23 calls of gamma, at most 22/)
  t.match(faultsOf({ stored: { [asset]: { failed: 0, prices: prices.slice(0, -1) } } }), /^B7 .* is not stored$/)
  t.match(faultsOf({ stored: { [asset]: { failed: 0, prices: [prices[0], ...prices] } } }), /B7 .*hot-1 has a version twice/)
  t.match(faultsOf({ counted: { ...right.counted, local: 1 } }), /^B8 .*local: \d heard, 1 counted$/)
  const wrong = right.heard.map((one) => ({ ...one, value: one.value && { ...one.value, price: '1' } }))
  t.match(faultsOf({ heard: wrong, stored: null }), /^B1 .*hot-1: 1 of ticks with the mean/)
  t.equal(broken(checkPrices({ ...right, heard: (await listen('backwards')).heard, counted: null }, true)).join(), '', 'counted instead')
})

t.test('a killed owner is replaced within its lease and an interval', async (t) => {
  const of = (/** @type {number[]} */ at) =>
    checkRecovery({ killedAt: 1000, leaseMs: 500, stored: { 'hot-1': at }, intervalOf: () => 1000 })
  t.ok(of([0, 900, 2600]).ok)
  t.ok(of([900, 3300]).ok, 'the first interval is longer')
  t.match(of([900, 3301]), { ok: false, detail: /2300 are allowed/ })
  t.match(of([0, 900, 2601]), { ok: false, detail: /hot-1: 1601 ms later, 1600 are allowed/ })
  t.match(of([900]), { ok: false }, 'never again')
})

t.test('times of tiers, as the rule wants them', async (t) => {
  t.equal(ruleTiers('hot=0.5/1/6,medium=2/4/20,cold=60/1/2'), '500 1000 6000 2000 4000 20000 60000 1000 2000')
})

t.test('a history file is checked: npm run experiment -- check FILE', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'prices.ndjson')
  const history = await listen('no-hard-expiry')
  t.same(readPrices(historyText(history)), history)
  await writeFile(file, historyText({ ...history, technique: 'tiers' }))
  const good = await endOfMain(['experiment', 'check', file])
  t.match(good, { code: 0, stdout: /15 replies of tiers\n {2}B1 [^]*B8 gateways counted the replies that clients got: yes/ })
  await writeFile(file, historyText(history))
  t.match(await endOfMain(['experiment', 'check', file]), { code: 1, stdout: /B3 none beyond its hard expiry: no \(/ })
})

nightTest('each arm answers for a moment, and what it says holds', async (t) => {
  const [engine] = await scopedEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const hasPeers = await installPeers().then(() => true, (error) => {
    t.equal(error.code, 'PEER_MISSING', error.message)
    return false
  })
  for (const technique of TECHNIQUES) {
    if (PEERS.includes(technique) && !hasPeers) continue
    const { answered, sent, missing, byStatus, invariants, history } = await runPrices(
      { technique, driver: 'prices', users: 1, hot: 4, medium: 4, cold: 4, lots: 150 }, momentOf(primary.url, technique))
    t.ok(answered > 0, `${technique}: ${JSON.stringify(byStatus)}`)
    t.equal(sent, answered + missing, technique)
    t.same(broken(invariants), [], technique)
    if (isScheduled(technique)) t.equal(missing, 0, technique)
    t.ok(history.heard.length >= answered)
  }
})

nightTest('a storm on what has expired: the product fetches each asset once, for two gateways', async (t) => {
  const [engine] = await scopedEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const load = /** @type {const} */ ({
    technique: 'scheduled+push', driver: 'storm', users: 400, expiry: 'hard', dead: 1, tiers: 'hot=1/2/3,medium=1/2/3,cold=60/1/2'
  })
  const { storm, invariants, sent } = await runPrices(load, momentOf(primary.url, 'storm'))
  t.same(broken(invariants), [])
  t.equal(sent, 400 * Number(storm?.count))
  t.ok(Number(storm?.mostCallsOfAsset) <= 3, JSON.stringify(storm))
})

t.test('the packages of the libraries have a lockfile without addresses', async (t) => {
  const lock = await readFile(new URL('../../lab/peers/package-lock.json', import.meta.url), 'utf8')
  t.notMatch(lock, /"resolved"/)
  t.match(JSON.parse(lock).packages['node_modules/bentocache'], { version: '1.6.1' })
})

/** @param {string} redisUrl @param {string} technique @returns {Parameters<typeof runPrices>[1]} */
const momentOf = (redisUrl, technique) => ({
  redisUrl,
  keyPrefix: `lab-${technique.replace('+', '-')}:`,
  rate: 0,
  warmUpSeconds: 0.1,
  seconds: 0.5,
  signal: new AbortController().signal,
  onMeasuring: async () => {},
  onMeasured: async () => {}
})
