/**
 * What is read from a sample, and what is null where it has no value.
 */
import t from 'tap'
import { COUNTERS, MEASURES } from '../../lab/analysis/measures.js'
import { ended, planOf, resultOf } from './results.js'

const [plain] = resultOf({ plan: planOf({ seconds: 10 }), costs: { ids: 2, values: 1, reference: 4, blob: 0.2 } }).samples
const [primary, replica] = plain.nodes

/** 10 s, 100,000 items; the replicas differ. @type {import('../../lab/run/sample.js').Sample} */
const sample = {
  ...plain,
  seconds: 10,
  items: 100_000,
  cpuOverTime: [[10, 10, 20, 20]],
  behindMs: { p50: 1, p95: 2, p99: 4, max: 9 },
  flushMs: { p50: 0.5, p95: 2, p99: 3, max: 8 },
  decided: {
    accepted: 1000,
    calls: 1000,
    attemptsPerAccepted: 4,
    latencyMs: { mean: 3.5, p50: 3, p95: 5, p99: 6, max: 7 },
    latencyMsByCode: {}
  },
  sales: {
    count: 10,
    exact: 10,
    untrue: 2,
    people: 20_000,
    seconds: 4,
    requests: 24_000,
    selloutMs: 30,
    everybodyMs: 240,
    unanswered: 0,
    latencyMs: { mean: 100, p50: 90, p95: 200, p99: 220, max: 300 },
    winnersMs: { p50: 20, p95: 30, p99: 31, max: 32 },
    losersMs: { p50: 95, p95: 201, p99: 221, max: 300 },
    busy: 10,
    waiting: 1900,
    neighbours: { ms: { p50: 1, p95: 4, p99: 8, max: 9 }, idleMs: { p50: 1, p95: 2, p99: 4, max: 5 }, failed: 0 }
  },
  prices: /** @type {any} */ ({
    seconds: 10,
    sent: 10_000,
    answered: 8000,
    missing: 2000,
    inTime: 4000,
    wentBack: 4,
    calls: 600,
    byLevel: { local: 6000, origin: 2000 },
    latencyMs: { mean: 4, p50: 3, p95: 8, p99: 12, max: 40 },
    fetchMs: { p50: 25, p95: 30, p99: 31, max: 32 },
    tiers: {
      hot: { perSecond: 500, perUser: 50, latencyMs: { mean: 4, p95: 8, p99: 10 }, callsPerAsset: 6 },
      medium: { perSecond: 200, perUser: 20, latencyMs: { mean: 5, p95: 9, p99: 12 }, callsPerAsset: 3 },
      cold: { perSecond: 100, perUser: 10, latencyMs: { mean: 6, p95: 10, p99: 15 }, callsPerAsset: 1 }
    },
    cpuSeconds: { gateways: 4, consumers: 2, exchanges: 1 },
    gatewayMemoryBytes: 80_000_000,
    storm: { fetchesPerAsset: 2, callsPerAsset: 6, mostCallsOfAsset: 9, ms: 700 }
  }),
  orders: /** @type {any} */ ({
    seconds: 10,
    answered: 990,
    errors: 10,
    httpMs: { p50: 5, p95: 20 },
    orderMs: { p95: 24 },
    reservationMs: { p95: 16 },
    customerMs: { p95: 14 },
    placed: 500,
    final: 400,
    stuck: 100,
    tracked: 50,
    timeOuts: 10,
    polls: 2,
    polledMs: { p50: 210, p95: 410 },
    pushedMs: { p95: 50 },
    seenAfterMs: { p95: 190 },
    serverMs: { p50: 20, p95: 40, p99: 80, max: 90 },
    inTime: 390,
    cpuSeconds: { gateway: [0.75], reader: [0.25], consumers: [2, 1, 0], payments: [0.5], database: [2] },
    cores: 2,
    memoryBytes: 300_000_000,
    kills: 0,
    handOverMs: { p50: 3100, max: 3900 }
  }),
  lagMs: { p50: 1, p95: 5, p99: 6, max: 8 },
  windowSeconds: 10,
  dataBytes: 30_000_000,
  ledger: { ...plain.ledger, liveItems: 100_000, stored: 150_000 },
  generator: { processes: 1, cpuSeconds: 0.5, loopUse: 0.3 },
  serving: /** @type {any} */ ({
    requestsPerSecond: 5000,
    itemsPerAnswer: 90,
    newestAgeMs: { p50: 5, p95: 8, p99: 11, max: 30 },
    cpuMicrosPerRequest: 120,
    latencyMs: { p50: 1, p95: 3, p99: 7, max: 20 },
    seconds: 8,
    cpuSeconds: 2,
    memoryBytes: 90_000_000,
    freshness: { p50: 4, p95: 6, p99: 8, max: 30, betweenMs: { p50: 1, p95: 1.5, p99: 2, max: 5 } },
    everything: { startUpMs: 600, firstMs: [5, 9, 7], lastMs: [200, 300, 250], delayMs: [3, 8, 4], items: [990, 1000, 995] },
    following: {
      events: 40_000,
      items: 760_000,
      dueItems: 800_000,
      bytes: 80_000_000,
      delayMs: { p50: 55, p95: 110, p99: 120, max: 200 },
      newestMs: { p50: 10, p95: 20, p99: 40, max: 100 },
      memoryBytes: [100e6, 101e6, 99e6, 103e6, 102e6],
      liveBytes: [80e6, 81e6],
      loopDelayMsP99: 12
    },
    client: { cpuSeconds: 1, loopUse: 0.25, connectionsLost: 0 }
  }),
  nodes: [
    {
      ...primary,
      cpuMicrosPerItem: 2.5,
      cpuPercent: 25,
      netInputBytes: 17_000_000,
      netOutputBytes: 36_000_000,
      replicatedBytes: 18_000_000,
      usedMemoryBytes: 40_000_000,
      commands: 1000,
      scriptSeconds: 0.1
    },
    { ...replica, cpuMicrosPerItem: 1, cpuPercent: 10, netOutputBytes: 1_000_000 },
    { ...replica, cpuMicrosPerItem: 2, cpuPercent: 20, netOutputBytes: 3_000_000 }
  ]
}

