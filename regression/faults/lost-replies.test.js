/** A batch that was executed and whose reply is lost is sent again: that must change nothing. */
import t from 'tap'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { startProxy } from '../../test/proxy.js'
import { engineName, startDeployment, startServer } from '../../test/servers.js'
import { subscribeTo } from '../../test/faults/ledger/delivered.js'
import { expectWhole, startRun } from '../../test/faults/ledger/run.js'
import { isNight, nightly, scoped, scopedEngines, wholeTest } from '../../test/scope.js'

const FAULTS = nightly(500, scoped(60, 30))
/** of what is sent as something else is, or the same to both engines */
const FEWER = nightly(100, 30)
const WRITERS = 12
/** replies to what a batch does, and the most until one is lost: those of a few batches */
const MOST = 12
/** of connections, how many lose a reply of their greeting in addition; these do not count */
const GREETINGS = 0.1
const REPLIES_OF_GREETING = 6
/** what an engine without MSETEX is sent otherwise */
const ON_OTHERS = ['ids']
/** what every batch names, and no greeting */
const KEYS = 'fr:{latest:'

/**
 * Loses replies to batches: of the connections for items alone, from their first batch on.
 * @param {number} faults
 */
function createLoss (faults) {
  let lost = 0
  let isOn = false
  /** @param {import('../../test/proxy.js').Line} line */
  const spoil = (line) => { if (isOn && lost < faults) line.loseResult(Math.floor(MOST ** Math.random()), () => { lost++ }) }
  const isForItems = (/** @type {import('../../test/proxy.js').Line} */ { name }) => name?.endsWith(':items') ?? false
  return {
    get lost () { return lost },
    /** @param {import('../../test/proxy.js').Line} line a new one */
    meet (line) {
      if (isOn && lost < faults && Math.random() < GREETINGS) line.loseReply(Math.ceil(REPLIES_OF_GREETING * Math.random()))
      line.onceSent(KEYS, () => { if (isForItems(line)) spoil(line) })
    },
    /** @param {import('../../test/proxy.js').Proxy} proxy */
    begin ({ lines }) {
      isOn = true
      lines.filter(isForItems).forEach(spoil)
    }
  }
}

/**
 * @param {import('tap').Test} t
 * @param {{ url: string, port: number }} server
 * @param {{ faults: number, layout: string, ack: string }} options
 */
async function loseReplies (t, server, { faults, layout, ack }) {
  const loss = createLoss(faults)
  const proxy = await startProxy(t, server.port, { onLine: loss.meet })
  const run = startRun(t, {
    redisUrl: proxy.url,
    writers: WRITERS,
    itemsPerRound: 20,
    roundMs: 40,
    ack,
    options: { layout, batchItems: 10, inFlightBytes: 16 * 1024 }
  })
  await run.open()
  const subscriber = layoutOf(layout).log ? await subscribeTo(t, server, { layout }) : null
  await run.acknowledged(100)
  loss.begin(proxy)
  await run.reached(() => loss.lost, faults)
  const accounts = await run.finish()
  const again = accounts.reduce((sum, { retried }) => sum + retried, 0)
  t.ok(again >= faults, 'each was of a batch that was sent again')
  expectWhole(t, await run.compare(server), `${loss.lost} replies lost, ${again} items sent again`)
  if (subscriber === null) return
  const { given, ...findings } = await subscriber.findings(accounts)
  t.comment(`a subscriber was given ${given} items`)
  t.same(findings, { twice: [], missing: [], early: [] }, 'a subscriber is given each item once, in the order of its writer')
}

t.jobs = 2
t.setTimeout(nightly(3_600_000, 300_000))
for (const [i, engine] of (await scopedEngines()).entries()) {
  for (const layout of scoped(i === 0 ? layoutNames() : nightly(layoutNames(), ON_OTHERS), ['ids'])) {
    // a batch of ids is one MSETEX or many SETs
    const faults = layout === 'ids' || (i === 0 && layout === 'segments') ? FAULTS : FEWER
    t.test(`${engineName(engine)}, ${layout}: ${faults} replies lost after execution, nothing lost and nothing twice`, {
      buffered: true
    }, async (t) => {
      await loseReplies(t, await startServer(t, { engine }), { faults, layout, ack: 'primary' })
    })
  }

  if (i > 0 && !isNight) continue
  const faults = i === 0 ? FAULTS : FEWER
  wholeTest(`${engineName(engine)}, values, ack: replica: ${faults} replies lost, nothing lost and nothing twice`, {
    buffered: true
  }, async (t) => {
    const { primary } = await startDeployment(t, { engine, replicas: 1 })
    await loseReplies(t, primary, { faults, layout: 'values', ack: 'replica' })
  })
}
