/**
 * A Kafka broker of our own, for tests, the lab and the demo: one KRaft process on free ports of 127.0.0.1, with its own folder, which is
 * removed by `stop`. If this process is killed, so is the broker. Needs Java 17 or later on PATH.
 *
 * @typedef {{ address: string, pid: () => number, kill: () => Promise<void>, restart: () => Promise<void>,
 *   stop: () => Promise<void> }} Broker `kill` keeps the folder, for `restart` on the same port; `stop` removes it
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createGuard } from '../../src/embedded/index.js'
import { FreshetError } from '../errors.js'
import { isFetched, pinnedKafka } from './pinned.js'

const run = promisify(execFile)
const LEAST_JAVA = 17
const PROBE_DEADLINE_MS = 20_000
const READY_WITHIN_MS = 60_000
const STOP_WITHIN_MS = 10_000
const POLL_MS = 50
const CLUSTER = 'AAAAAAAAAAAAAAAAAAAAAQ'
/** with little memory, and compiled for a quick start */
const JAVA = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']

/**
 * @param {{ cacheDir: string }} options
 * @returns {Promise<string | null>} why no broker can be started here; null = it can
 */
export async function findKafka ({ cacheDir }) {
  const printed = await run('java', ['-version'], { timeout: PROBE_DEADLINE_MS }).then(({ stderr }) => stderr, () => '')
  const [, version] = /version "(\d+)/.exec(printed) ?? []
  if (!version || Number(version) < LEAST_JAVA) return `no Java ${LEAST_JAVA} or later on PATH`
  if (await isFetched(cacheDir)) return null
  return run('mvn', ['-version'], { timeout: PROBE_DEADLINE_MS }).then(() => null, () => 'no mvn on PATH')
}

/**
 * @param {{ cacheDir: string, report?: (line: string) => void }} options
 * @returns {Promise<Broker>} when it accepts connections
 * @throws {FreshetError} BROKER_FAILED
 */
export async function startBroker ({ cacheDir, report }) {
  const why = await findKafka({ cacheDir })
  if (why !== null) throw new FreshetError('BROKER_FAILED', `Kafka cannot be started: ${why}`)
  const classes = join(await pinnedKafka({ cacheDir, report }), '*')
  const folder = await mkdtemp(join(tmpdir(), 'freshet-kafka-'))
  const config = join(folder, 'server.properties')
  const [port, controllerPort] = await freePorts(2)
  const guard = createGuard()
  const java = (/** @type {string[]} */ ...words) => [...JAVA, '-cp', classes, ...words]
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child

  async function start () {
    child = spawn('java', java('kafka.Kafka', config), { cwd: folder, detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
    let lines = ''
    child.stderr?.on('data', (chunk) => { lines = (lines + chunk).slice(-2000) })
    child.once('error', () => {})
    if (child.pid) guard.watch([child.pid])
    for (const until = Date.now() + READY_WITHIN_MS; !await accepts(port); await sleep(POLL_MS)) {
      if (hasEnded() || Date.now() > until) {
        await end('SIGKILL')
        throw new FreshetError('BROKER_FAILED', `Kafka did not listen on port ${port}: ${lines.trim() || 'no reason given'}`)
      }
    }
  }

  const hasEnded = () => !child?.pid || child.exitCode !== null || child.signalCode !== null

  /** @param {'SIGTERM' | 'SIGKILL'} signal */
  async function end (signal) {
    const one = child
    if (!one || hasEnded()) return
    const exited = once(one, 'exit')
    one.kill(signal)
    const timer = setTimeout(() => one.kill('SIGKILL'), STOP_WITHIN_MS)
    await exited
    clearTimeout(timer)
    guard.watch([])
  }

  /** @param {'SIGTERM' | 'SIGKILL'} signal */
  async function stop (signal) {
    await end(signal)
    guard.release()
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }

  try {
    await writeFile(config, propertiesOf({ port, controllerPort, folder }))
    await run('java', java('kafka.tools.StorageTool', 'format', '-t', CLUSTER, '-c', config), { timeout: READY_WITHIN_MS })
    await start()
  } catch (error) {
    await stop('SIGKILL')
    if (error.code === 'BROKER_FAILED') throw error
    throw new FreshetError('BROKER_FAILED', `Kafka cannot be started: ${error.message}`, { cause: error })
  }
  return {
    address: `127.0.0.1:${port}`,
    pid: () => child?.pid ?? 0,
    kill: () => end('SIGKILL'),
    restart: start,
    stop: () => stop('SIGTERM')
  }
}

/** @param {{ port: number, controllerPort: number, folder: string }} options */
const propertiesOf = ({ port, controllerPort, folder }) => Object.entries({
  'process.roles': 'broker,controller',
  'node.id': 1,
  'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
  listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
  'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'log.dirs': join(folder, 'data'),
  'offsets.topic.replication.factor': 1,
  'offsets.topic.num.partitions': 1,
  'transaction.state.log.replication.factor': 1,
  'transaction.state.log.min.isr': 1,
  'group.initial.rebalance.delay.ms': 0,
  // a broker that was killed may register again after this; 9 s by default
  'broker.session.timeout.ms': 1000,
  'broker.heartbeat.interval.ms': 250,
  'auto.create.topics.enable': false
}).map(([name, value]) => `${name}=${value}\n`).join('')

/** @param {number} port @returns {Promise<boolean>} */
const accepts = (port) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1')
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false)).once('close', () => resolve(false))
  socket.once('connect', () => socket.destroy())
})

/** All are held at once, so that they differ. @param {number} count @returns {Promise<number[]>} */
async function freePorts (count) {
  const probes = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(probes.map((probe) => once(probe, 'listening')))
  const ports = probes.map((probe) => /** @type {import('node:net').AddressInfo} */ (probe.address()).port)
  await Promise.all(probes.map((probe) => new Promise((resolve) => probe.close(resolve))))
  return ports
}
