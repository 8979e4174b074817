/**
 * Failovers by Sentinels under feeds: nothing acknowledged is lost, nothing is stored or delivered twice. Pauses are printed, not judged: a
 * busy machine has longer ones.
 *
 * Where a failover is planned, or a server that ends waits for its replicas, one replica acknowledges. Where the primary is lost, both do:
 * Sentinels promote by offsets that replicas said up to 5 s before, so a busy one of two may be promoted without what the other one
 * acknowledged.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { EVERY_MS, startRun, WHOLE } from '../../test/cluster-run.js'
import { startWatched } from '../../test/sentinels.js'
import { connectFor, engineName, eventually, freePort, startServer } from '../../test/servers.js'
import { pretendServer } from '../../test/store/pretending.js'
import { isNight, nightly, scopedEngines } from '../../test/scope.js'

/** longer than a test takes */
const PATIENT_MS = 3_600_000
const FROZEN_MS = nightly(10_000, 5000)
const HOLDS_MS = 2000
const ROUNDS = nightly(10, 1)
/** By day, the full rate ends this long after the fault. */
const FULL_RATE_MS = 500
/** it opens a connection each time */
const LOOK_EVERY_MS = 100

/** @typedef {import('../../test/sentinels.js').Watched} Watched */
/** @typedef {Awaited<ReturnType<typeof startRun>>} Run */
/**
 * @typedef {{ act: (t: import('tap').Test, watched: Watched, run: Run) => Promise<unknown>, ack?: string, everyMs?: number,
 *   onlyValkey?: boolean,
 *   place?: (t: import('tap').Test, watched: Watched, engine: import('../../test/servers.js').Engine) =>
 *   Promise<{ redisUrl: string, check: () => Promise<unknown> }> }} Case `onlyValkey`: Redis has no COORDINATED, without which acknowledged
 *   items may be lost; `place`: another address than that of all Sentinels, and what holds at the end
 */

/** @type {(signal: NodeJS.Signals) => Case['act']} */
const ending = (signal) => async (t, watched, run) => {
  const { primary, untilOther } = watched
  primary.process.kill(signal)
  await pause(FULL_RATE_MS)
  if (!isNight) run.pace(EVERY_MS)
  await untilOther(primary)
  await onlyPlanned(t, watched)
  await primary.restart()
  await followsAnother(t, primary)
}

/**
 * Lets no Sentinel begin a failover of its own. Where the machine is busy, they take nodes that answer late for dead, and promote a replica
 * that has not followed the failover before yet: what the other one acknowledged is lost then.
 * @param {import('tap').Test} t @param {Watched} watched
 */
async function onlyPlanned (t, { sentinels }) {
  for (const { url } of sentinels.filter((one) => !one.hasExited())) {
    await (await connectFor(t, url)).send('SENTINEL', 'SET', 'freshet', 'down-after-milliseconds', PATIENT_MS)
  }
}

/** @param {import('tap').Test} t @param {Watched} watched */
async function failOver (t, { sentinels: [{ url }] }) {
  const sentinel = await connectFor(t, url)
  // replicas that it does not know well yet are not suitable
  await eventually(() => sentinel.send('SENTINEL', 'FAILOVER', 'freshet', 'COORDINATED').then(() => true, (error) => {
    if (error.reply !== 'NOGOODSLAVE') throw error
    return false
  }))
}

/**
 * An address of two Sentinels and of one that lists a server with other data as promoted. Nothing is ever written to that server.
 * @type {NonNullable<Case['place']>}
 */
async function withLiar (t, { sentinels: [first, second], primary: { port } }, engine) {
  const foreign = await startServer(t, { engine })
  const liar = await pretendServer(t, ([, word]) => {
    if (word === 'GET-MASTER-ADDR-BY-NAME') return ['127.0.0.1', String(port)]
    return word === 'REPLICAS' ? [['name', 'r', 'ip', '127.0.0.1', 'port', String(foreign.port), 'flags', 'slave,promoted']] : 'OK'
  })
  const admin = await connectFor(t, foreign.url)
  return {
    redisUrl: `redis+sentinel://${[liar, first, second].map(({ port }) => `127.0.0.1:${port}`).join(',')}/freshet`,
    check: async () => t.equal(await admin.send('DBSIZE'), 0, 'nothing is written to the server that one Sentinel lists')
  }
}

