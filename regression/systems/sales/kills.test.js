/** All consumers are killed during a sale: every order is there once, and work goes on after their leases. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startMigratedDatabase } from '../../../test/database.js'
import { scoped, scopedEngines } from '../../../test/scope.js'
import { engineName, eventually } from '../../../test/servers.js'
import { claimAlong, isWhole, ownersOf, startAll } from './claiming.js'

const LEASE_MS = 3000
// 50 over both engines
const KILLS = scoped(25, 2)

const database = await startMigratedDatabase(t)
// each waits for leases most of the time
t.jobs = 2

for (const engine of await scopedEngines()) {
  const own = (/** @type {string} */ name) => `${engine.name}-${name}-${Date.now()}`

  t.test(`${engineName(engine)}: consumers are killed again and again: each order is there once`, { buffered: true }, async (t) => {
    const { gateway, consumers } = await startAll(t, { engine, database })
    const id = own('killed')
    await gateway.create(id, { stock: 1_000_000 })
    let running = await Promise.all([consumers(), consumers()])
    const claiming = claimAlong(gateway, id)
    const pauses = []
    for (let n = 0; n < KILLS; n++) {
      await sleep(200 + Math.random() * 300)
      await Promise.all(running.map(({ command }) => command.kill()))
      const killedMs = performance.now()
      const before = (await ownersOf(database, id)).length
      running = await Promise.all([consumers(), consumers()])
      await eventually(async () => (await ownersOf(database, id)).length > before)
      pauses.push(performance.now() - killedMs)
    }
    await claiming.stop()
    await isWhole(t, database, id, claiming.sold)
    t.comment(`work resumed after ${pauses.map((ms) => Math.round(ms)).join(', ')} ms; leases are ${LEASE_MS} ms`)
  })
}
