/**
 * `npm start demo -- SYSTEM`: servers, a gateway, consumers, a reader with the page, and a crowd; Ctrl-C stops all. A process file.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { envOf, SETTINGS, settingsOf, SettingsInvalid } from '../settings.js'
import { expectFreePort, holdPort } from '../src/http/index.js'
import { aborted } from '../src/runtime/index.js'
import { unknownName } from '../src/settings/index.js'
import { isModule } from '../src/settings/index.js'
import { loadSystems, settingsOfModules, SYSTEM_NAMES as SYSTEMS } from '../src/systems/list.js'
import { OUR_SETTINGS } from '../src/systems/settings.js'
import { DRAIN_MS, flagsOf, runChildren } from './children.js'

const CROWD = new URL('../demo/crowd-thread.js', import.meta.url)
const HOST = '127.0.0.1'
const PORTS_TRIED = 20
/** of some demos only, as the settings of systems are */
const OF_SOME = ['workers']
/** @param {import('../src/systems/inside.js').Definition[]} systems */
const usageOf = (systems) => `Usage: npm start demo -- ${SYSTEMS.join('|')}|PATH [flags]

Runs embedded servers, a gateway, consumers, a reader with a page, and a crowd, until Ctrl-C. Faults of exchanges and of the payment
provider can be switched on the page. A process that is killed is started again.

${systems.map(({ name, demo }) => `  ${name.padEnd(10)}${demo.about}`).join('\n')}

Examples:
  npm start demo -- auctions
  npm start demo -- sales --mode token
  npm start demo -- prices
  npm start demo -- orders --workers 3
  npm start demo -- auctions --crowd no --port 9090
  npm start demo -- ./examples/seats/index.js`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export async function main (from) {
  const ours = await loadSystems()
  const faultsOf = (/** @type {import('../src/settings/index.js').SettingsInput} */ input) => faultsOfDemo(ours, input)
  const demoSettings = await settingsOf(from, { command: 'demo', positionals: 1, faultsOf, settingsOfModules }, usageOf(ours))
  if (demoSettings === null) return 0
  const [system] = demoSettings.positionals
  const [{ name, demo, page, settings: systemSettings = {} }] = await loadSystems([system])
  const unused = isModule(system)
    ? unusedBy(system, { demo, settings: systemSettings }, { values: demoSettings, origins: demoSettings.origins })
    : []
  if (unused.length > 0) throw new SettingsInvalid(unused)
  const [port, gatewayPort] = await freePorts([demoSettings.port, demoSettings.gatewayPort])
  const settings = {
    ...demoSettings,
    system,
    name,
    demo,
    page,
    port,
    gatewayPort,
    of: settingsFor(demoSettings, systemSettings),
    ofCrowd: valuesOf(demoSettings, systemSettings)
  }
  return runChildren(settings, from.env, (children, signal) => startAll(settings, children, signal))
}

/**
 * @param {import('../src/systems/inside.js').Definition[]} ours @param {import('../src/settings/index.js').SettingsInput} input
 * @returns {string[]} what is wrong with the name of the demo, or with settings that it does not use
 */
function faultsOfDemo (ours, { words: [system], ...input }) {
  if (system === undefined) return [`no system given; expected one of ${SYSTEMS.join(', ')}, as in npm start demo -- ${SYSTEMS[0]}`]
  if (isModule(system)) return []
  const definition = ours.find(({ name }) => name === system)
  if (definition) return unusedBy(system, definition, input)
  return [unknownName(system, SYSTEMS, existsSync(system) ? `its path is ./${system}` : `the demos are ${SYSTEMS.join(', ')}`)]
}

/**
 * @param {string} system @param {Pick<import('../src/systems/inside.js').Definition, 'demo' | 'settings'>} definition
 * @param {Pick<import('../src/settings/index.js').SettingsInput, 'values' | 'origins'>} input @returns {string[]} faults
 */
const unusedBy = (system, { demo, settings = {} }, { values, origins }) => [...OF_SOME, ...OUR_SETTINGS.map(({ name }) => name)]
  .filter((name) => !Object.hasOwn(settings, name) && !demo.settings?.includes(name) && (origins[name] ?? 'default') !== 'default')
  .map((name) => `${name}: ${values[name]}; expected none, since the demo ${system} does not use it`)

/** What the demo has of the settings of a system. @param {any} demoSettings @param {object} systemSettings */
const valuesOf = (demoSettings, systemSettings) => Object.fromEntries(
  Object.keys(systemSettings).filter((name) => name in demoSettings).map((name) => [name, demoSettings[name]]))

/**
 * The settings of a system that were given, for each process.
 * @param {any} demoSettings @param {Record<string, import('../src/systems/index.js').Setting>} systemSettings
 * @returns {(command: string) => { flags: string[], secrets: Record<string, string> }}
 */
const settingsFor = (demoSettings, systemSettings) => (command) => {
  const rows = [...SETTINGS, ...demoSettings.ofModules].filter(({ name, uses }) =>
    Object.hasOwn(systemSettings, name) && uses.includes(command) && (demoSettings.origins[name] ?? 'default') !== 'default')
  return {
    flags: flagsOf(demoSettings, rows.filter(({ secret }) => !secret).map(({ name }) => name)),
    // not as a flag, which every user of the machine sees
    secrets: Object.fromEntries(rows.filter(({ secret }) => secret).map((row) => [envOf(row), String(demoSettings[row.name])]))
  }
}

