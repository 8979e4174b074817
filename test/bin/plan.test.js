/** `freshet plan`: the published rows, the arithmetic, what cannot be planned, and servers that run. */
import { readFile, readdir } from 'node:fs/promises'
import t from 'tap'
import { costOf, errorsOfFit, fitOf, LAYOUTS, MEASURED, NODES, planFor, PRICES, PUBLISHED, resourcesOf } from '../../bin/plan/model.js'
import { planText } from '../../bin/plan/text.js'
import { startCluster } from '../cluster.js'
import { endOf } from '../commands.js'
import { scopedEngines, wholeTest } from '../scope.js'
import { startDeployment } from '../servers.js'
import { endOfMain } from './in-process.js'

const LOAD = Object.freeze({
  itemsPerSecond: 300_000,
  valueBytes: 128,
  layout: 'segments',
  replicas: 2,
  readers: 4,
  requestsPerSecond: 20_000,
  windowMs: 60_000,
  maxItems: 1_000_000,
  ids: null
})
/** @param {string} type @returns {import('../../bin/plan/model.js').Node} */
const nodeOf = (type) => /** @type {any} */ (NODES.find((node) => node.type === type))

t.test('the published rows with at most 6 writers are met within 20 %', async (t) => {
  const errors = errorsOfFit()
  t.equal(errors.length, PUBLISHED.length)
  for (const { node, writers, itemsPerSecond, primary, planned, error } of errors.filter((row) => row.writers <= 6)) {
    t.ok(Math.abs(error) <= 0.2, `${node}, ${writers} x, ${itemsPerSecond} items/s: ${primary} %, planned ${planned}`)
  }
  // 11 and 36 % of r6g.large at 40,000 and 200,000 items/s, of which 50 is a core
  const { primary, replica } = fitOf('r6g.large')
  t.equal(primary.microsPerItem.toFixed(3), (25 / 50 / 160_000 * 1e6).toFixed(3))
  t.equal(primary.fixedCores.toFixed(3), ((11 - 25 / 4) / 50).toFixed(3))
  t.equal(replica.microsPerItem.toFixed(3), (16.5 / 50 / 160_000 * 1e6).toFixed(3))
  t.throws(() => fitOf('m5.large'), /no published rows/)
})

t.test('the published way at a published rate costs what was published', async (t) => {
  const [cores] = resourcesOf(nodeOf('r6g.large'), { ...LOAD, itemsPerSecond: 200_000, layout: 'reference', readers: 0 }, 1)
  t.match(cores, { name: 'cores', of: 'primary' })
  t.equal((50 * cores.use).toFixed(1), '36.0')
})

t.test('each figure is what the text says', async (t) => {
  const [{ cost }] = [{ cost: LAYOUTS.segments }]
  const resources = resourcesOf(nodeOf('r7g.large'), LOAD, 1)
  const use = Object.fromEntries(resources.map((one) => [`${one.name}, ${one.of}`, one.use]))
  const gbit = 300_000 * (128 + cost.replicatedBytes) * 8 / 1e9
  t.equal(use['Gbit/s in, primary'], 300_000 * (128 + cost.sentBytes) * 8 / 1e9)
  t.equal(use['Gbit/s out, primary'], 2 * gbit)
  t.equal(use['Gbit/s out, replica'], 2 * gbit, '4 readers of 2 replicas')
  const gibOf = (/** @type {object} */ changes, shards = 1) => resourcesOf(nodeOf('r7g.large'), { ...LOAD, ...changes }, shards).at(-1)?.use
  const gib = (/** @type {number} */ kept, layout = 'segments') => kept * (128 + LAYOUTS[layout].memoryBytes) / 2 ** 30
  t.equal(use['GiB, each node'], gib(1_000_000), '--max-items')
  t.equal(gibOf({ maxItems: 0 }), gib(18_000_000), 'the window')
  t.equal(gibOf({ maxItems: 0 }, 2), gib(9_000_000))
  t.equal(gibOf({ windowMs: 0 }), gib(1_000_000), 'no window')
  t.equal(gibOf({ layout: 'ids', ids: 100_000 }), gib(100_000, 'ids'), 'updated ids')
  t.ok(use['cores, primary'] < resourcesOf(nodeOf('r6g.large'), LOAD, 1)[0].use, 'estimated from r6g, faster')
  const two = resourcesOf(nodeOf('r7g.large'), LOAD, 2)
  t.ok(two[1].use < resources[1].use, 'shards divide what is sent')
  t.equal(two.at(-1)?.use, gib(2_000_000), '--max-items of both partitions of a shard')
})