const VALUES = {
  primaryCpuMicrosPerItem: 2.5,
  replicaCpuMicrosPerItem: 1.5,
  primaryCpuPercent: 25,
  replicaCpuPercent: 15,
  itemsPerSecond: 10_000,
  primaryCpuDrift: 2,
  behindMsP99: 4,
  flushMsP50: 0.5,
  flushMsP99: 3,
  replicaLagMsP99: 6,
  primaryOutBytesPerSecond: 3_600_000,
  replicaOutBytesPerSecond: 200_000,
  itemsReadPerSecond: 450_000,
  replicaCpuMicrosPerItemRead: 0.3888888888888889,
  newestAgeMsP99: 11,
  requestsPerSecond: 5000,
  servingCpuMicrosPerRequest: 120,
  latencyMsP50: 1,
  latencyMsP99: 7,
  freshnessMsP50: 4,
  freshnessMsP99: 8,
  betweenProbesMsP99: 2,
  everythingMs: 250,
  everythingFirstByteMs: 7,
  everythingDelayMsMax: 8,
  everythingItems: 995,
  startUpMs: 600,
  servingCpuPercent: 25,
  servingCpuMicrosPerItem: 25,
  servingMemoryBytes: 90_000_000,
  deliveryMsP50: 55,
  deliveryMsP99: 120,
  newestMsP99: 40,
  eventsPerSecond: 5000,
  deliveredPercent: 95,
  bytesPerEvent: 2000,
  deliveredBytesPerSecond: 10_000_000,
  servingCpuMicrosPerEvent: 50,
  servingCpuMillisPerMegabyte: 25,
  servingMemoryGrowthBytes: 2_400_000,
  servingLiveGrowthBytes: 1_000_000,
  servingDelayMsP99: 12,
  clientLoopPercent: 25,
  decisionsPerSecond: 10_000,
  acceptedPerSecond: 100,
  serverCpuMicrosPerBid: 2.5,
  serverCpuMicrosPerDecision: 2.5,
  callsPerBid: 0.01,
  attemptsPerAccepted: 4,
  decisionMsMean: 3.5,
  decisionMsP50: 3,
  decisionMsP95: 5,
  decisionMsP99: 6,
  repliesPerSecond: 5000,
  selloutMs: 30,
  outcomeMsP99: 220,
  outcomeMsP95: 200,
  outcomeMsMean: 100,
  winnerMsP99: 31,
  loserMsP99: 221,
  requestsPerPerson: 1.2,
  everybodyMs: 240,
  unansweredPerThousand: 0,
  answeredPerThousand: 1000,
  untruePerThousand: 0.1,
  neighbourMsP99: 8,
  neighbourTimesIdle: 2,
  waitingForConnection: 1900,
  pricesPerSecond: 800,
  hotPerSecond: 500,
  mediumPerSecond: 200,
  coldPerSecond: 100,
  priceMsMean: 4,
  priceMsP95: 8,
  priceMsP99: 12,
  priceMsMax: 40,
  fetchMsP50: 25,
  coldToHotThroughput: 0.2,
  mediumToHotMsMean: 1.25,
  coldToHotMsMean: 1.5,
  mediumToHotMsP95: 1.125,
  coldToHotMsP95: 1.25,
  mediumToHotMsP99: 1.2,
  coldToHotMsP99: 1.5,
  cachedPercent: 60,
  inTimePercent: 50,
  missingPerThousand: 200,
  wentBackPerMillion: 500,
  callsPerSecond: 60,
  hotCallsPerAsset: 6,
  mediumCallsPerAsset: 3,
  coldCallsPerAsset: 1,
  gatewayCpuPercent: 40,
  gatewayCpuMicrosPerPrice: 500,
  consumersCpuPercent: 20,
  exchangesCpuPercent: 10,
  gatewayMemoryBytes: 80_000_000,
  stormFetchesPerAsset: 2,
  stormCallsPerAsset: 6,
  stormMostCalls: 9,
  stormMs: 700,
  timeOutPercent: 20,
  stuckPercent: 20,
  sagaMsP50: 20,
  sagaMsP95: 40,
  sagaMsP99: 80,
  sagaMsMax: 90,
  polledMsP50: 210,
  polledMsP95: 410,
  pushedMsP95: 50,
  seenAfterMsP95: 190,
  handOverMsP50: 3100,
  handOverMsMax: 3900,
  pollsPerOrder: 2,
  httpMsP50: 5,
  httpMsP95: 20,
  orderMsP95: 24,
  reservationMsP95: 16,
  customerMsP95: 14,
  commandsPerSecond: 99,
  errorPercent: 1,
  ordersPerSecond: 40,
  cpuMsPerOrder: 10,
  allCpuMsPerOrder: 1000 * (6.5 + 5.5) / 400,
  allCpuMillicores: 1000 * (6.5 + 5.5) / 10,
  busiestReplicaPercent: 200 / 3,
  serviceMemoryBytes: 300_000_000,
  replicasKilled: 0,
  gatewayReplicas: 1,
  readerReplicas: 1,
  consumerReplicas: 3,
  usdPer10k: 10_000 * 2 * (1.18 / 24) / (3600 * (990 - 500 + 390) / 10),
  usdPer10kUsed: 10_000 * 1.2 * (1.18 / 24) / (3600 * (990 - 500 + 390) / 10),
  netBytesPerItem: 170,
  replicatedBytesPerItem: 180,
  generatorCpuMicrosPerItem: 5,
  commandsPerItem: 0.01,
  scriptMicrosPerItem: 1,
  memoryBytesPerLiveItem: 300,
  memoryBytesPerVersion: 200,
  usedMemoryBytes: 40_000_000,
  primariesCpuMicrosPerItem: 10,
  serversCpuMicrosPerItem: 24,
  busiestPrimaryPercent: 25,
  idlestPrimaryPercent: 25,
  itemsPerBatch: 200
}
/** test/lab/cluster.test.js has a value of each */
const OF_DISTURBANCES = ['writerPauseMs', 'deliveryPauseMs', 'recoveryMs', 'wholeMs', 'clientAddsMs', 'itemsLost', 'batchesAgain', 'slotMs',
  'slotsMoved', 'movesFailed', 'redirects', 'itemsPerSecondMoving', 'writesPerSecondMoving']

