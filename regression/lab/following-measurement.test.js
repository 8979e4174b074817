/**
 * Clients that follow a feed, in measurements on real servers with the real reader.
 */
import t from 'tap'
import { measure } from '../../lab/run/measurement.js'
import { openOwnServers } from '../../lab/servers/own.js'
import { makeCheckout } from '../../test/embedded/checkout.js'
import { nightTest, scopedEngines } from '../../test/scope.js'
import { commandOf, env } from './serving-commands.js'

const SETTINGS = {
  layout: 'segments',
  ids: 200,
  valueBytes: 64,
  valueChange: 'always',
  batchItems: 100,
  windowMs: 60_000,
  maxItems: 0,
  rate: 2000,
  writers: 1,
  warmUp: 1.5,
  duration: 2.5
}

const [engine] = await scopedEngines()
const folder = await makeCheckout(t, 'lab')

/** @param {object} serving @param {object} [settings] @returns {Promise<any>} */
const measured = (serving, settings) => measure({
  level: 'one',
  arm: 'it',
  round: 1,
  load: 'writer',
  settings: { ...SETTINGS, ...settings },
  serving: /** @type {any} */ ({
    by: 'reader', asks: 'push', processes: 1, connections: 10, everyMs: 0, path: '/v1/feeds/lab/items?limit=100', settings: {}, ...serving
  })
}, {
  openServers: () => openOwnServers({ program: engine.program, replicas: 1, folder }),
  rttMs: 0,
  signal: new AbortController().signal,
  env,
  readerCommand: commandOf('reader'),
  gatewayCommand: commandOf('gateway'),
  writerCommand: commandOf('writer')
})

/** @param {any} sample @returns {string[]} */
const brokenIn = ({ invariants }) => invariants.filter((/** @type {any} */ { ok }) => !ok)

nightTest('clients that are pushed to, with ids of their own and with all, hear everything that is newest', async (t) => {
  const [some, all] = await Promise.all([measured({ idsEach: 5, maxRate: 10 }), measured({ connections: 5 }, { writers: 2, rate: 1000 })])
  t.same([some.error, brokenIn(some)], [null, []])
  t.match(some.serving, {
    requests: { planned: 10, answered: 10, byStatus: { 200: 10 } },
    requestsPerSecond: null,
    following: { openAtBegin: 10, openAtEnd: 10, due: 50, newest: 50, readClients: 10 }
  })
  const { events, bytes, items, memoryBytes, liveBytes } = some.serving.following
  t.ok(events > 0 && items > 0 && bytes > items * SETTINGS.valueBytes, JSON.stringify(some.serving.following))
  t.ok(memoryBytes.length > 2 && memoryBytes.every((/** @type {number} */ one) => one > 1e6))
  t.ok(liveBytes.length === 2 && liveBytes.every((/** @type {number} */ one) => one > 1e6 && one < memoryBytes[0]), `${liveBytes}`)
  t.ok(some.serving.seconds < SETTINGS.duration && some.serving.cpuSeconds > 0)

  t.same([all.error, brokenIn(all)], [null, []])
  t.match(all.serving.following, { due: 5 * SETTINGS.ids, newest: 5 * SETTINGS.ids, maxRate: null })
})

nightTest('clients that ask, and what is pushed without knowing anything', async (t) => {
  const [poll, bare] = await Promise.all([measured({ asks: 'poll', idsEach: 5, everyMs: 100 }),
    measured({ by: 'bare', idsEach: 5, maxRate: 10 })])
  t.same([poll.error, brokenIn(poll)], [null, []])
  t.match(poll.serving.following, { due: 50, newest: 50, openAtBegin: 10, openAtEnd: 10 })
  t.ok(poll.serving.requestsPerSecond > 0 && poll.serving.bytesPerAnswer > 0)

  t.same([bare.error, brokenIn(bare)], [null, []])
  const { events, bytes, due } = bare.serving.following
  t.equal(due, 0)
  t.equal(bytes % events, 0, 'all of them have as many bytes')
})
