/**
 * Faults of a PromQL query that the registries reveal: metrics and labels that do not exist, rates over
 * what is no counter, counters without a rate, quantiles that are not over buckets by le.
 */
const KEYWORDS = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right', 'or', 'and', 'unless', 'bool', 'offset'])
/** labels that Prometheus adds to every series, and its own metric */
const OF_PROMETHEUS = ['job', 'instance']
/** @type {[string, { type: string, labels: string[] }]} */
const UP = ['up', { type: 'gauge', labels: [] }]
const OVER_TIME = /\b(rate|irate|increase)\s*\(\s*([a-zA-Z_:]\w*)/g

/** @typedef {import('./registries.js').Described} Described */

/** @param {Described} known @returns {Described} by the names that series have: of a histogram three */
export function seriesOf (known) {
  return new Map([UP, ...[...known].flatMap(([name, { type, labels }]) => /** @type {typeof UP[]} */ (type !== 'histogram'
    ? [[name, { type, labels }]]
    : [[`${name}_bucket`, { type: 'counter', labels: [...labels, 'le'] }], [`${name}_sum`, { type: 'counter', labels }],
        [`${name}_count`, { type: 'counter', labels }]]))])
}

/** @param {string} query without its texts and Grafana's variables */
const bare = (query) => query.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\[[^\]]*\]/g, '')

/**
 * @param {string} query @param {Described} known
 * @returns {string[]} a sentence for each fault
 */
export function checkQuery (query, known) {
  const series = seriesOf(known)
  const text = bare(query)
  const faults = []
  const outside = text.replace(/\{[^}]*\}/g, '').replace(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, '')
  const names = [...outside.matchAll(/[a-zA-Z_:]\w*(?!\w*\s*\()/g)].map(([name]) => name).filter((name) => !KEYWORDS.has(name))
  const metrics = names.filter((name) => series.has(name))
  for (const name of names) if (!series.has(name)) faults.push(`${name} is no metric`)
  if (metrics.length === 0) faults.push('no metric is asked for')

  for (const [, name, matchers] of text.matchAll(/([a-zA-Z_:]\w*)\s*\{([^}]*)\}/g)) {
    for (const [, label] of matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) {
      if (!hasLabel(series.get(name), label)) faults.push(`${name} has no label ${label}`)
    }
  }
  for (const [, list] of text.matchAll(/\bby\s*\(([^)]*)\)/g)) {
    for (const label of list.split(',').map((one) => one.trim())) {
      if (!metrics.some((name) => hasLabel(series.get(name), label))) faults.push(`none of ${metrics} has a label ${label}`)
    }
  }

  const overTime = [...text.matchAll(OVER_TIME)].map(([, , name]) => name)
  for (const name of overTime) if (series.get(name)?.type !== 'counter') faults.push(`${name} is no counter, and has no rate`)
  for (const name of metrics) {
    if (series.get(name)?.type === 'counter' && !overTime.includes(name)) {
      faults.push(`${name} is a counter, and is asked for without a rate`)
    }
  }
  for (const [, rest] of text.matchAll(/histogram_quantile\s*\(([\s\S]*)/g)) {
    if (!/^[\s\d.]+,\s*sum by \([^)]*\ble\b[^)]*\)\s*\(rate\(\w+_bucket\b/.test(rest)) {
      faults.push('a quantile is not over the rates of buckets, summed by le')
    }
  }
  return faults
}

/** @param {{ labels: string[] } | undefined} series @param {string} label */
const hasLabel = (series, label) => OF_PROMETHEUS.includes(label) || (series?.labels.includes(label) ?? false)
