import { readFile } from 'node:fs/promises'
import t from 'tap'
import { startDeployment } from '../servers.js'
import { checkQuery, seriesOf } from './queries.js'
import { describeProcesses } from './registries.js'
import { checkJoins } from './vectors.js'
import { scopedEngines } from '../scope.js'

const GRID_WIDTH = 24
/** panel types of Grafana itself that are used, and units it knows */
const PANELS = ['row', 'stat', 'timeseries', 'state-timeline']
const UNITS = ['cps', 's', 'percentunit', 'none', 'short', 'bytes', 'Bps', 'reqps']

const dashboard = JSON.parse(await readFile(new URL('../../infra/grafana/freshet.json', import.meta.url), 'utf8'))
const { panels } = dashboard
const charts = panels.filter(({ type }) => type !== 'row')
const targets = charts.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })))

const [engine] = await scopedEngines()
const { primary } = await startDeployment(t, { engine, replicas: 1 })
const known = new Map(Object.values(await describeProcesses(t, { redisUrl: primary.url })).flatMap((of) => [...of]))

t.test('faults of a query are found', async (t) => {
  const faults = (query) => checkQuery(query, known)
  const wrong = {
    'sum(rate(freshet_itmes_total[5m]))': /freshet_itmes_total is no metric/,
    'sum(rate(freshet_items_total{fed="a"}[5m]))': /has no label fed/,
    'sum by (reason) (rate(freshet_items_total[5m]))': /has a label reason/,
    'rate(freshet_inflight_bytes[5m])': /is no counter/,
    'sum(freshet_items_total)': /without a rate/,
    'histogram_quantile(0.9, sum(rate(freshet_flush_seconds_bucket[5m])))': /by le/,
    'histogram_quantile(0.9, sum by (le) (rate(freshet_flush_seconds_sum[5m])))': /by le|label le/,
    'sum(rate(freshet_flush_seconds[5m]))': /is no metric/,
    '1 + 1': /no metric/
  }
  for (const [query, message] of Object.entries(wrong)) t.match(faults(query).join('; '), message, query)
  for (const query of ['up == 0', 'sum by (le, job) (rate(freshet_behind_seconds_bucket{feed=~"$feed"}[$__rate_interval]))',
    'count(freshet_ready{instance="a{b}"} == 0) or vector(0)']) {
    t.same(faults(query), [], query)
  }
})

t.test('every query asks for metrics and labels that exist, in a way that fits their type', async (t) => {
  t.ok(targets.length > 30)
  for (const { title, expr } of targets) t.same(checkQuery(expr, known), [], `${title}: ${expr}`)
})

t.test('both sides of an operator have the same labels', async (t) => {
  const wrong = {
    'sum by (feed) (rate(freshet_items_total[5m])) / sum by (job) (rate(freshet_batches_total[5m]))': '/ joins series by (feed) with ' +
      'series by (job)',
    'rate(freshet_refused_total[5m]) + rate(freshet_dropped_total[5m])': '+ joins series by (feed, instance, job, reason) with series by ' +
      '(feed, instance, job)',
    'sum by (feed) (rate(freshet_items_total[5m])) or vector(0)': 'or joins series by (feed) with series by ()',
    'histogram_quantile(0.9, sum by (le, feed) (rate(freshet_flush_seconds_bucket[5m]))) > max(freshet_ready{job="a) b"})': '> joins ' +
      'series by (feed) with series by ()',
    'sum(rate(freshet_items_total[5m])) by (feed) - 2 * (freshet_ready == 1)': '- joins series by (feed) with series by (instance, job)'
  }
  for (const [query, fault] of Object.entries(wrong)) t.same(checkJoins(query, known), [fault], query)
  t.same(checkJoins('max by (feed) (freshet_connected) / scalar(sum(freshet_ready) > 0) * 2', known), [])
  for (const { title, expr } of targets) t.same(checkJoins(expr, known), [], `${title}: ${expr}`)
})

t.test('legends name labels that the query keeps', async (t) => {
  for (const { title, expr, legendFormat } of targets) {
    const kept = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list.split(',').map((label) => label.trim()))
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) t.ok(kept.includes(label), `${title}: ${label}`)
  }
})

t.test('variables: the data source is chosen, feed and process are found by metrics that have them', async (t) => {
  const variables = new Map(dashboard.templating.list.map((variable) => [variable.name, variable]))
  t.match(variables.get('datasource'), { type: 'datasource', query: 'prometheus' })
  for (const { name, type, query } of variables.values()) {
    if (type !== 'query') continue
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(query.query) ?? []
    const labels = seriesOf(known).get(metric)?.labels
    t.ok(labels && (labels.includes(label) || label === 'instance'), `${name}: ${query.query}`)
  }
  const used = new Set([...JSON.stringify(panels).matchAll(/\$\{?([a-z]\w*)/g)].map(([, name]) => name))
  t.same([...used].sort(), [...variables.keys()].sort(), 'those that are used are there, and the other way round')
  for (const { datasource } of [...charts, ...targets, ...[...variables.values()].filter(({ type }) => type === 'query')]) {
    t.same(datasource, { type: 'prometheus', uid: '${datasource}' }) // eslint-disable-line no-template-curly-in-string
  }
})

t.test('panels have their own ids and places, a unit, and a sentence about them', async (t) => {
  t.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
  for (const { title, gridPos: { x, w, h } } of panels) t.ok(x >= 0 && w > 0 && h > 0 && x + w <= GRID_WIDTH, `${title} lies on the grid`)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + i % w}:${y + Math.floor(i / w)}`))
  t.equal(new Set(cells).size, cells.length, 'no panel lies on another')
  const height = Math.max(...panels.map(({ gridPos: { y, h } }) => y + h))
  t.equal(cells.length, height * GRID_WIDTH, 'no gap is left')
  for (const { title, type, description, fieldConfig } of charts) {
    t.ok(PANELS.includes(type), type)
    t.ok(UNITS.includes(fieldConfig.defaults.unit), `${title}: ${fieldConfig.defaults.unit}`)
    t.ok(description.length > 20, title)
  }
  for (const { targets: list } of charts) t.equal(new Set(list.map(({ refId }) => refId)).size, list.length)
})

t.test('it can be imported: an id of its own, no number of another Grafana', async (t) => {
  t.match(dashboard, { uid: 'freshet', title: 'Freshet', id: null })
  t.ok(dashboard.schemaVersion >= 39)
  t.ok(dashboard.panels.every(({ type }) => PANELS.includes(type)))
})
