/**
 * `npx freshet bench`: what these servers and this machine do, in one line after 20 s. A process file.
 *
 *     half of the time   a writer in this process, as fast as possible      items/s, CPU time of each server per item
 *     a quarter          1,000 items/s, and a client that follows all       time from when an item was due until the client has it
 *     a quarter          1,000 items/s, and 16 connections that request     requests/s
 *
 * The reader is a process of its own. Everything is stored below a key prefix of its own, and removed at the end.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { printable, resolve, settingsOf } from '../settings.js'
import { follow } from '../src/client.js'
import { dropFeed } from '../src/feeds/index.js'
import { layoutNames } from '../src/layouts/index.js'
import { ackNames } from '../src/pipeline/index.js'
import { openClient } from '../src/requests/index.js'
import { createClock } from '../src/clock.js'
import { aborted, runProcess } from '../src/runtime/index.js'
import { openPrimaries } from '../src/store/index.js'
import { write } from '../writers/feed.js'
import { createChildren } from './children.js'

const USAGE = `Usage: npx freshet bench [flags]

Measures for 20 s and prints one line: items/s of one writer, time until a client that follows has an item, requests/s of the newest 100
items, and the CPU time of each server per item. Keys have a prefix of their own and are removed.

Examples:
  npx freshet bench
  npx freshet bench --layout segments
  npx freshet bench --redis-url redis://127.0.0.1:6379`
const FEED = 'bench'
const STEADY_RATE = 1_000
const CONNECTIONS = 16

/**
 * @param {{ argv: string[], env: Record<string, string | undefined>, seconds?: number }} from `seconds`: for tests
 * @returns {Promise<number>} exit status
 */
export const main = ({ seconds = 20, ...from }) => runProcess(from, {
  table: { printable, settingsOf },
  context: { command: 'bench', layouts: layoutNames(), acks: [] },
  usage: USAGE,
  stopping: 'stopping: removing what was written'
}, (settings, target, log, signal) => {
  // the longest prefix that a setting may have is 32 characters
  const benchSettings = { ...settings, keyPrefix: `${settings.keyPrefix.slice(0, 15)}bench-${randomBytes(5).toString('hex')}:` }
  return bench(benchSettings, target, log, signal, seconds)
})

/**
 * @param {any} settings @param {import('../src/embedded/index.js').Target} target @param {import('pino').Logger} log
 * @param {AbortSignal} stopped @param {number} seconds
 */
async function bench (settings, target, log, stopped, seconds) {
  const failing = new AbortController()
  const ending = new AbortController()
  const signal = AbortSignal.any([stopped, failing.signal, ending.signal])
  const children = createChildren(settings, target, { signal, fail: () => failing.abort() })
  const writing = { settings, target, log, signal }
  try {
    log.info({ seconds }, 'measuring')
    const written = await writeItems({ ...writing, flags: ['--rate', '0', '--duration', String(seconds / 2)] })
    const reader = children.start('reader', ['--port', '0', '--key-prefix', settings.keyPrefix], (up) => up.url)
    const url = await Promise.race([reader.up.then((up) => up.url), aborted(signal)])
    if (signal.aborted || written === null) return stopped.aborted ? 0 : 1
    const steady = writeItems({ ...writing, flags: ['--rate', String(STEADY_RATE)] })
    const delays = await delaysOf(url, signal, seconds * 250)
    const perSecond = signal.aborted ? 0 : await requestsPerSecond(url, seconds * 250)
    ending.abort()
    if (await steady === null || failing.signal.aborted) return 1
    if (stopped.aborted) return 0
    process.stdout.write(lineOf(settings, written, delays, perSecond) + '\n')
    return 0
  } finally {
    ending.abort()
    await children.stop()
    await clean(settings, target)
  }
}

/**
 * @param {{ settings: any, target: import('../src/embedded/index.js').Target, log: import('pino').Logger, signal: AbortSignal,
 *   flags: string[] }} parts
 * @returns {Promise<ReturnType<typeof import('../writers/summary.js').summaryOf> | null>} null: items were not acknowledged
 */
async function writeItems ({ settings: { keyPrefix, layout, deadlineMs }, target, log, signal, flags }) {
  const common = ['--feed', FEED, '--key-prefix', keyPrefix, '--layout', layout, '--source', 'synthetic', '--log-level', 'silent',
    '--deadline-ms', String(deadlineMs)]
  const settings = resolve([...common, ...flags], {}, { command: 'writer', layouts: layoutNames(), acks: ackNames() })
  let text = ''
  const stdout = { write: (/** @type {string} */ more) => { text += more } }
  const status = await write(settings, target, log, signal, { stdin: process.stdin, stderr: process.stderr, stdout })
  // what failed was logged
  return status === 0 ? JSON.parse(text) : null
}

/**
 * @param {string} url of the reader @param {AbortSignal} signal @param {number} ms after the snapshot
 * @returns {Promise<number[]>} ms, ascending
 */
async function delaysOf (url, signal, ms) {
  const now = createClock()
  const delays = []
  let untilMs = Infinity
  for await (const { event, items = [] } of follow(url, FEED, { signal })) {
    if (event === 'snapshot') untilMs = now() + ms
    else for (const { ts = NaN } of items) delays.push(now() - ts)
    if (now() >= untilMs && delays.length > 0) break
  }
  return delays.sort((a, b) => a - b)
}

/** Each connection sends its next request when it has the response. @param {string} url of the reader @param {number} ms */
async function requestsPerSecond (url, ms) {
  let answered = 0
  const clients = Array.from({ length: CONNECTIONS }, () => {
    const client = openClient(`${url}/v1/feeds/${FEED}/items?limit=100`, {
      ready () { client.send() },
      head: () => false,
      response: (status) => { if (status === 200) answered++ },
      lost () {},
      end () {}
    })
    return client
  })
  await pause(ms)
  for (const client of clients) client.close()
  return answered / ms * 1000
}

/**
 * @param {any} settings @param {NonNullable<Awaited<ReturnType<typeof writeItems>>>} written
 * @param {number[]} delays @param {number} perSecond
 */
function lineOf ({ layout }, { itemsPerSecond, engine, nodes }, delays, perSecond) {
  const count = (/** @type {number} */ value) => Number(value.toPrecision(3)).toLocaleString('en')
  const percentile = (/** @type {number} */ share) => (delays[Math.floor(share * delays.length)] ?? NaN).toFixed(1)
  const costs = nodes.map(({ role, cpuMicrosPerItem }) => `${role} ${cpuMicrosPerItem?.toFixed(2) ?? 'unknown'} µs`)
  return `${count(itemsPerSecond)} items/s from one writer; a follower has an item after ${percentile(0.5)} ms (p50), ` +
    `${percentile(0.99)} ms (p99); ${count(perSecond)} requests/s of the newest 100; CPU per item: ${costs.join(', ')} ` +
    `(layout ${layout}, ${engine}, Node.js ${process.version})`
}

/** @param {any} settings @param {import('../src/embedded/index.js').Target} target */
async function clean ({ keyPrefix, deadlineMs }, { primaryUrl }) {
  const primaries = await openPrimaries(primaryUrl, { name: `freshet-bench-${process.pid}`, deadlineMs })
  try {
    await dropFeed(primaries.router, keyPrefix, FEED, primaries.connections)
  } catch (error) {
    // it was stopped before the first item
    if (error.code !== 'FEED_UNKNOWN') throw error
  } finally {
    await primaries.close()
  }
}
