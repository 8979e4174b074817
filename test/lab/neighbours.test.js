/** Those who look at a sale while others buy, and people who wait for a token. */
import t from 'tap'
import { startOpened } from '../../lab/systems/process.js'
import { runBurst } from '../../lab/systems/sales/burst.js'
import { openDatabaseArm } from '../../lab/systems/sales/database.js'
import { checkSale } from '../../lab/systems/sales/history.js'
import { startNeighbours } from '../../lab/systems/sales/neighbours.js'
import { sharedDatabase } from '../database.js'
import { startServer, testEngines } from '../servers.js'
import { wholeTest } from '../scope.js'

const GATEWAY = new URL('../../lab/systems/sales/gateway-process.js', import.meta.url)

/** @param {import('tap').Test} t @param {object} place */
async function startArm (t, place) {
  const gateway = await startOpened('a gateway of the lab', GATEWAY, place)
  t.teardown(() => gateway.stop())
  return { url: new URL(gateway.url), stock: 3, random: () => 1, giveUp: 0, ask: gateway.ask }
}

t.test('queries run during a burst, and are counted', async (t) => {
  const arm = await startArm(t, { technique: 'noop' })
  const neighbours = await startNeighbours(arm.url)
  t.teardown(() => neighbours.close())
  const { people } = await runBurst({ ...arm, sale: 's', users: 300, mode: 'direct', neighbours })
  t.equal(people.filter(({ code }) => code === 'sold').length, 3)
  const idleMs = await neighbours.idle('s')
  t.ok(idleMs.length > 100, `${idleMs.length} of 400`)
  t.ok(neighbours.latenciesMs.length > 0)
  t.match(neighbours.figures(idleMs), { ms: { p99: Number }, idleMs: { p99: Number }, failed: 0 })
})

wholeTest('with a shared pool those who look wait for claims; with one of their own they do not', async (t) => {
  const { url } = await sharedDatabase(t)
  for (const sharesPool of [true, false]) {
    const arm = await openDatabaseArm('db-lock', { databaseUrl: url, pool: 1, delayMs: 100, sharesPool })
    t.teardown(() => arm.close())
    const sale = `s${sharesPool}`
    await arm.create(sale, 5)
    // an open connection
    await arm.look?.(sale)
    const claiming = arm.claim(sale, 'ann', null, 'k').then(() => 'claim')
    t.equal(await Promise.race([claiming, arm.look?.(sale).then(() => 'look')]), sharesPool ? 'claim' : 'look')
    await claiming
    t.match(await arm.look?.(sale), { available: 4 })
  }
})

wholeTest('people who get no token wait until the first hold ends, and ask once more', async (t) => {
  const [engine] = await testEngines()
  const { url: redisUrl } = await startServer(t, { engine })
  const arm = await startArm(t, { technique: 'token-hs256', redisUrl, keyPrefix: 'lab-', holdMs: 1500 })
  const burst = await runBurst({ ...arm, sale: 's', users: 20, mode: 'token' })
  t.same(checkSale(burst).filter(({ ok }) => !ok), [])
  const losers = burst.people.filter(({ code }) => code === 'sold_out')
  t.equal(losers.length, 17)
  t.ok(losers.every(({ requests }) => requests <= 3), losers.map(({ requests }) => requests).join())
})
