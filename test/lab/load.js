/**
 * Loads as the lab starts them, each in a process of its own or in the test's, and what they said.
 *
 * @typedef {{ status: number | null, measuring: boolean, acknowledged: number[] | null, failed: { code: string, message: string } | null,
 *   summary: any, stderr: string }} Said
 * @typedef {import('node:stream').Readable} Readable
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { partitionKey } from '../../src/feeds/keys.js'
import { checkContent } from '../../lab/content/index.js'
import { LOADS, loadOf } from '../../lab/loads/index.js'
import { runLoad as runTally, settingsOf } from '../../lab/loads/run.js'
import { decidedOf } from '../../src/pipeline/index.js'
import { summaryLine } from '../../src/summary/index.js'
import { nodeFigures } from '../../src/store/nodes.js'
import { connectFor, eventually } from '../servers.js'

const LOAD_PROCESS = fileURLToPath(new URL('../../lab/loads/load-process.js', import.meta.url))
/** NODE_OPTIONS is the test runner's */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'NODE_OPTIONS'))

/**
 * @param {import('tap').Test} t
 * @param {{ load: string, settings: Record<string, any>, redisUrl: string, replicaUrls?: string[], gateway?: string[],
 *   file?: string }} order
 *   `file`: another load process
 */
export function startLoad (t, { file = LOAD_PROCESS, replicaUrls = [], ...order }) {
  const child = /** @type {import('node:child_process').ChildProcessByStdio<null, Readable, Readable>} */ (
    spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }))
  const said = /** @type {Said} */ ({ status: null, measuring: false, acknowledged: null, failed: null, summary: null, stderr: '' })
  let stdout = ''
  child.stdout.on('data', (chunk) => { stdout += chunk })
  child.stderr.on('data', (chunk) => { said.stderr += chunk })
  child.on('message', (/** @type {any} */ message) => {
    if (message.event === 'measuring') said.measuring = true
    else if (message.event === 'ended') said.acknowledged = message.acknowledged
    else if (message.event === 'failed') said.failed = { code: message.code, message: message.message }
  })
  /** @type {Promise<Said>} */
  const ended = Promise.all([once(child, 'exit'), once(child, 'disconnect'), once(child.stdout, 'close'),
    once(child.stderr, 'close')]).then(([[status]]) => {
    said.status = status
    if (stdout) said.summary = JSON.parse(stdout)
    return said
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  child.send({ event: 'start', replicaUrls, ...order }, () => {})
  return {
    child,
    said,
    /** Resolves when it is gone. */
    ended: () => ended,
    measuring: () => eventually(() => said.measuring || said.status !== null)
  }
}

/** @param {import('tap').Test} t @param {Parameters<typeof startLoad>[1]} order @returns {Promise<Said>} */
export const runLoad = (t, order) => startLoad(t, order).ended()

/**
 * The same work in the process of the test, for a load of one writer: what lab/loads/protocol.js says, without the start of a process.
 * @param {{ load: string, settings: Record<string, any>, redisUrl: string, replicaUrls?: string[], gateway?: string[],
 *   loads?: Readonly<Record<string, import('../../lab/loads/index.js').Load>>, signal?: AbortSignal, onMeasuring?: () => void }} order
 * @returns {Promise<Said>}
 */
export async function loadHere ({
  load: name, settings: given, replicaUrls = [], loads = LOADS, signal = new AbortController().signal, onMeasuring = () => {}, ...order
}) {
  const said = /** @type {Said} */ ({ status: 0, measuring: false, acknowledged: null, failed: null, summary: null, stderr: '' })
  try {
    const load = loadOf(name, loads)
    const settings = settingsOf(load, given)
    const tally = await runTally(load, {
      ...order,
      settings,
      replicaUrls,
      index: 0,
      signal,
      onMeasuring () {
        said.measuring = true
        onMeasuring()
      }
    })
    said.acknowledged = [decidedOf(tally.account)]
    const { engine } = tally
    said.summary = JSON.parse(JSON.stringify({ ...summaryLine({ role: 'load', settings, engine, tallies: [tally] }), nodes: [] }))
  } catch (error) {
    const { code = 'LOAD_FAILED', message } = error
    Object.assign(said, { status: 1, failed: { code, message }, stderr: `${code}: ${message}\n` })
  }
  return said
}

/**
 * What a node holds against what was acknowledged.
 * @param {import('tap').Test} t @param {{ url: string }} server
 * @param {{ settings: Record<string, any>, acknowledged: number[], storage: import('../../lab/content/inventory.js').Storage }} run
 */
export async function ledgerOf (t, { url }, { settings, acknowledged, storage }) {
  const connection = await connectFor(t, url)
  const { keyPrefix, feed, partitions = 1 } = settings
  const stored = { feed, partitions }
  const key = Array.from({ length: partitions }, (_, partition) => partitionKey(keyPrefix, stored, partition))
  const ledger = await checkContent(connection, { storage, key }, {
    acknowledged,
    distinctIds: settings.ids,
    valueChange: settings.valueChange ?? 'always',
    valueBytes: settings.valueBytes,
    maxItems: settings.maxItems ?? 0
  })
  connection.close()
  return ledger
}

/**
 * Resolves when the replica has what the primary has now.
 * @param {import('tap').Test} t
 * @param {{ url: string }} primary
 * @param {{ url: string }} replica
 */
export async function untilLevel (t, primary, replica) {
  const [one, other] = await Promise.all([connectFor(t, primary.url), connectFor(t, replica.url)])
  const { offset } = await nodeFigures(one)
  await eventually(async () => (await nodeFigures(other)).offset >= offset)
  one.close()
  other.close()
}