const OF_SERVING = ['itemsReadPerSecond', 'replicaCpuMicrosPerItemRead', 'newestAgeMsP99', 'requestsPerSecond',
  'servingCpuMicrosPerRequest', 'servingCpuPercent', 'servingCpuMicrosPerItem', 'servingMemoryBytes', 'latencyMsP50', 'latencyMsP99']
const OF_FOLLOWING = ['deliveryMsP50', 'deliveryMsP99', 'newestMsP99', 'eventsPerSecond', 'deliveredPercent', 'bytesPerEvent',
  'deliveredBytesPerSecond',
  'servingCpuMicrosPerEvent', 'servingCpuMillisPerMegabyte', 'servingMemoryGrowthBytes', 'servingLiveGrowthBytes', 'servingDelayMsP99']
const OF_CLIENT = ['clientLoopPercent']
const OF_FRESHNESS = ['freshnessMsP50', 'freshnessMsP99', 'betweenProbesMsP99']
const OF_EVERYTHING = ['everythingMs', 'everythingFirstByteMs', 'everythingDelayMsMax', 'everythingItems', 'startUpMs']

const allOf = (/** @type {import('../../lab/run/sample.js').Sample} */ of) =>
  Object.fromEntries(Object.entries(MEASURES).filter(([name]) => !OF_DISTURBANCES.includes(name))
    .map(([name, { of: read }]) => [name, read(of)]))

