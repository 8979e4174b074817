/** Bids while the primary ends and comes back: every invariant holds over a long history. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openEngine } from '../../../lab/systems/auctions/engine.js'
import { runBids } from '../../../lab/systems/auctions/load.js'
import { newest } from '../../../src/embedded/engine.js'
import { nightly } from '../../../test/scope.js'
import { engineName, eventually, startServer, testEngines } from '../../../test/servers.js'

/** FRESHET_TEST_SECONDS=120 makes millions of bids */
const SECONDS = Number(process.env.FRESHET_TEST_SECONDS ?? nightly(8, 2))
const EVERY_MS = nightly(2000, 500)
const LOAD = { technique: 'batched+cache', users: 500, thinkMs: 0, warmUpSeconds: 0.1, seconds: SECONDS }

/** @param {{ invariants: { name: string, ok: boolean, detail: string }[] }} outcome */
const broken = ({ invariants }) => invariants.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`)

/**
 * Bids while `disturb` runs again and again.
 * @param {import('tap').Test} t @param {string} url @param {{ durability: string, disturb: () => Promise<void> }} options
 */
async function bidThrough (t, url, { durability, disturb }) {
  const technique = await openEngine({ redisUrl: url, keyPrefix: 'fr:', batches: true, hasCache: true, durability })
  // a failure must not leave connections that keep the process
  t.teardown(technique.close)
  const over = new AbortController()
  async function disturbAlong () {
    while (!over.signal.aborted) {
      await sleep(EVERY_MS, undefined, { signal: over.signal }).catch(() => {})
      if (!over.signal.aborted) await disturb()
    }
  }
  const disturbing = disturbAlong()
  disturbing.catch(() => {})
  const outcome = await runBids(technique, LOAD, {
    async untilQuiet () {
      over.abort()
      await disturbing
      await eventually(() => technique.stored('none'))
    }
  })
  const counts = Object.entries(outcome.latencyMsByCode).map(([code, { n }]) => `${code} ${n}`).join(', ')
  t.comment(`${outcome.history.bids.length} bids, ${outcome.history.events.length} events; in the window: ${counts}`)
  return outcome
}

const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))
t.test(`${engineName(engine)}: SIGTERM of a primary that keeps its data loses nothing`, async (t) => {
  const server = await startServer(t, { engine, args: ['--appendonly', 'yes', '--appendfsync', 'everysec'] })
  const outcome = await bidThrough(t, server.url, {
    durability: 'memory',
    async disturb () {
      const ended = once(server.process, 'exit')
      server.process.kill('SIGTERM')
      await ended
      await server.restart()
    }
  })
  t.same(broken(outcome), [])
  t.ok(outcome.failed > 0, 'it was felt')
})

// Redis 7.0 has no WAITAOF
if (engine.name === 'valkey') {
  t.test(`${engineName(engine)}: kill -9 loses nothing that was confirmed by the append-only file`, async (t) => {
    const server = await startServer(t, { engine, args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
    const outcome = await bidThrough(t, server.url, { durability: 'aof', disturb: server.restart })
    t.same(broken(outcome), [])
    t.ok(outcome.failed > 0, 'it was felt')
  })
}

t.test(`${engineName(engine)}: kill -9 with durability memory loses bids, which the checker counts`, async (t) => {
  const server = await startServer(t, { engine, args: ['--appendonly', 'yes', '--appendfsync', 'everysec'] })
  const outcome = await bidThrough(t, server.url, { durability: 'memory', disturb: server.restart })
  const stored = new Set(outcome.history.events.map(({ request }) => request))
  const accepted = outcome.history.bids.filter(({ code, isReplay }) => code === 'accepted' && !isReplay)
  const lost = accepted.filter(({ request }) => !stored.has(request)).length
  t.comment(`lost ${lost} of ${accepted.length} accepted bids`)
  // without one, others may have been refused by a lost bid whose reply was lost too
  t.ok(lost === 0 || broken(outcome).length > 0, 'the checker sees a loss')
})
