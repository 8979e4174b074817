/**
 * Hundreds of connections that take as much of a reader as they can (test/readers/hostile-clients.js), in all their kinds at once:
 * its memory stays bounded, and a client who asks for one item is answered. Memory is what is in use after garbage collection,
 * and of the whole process; times are printed, since they depend on what else the machine does.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { residentMib, runReader } from '../../test/commands.js'
import { openLive } from '../../test/push/live-client.js'
import { openFeed } from '../../src/index.js'
import { eventually, startServer } from '../../test/servers.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const CONNECTIONS = nightly(1000, 300)
const SECONDS = nightly(10, 3)
const MOST_ADDED_MIB = 256
/** connections of which nothing is read are closed after 30 s */
const CLOSED_WITHIN_MS = 90_000
const CLIENTS = fileURLToPath(new URL('../../test/readers/hostile-clients.js', import.meta.url))
const LIVE_MEMORY = fileURLToPath(new URL('../../test/push/live-memory.js', import.meta.url))
const MIB = 1024 * 1024
/** name, layout, items, bytes of a value @type {[string, 'ids' | 'segments', number, number][]} */
const FEEDS = [['small', 'ids', nightly(20_000, 10_000), 128], ['large', 'ids', nightly(300, 100), 300 * 1024],
  ['logged', 'segments', 10_000, 200]]

const [engine] = await scopedEngines()
t.test(`${CONNECTIONS} hostile connections`, async (t) => {
  const { url: redisUrl } = await startServer(t, { engine })
  for (const [name, layout, count, bytes] of FEEDS) {
    const feed = await openFeed(name, { redisUrl, layout, windowMs: 0, maxItems: 200_000 })
    for (let n = 0; n < count; n++) {
      if (!feed.append({ id: `item-${n}`, ts: Date.now() - n, value: Buffer.alloc(bytes, `x${n}`) })) await feed.ready()
    }
    await feed.close()
  }
  const reader = await runReader(t, { redisUrl, flags: ['--read-from', 'primary'], env: { NODE_OPTIONS: `--import ${LIVE_MEMORY}` } })
  for (const [name] of FEEDS) {
    await reader.ask(`/v1/feeds/${name}/items?limit=1`)
    // the clients make the reader build views of all feeds, which have a limit of their own
    const live = await openLive(t, reader.url, `/v1/feeds/${name}/live?limit=1`)
    await live.until('snapshot')
  }
  let measured = 0
  const liveMib = async () => {
    process.kill(reader.command.pid, 'SIGUSR2')
    const [, bytes] = await reader.command.until(new RegExp(`live memory ${++measured}: (\\d+)`))
    return Number(bytes) / MIB
  }
  const before = { resident: await residentMib(reader.command.pid), live: await liveMib() }
  const peak = { ...before }

  const args = [CLIENTS, reader.url, String(CONNECTIONS), FEEDS.map(([name]) => name).join(',')]
  const clients = spawn(process.execPath, args, { stdio: 'inherit' })
  t.teardown(() => clients.kill('SIGKILL'))
  /** @type {number[]} */
  const times = []
  const failed = []
  for (const until = Date.now() + 1000 * SECONDS; Date.now() < until;) {
    const startedMs = performance.now()
    const { status, body } = await reader.get('/v1/feeds/small/items?limit=1')
    times.push(performance.now() - startedMs)
    if (status !== 200) failed.push(`${status} ${body}`)
    if (times.length % 20 === 0) peak.live = Math.max(peak.live, await liveMib())
    peak.resident = Math.max(peak.resident, await residentMib(reader.command.pid))
    await sleep(20)
  }
  // also where a busy machine answers few requests
  peak.live = Math.max(peak.live, await liveMib())
  clients.kill('SIGTERM')
  await once(clients, 'exit')
  times.sort((a, b) => a - b)
  const added = { resident: peak.resident - before.resident, live: peak.live - before.live }
  const quantile = (/** @type {number} */ share) => Math.round(times[Math.floor(times.length * share)])
  t.comment(`MiB before and added: ${JSON.stringify({ before, added })}`)
  t.comment(`limit=1, ${times.length} times: p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms`)
  t.same(failed, [], 'one small item is always answered')
  t.ok(added.live <= MOST_ADDED_MIB, `${added.live.toFixed(0)} MiB in use were added`)
  t.ok(added.resident <= 2 * MOST_ADDED_MIB, `${added.resident.toFixed(0)} MiB of the process were added`)
  await eventually(async () => {
    const { body } = await reader.get('/metrics')
    return /^freshet_http_reply_bytes 0$/m.test(body) && /^freshet_http_requests_in_progress 0$/m.test(body)
  }, { deadlineMs: CLOSED_WITHIN_MS, everyMs: 500 })
})