t.test('the cheapest comes first, with as few shards as leave 20 % free', async (t) => {
  const options = planFor(NODES, LOAD)
  t.same(options.map(({ usdPerHour }) => usdPerHour), options.map(({ usdPerHour }) => usdPerHour).sort((a, b) => a - b))
  for (const { node, shards, headroom, usdPerHour, usdPerMillionItems } of options) {
    t.ok(headroom >= 0.2, node.type)
    t.equal(usdPerHour, shards * 3 * node.usdPerHour)
    t.equal(usdPerMillionItems, usdPerHour / 1080)
    if (shards > 1) t.ok(resourcesOf(node, LOAD, shards - 1).some((one) => one.headroom < 0.2), `${node.type} needs ${shards}`)
  }
  const ofIds = planFor(NODES, { ...LOAD, layout: 'ids' })
  t.ok(ofIds[0].usdPerHour > options[0].usdPerHour, 'segments are cheaper')
  const text = planText(LOAD, options, new Date(PRICES.date))
  t.match(text, /300,000 items\/s of 128 bytes, layout segments, 2 replicas, 4 readers\nKept: 18,000,000 versions in 60 s .*at most the newest 1,000,000 \(/)
  t.match(text, /durability [\d.]+ MiB\/s written to a primary; with durability ElastiCache takes 100\n/)
  t.notMatch(text, /MSETEX|--partitions/)
  const oneShard = [{ ...ofIds[0], shards: 1 }]
  t.match(planText({ ...LOAD, layout: 'ids' }, oneShard, new Date()), /ids: 0\.703 x .*013-layouts-fast.*\n +by MSETEX/)
  t.match(planText({ ...LOAD, layout: 'ids' }, [{ ...ofIds[0], shards: 2 }], new Date()), /ids: 1\.21 x /)
  t.equal(costOf({ layout: 'ids' }, 2).primary, 1.21, 'a cluster gets no MSETEX')
  t.equal(costOf({ layout: 'segments' }, 1).primary, LAYOUTS.segments.primary)
  t.match(planText({ ...LOAD, layout: 'ids' }, [{ ...ofIds[0], shards: 3 }], new Date()), /\nShards: .* --partitions 6, 2 a shard\.\n/)
  t.match(text, new RegExp(`cache\\.${options[0].node.type} x ${options[0].shards} shard`))
  t.match(planText({ ...LOAD, layout: 'ids' }, ofIds, new Date()), /Each item is taken for a new id; --ids N/)
  t.notMatch(planText({ ...LOAD, layout: 'ids', ids: 7 }, ofIds, new Date()), /new id/)
  t.match(text, /https:\/\/github\.com\/luciopaiva\/redis-nodejs-test\/.*\n.*with 8 writers, .* does not meet: r6g\.large 200,000\/s 40 %, planned 36 %/)
  t.notMatch(text, /older than a year/)
  t.match(planText(LOAD, options, new Date('2027-12-01')), /They are older than a year: look them up again/)
  t.match(planText({ ...LOAD, readers: 1 }, options, new Date()), /1 are too few for 20,000 requests\/s, 4 are needed/)
})

t.test('a window without --max-items is planned as a whole, and the default is priced beside it', async (t) => {
  /** @param {...string} flags */
  const plan = async (...flags) => {
    const { stdout } = await endOfMain(['plan', '--items-per-second', '50000', ...flags])
    const [, option] = /^(cache\S+ x \d+) shard/m.exec(stdout) ?? []
    return { text: stdout, option, price: Number(/= ([\d.]+) USD\/h/.exec(stdout)?.[1]) }
  }
  const whole = await plan('--window-ms', '3600000', '--max-items', '0')
  const byDefault = await plan('--window-ms', '3600000', '--max-items', '1000000')
  const asked = await plan('--window-ms', '3600000')
  t.ok(whole.price > 10 * byDefault.price, `${whole.price} and ${byDefault.price} USD/h`)
  t.match([asked.price, asked.option], [whole.price, whole.option])
  t.match(asked.text, /\nKept: 180,000,000 ids in 3,600 s \(--window-ms\), which needs --max-items \d\d0+\n/)
  t.ok(asked.text.includes(`\nWindow: with the default of --max-items the feed keeps 20 s of 3,600 s, for ${byDefault.price} USD/h (`))
  t.match(byDefault.text, /the newest 1,000,000 \(--max-items\): 20 s\n/)
  t.ok(byDefault.text.includes(`\nWindow: all 3,600 s cost ${whole.price} USD/h (${whole.option}), with --max-items `))
  t.match((await plan()).text, /\(--max-items\): 20 s\n[^]*\nWindow: all 60 s cost [\d.]+ USD\/h/)
  t.notMatch((await plan('--window-ms', '10000')).text, /Window:|--max-items/, 'the default is enough')
  t.notMatch(whole.text, /Window:/)
  t.match((await plan('--window-ms', '0')).text, /no window, of which each .*: 20 s\n/)
  t.match((await plan('--window-ms', '3600000', '--node-type', 'cache.r7g.large')).text, /\nWindow: with the default .* keeps 20 s of 3,600 s/)
  const json = JSON.parse((await plan('--window-ms', '3600000', '--json')).text)
  t.match(json, { load: { maxItems: 0 }, options: [{ keptMs: null }], byDefault: { keptMs: 20_000 }, whole: null })
  t.match(JSON.parse((await plan('--json')).text), { options: [{ keptMs: 20_000 }], byDefault: null, whole: { keptMs: null } })
  const none = await endOfMain(['plan', '--items-per-second', '1000000', '--window-ms', '864000000', '--value-bytes', '10000'])
  t.match(none, { code: 2, stderr: /GiB of each node, .*; with the default of --max-items the feed keeps .* USD\/h/ })
  const text = planText({ ...LOAD, windowMs: 1e12, layout: 'ids' }, planFor(NODES, { ...LOAD, layout: 'ids' }), new Date(),
    { whole: 'none', byDefault: null })
  t.match(text, /\nWindow: all 1,000,000,000 s cost more than any node has, even with 90 shards\.\n/)
})

t.test('ratios of layouts are those of the experiment', async (t) => {
  /** @type {Record<string, any[]>} */
  const samplesOf = {}
  const withMsetex = costOf({ layout: 'ids' }, 1)
  for (const experiment of [MEASURED.experiment, withMsetex.experiment]) {
    const folder = new URL(`../../experiments/${experiment}/results/`, import.meta.url)
    const [newest] = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort().reverse()
    samplesOf[experiment] = JSON.parse(await readFile(new URL(newest, folder), 'utf8')).samples
  }
  /** @param {string} experiment @param {string} arm @param {(sample: any) => number} read */
  function medianOf (experiment, arm, read) {
    const valid = samplesOf[experiment].filter((one) => one.arm === arm && one.level === MEASURED.level && one.valid)
    const values = valid.map(read).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b)
    return values[Math.floor(values.length / 2)]
  }
  const cpuOf = (/** @type {number} */ node) => (/** @type {any} */ { nodes, items }) => nodes[node].cpuSeconds / items
  const costs = Object.keys(LAYOUTS).map((layout) => ({ layout, ...costOf({ layout }, 2) }))
  for (const { layout, primary, replica, experiment } of [...costs, { layout: 'ids', ...withMsetex }]) {
    const ratio = (/** @type {number} */ node) => medianOf(experiment, layout, cpuOf(node)) / medianOf(experiment, 'reference', cpuOf(node))
    t.ok(Math.abs(primary / ratio(0) - 1) < 0.05, `${layout}: ${ratio(0)} of the primary, planned with ${primary}`)
    t.ok(Math.abs(replica / ratio(1) - 1) < 0.2, `${layout}: ${ratio(1)} of a replica, planned with ${replica}`)
  }
})

