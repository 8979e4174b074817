/** Techniques of deciding bids, and the checker of their histories. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { checkHistory, historyText, readHistory } from '../../lab/systems/auctions/history.js'
import { openOverHttp } from '../../lab/systems/auctions/http.js'
import { runBids } from '../../lab/systems/auctions/load.js'
import { openTechnique, TECHNIQUES } from '../../lab/systems/auctions/techniques.js'
import { endOfMain } from '../bin/in-process.js'
import { nightEngines, nightly, wholeTest } from '../scope.js'
import { engineName, startServer } from '../servers.js'
import { MUTANTS, openMutant } from './mutants/bids.js'

const LOAD = { users: 20, thinkMs: 2, warmUpSeconds: 0.05, seconds: 0.15 }
const LONGEST_S = 8
const REAL = TECHNIQUES.filter((name) => name !== 'noop')

/** @typedef {Awaited<ReturnType<typeof runBids>>} Ran */

/**
 * Bids for longer and longer until there is what is looked for: on a busy machine few are made in a short time.
 * @param {(seconds: number) => Promise<Ran>} bid @param {(ran: Ran) => boolean} isEnough @returns {Promise<Ran>} the last
 */
async function bidUntil (bid, isEnough) {
  for (let seconds = LOAD.seconds; ; seconds *= 2) {
    const ran = await bid(seconds)
    if (isEnough(ran) || seconds > LONGEST_S) return ran
  }
}

