/**
 * The servers of one measurement: a primary and its replicas, started empty and stopped afterwards, so that no arm runs with
 * memory, scripts or offsets of another.
 *
 * A node that ends is not restarted, because its figures would belong to two processes. If the lab is killed, even with -9, the
 * fleet's guard stops the servers.
 *
 * @typedef {object} LabServers
 * @property {string} primaryUrl
 * @property {string[]} replicaUrls
 * @property {string} [url] value of --redis-url; absent = primaryUrl
 * @property {string[][]} [shards] of a cluster: a primary and its replicas each; absent = all servers are one
 * @property {string} engine of the primary, such as `valkey 9.1.2`
 * @property {boolean} ownsAll whether the servers hold nothing but the lab's keys
 * @property {string} keyPrefix of all keys of a measurement; contains the run id
 * @property {string[]} notes for readers of the figures
 * @property {Promise<string>} died resolves with the reason when one of the lab's nodes ends unexpectedly; else never
 * @property {() => Promise<void>} assertEmpty throws LAB_NOT_EMPTY when a node holds keys that a measurement could meet
 * @property {() => Promise<void>} close removes everything; may be called twice
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { createFleet } from '../../src/embedded/index.js'
import { readInfo, replicaUrls as urlsOfReplicas } from '../../src/store/index.js'
import { queryAll, queryNode, newRunId, prefixOf } from './query.js'
import { takeFigures, untilQuiet } from './figures.js'
import { SHAPES } from './shapes.js'

const POLL_MS = 10
const SYNC_DEADLINE_MS = 30_000

/**
 * @param {{ program: string, replicas?: number, shape?: string | null, folder: string, runId?: string, signal?: AbortSignal,
 *   report?: (line: string) => void }} options `shape`: one of SHAPES, null = a primary with `replicas`; `folder`: parent of the
 *   servers' temporary folder; `signal` aborts starting
 * @returns {Promise<LabServers>} once all are up and the replicas are in sync
 * @throws {FreshetError} SERVERS_FAILED, with the last output of a server that did not start
 */
export async function openOwnServers ({
  program, replicas = 2, shape = null, folder, runId = newRunId(), signal, report = () => {}
}) {
  await mkdir(folder, { recursive: true })
  const own = await mkdtemp(join(folder, 'servers-'))
  const ending = new AbortController()
  /** @type {(reason: string) => void} */
  let resolveDied
  const died = /** @type {Promise<string>} */ (new Promise((resolve) => { resolveDied = resolve }))
  const fleet = createFleet({
    folder: join(own, 'fleet'),
    signal: ending.signal,
    revives: false,
    say: (event) => { if ('message' in event) report(event.message) },
    fail: ({ how, message }) => { if (!ending.signal.aborted) resolveDied(how ?? message) }
  })

  async function close () {
    ending.abort()
    await fleet.close()
    await rm(own, { recursive: true, force: true, maxRetries: 5 })
  }

  const stop = () => {
    ending.abort()
    fleet.kill()
  }
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) stop()
  try {
    const { primaries, replicas: followers, sentinel } = await (shape ? SHAPES[shape](fleet, program) : fleet.start(program, replicas))
    const shards = primaries.map((url, i) => [url, ...followers.filter((_, n) => n % primaries.length === i)])
    const urls = shards.flat()
    for (const [primary, ...its] of shards) {
      await untilOnline(primary, its.length)
      await untilQuiet([primary, ...its], { deadlineMs: SYNC_DEADLINE_MS })
    }
    const [{ engine }] = await takeFigures(urls)
    return {
      primaryUrl: primaries[0],
      replicaUrls: followers,
      ...(sentinel && { url: sentinel }),
      ...(shards.length > 1 && { shards }),
      engine,
      ownsAll: true,
      keyPrefix: prefixOf(runId),
      notes: [],
      died,
      assertEmpty: () => assertEmpty(urls),
      close
    }
  } catch (error) {
    await close()
    if (signal?.aborted) throw new FreshetError('SERVERS_FAILED', 'stopped before the servers of the measurement were ready')
    throw error
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

/**
 * Until the primary lists its replicas as online, which is later than when they are in sync.
 * @param {string} primary @param {number} count
 */
const untilOnline = (primary, count) => queryNode(primary, async (connection) => {
  for (const until = Date.now() + SYNC_DEADLINE_MS; (await urlsOfReplicas(connection)).length < count; await pause(POLL_MS)) {
    if (Date.now() > until) {
      throw new FreshetError('SERVERS_FAILED',
        `the primary ${connection.address} did not list ${count} replicas within ${SYNC_DEADLINE_MS / 1000} s`)
    }
  }
})

/** No key in any database of any node (L1). @param {string[]} urls */
async function assertEmpty (urls) {
  await queryAll(urls, async (connection) => {
    const info = readInfo(await connection.send('INFO', 'keyspace'), connection.address)
    const held = Object.entries(info).filter(([name]) => /^db\d+$/.test(name)).map(([name, text]) => `${name}: ${text}`)
    if (held.length) {
      throw new FreshetError('LAB_NOT_EMPTY',
        `the server ${connection.address} should be empty before a measurement, but holds ${held.join('; ')}`)
    }
  })
}