/** @param {any} settings @param {import('./children.js').Children} children @param {AbortSignal} signal */
async function startAll (settings, { start, print }, signal) {
  const { system, name, demo, page, port, gatewayPort, crowd, workers, of, ofCrowd } = settings
  const { commands, tasks, beside, crowd: hasCrowd } = demo
  const [gatewayUrl, readerUrl] = [gatewayPort, port].map((listenPort) => `http://${HOST}:${listenPort}`)
  const common = flagsOf(settings, ['keyPrefix'])
  const served = isModule(system) ? ['--systems', system] : []
  // the other parts must not get these ports
  const held = await hold([port, gatewayPort])
  let besideSettings = { secrets: {}, ofConsumers: /** @type {string[]} */ ([]) }
  try {
    if (beside) besideSettings = await BESIDE[/** @type {keyof typeof BESIDE} */ (beside)](start, gatewayUrl)
  } finally {
    await release(held)
  }
  if (signal.aborted) return
  const [ofGateway, ofConsumers, ofReader] = ['gateway', 'consumers', 'reader'].map(of)
  const children = [
    start('gateway', [...common, ...served, ...ofGateway.flags, '--port', String(gatewayPort), '--drain-ms', String(DRAIN_MS),
      '--cors-origin', `${readerUrl},http://localhost:${port}`], ({ url }) => `${url}   ${commands}`,
    { ...ofGateway.secrets, ...besideSettings.secrets }),
    ...Array.from({ length: workers }, () =>
      start('consumers', [...common, '--systems', system, ...ofConsumers.flags, ...besideSettings.ofConsumers], () => tasks,
        ofConsumers.secrets)),
    start('reader', [...common, ...served, ...ofReader.flags, '--port', String(port), '--gateway-url', gatewayUrl], ({ url }) =>
      page ? `${url}/${name}   open this page` : `${url}/docs   what ${name} answers`, ofReader.secrets)
  ]
  await Promise.race([aborted(signal), Promise.all(children.map(({ up }) => up))])
  if (signal.aborted || !hasCrowd) return
  const thread = new Worker(CROWD, { workerData: { system, gatewayUrl, readerUrl, settings: ofCrowd, isActive: crowd === 'yes' } })
  thread.on('message', (line) => print('crowd', line))
  signal.addEventListener('abort', () => { thread.terminate() })
}

/** @param {import('./children.js').Children['start']} start */
async function startExchanges (start) {
  const { urls = {} } = await start('exchanges', ['--port', String(await freeRow())], () => 'sources of prices').up
  const flags = ['--exchanges', 'local', '--exchange-urls', Object.entries(urls).map((pair) => pair.join('=')).join()]
  return { secrets: {}, ofConsumers: flags }
}

/** @param {import('./children.js').Children['start']} start @param {string} gatewayUrl */
async function startPayments (start, gatewayUrl) {
  // not as a flag, which every user of the machine sees
  const secrets = { FRESHET_PAYMENT_SECRET: randomUUID() }
  const folder = await mkdtemp(join(tmpdir(), 'freshet-demo-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  // without its ledger, a provider that was killed would know no payment of the orders on their way
  const flags = ['--port', '0', '--callback-url', `${gatewayUrl}/v1/payments/callbacks`, '--ledger', join(folder, 'ledger.ndjson')]
  // it prints its address itself
  const { url = '' } = await start('payments', flags, () => null, secrets).up
  return { secrets, ofConsumers: ['--payment-url', url] }
}

/** what runs beside a demo, by command */
const BESIDE = Object.freeze({ exchanges: startExchanges, payments: startPayments })

/** @returns {Promise<number>} the first of three free ports in a row: exchanges that start again need the same */
async function freeRow () {
  for (let tries = 1; ; tries++) {
    const [first] = await freePorts([0])
    try {
      for (const port of [first + 1, first + 2]) await expectFreePort({ host: HOST, port, setting: 'port' })
      return first
    } catch (error) {
      if (tries === PORTS_TRIED) throw error
    }
  }
}

/** All, or none and the error of the first that is not free. @param {number[]} ports 0 = any */
async function hold (ports) {
  const tried = await Promise.allSettled(ports.map((port) => holdPort({ host: HOST, port, setting: 'port' })))
  const held = tried.flatMap((result) => result.status === 'fulfilled' ? [result.value] : [])
  const failed = tried.find((result) => result.status === 'rejected')
  if (!failed) return held
  await release(held)
  throw failed.reason
}

/** @param {Awaited<ReturnType<typeof holdPort>>[]} held */
const release = (held) => Promise.all(held.map((port) => port.release()))

/** All are taken before one is given back, so they differ. @param {number[]} ports 0 = any @returns {Promise<number[]>} */
async function freePorts (ports) {
  const held = await hold(ports.filter((port) => port === 0))
  const free = held.map(({ port }) => port)
  await release(held)
  return ports.map((port) => port || Number(free.pop()))
}