t.test('the command: text, JSON, one node, and what cannot be planned', async (t) => {
  const plan = (/** @type {string[]} */ ...flags) => endOfMain(['plan', ...flags])
  t.match(await endOf(t, ['plan', '--items-per-second', '300000', '--layout', 'segments']), { code: 0, stdout: /^300,000 items\/s .*\nKept: .*\n\nnode +shards/ })
  const { stdout } = await plan('--items-per-second', '300000', '--layout', 'segments', '--json')
  t.match(JSON.parse(stdout), { load: { itemsPerSecond: 300_000, layout: 'segments' }, prices: PRICES, options: [{ shards: 1 }] })
  const one = await plan('--node-type', 'cache.r6g.xlarge')
  t.match(one, { code: 0, stdout: /^cache\.r6g\.xlarge x \d+ shards? x 3 nodes \(fitted on published rows\)\n/ })

  t.match(await plan('--items-per-second', '1000000000', '--layout', 'ids', '--replicas', '5', '--readers', '5000'),
    { code: 2, stderr: /no node has 20 % free, even with 90 shards: .* of .*, [\d,.]+ needed and [\d,.]+ there; use layout segments/ })
  t.match(await plan('--items-per-second', '0'), { code: 2, stderr: /--items-per-second\); expected a number from 1 to 1,000,000,000/ })
  t.match(await plan('--value-bytes', '99999999'), { code: 2, stderr: /--value-bytes/ })
  t.match(await plan('--node-type', 'cache.r7g.larg'),
    { code: 2, stderr: /cache\.r7g\.larg \(--node-type\) is unknown; did you mean cache\.r7g\.large\?/ })
  t.match(await plan('--layout', 'list'), { code: 2, stderr: /layout: list/ })
})

