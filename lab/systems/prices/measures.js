/** Measures of prices. */
import { HIGHER, rowsOf, THROUGHPUT } from '../../analysis/measure.js'

const row = rowsOf(({ prices }) => prices)

/** @param {number | null} seconds @param {{ seconds: number }} prices @returns {number | null} percent of a core */
const percent = (seconds, prices) => seconds === null ? null : 100 * seconds / prices.seconds

/** @param {string} tier */
const perSecond = (tier) =>
  row(`Prices of ${tier} assets per second`, 'requests/s', 'answers', ({ tiers }) => tiers[tier].perSecond, HIGHER)

/**
 * A figure of the assets of a tier, to that of hot ones.
 * @param {string} tier @param {'mean' | 'p95' | 'p99'} which @param {string} title
 */
const toHot = (tier, which, title) => row(`${title} of ${tier} assets, to that of hot ones`, 'x', 'reaches', ({ tiers }) => {
  const [of, hot] = [tiers[tier], tiers.hot].map(({ latencyMs }) => latencyMs[which])
  return of > 0 && hot > 0 ? of / hot : null
})

/** @type {Record<string, import('../../analysis/measure.js').Measure>} */
export const PRICE_MEASURES = Object.freeze({
  pricesPerSecond: row('Prices answered per second', 'requests/s', 'answers', ({ answered, seconds }) => answered / seconds, THROUGHPUT),
  hotPerSecond: perSecond('hot'),
  mediumPerSecond: perSecond('medium'),
  coldPerSecond: perSecond('cold'),
  priceMsMean: row('Time to a price, mean', 'ms', 'answers after', ({ latencyMs }) => latencyMs.mean),
  priceMsP95: row('Time to a price, 95th percentile', 'ms', 'answers after', ({ latencyMs }) => latencyMs.p95),
  priceMsP99: row('Time to a price, 99th percentile', 'ms', 'answers after', ({ latencyMs }) => latencyMs.p99),
  priceMsMax: row('Time to a price, longest', 'ms', 'answers after', ({ latencyMs }) => latencyMs.max),
  fetchMsP50: row('Time to a price that waits for the sources, median', 'ms', 'fetches in', ({ fetchMs }) => fetchMs?.p50),
  coldToHotThroughput: row('Answers of a user of cold assets, to one of hot ones', 'x', 'reaches',
    ({ tiers: { hot, cold } }) => hot.perUser && cold.perUser ? cold.perUser / hot.perUser : null, HIGHER),
  mediumToHotMsMean: toHot('medium', 'mean', 'Mean'),
  coldToHotMsMean: toHot('cold', 'mean', 'Mean'),
  mediumToHotMsP95: toHot('medium', 'p95', '95th percentile'),
  coldToHotMsP95: toHot('cold', 'p95', '95th percentile'),
  mediumToHotMsP99: toHot('medium', 'p99', '99th percentile'),
  coldToHotMsP99: toHot('cold', 'p99', '99th percentile'),
  cachedPercent: row('Requests answered with a price that is kept', '%', 'answers',
    ({ sent, answered, byLevel }) => sent > 0 ? 100 * (answered - (byLevel.origin ?? 0)) / sent : null, HIGHER),
  inTimePercent: row('Prices within soft expiry and one refresh', '%', 'serves',
    ({ inTime, answered }) => answered > 0 ? 100 * inTime / answered : null, HIGHER),
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
  stormFetchesPerAsset: row('Fetches of an asset in a storm', 'fetches', 'makes', ({ storm }) => storm?.fetchesPerAsset,
    { noun: 'fetches' }),
  stormCallsPerAsset: row('Calls of sources for an asset in a storm', 'calls', 'makes', ({ storm }) => storm?.callsPerAsset),
  stormMostCalls: row('Calls of sources in a storm, for the asset with the most', 'calls', 'makes',
    ({ storm }) => storm?.mostCallsOfAsset),
  stormMs: row('Time until every request has its reply', 'ms', 'answers all after', ({ storm }) => storm?.ms)
})
