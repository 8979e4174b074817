/** A batch that was executed and whose reply is lost is sent again: that must change nothing. */
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { startProxy } from '../proxy.js'
import { engineName, eventually, startDeployment, startServer, testEngines } from '../servers.js'
import { expectWhole, startRun } from './ledger/run.js'

const FAULTS = 1000
const FEWER = 200
const WRITERS = 8
/** replies at the beginning of a connection, and the most until one is lost: where each item is a SET, a batch has many */
const [FIRST, MOST] = [6, 80]
const repliesUntilLost = () => Math.ceil(Math.random() < 0.1 ? FIRST * Math.random() : FIRST * (MOST / FIRST) ** Math.random())

/** @param {import('tap').Test} t @param {{ url: string, port: number }} server @param {{ faults: number, layout: string, ack: string }} options */
async function loseReplies (t, server, { faults, layout, ack }) {
  let lost = 0
  let isOn = false
  /** @param {import('../proxy.js').Line} line */
  const spoil = (line) => { if (isOn && lost < faults) line.loseReply(repliesUntilLost(), () => { lost++ }) }
  const proxy = await startProxy(t, server.port, { onLine: spoil })
  const run = startRun(t, { redisUrl: proxy.url, writers: WRITERS, itemsPerRound: 10, ack, options: { layout, batchItems: 10, inFlightBytes: 64 * 1024 } })
  await run.open()
  await run.acknowledged(100)
  isOn = true
  proxy.lines.forEach(spoil)
  await eventually(() => {
    run.check()
    return lost >= faults
  }, { deadlineMs: 110_000 })
  const accounts = await run.finish()
  expectWhole(t, await run.compare(server), `${lost} replies lost, ${accounts.reduce((sum, { retried }) => sum + retried, 0)} items sent again`)
}

t.jobs = 2
t.setTimeout(300_000)
for (const engine of await testEngines()) {
  for (const layout of layoutNames()) {
    // those of a kind send alike
    const faults = ['ids', 'segments'].includes(layout) ? FAULTS : FEWER
    t.test(`${engineName(engine)}, ${layout}: ${faults} replies lost after execution, nothing lost and nothing twice`, { buffered: true }, async (t) => {
      await loseReplies(t, await startServer(t, { engine }), { faults, layout, ack: 'primary' })
    })
  }

  t.test(`${engineName(engine)}, values, ack: replica: ${FEWER} replies lost, nothing lost and nothing twice`, { buffered: true }, async (t) => {
    const { primary } = await startDeployment(t, { engine, replicas: 1 })
    await loseReplies(t, primary, { faults: FEWER, layout: 'values', ack: 'replica' })
  })
}
