/** Techniques of deciding bids, and the checker of their histories. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { checkHistory, historyText, readHistory } from '../../lab/contention/history.js'
import { openOverHttp } from '../../lab/contention/http.js'
import { runBids } from '../../lab/contention/load.js'
import { MUTANTS, openMutant } from '../../lab/contention/memory.js'
import { openTechnique, TECHNIQUES } from '../../lab/contention/techniques.js'
import { endOf } from '../commands.js'
import { scopedEngines } from '../scope.js'
import { engineName, startServer } from '../servers.js'

const LOAD = { users: 20, thinkMs: 2, warmUpSeconds: 0.05, seconds: 0.4 }
const [REAL] = [TECHNIQUES.filter((name) => name !== 'noop' && !MUTANTS.includes(name))]

/** @param {{ name: string, ok: boolean, detail: string }[]} invariants */
const broken = (invariants) => invariants.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`)

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: every technique decides, and its history holds`, async (t) => {
    const { url } = await startServer(t, { engine })
    for (const technique of REAL) {
      // SET IFEQ came with Valkey 8.1
      if (technique === 'cas' && engine.name !== 'valkey') continue
      const open = await openTechnique(technique, { redisUrl: url, keyPrefix: `lab-${technique}:` })
      const { items, accepted, calls, invariants, history, latencyMsByCode } = await runBids(open, { ...LOAD, technique })
      await open.close()
      t.ok(items > 0 && accepted > 0 && calls > 0, technique)
      t.same(broken(invariants), [], technique)
      t.equal(invariants.length, 7)
      t.ok(history.events.length >= accepted)
      t.ok(latencyMsByCode.accepted.p50 <= latencyMsByCode.accepted.p99)
    }
  })
}

t.test('the same over HTTP, through a gateway of the lab', async (t) => {
  const [engine] = await scopedEngines()
  const { url } = await startServer(t, { engine })
  const open = await openOverHttp('batched+cache', { redisUrl: url, keyPrefix: 'lab-http:' })
  const { accepted, invariants, latencyMsByCode } = await runBids(open, { ...LOAD, technique: 'batched+cache', driver: 'http' })
  await open.close()
  t.ok(accepted > 0 && latencyMsByCode.accepted.n > 0)
  t.same(broken(invariants), [])
})

t.test('every mutant is caught, by what it breaks', async (t) => {
  const breaks = { 'get-set': 'A1', float: 'A1', 'no-close': 'A4', 'stale-cache': 'A5' }
  t.same(Object.keys(breaks), MUTANTS)
  for (const [mutant, rule] of Object.entries(breaks)) {
    const { invariants } = await runBids(openMutant(mutant), { ...LOAD, seconds: 0.5, technique: mutant, closeInMs: 300 })
    t.ok(broken(invariants).some((text) => text.startsWith(rule)), `${mutant}: ${broken(invariants).join(' | ')}`)
  }
  const { invariants } = await runBids(openMutant(''), { ...LOAD, technique: '', closeInMs: 300 })
  t.same(broken(invariants), [], 'without a mistake')
})

t.test('a history file is checked: npm run experiment -- check FILE', async (t) => {
  const { history } = await runBids(openMutant(''), { ...LOAD, technique: '' })
  t.same(readHistory(historyText(history)).events.length, history.events.length)
  const folder = await mkdtemp(join(tmpdir(), 'freshet-history-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'bids.ndjson')
  await writeFile(file, historyText(history))
  const good = await endOf(t, ['experiment', 'check', file])
  t.equal(good.code, 0, good.stderr)
  t.match(good.stdout, /\d+ bids, \d+ events[^]*A2 no false rejection: yes/)
  history.events.splice(3, 1)
  await writeFile(file, historyText(history))
  const bad = await endOf(t, ['experiment', 'check', file])
  t.equal(bad.code, 1)
  t.match(bad.stdout, /A1 events rise by the increment, without gaps: no \(/)
})

t.test('what the checker must see in single lines', async (t) => {
  const terms = { start: 100, increment: 10, closeAt: 10_000 }
  const event = (/** @type {number} */ seq, /** @type {number} */ amount, user = 'a') =>
    ({ seq, by: 'bid', user, amount, previous: 0, ts: 1, request: `r${seq}` })
  const usual = { user: 'a', amount: 100, request: 'r1', sent: 1, answered: 2, code: 'accepted', seq: 1 }
  const bid = (/** @type {Record<string, any>} */ of) => ({ ...usual, decidedAtSeq: 0, minNext: 0, isReplay: false, ...of })
  /** @param {any[]} bids @param {any[]} events */
  const faults = (bids, events) => broken(checkHistory({ terms, bids, events })).map((text) => text.slice(0, 2))
  t.same(faults([bid({})], [event(1, 100)]), [])
  t.same(faults([bid({}), bid({ request: 'r2', user: 'b', amount: 105, code: 'too_low', decidedAtSeq: 1, sent: 3, answered: 4 })],
    [event(1, 100)]), [])
  t.same(faults([bid({}), bid({ request: 'r2', user: 'b', amount: 110, code: 'too_low', decidedAtSeq: 1, sent: 3, answered: 4 })],
    [event(1, 100)]), ['A2'], 'it was high enough')
  t.same(faults([bid({}), bid({ request: 'r2', user: 'b', code: 'too_low', decidedAtSeq: 1, sent: 0, answered: 0.5 })],
    [event(1, 100)]), ['A2'], 'decided by what was not there yet')
  const both = [event(1, 100), event(2, 110, 'b')]
  t.same(faults([bid({ seq: 2, request: 'r2', amount: 110, user: 'b' }), bid({ sent: 3, answered: 4 })], both), ['A3'],
    'the later one was answered before the earlier one was sent')
})
