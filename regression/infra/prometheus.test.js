/**
 * The files of infra/prometheus, as Prometheus reads them: rules and configurations are valid, metrics are well formed, targets answer and
 * every rule can be evaluated.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../../test/architecture/source.js'
import { nightTest } from '../../test/scope.js'
import { eventually, freePort } from '../../test/servers.js'
import { startConsumers, startGateway, startReader } from '../../test/services.js'
import { sharedDeployment } from '../../test/shared.js'

const run = promisify(execFile)
const isThere = (/** @type {string} */ program) => run(program, ['--version']).then(() => true, () => false)
const ABSENT = 'no Prometheus on PATH: install it, on Debian with "apt-get install prometheus"'
const needs = (/** @type {boolean} */ isHere) => ({ skip: !isHere && ABSENT })
const [hasTool, hasServer] = await Promise.all(['promtool', 'prometheus'].map(isThere))
const ALERTS = 'infra/prometheus/alerts.yml'
/** of reader, gateway, writer and consumers */
const PORTS = Object.freeze([8080, 8081, 9101, 9464])

nightTest('alerts and configurations are valid', needs(hasTool), async (t) => {
  const folder = t.testdir()
  await Promise.all([ALERTS, 'infra/docker/prometheus.yml'].map((file) => cp(join(ROOT, file), join(folder, file.split('/').at(-1) ?? ''))))
  const { stdout } = await run('promtool', ['check', 'rules', ALERTS], { cwd: ROOT })
  t.match(stdout, /SUCCESS: \d+ rules found/)
  await run('promtool', ['check', 'config', 'infra/prometheus/prometheus.yml'], { cwd: ROOT })
  await run('promtool', ['check', 'config', 'prometheus.yml'], { cwd: folder })
})

nightTest('Prometheus scrapes reader, gateway and consumers, and evaluates every rule', needs(hasTool && hasServer), async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const metricsPort = await freePort()
  const [reader, gateway] = await Promise.all([
    startReader(t, on), startGateway(t, on),
    startConsumers(t, { ...on, flags: ['--systems', 'auctions,prices', '--metrics-port', String(metricsPort)] })
  ])
  const folder = t.testdir()
  const text = await readFile(join(ROOT, 'infra/prometheus/prometheus.yml'), 'utf8')
  const hosts = [new URL(reader.url).host, new URL(gateway.url).host, '127.0.0.1:1', `127.0.0.1:${metricsPort}`]
  const here = PORTS.reduce((/** @type {string} */ one, port, i) => one.replace(`'127.0.0.1:${port}'`, `'${hosts[i]}'`), text)
  await writeFile(join(folder, 'prometheus.yml'), here.replace('evaluation_interval: 15s', 'evaluation_interval: 1s'))
  await cp(join(ROOT, ALERTS), join(folder, 'alerts.yml'))
  const url = `http://127.0.0.1:${await freePort()}`
  const flags = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', '--log.level=warn',
    `--web.listen-address=${new URL(url).host}`]
  const child = spawn('prometheus', flags, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  /** @param {string} path @returns {Promise<any>} */
  const ask = async (path) => (/** @type {any} */ (await (await fetch(`${url}/api/v1/${path}`)).json())).data
  await eventually(async () => {
    const { activeTargets } = await ask('targets')
    return activeTargets.filter((/** @type {any} */ { health }) => health === 'up').length === hosts.length - 1
  })
  const rules = await eventually(async () => {
    const all = (await ask('rules')).groups.flatMap((/** @type {any} */ group) => group.rules)
    return all.every((/** @type {any} */ { health }) => health !== 'unknown') && all
  })
  t.same(rules.filter((/** @type {any} */ { health }) => health !== 'ok').map((/** @type {any} */ one) => [one.name, one.lastError]), [])
  t.ok(rules.length > 20)
})
