/** docs/metrics.md, the alerts and the dashboard name what processes really serve. */
import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { ERRORS } from '../../src/errors.js'
import { describeProcesses } from '../metrics/registries.js'
import { checkQuery } from '../metrics/queries.js'
import { checkJoins } from '../metrics/vectors.js'
import { startDeployment } from '../servers.js'
import { scopedEngines } from '../scope.js'

const PAGE = new URL('../../docs/metrics.md', import.meta.url)
const ALERTS = /(<!-- alerts:[^\n]*-->\n)[\s\S]*?(<!-- \/alerts -->)/
const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = await read('docs/metrics.md')
const alerts = await read('infra/prometheus/alerts.yml')
const scraping = await read('infra/prometheus/prometheus.yml')

/** @returns {{ name: string, type: string, labels: string[], processes: string[], meaning: string }[]} the rows of all tables of metrics */
const ROW = /^\| `([a-z_]+)` \| (\w+) \| ([\w, ]*) ?\| ([a-z ]+) \| (.*) \|$/gm
const rows = [...page.matchAll(ROW)].map(([, name, type, labels, processes, meaning]) =>
  ({ name, type, labels: labels.split(/[, ]+/).filter(Boolean).sort(), processes: processes.trim().split(' ').sort(), meaning }))

const [engine] = await scopedEngines()
const { primary } = await startDeployment(t, { engine, replicas: 1 })
const processes = await describeProcesses(t, { redisUrl: primary.url })
/** @type {import('../metrics/registries.js').Described} of all processes together */
const known = new Map(Object.values(processes).flatMap((of) => [...of]))

t.test('the page has every metric of every process, with its type and labels, and no other', async (t) => {
  t.ok(known.size > 40)
  t.same(rows.map(({ name }) => name).sort(), [...known.keys()].sort())
  for (const { name, type, labels, processes: named, meaning } of rows) {
    t.match({ type, labels }, known.get(name), name)
    t.same(named, Object.keys(processes).filter((process) => processes[process].has(name)).sort(), `${name}: the processes that have it`)
    t.ok(meaning.length > 5, name)
  }
})

t.test('the page has every reason of a refusal', async (t) => {
  const meaning = rows.find(({ name }) => name === 'freshet_refused_total')?.meaning ?? ''
  const codes = Object.keys(ERRORS).filter((code) => code.startsWith('ITEM_'))
  const reasons = [...codes.map((code) => code.slice('ITEM_'.length).toLowerCase()), 'full', 'late']
  t.same([...meaning.matchAll(/`([a-z_]+)`/g)].map(([, reason]) => reason).sort(), reasons.sort())
})

t.test('names say the unit: seconds, bytes, and total where something is counted', async (t) => {
  for (const [name, { type }] of known) {
    if (type === 'counter') t.match(name, /_total$/)
    else t.notMatch(name, /_total$/)
    if (type === 'histogram') t.match(name, /_seconds$/)
    t.notMatch(name, /_(ms|millis|kb|percent)(_|$)/)
  }
})

/** Each alert, when it fires, and what to do: the text that the person on call reads, too. */
function alertTable () {
  const text = (/** @type {string} */ quoted) => quoted.replaceAll('\'\'', '\'')
  const rows = [...alerts.matchAll(/- alert: (\w+)\n(?:.*\n)*?\s+when: '(.*)'\n\s+description: '(.*)'\n/g)]
  return ['| alert | when | what to do |', '|---|---|---|',
    ...rows.map(([, name, when, what]) => `| \`${name}\` | ${text(when)} | ${text(what)} |`)].join('\n') + '\n'
}

t.test('alerts ask for metrics and labels that exist, and the page says what to do about each', async (t) => {
  const names = [...alerts.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => name)
  const queries = [...alerts.matchAll(/^ +expr: (.+)$/gm)].map(([, query]) => query)
  t.ok(names.length > 10)
  t.equal(queries.length, names.length)
  queries.forEach((query, i) => t.same(checkQuery(query, known), [], `${names[i]}: ${query}`))
  const wanted = page.replace(ALERTS, (_, begin, end) => begin + alertTable() + end)
  if (process.env.UPDATE_DOCS) await writeFile(PAGE, wanted)
  else t.equal(page, wanted, 'run npm test with UPDATE_DOCS=1 to write the table')
  t.same([...page.matchAll(/^\| `(Freshet\w+)` \| .{10,} \| .{10,} \|$/gm)].map(([, name]) => name), names)
  const labels = ['job', 'instance', ...[...known.values()].flatMap(({ labels }) => labels)]
  for (const [, label] of alerts.matchAll(/\$labels\.(\w+)/g)) t.ok(labels.includes(label), label)
})

t.test('alerts join what can meet, and one that waits asks for what lasts as long', async (t) => {
  for (const [, name, expr, rest] of alerts.matchAll(/^ +- alert: (\w+)\n +expr: (.+)\n((?: +\w+: .+\n)*)/gm)) {
    t.same(checkJoins(expr, known), [], name)
    const waits = Number(/^ +for: (\d+)m$/m.exec(rest)?.[1] ?? Infinity)
    // what happened once is in an increase for as long as its window
    for (const [, minutes] of expr.matchAll(/increase\([^[]*\[(\d+)m\]/g)) {
      t.ok(Number(minutes) <= waits, `${name}: an increase over ${minutes} min, for ${waits} min`)
    }
  }
})

t.test('the configuration scrapes the ports that processes have by default', async (t) => {
  const { SETTINGS } = await import('../../settings.js')
  const port = /** @type {any} */ (SETTINGS.find(({ name }) => name === 'port'))
  for (const one of [port.default, port.defaults.gateway]) t.match(scraping, `'127.0.0.1:${one}'`)
  const [, writerPort] = /--metrics-port (\d+)/.exec(scraping) ?? []
  t.match(scraping, `'127.0.0.1:${writerPort}'`)
  t.match(scraping, /rule_files:\n +- alerts\.yml/)
})
