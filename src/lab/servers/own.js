/**
 * Servers of one measurement: a primary and its replicas that began empty a moment ago and end with it, so that no arm
 * runs on memory, scripts or offsets that another one left.
 *
 * A node that ends meanwhile is not started again: its figures would belong to two processes. Should the lab be killed,
 * even with -9, the fleet's guard ends the servers.
 *
 * @typedef {object} LabServers
 * @property {string} primaryUrl
 * @property {string[]} replicaUrls
 * @property {string} engine of the primary, such as `valkey 9.1.2`
 * @property {boolean} ownsAll whether everything on the servers is the lab's
 * @property {string} keyPrefix what every key of a measurement begins with; the run id is in it
 * @property {string[]} notes what a reader of the figures should know of these servers
 * @property {Promise<string>} died resolves with words when a node of ours ends unexpectedly; else never
 * @property {() => Promise<void>} assertEmpty throws LAB_NOT_EMPTY when a node holds what a measurement could meet
 * @property {() => Promise<void>} close leaves nothing behind; may be called twice
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../../errors.js'
import { createFleet } from '../../store/embedded/fleet.js'
import { readInfo, replicaUrls as urlsOfReplicas } from '../../store/nodes.js'
import { askAll, askNode, newRunId, prefixOf } from './ask.js'
import { takeFigures, untilQuiet } from './figures.js'

const POLL_MS = 10
const SYNC_DEADLINE_MS = 30_000

/**
 * @param {{ program: string, replicas?: number, folder: string, runId?: string, signal?: AbortSignal,
 *   report?: (line: string) => void }} options `program`: a server; `folder`: the servers get one of their own in it, which
 *   goes with them; `signal` ends the starting, with an error; `report` gets lines for a person
 * @returns {Promise<LabServers>} once all answer and the replicas are in sync
 * @throws {FreshetError} SERVERS_FAILED, with the last words of a server that would not start
 */
export async function openOwnServers ({ program, replicas = 2, folder, runId = newRunId(), signal, report = () => {} }) {
  await mkdir(folder, { recursive: true })
  const own = await mkdtemp(join(folder, 'servers-'))
  const ending = new AbortController()
  /** @type {(words: string) => void} */
  let tellDied
  const died = /** @type {Promise<string>} */ (new Promise((resolve) => { tellDied = resolve }))
  const fleet = createFleet({
    folder: join(own, 'fleet'),
    signal: ending.signal,
    revives: false,
    say: (event) => { if ('message' in event) report(event.message) },
    fail: ({ how, message }) => { if (!ending.signal.aborted) tellDied(how ?? message) }
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
    const started = await fleet.start(program, replicas)
    const urls = [started.primary, ...started.replicas]
    await untilOnline(started.primary, replicas)
    await untilQuiet(urls, { deadlineMs: SYNC_DEADLINE_MS })
    const [{ engine }] = await takeFigures(urls)
    return {
      primaryUrl: started.primary,
      replicaUrls: started.replicas,
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
 * Until the primary counts its replicas: one that has everything already is online only when it has said so.
 * @param {string} primary @param {number} count
 */
const untilOnline = (primary, count) => askNode(primary, async (connection) => {
  for (const until = Date.now() + SYNC_DEADLINE_MS; (await urlsOfReplicas(connection)).length < count; await pause(POLL_MS)) {
    if (Date.now() > until) throw new FreshetError('SERVERS_FAILED', `the primary ${connection.address} did not count ${count} replicas within ${SYNC_DEADLINE_MS / 1000} s`)
  }
})

/** No key in any database of any node (L1). @param {string[]} urls */
async function assertEmpty (urls) {
  await askAll(urls, async (connection) => {
    const info = readInfo(await connection.send('INFO', 'keyspace'), connection.address)
    const held = Object.entries(info).filter(([name]) => /^db\d+$/.test(name)).map(([name, text]) => `${name}: ${text}`)
    if (held.length) throw new FreshetError('LAB_NOT_EMPTY', `the server ${connection.address} should be empty before a measurement and holds ${held.join('; ')}`)
  })
}