t.test('servers that run: what is left of each node, and what to change first', async (t) => {
  const [engine] = await scopedEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  t.match(await endOfMain(['plan', '--redis-url', primary.url, '--node-type', 'cache.huge']), { code: 2, stderr: /cache\.huge/ })
  const { stdout, code } = await endOfMain(['plan', '--redis-url', primary.url, '--node-type', 'cache.r7g.large'])
  t.equal(code, 0)
  t.match(stdout, /^primary +127\.0\.0\.1:\d+ +core 0\.\d+ of 1\.00 \(\d+ % free\) +Gbit\/s in .* of 0\.937 .*GiB .* of 9\.80 /)
  t.match(stdout, /\nreplica +127\.0\.0\.1:\d+ /)
  t.match(stdout, /\nThe tightest is .*, \d+ % free\. To change first: /)
  // port 1: nobody listens
  t.match(await endOfMain(['plan', '--redis-url', primary.url, '--replica-url', `${primary.url},redis://127.0.0.1:1`]),
    { code: 1, stderr: /127\.0\.0\.1:1/ }, 'one that cannot be reached leaves nothing open')
})

wholeTest('a cluster that runs: every node of every shard, from any address', async (t) => {
  const [engine] = await scopedEngines()
  const { nodes } = await startCluster(t, { engine })
  const { stdout } = await endOfMain(['plan', '--redis-url', nodes[4].url, '--json'])
  const found = JSON.parse(stdout).nodes
  t.same(found.map((/** @type {any} */ { address }) => address).toSorted(), nodes.map(({ url }) => new URL(url).host).toSorted())
  t.equal(found.filter((/** @type {any} */ { role }) => role === 'primary').length, 3)
})
