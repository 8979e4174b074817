/**
 * Clients that ask for everything and take nothing: they cost their budget, others do not wait for them, and they are ended.
 *
 * Memory in use after garbage collection and delay are compared in one run: without them, with them, and again, for as many rounds
 * as it takes to find a quiet one; what was measured is printed. On one engine: it is the reader that is looked at.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { residentMib, runReader } from '../../test/commands.js'
import { metricsOf, openLive, openSocket, requestText } from '../../test/push/live-client.js'
import { openWritten } from '../../test/push/written.js'
import { eventually, startServer } from '../../test/servers.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const STALLED = nightly(200, 24)
const HEALTHY = nightly(5, 3)
/** the budget is 16 MiB */
const MOST_GROWTH_MIB = 32
/** A hub that waited for them would delay the others by the seconds until they are ended; what is measured is 1 to 4 times. */
const MOST_RATIO = 10
const ROUNDS = 5
const WINDOW_MS = nightly(1500, 1000)
const PROBE_MS = 20
const ENDED_WITHIN_MS = 90_000
const LIVE_MEMORY = fileURLToPath(new URL('../../test/push/live-memory.js', import.meta.url))
const MIB = 1024 * 1024
const PATH = '/v1/feeds/busy/live'
const WANTS = ['?limit=10000', '', '?limit=10000&encoding=utf8', `?${Array.from({ length: 500 }, (_, n) => `id=id-${n}`).join('&')}`]

const median = (/** @type {number[]} */ numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]

const [engine] = await scopedEngines()
t.test(`${STALLED} that never read, beside ${HEALTHY} that do`, async (t) => {
  const server = await startServer(t, { engine })
  const env = { NODE_OPTIONS: `--import ${LIVE_MEMORY}` }
  const reader = await runReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'], env })
  const written = await openWritten(t, { redisUrl: server.url, feed: 'busy' })
  const value = 'v'.repeat(2000)
  let versions = 0
  const write = (/** @type {number} */ perSlice) =>
    written.keepWriting({ ids: 1000, perSlice, everyMs: 10, valueAt: () => `${versions++} ${value}` })
  let writing = write(8)
  await eventually(() => writing.written > 1000)

  /** ms from writing to reading @type {number[]} */
  let delays = []
  const probing = setInterval(() => written.append('probe', `@${performance.now()}@`), PROBE_MS)
  t.teardown(() => clearInterval(probing))
  for (let n = 0; n < HEALTHY; n++) {
    await openLive(t, reader.url, `${PATH}?encoding=utf8`, {
      onBytes (bytes) {
        for (const [, writtenMs] of bytes.toString('latin1').matchAll(/"value":"@([\d.]+)@"/g)) {
          delays.push(performance.now() - Number(writtenMs))
        }
      }
    })
  }
  const exact = await openLive(t, reader.url, `${PATH}?limit=10000`)
  const paused = await openLive(t, reader.url, `${PATH}?limit=10000`)
  await Promise.all([exact, paused].map((client) => client.until('snapshot')))

  let measured = 0
  async function measure () {
    delays = []
    for (const untilMs = performance.now() + WINDOW_MS; performance.now() < untilMs || delays.length < HEALTHY;) await pause(50)
    const delayMs = median(delays)
    const processMib = await residentMib(reader.command.pid)
    process.kill(reader.command.pid, 'SIGUSR2')
    const [, bytes] = await reader.command.until(new RegExp(`live memory ${++measured}: (\\d+)`))
    return { mib: Number(bytes) / MIB, processMib, delayMs }
  }
  /** @param {number} count */
  const stall = (count) =>
    Promise.all(Array.from({ length: count }, (_, n) => openSocket(t, reader.url, requestText(PATH + WANTS[n % WANTS.length]))))
  const streams = (/** @type {number} */ count) => eventually(async () => (await metricsOf(reader)).get('freshet_streams') === count)
  const others = HEALTHY + 2
  /** Resolves when nothing more is buffered for the clients that do not read. */
  const areFull = () => eventually(async () => {
    const before = await metricsOf(reader)
    await pause(200)
    const after = await metricsOf(reader)
    const more = (/** @type {string} */ name) => Number(after.get(name)) - Number(before.get(name))
    return more('freshet_stream_skipped_total') > 0 && Math.abs(more('freshet_stream_buffered_bytes')) < MIB
  }, { deadlineMs: ENDED_WITHIN_MS })

  await t.test('memory growth is bounded, and other clients are not delayed', async (t) => {
    // clients that come, read and go, as usual
    const usual = await stall(STALLED)
    for (const socket of usual) socket.resume()
    await pause(WINDOW_MS)
    for (const socket of usual) socket.destroy()
    await streams(others)
    let isGood = false
    /** before any of them came @type {Awaited<ReturnType<typeof measure>> | undefined} */
    let first
    for (let round = 0; round < ROUNDS && !isGood; round++) {
      const without = await measure()
      const sockets = await stall(STALLED)
      await streams(STALLED + others)
      await areFull()
      const beside = await measure()
      first ??= without
      const growthMib = beside.mib - first.mib
      const ratio = beside.delayMs / without.delayMs
      isGood = growthMib <= MOST_GROWTH_MIB && ratio <= MOST_RATIO
      t.comment(`memory ${first.mib.toFixed(0)} MiB before, ${growthMib.toFixed(0)} MiB more beside ${STALLED} (process ` +
        `${first.processMib.toFixed(0)} MiB, ${(beside.processMib - first.processMib).toFixed(0)} MiB more); median delay ` +
        `${without.delayMs.toFixed(1)} ms, ${ratio.toFixed(2)} times that beside them`)
      if (!isGood) for (const socket of sockets) socket.destroy()
      if (!isGood) await streams(others)
    }
    t.ok(isGood, `at most ${MOST_GROWTH_MIB} MiB and ${MOST_RATIO} times the delay, in one of ${ROUNDS} rounds`)
  })

  // nothing is measured any more
  await writing.stop()
  writing = write(1)

  await t.test('streams of clients that do not read are ended', async (t) => {
    await eventually(async () => (await metricsOf(reader)).get('freshet_streams') === others, { deadlineMs: ENDED_WITHIN_MS, everyMs: 500 })
    const metrics = await metricsOf(reader)
    t.ok(Number(metrics.get('freshet_streams_ended_total{reason="stalled"}')) >= STALLED)
    t.equal(metrics.get('freshet_streams_ended_total{reason="failed"}'), 0)
  })

  await t.test('one that stands still for a while goes on, with the newest of everything', async (t) => {
    paused.pause()
    await writing.stop()
    writing = write(3)
    await eventually(() => writing.written > 1000)
    paused.resume()
    clearInterval(probing)
    await writing.stop()
    await written.flush()
    await written.reaches([exact, paused])
    t.same([exact, paused].map(({ wentBack }) => wentBack), [[], []])
    t.same([exact, paused].flatMap((client) => client.names().filter((name) => name === 'reset')), [])
    t.equal((await reader.command.stop()).code, 0)
  })
})