t.test('every measure is read from its place', async (t) => {
  t.same(allOf(sample), VALUES)
})

t.test('every measure has words and a unit', async (t) => {
  for (const [name, { title, unit, verb }] of Object.entries(MEASURES)) {
    t.ok(title.length > 5 && unit.length > 0 && verb.length > 3, name)
  }
})

t.test('L18: counters are measures, and none of them is processor time', async (t) => {
  t.same(COUNTERS.filter((name) => !Object.hasOwn(MEASURES, name) || /cpu/i.test(name)), [])
})

t.test('L6: percentiles are read by name, wherever they stand', async (t) => {
  const swapped = { ...sample, behindMs: { max: 9, p99: 4, p50: 1, p95: 2 } }
  t.equal(MEASURES.behindMsP99.of(swapped), 4)
})

t.test('without a value a measure is null, not 0', async (t) => {
  const nulls = (/** @type {import('../../lab/run/sample.js').Sample} */ of) =>
    Object.entries(allOf(of)).filter(([, value]) => value === null).map(([name]) => name)
  t.same(nulls({ ...sample, nodes: [sample.nodes[0]] }), ['replicaCpuMicrosPerItem', 'replicaCpuPercent', 'replicaOutBytesPerSecond',
    'replicaCpuMicrosPerItemRead'], 'no replicas')
  t.same(nulls({ ...sample, nodes: [{ ...sample.nodes[0], scriptSeconds: null, replicatedBytes: null }, ...sample.nodes.slice(1)] }),
    ['replicatedBytesPerItem', 'scriptMicrosPerItem'], 'an engine that does not say')
  t.same(nulls({ ...sample, nodes: [sample.nodes[0], { ...replica, cpuMicrosPerItem: null }, replica] }), ['replicaCpuMicrosPerItem'],
    'one replica without a value')
  t.same(nulls({ ...sample, behindMs: null }), ['behindMsP99'])
  t.same(nulls({ ...sample, dataBytes: undefined }), ['memoryBytesPerLiveItem', 'memoryBytesPerVersion'], 'servers of others')
  t.same(nulls({ ...sample, ledger: plain.ledger }), ['memoryBytesPerLiveItem', 'memoryBytesPerVersion'],
    'a result of before they were counted')
  t.same(nulls({ ...sample, serving: undefined }), [...OF_SERVING, ...OF_FRESHNESS, ...OF_EVERYTHING, ...OF_FOLLOWING, ...OF_CLIENT],
    'nothing was asked over HTTP')
  t.same(nulls({
    ...sample, serving: /** @type {any} */ ({ ...sample.serving, freshness: null, everything: undefined, following: undefined })
  }), [...OF_FRESHNESS, ...OF_EVERYTHING, ...OF_FOLLOWING], 'nothing was seen, and nothing asked for as a whole')
  const following = { ...sample.serving?.following, events: 0, bytes: 0, delayMs: null, newestMs: null, memoryBytes: [1, 2, 3, 4] }
  t.same(nulls({ ...sample, serving: /** @type {any} */ ({ ...sample.serving, following }) }),
    ['deliveryMsP50', 'deliveryMsP99', 'newestMsP99', 'bytesPerEvent', 'servingCpuMicrosPerEvent', 'servingCpuMillisPerMegabyte',
      'servingMemoryGrowthBytes'], 'no events, and too few looks at memory')
  t.same(nulls({ ...sample, items: 0, nodes: sample.nodes.map((node) => ({ ...node, cpuMicrosPerItem: null })) }).sort(),
    ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'servingCpuMicrosPerItem', 'serverCpuMicrosPerBid', 'serverCpuMicrosPerDecision',
      'callsPerBid', 'netBytesPerItem', 'replicatedBytesPerItem', 'generatorCpuMicrosPerItem', 'commandsPerItem', 'scriptMicrosPerItem',
      'primariesCpuMicrosPerItem', 'serversCpuMicrosPerItem', 'itemsPerBatch'].sort(), 'no items')
})

t.test('a measurement that ended with an error has no value at all', async (t) => {
  const gone = ['lagMs', 'serving', 'cpuOverTime', 'decided', 'sales', 'prices', 'orders']
  const without = Object.fromEntries(gone.map((name) => [name, undefined]))
  const fault = /** @type {any} */ ({ ...sample, ...ended(sample), ...without })
  t.same(Object.values(allOf(fault)).filter((value) => value !== null), [])
})