/** @type {Record<string, Case>} */
const CASES = {
  'the primary is killed, and comes back as a replica': { ack: '2', act: ending('SIGKILL') },
  'the primary is killed while one of three Sentinels is dead': {
    ack: '2',
    async act (t, watched, run) {
      await watched.sentinels[2].kill()
      await ending('SIGKILL')(t, watched, run)
    }
  },
  'the primary is killed while one of three Sentinels lies': { ack: '2', act: ending('SIGKILL'), place: withLiar },
  'the primary gets SIGTERM at full rate': { act: ending('SIGTERM'), everyMs: 0 },
  'a planned failover': {
    onlyValkey: true,
    async act (t, watched) {
      await onlyPlanned(t, watched)
      await failOver(t, watched)
      await watched.untilOther(watched.primary)
      await followsAnother(t, watched.primary)
    }
  },
  'the primary is frozen for seconds': {
    ack: '2',
    async act (t, watched) {
      const { primary, untilOther } = watched
      primary.freeze()
      await Promise.all([pause(FROZEN_MS), untilOther(primary)])
      await onlyPlanned(t, watched)
      primary.thaw()
      await followsAnother(t, primary)
    }
  },
  'all servers get other addresses, one after another, as pods do': {
    onlyValkey: true,
    async act (t, watched) {
      const { primary, replicas, sentinels: [{ url }], untilOther } = watched
      await onlyPlanned(t, watched)
      for (const node of replicas) {
        await node.restart({ port: await freePort() })
        await followsAnother(t, node)
      }
      const sentinel = await connectFor(t, url)
      // it asks the primary for its replicas every 10 s
      await eventually(async () => {
        const listed = String(await sentinel.send('SENTINEL', 'REPLICAS', 'freshet'))
        return replicas.every(({ port }) => listed.includes(`127.0.0.1:${port}`))
      })
      await failOver(t, watched)
      const port = await untilOther(primary)
      await primary.restart({ port: await freePort() })
      await (await connectFor(t, primary.url)).send('REPLICAOF', '127.0.0.1', port)
      await followsAnother(t, primary)
    }
  },
  'the primary sees no replica and no Sentinel': {
    ack: 'primary',
    async act (t, { primary, replicas, sentinels }, run) {
      const admin = await connectFor(t, primary.url)
      await admin.send('CONFIG', 'SET', 'min-replicas-max-lag', 1)
      await admin.send('CONFIG', 'SET', 'min-replicas-to-write', 1)
      const others = [...replicas, ...sentinels]
      for (const { pid } of others) process.kill(pid, 'SIGSTOP')
      await eventually(() => admin.send('SET', 'test', 1).then(() => false, ({ reply }) => reply === 'NOREPLICAS'))
      await pause(HOLDS_MS / 10)
      const { size } = run.acknowledged
      await pause(HOLDS_MS)
      t.equal(run.acknowledged.size, size, 'nothing is acknowledged')
      for (const { pid } of others) process.kill(pid, 'SIGCONT')
      await run.goOn(500)
      await admin.send('CONFIG', 'SET', 'min-replicas-to-write', 0)
    }
  }
}

/** @param {import('tap').Test} t @param {{ url: string }} node */
const followsAnother = (t, { url }) => eventually(async () => {
  const [role, , , state] = await (await connectFor(t, url)).send('ROLE')
  return String(role) === 'slave' && String(state) === 'connected'
}, { everyMs: LOOK_EVERY_MS })

t.setTimeout(nightly(3_600_000, 900_000))
const engines = await scopedEngines()
for (const engine of nightly(engines, engines.slice(0, 1))) {
  t.test(engineName(engine), async (t) => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, [title, { act, onlyValkey = false, place, ...options }]] of Object.entries(CASES).entries()) {
        if (onlyValkey && engine.name !== 'valkey') continue
        const layout = ['ids', 'segments', 'values'][(i + round) % 3]
        await t.test(`${title}, ${layout}`, async (t) => {
          const watched = await startWatched(t, { engine })
          const { redisUrl, check } = await place?.(t, watched, engine) ?? { redisUrl: watched.url, check: async () => {} }
          const run = await startRun(t, { redisUrl, layout, partitions: 2, ...options })
          await run.goOn(500)
          const sinceMs = performance.now()
          await act(t, watched, run)
          await run.goOn(500)
          t.comment(`longest pause of delivery ${run.longestPauseMs(sinceMs)} ms`)
          t.same(await run.end(), WHOLE)
          await check()
        })
      }
    }
  })
}
