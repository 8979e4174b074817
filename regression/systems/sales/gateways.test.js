/** Sales while a gateway is killed, or has a wrong clock, and the same tickets and tokens at two gateways. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { checkSale } from '../../../lab/systems/sales/history.js'
import { newest } from '../../../src/embedded/engine.js'
import { isProblem } from '../../../test/gateway/requests.js'
import { nightly } from '../../../test/scope.js'
import { connectFor, startServer, testEngines } from '../../../test/servers.js'
import { clockOff } from '../../../test/systems/orders/ordering.js'
import { runSaleGateway, startSaleGateway } from '../../../test/systems/sales/selling.js'

const PARTITIONS = ['--system-partitions', '1']
const STOCK = nightly(100, 50)
const AT_ONCE = 20
const USERS = nightly(400, 150)
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/**
 * Claims until the outcome is known: every other time at the other gateway, with the same key.
 * @param {any[]} gateways @param {string} user
 * @returns {Promise<import('../../../lab/systems/sales/people.js').Person & { isReplay: boolean }>}
 */
async function buy (gateways, user) {
  const sentMs = performance.now()
  for (let requests = 1; ; requests++) {
    const gateway = gateways[requests % gateways.length]
    const claimed = gateway.claim('s', user, { key: `k-${user}` })
    const { status, json, headers } = await claimed.catch(() => ({ status: 0, json: null, headers: new Headers() }))
    const isFinal = status === 201 || ['SALE_SOLD_OUT', 'SALE_ALREADY_CLAIMED'].includes(json?.code)
    if (isFinal) {
      const code = status === 201 ? json.status : json.code.replace('SALE_', '').toLowerCase()
      const isReplay = headers.has('idempotent-replayed')
      return { user, sentMs, answeredMs: performance.now(), code, seq: json.seq ?? null, requests, isReplay }
    }
    await sleep(5 + Math.random() * 20)
  }
}

/** @param {import('../../../src/store/index.js').Connection} connection */
async function storedIn (connection) {
  const entries = await connection.send('XRANGE', 'fr:{@sales:0}:events:s', '-', '+')
  const rows = entries.map((/** @type {any} */ [, flat]) => flat.map(String)).map((/** @type {string[]} */ flat) =>
    Object.fromEntries(flat.flatMap((name, i) => i % 2 ? [] : [[name, flat[i + 1]]])))
  return {
    sold: Number(await connection.send('HGET', 'fr:{@sales:0}:state:s', 'sold')),
    rows: rows.map(({ user, seq }) => ({ user, seq: Number(seq) }))
  }
}

const engine = /** @type {import('../../../test/servers.js').Engine} */ (newest(await testEngines()))
t.test('a gateway is killed in mid-sale: repeated at another one, each claim has one effect', async (t) => {
  const { url } = await startServer(t, { engine })
  const [one, other] = await Promise.all([
    runSaleGateway(t, { redisUrl: url, flags: PARTITIONS }),
    startSaleGateway(t, { redisUrl: url, flags: PARTITIONS })
  ])
  await one.create('s', { stock: STOCK })
  const connection = await connectFor(t, url)
  /** @type {Awaited<ReturnType<typeof buy>>[]} */
  const people = []
  const users = Array.from({ length: USERS }, (_, n) => `u${n}`)
  const buying = Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let user = users.pop(); user !== undefined; user = users.pop()) people.push(await buy([other, one], user))
  }))
  while (people.length < STOCK / 2) await sleep(2)
  one.command.kill()
  await buying
  const stored = await storedIn(connection)
  t.same(checkSale({ sale: 's', stock: STOCK, people, stored }).filter(({ ok }) => !ok), [])
  t.ok(people.some(({ requests }) => requests > 1), 'some had no reply')
  t.comment(`${people.filter(({ isReplay }) => isReplay).length} of them had been accepted`)
  const winners = people.filter(({ code }) => code === 'sold')
  t.equal(winners.length, STOCK)
  const again = await Promise.all(winners.map(({ user }) => buy([other], user)))
  t.same(again.map(({ seq }) => seq), winners.map(({ seq }) => seq), 'repeated once more: the same reply')
  t.same(await storedIn(connection), stored)
})

t.test('the clock of a gateway has no effect', async (t) => {
  const { url } = await startServer(t, { engine })
  // each use of a clock that is ahead would be seen; one that is behind shows less
  for (const byMs of nightly([DAY_MS, -DAY_MS], [DAY_MS])) {
    const [right, wrong] = await Promise.all([
      startSaleGateway(t, { redisUrl: url, flags: PARTITIONS }),
      runSaleGateway(t, { redisUrl: url, flags: PARTITIONS, env: clockOff(byMs) })
    ])
    const nowMs = Date.now()
    const own = (/** @type {string} */ name) => `${name}${byMs}`
    await wrong.create(own('later'), { openAt: nowMs + HOUR_MS })
    isProblem(t, await wrong.claim(own('later'), 'ann'), 425, 'SALE_NOT_OPEN')
    await wrong.create(own('now'), { openAt: nowMs - MINUTE_MS, closeAt: nowMs + HOUR_MS, holdMs: MINUTE_MS })
    const { status, json } = await wrong.claim(own('now'), 'ann')
    t.equal(status, 201)
    t.ok(Math.abs(json.holdUntil - nowMs - MINUTE_MS) < MINUTE_MS / 2, 'the hold ends by the clock of the server')
    t.match(await wrong.confirm(own('now'), json.claimId, 'ann'), { status: 200, json: { status: 'sold' } })
    await wrong.create(own('tokens'), { stock: 1, mode: 'token', holdMs: MINUTE_MS })
    const issued = (await wrong.token(own('tokens'), 'ann')).json
    t.ok(Math.abs(issued.expiresAt - nowMs - MINUTE_MS) < MINUTE_MS / 2)
    const refused = await wrong.token(own('tokens'), 'bob')
    isProblem(t, refused, 409, 'SALE_ALL_HELD')
    t.ok(refused.json.retryAfterMs > 0 && refused.json.retryAfterMs <= MINUTE_MS)
    const both = await Promise.all([wrong, right].map((gateway) => gateway.claim(own('tokens'), 'ann', { ticket: issued.token })))
    t.same(both.map((answer) => answer.status).sort(), [201, 409], 'a token works once, at whichever gateway')
  }
})
