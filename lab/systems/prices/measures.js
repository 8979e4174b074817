/** Measures of prices. @type {Record<string, import('../../analysis/measures.js').Measure>} */

/** @typedef {import('../../run/sample.js').Sample} Sample */
/** @typedef {import('./figures.js').PriceFigures} PriceFigures */

/** @param {(prices: PriceFigures) => number | null} read @returns {(sample: Sample) => number | null} */
const of = (read) => ({ prices }) => prices ? read(prices) : null

/** @param {number | null} seconds @param {PriceFigures} prices @returns {number | null} percent of a core */
const percent = (seconds, prices) => seconds === null ? null : 100 * seconds / prices.seconds

/** @param {string} tier */
const perSecond = (tier) => ({
  title: `Prices of ${tier} assets per second`,
  unit: 'requests/s',
  verb: 'answers',
  isBetter: /** @type {const} */ ('higher'),
  of: of(({ tiers }) => tiers[tier].perSecond)
})

/** @param {string} title @param {string} unit @param {string} verb @param {(prices: PriceFigures) => number | null} read */
const row = (title, unit, verb, read) => ({ title, unit, verb, of: of(read) })

/** @type {Record<string, import('../../analysis/measures.js').Measure>} */
export const PRICE_MEASURES = Object.freeze({
  pricesPerSecond: {
    title: 'Prices answered per second',
    unit: 'requests/s',
    verb: 'answers',
    noun: 'throughput',
    isBetter: 'higher',
    of: of(({ answered, seconds }) => answered / seconds)
  },
  hotPerSecond: perSecond('hot'),
  mediumPerSecond: perSecond('medium'),
  coldPerSecond: perSecond('cold'),
  priceMsMean: row('Time to a price, mean', 'ms', 'answers after', ({ latencyMs }) => latencyMs.mean),
  priceMsP95: row('Time to a price, 95th percentile', 'ms', 'answers after', ({ latencyMs }) => latencyMs.p95),
  priceMsP99: row('Time to a price, 99th percentile', 'ms', 'answers after', ({ latencyMs }) => latencyMs.p99),
  priceMsMax: row('Time to a price, longest', 'ms', 'answers after', ({ latencyMs }) => latencyMs.max),
  fetchMsP50: row('Time to a price that waits for the sources, median', 'ms', 'fetches in', ({ fetchMs }) => fetchMs?.p50 ?? null),
  coldToHotThroughput: {
    title: 'Answers of a user of cold assets, to one of hot ones',
    unit: 'x',
    verb: 'reaches',
    isBetter: 'higher',
    of: of(({ tiers: { hot, cold } }) => hot.perUser && cold.perUser ? cold.perUser / hot.perUser : null)
  },
  coldToHotMsP99: row('99th percentile of cold assets, to that of hot ones', 'x', 'reaches', ({ tiers: { hot, cold } }) =>
    hot.latencyMs.p99 > 0 && cold.latencyMs.p99 > 0 ? cold.latencyMs.p99 / hot.latencyMs.p99 : null),
  cachedPercent: {
    title: 'Requests answered with a price that is kept',
    unit: '%',
    verb: 'answers',
    isBetter: 'higher',
    of: of(({ sent, answered, byLevel }) => sent > 0 ? 100 * (answered - (byLevel.origin ?? 0)) / sent : null)
  },
  inTimePercent: {
    title: 'Prices within soft expiry and one refresh',
    unit: '%',
    verb: 'serves',
    isBetter: 'higher',
    of: of(({ inTime, answered }) => answered > 0 ? 100 * inTime / answered : null)
  },
  missingPerThousand: row('Requests without a price, per thousand', 'requests', 'leaves without a price',
    ({ missing, sent }) => sent > 0 ? 1000 * missing / sent : null),
  wentBackPerMillion: row('Prices older than one already shown, per million', 'prices', 'shows',
    ({ wentBack, answered }) => answered > 0 ? 1e6 * wentBack / answered : null),
  callsPerSecond: row('Calls of sources per second', 'calls/s', 'makes', ({ calls, seconds }) => calls / seconds),
  hotCallsPerAsset: row('Calls of sources for a hot asset', 'calls', 'makes', ({ tiers }) => tiers.hot.callsPerAsset),
  mediumCallsPerAsset: row('Calls of sources for a medium asset', 'calls', 'makes', ({ tiers }) => tiers.medium.callsPerAsset),
  coldCallsPerAsset: row('Calls of sources for a cold asset', 'calls', 'makes', ({ tiers }) => tiers.cold.callsPerAsset),
  gatewayCpuPercent: row('CPU of the gateways', '% of a core', 'costs', (prices) => percent(prices.cpuSeconds.gateways, prices)),
  gatewayCpuMicrosPerPrice: row('CPU of the gateways per price', 'us', 'costs',
    ({ cpuSeconds, answered }) => answered > 0 ? 1e6 * cpuSeconds.gateways / answered : null),
  consumersCpuPercent: row('CPU of the consumers', '% of a core', 'costs', (prices) => percent(prices.cpuSeconds.consumers, prices)),
  exchangesCpuPercent: row('CPU of the exchanges', '% of a core', 'costs', (prices) => percent(prices.cpuSeconds.exchanges, prices)),
  gatewayMemoryBytes: row('Memory of a gateway at the end', 'bytes', 'holds', ({ gatewayMemoryBytes }) => gatewayMemoryBytes),
  stormFetchesPerAsset: {
    title: 'Fetches of an asset in a storm',
    unit: 'fetches',
    verb: 'makes',
    noun: 'fetches',
    of: of(({ storm }) => storm?.fetchesPerAsset ?? null)
  },
  stormCallsPerAsset: row('Calls of sources for an asset in a storm', 'calls', 'makes', ({ storm }) => storm?.callsPerAsset ?? null),
  stormMostCalls: row('Calls of sources in a storm, for the asset with the most', 'calls', 'makes',
    ({ storm }) => storm?.mostCallsOfAsset ?? null),
  stormMs: row('Time until every request has its reply', 'ms', 'answers all after', ({ storm }) => storm?.ms ?? null)
})
