/** All consumers are killed during a sale: every order is there once, and work goes on after their leases. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sharedDatabase } from '../../../test/database.js'
import { nightEngines, nightly } from '../../../test/scope.js'
import { engineName, eventually } from '../../../test/servers.js'
import { claimAlong, isWhole, ownersOf, startAll } from './claiming.js'

/** at night 50 over both engines */
const KILLS = nightly(25, 1)

const database = await sharedDatabase(t, { isMigrated: true })
// each waits for leases most of the time
t.jobs = 2

for (const engine of await nightEngines()) {
  const own = (/** @type {string} */ name) => `${engine.name}-${name}-${Date.now()}`

  t.test(`${engineName(engine)}: all consumers are killed: each order is there once`, { buffered: true }, async (t) => {
    const { gateway, killableConsumers: consumers } = await startAll(t, { engine, database })
    const id = own('killed')
    await gateway.create(id, { stock: 1_000_000 })
    let running = await Promise.all([consumers(), consumers()])
    const claiming = claimAlong(gateway, id)
    const pauses = []
    for (let n = 0; n < KILLS; n++) {
      await sleep(200 + Math.random() * 300)
      await Promise.all(running.map(({ kill }) => kill()))
      const killedMs = performance.now()
      const before = (await ownersOf(database, id)).length
      running = await Promise.all([consumers(), consumers()])
      await eventually(async () => (await ownersOf(database, id)).length > before)
      pauses.push(performance.now() - killedMs)
    }
    await claiming.stop()
    await isWhole(t, database, id, claiming.sold)
    t.comment(`work resumed after ${pauses.map((ms) => Math.round(ms)).join(', ')} ms`)
  })
}
