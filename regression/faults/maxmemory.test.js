/** A server that has no memory left, gets some, and has none left again. */
import t from 'tap'
import { layoutNames } from '../../src/layouts/index.js'
import { connectFor, engineName, eventually, startServer } from '../../test/servers.js'
import { expectWhole, say, startRun } from '../../test/faults/ledger/run.js'
import { nightEngines, nightly } from '../../test/scope.js'

const FAULTS = nightly(3, 2)
const STEP_BYTES = 512 * 1024
const REFUSALS = 10
/** a set and a log: how a layout writes, not which, decides what is left of a batch */
const KILLED = ['ids', 'segments']
/** @type {{ layout: string, late?: 'overwrite' }[]} */
const KINDS = [...layoutNames().map((layout) => ({ layout })), { layout: 'ids', late: 'overwrite' }]

/**
 * @param {import('tap').Test} t
 * @param {import('../../test/servers.js').Engine} engine
 * @param {{ layout: string, late?: 'overwrite' }} options
 */
async function startFilling (t, engine, options) {
  const server = await startServer(t, { engine, args: ['--maxmemory-policy', 'noeviction'] })
  const admin = await connectFor(t, server.url)
  const infoOf = async (/** @type {string} */ section, /** @type {RegExp} */ pattern) =>
    Number(pattern.exec(String(await admin.send('INFO', section)))?.[1] ?? 0)
  // a batch is in memory while it is refused, so a small write may still be taken: refusals are counted instead
  const refusals = () => infoOf('errorstats', /errorstat_OOM:count=(\d+)/)
  const run = startRun(t, { redisUrl: server.url, writers: 4, itemsPerRound: nightly(80, 40), options })
  await run.open()
  await run.acknowledged(1000)
  return {
    server,
    run,
    /** Leaves little, and resolves when that is used up: as long as it is not, items come. */
    async fill () {
      const before = await refusals()
      await admin.send('CONFIG', 'SET', 'maxmemory', await infoOf('memory', /used_memory:(\d+)/) + STEP_BYTES)
      await eventually(async () => {
        run.check()
        return await refusals() > before + REFUSALS
      }, { deadlineMs: 90_000 })
    },
    empty: () => admin.send('CONFIG', 'SET', 'maxmemory', 0)
  }
}

t.jobs = 3
t.setTimeout(300_000)
for (const engine of await nightEngines()) {
  for (const options of KINDS) {
    const what = `${engineName(engine)}, ${Object.values(options).join(' with late: ')}`
    t.test(`${what}: a server that is full again and again has everything in the end`, { buffered: true }, async (t) => {
      const { server, run, fill, empty } = await startFilling(t, engine, options)
      for (let faults = 0; faults < FAULTS; faults++) {
        await fill()
        await empty()
        await run.acknowledgedAnew()
      }
      const accounts = await run.finish()
      t.ok(accounts.some(({ full }) => full > 0), 'writers got the error')
      t.same(accounts.map(({ dropped, refused }) => [dropped, refused]), accounts.map(() => [0, {}]))
      expectWhole(t, await run.compare(server), `${FAULTS} times full`)
    })

    if (options.late || !KILLED.includes(options.layout)) continue
    t.test(`${what}: what was acknowledged is there when writers die at a full server`, { buffered: true }, async (t) => {
      const { server, run, fill } = await startFilling(t, engine, options)
      await fill()
      await run.kill()
      const sums = await run.compare(server)
      say(t, sums, 'once full, writers killed')
      t.match(sums, { lost: 0, doubled: 0, foreign: 0 })
      t.ok(sums.acknowledged > 1000)
      t.ok(sums.intended > sums.acknowledged)
    })
  }
}