/** @param {{ name: string, ok: boolean, detail: string }[]} invariants */
const broken = (invariants) => invariants.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`)

for (const engine of await nightEngines()) {
  t.test(`${engineName(engine)}: every technique decides, and its history holds`, async (t) => {
    const { url } = await startServer(t, { engine })
    for (const technique of REAL) {
      const { items, accepted, calls, invariants, history, latencyMsByCode } = await bidUntil(async (seconds) => {
        const open = await openTechnique(technique, { redisUrl: url, keyPrefix: `lab-${technique}-${seconds}:` })
        try {
          return await runBids(open, { ...LOAD, seconds, technique })
        } finally {
          await open.close()
        }
      }, ({ accepted }) => accepted > 0)
      t.ok(items > 0 && accepted > 0 && calls > 0, technique)
      t.same(broken(invariants), [], technique)
      t.equal(invariants.length, 9)
      t.ok(history.events.length >= accepted)
      t.ok(latencyMsByCode.accepted.p50 <= latencyMsByCode.accepted.p99)
    }
  })
}

wholeTest('the same over HTTP, through a gateway of the lab', async (t) => {
  const [engine] = await nightEngines()
  const { url } = await startServer(t, { engine })
  const open = await openOverHttp('batched+cache', { redisUrl: url, keyPrefix: 'lab-http:' })
  const load = { ...LOAD, seconds: nightly(1, 0.3), technique: 'batched+cache', driver: 'http' }
  const { accepted, invariants, latencyMsByCode } = await runBids(open, load)
  await open.close()
  t.ok(accepted > 0 && latencyMsByCode.accepted.n > 0)
  t.same(broken(invariants), [])
})

t.test('every mutant is caught, by what it breaks', async (t) => {
  const breaks = { 'get-set': 'A1', float: 'A2', 'no-close': 'A4', 'stale-cache': 'A5' }
  t.same(Object.keys(breaks), MUTANTS)
  for (const [mutant, rule] of Object.entries(breaks)) {
    const isCaught = (/** @type {Ran} */ { invariants }) => broken(invariants).some((text) => text.startsWith(rule))
    const ran = await bidUntil((seconds) =>
      runBids(openMutant(mutant), { ...LOAD, seconds, technique: mutant, closeInMs: 600 * seconds }), isCaught)
    t.ok(isCaught(ran), `${mutant}: ${broken(ran.invariants).join(' | ')}`)
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
  const good = await endOfMain(['experiment', 'check', file])
  t.equal(good.code, 0, good.stderr)
  t.match(good.stdout, /\d+ bids, \d+ events[^]*A2 no false rejection: yes/)
  history.events.splice(3, 1)
  await writeFile(file, historyText(history))
  const bad = await endOfMain(['experiment', 'check', file])
  t.equal(bad.code, 1)
  t.match(bad.stdout, /A1 events rise by the increment, without gaps: no \(/)
})

wholeTest("bids over many auctions, by Zipf's law", async (t) => {
  const load = { ...LOAD, technique: '', lots: 50, seconds: nightly(0.5, 0.3) }
  const { items, invariants, history } = await runBids(openMutant(''), load)
  t.same(broken(invariants), [])
  const share = history.bids.length / items
  t.ok(share > 0.05 && share < 0.6, `${share} on the first`)
  const { invariants: ofMutant } = await runBids(openMutant('get-set'), load)
  t.match(broken(ofMutant).join(), 'A1', 'each auction is checked')
})

wholeTest('a soft close moves the end, and the checker knows how far it may', async (t) => {
  const isMoved = (/** @type {Ran} */ { history: { events, terms } }) => events.some(({ closeAt }) => closeAt === terms.closeAt + 150)
  const isClosed = (/** @type {Ran} */ { history: { bids } }) => bids.some(({ code }) => code === 'closed')
  const ran = await bidUntil((seconds) => runBids(openMutant(''),
    { ...LOAD, technique: '', closeInMs: 1000 * seconds, softCloseMs: 100, softCloseMaxMs: 150, seconds: seconds + 0.4 }),
  (ran) => isMoved(ran) && isClosed(ran))
  const { invariants, history } = ran
  t.same(broken(invariants), [])
  t.ok(isMoved(ran), 'up to its bound')
  t.ok(isClosed(ran))
  const moved = history.events.findIndex(({ closeAt }) => closeAt !== null)
  history.events[moved].closeAt = Number(history.events[moved].closeAt) + 1
  t.match(broken(checkHistory(history)).join(), 'A4 none after the end, none closed before it: ')
})

t.test('a gateway of the lab that ends is an error, not a wait', async (t) => {
  await t.rejects(openOverHttp('lua', { redisUrl: 'redis://127.0.0.1:1', keyPrefix: 'x:' }), { code: 'SERVER_UNREACHABLE' })
})

t.test('what the checker must see in single lines', async (t) => {
  const terms = { start: 100, increment: 10, closeAt: 10_000, softCloseMs: 0, softCloseMaxMs: 0, clockMs: 0 }
  const event = (/** @type {number} */ seq, /** @type {number} */ amount, user = 'a') =>
    ({ seq, by: 'bid', user, amount, previous: 0, ts: 1, closeAt: null, request: `r${seq}` })
  const outcome = { code: 'accepted', seq: 1, currentBid: 100, minNext: 110, isReplay: false }
  const first = { user: 'a', amount: 100, request: 'r1', sent: 1, answered: 2, ...outcome }
  const second = { ...first, user: 'b', amount: 110, request: 'r2', sent: 3, answered: 4, seq: 2, currentBid: 110, minNext: 120 }
  const low = { ...second, amount: 105, code: 'too_low', seq: 1, currentBid: 100, minNext: 110 }
  const self = { ...low, user: 'a', code: 'self_outbid', amount: 200 }
  const [one, both] = [[event(1, 100)], [event(1, 100), event(2, 110, 'b')]]
  /** @param {any[]} bids @param {any[]} events @param {Record<string, any>} [state] */
  const faults = (bids, events, state = {}) => {
    const { seq, amount, user } = events.at(-1)
    const final = { seq, price: amount, leader: user, ...state }
    return broken(checkHistory({ terms, bids, events, final })).map((text) => text.slice(0, 2))
  }
  t.same(faults([first], one), [])
  t.same(faults([first, low], one), [])
  t.same(faults([first, self], one), [])
  t.same(faults([first, second], both), [])
  t.same(faults([first], one, { price: 101 }), ['A1'], 'the state is not what the events say')
  t.same(faults([{ ...first, currentBid: 99 }], one), ['A1'], 'the reply is not what is stored')
  t.same(faults([first, { ...low, amount: 110 }], one), ['A2'], 'it was high enough')
  t.same(faults([first, { ...low, sent: 0, answered: 0.5 }], one), ['A2'], 'decided by what was not there yet')
  t.same(faults([first, { ...low, minNext: 111 }], one), ['A2'], 'a wrong minimum')
  t.same(faults([first, second, { ...self, request: 'r3', sent: 5, answered: 6 }], both), ['A2'], 'it led no longer')
  t.same(faults([first, second, { ...second, request: 'r3' }], both), ['A1'], 'accepted at the place of another')
  t.same(faults([{ ...first, sent: 5, answered: 6 }, second], both), ['A3'], 'the later one was answered before the earlier one was sent')
  t.same(faults([first, { ...low, code: 'closed' }], one), ['A4'], 'closed too early')
  t.same(faults([first, { ...low, code: 'failed' }], one), ['ev'], 'no such reply')
})
