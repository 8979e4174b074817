/** Sales as buyers and sellers see them, over HTTP, on real servers. */
import t from 'tap'
import { isProblem } from '../../gateway/requests.js'
import { connectFor, eventually } from '../../servers.js'
import { sharedDeployment } from '../../shared.js'
import { startSales } from './selling.js'

t.test('sales', async (t) => {
  const { redisUrl, keyPrefix, gateway, reader, sale } = await startSales(t, await sharedDeployment(t))
  const { create, claim, confirm, release, join, leave, token, turn, order } = gateway

  await t.test('units are sold to the first who come, one each', async (t) => {
    t.match(await create('shoes'), { status: 201, json: { code: 'created', available: 2, held: 0, sold: 0, seq: 0 } })
    t.match(await create('shoes'), { status: 200, json: { code: 'unchanged' } })
    const first = await claim('shoes', 'ann')
    t.match(first, { status: 201, json: { claimId: /^[\w-]{22}$/, status: 'sold', seq: 1, remaining: 1 } })
    isProblem(t, await claim('shoes', 'ann'), 409, 'SALE_ALREADY_CLAIMED')
    t.match(await claim('shoes', 'bob'), { status: 201, json: { seq: 2, remaining: 0 } })
    isProblem(t, await claim('shoes', 'cid'), 409, 'SALE_SOLD_OUT')
    isProblem(t, await claim('shoes', 'ann'), 409, 'SALE_ALREADY_CLAIMED')
    isProblem(t, await create('shoes', { stock: 3 }), 409, 'SALE_HAS_CLAIMS')
    t.match(await sale('shoes', '?minSeq=2'), { id: 'shoes', status: 'sold_out', stock: 2, available: 0, held: 0, sold: 2, seq: 2 })
    const { items, next } = await sale('shoes', '/claims')
    t.match(items, [{ claimId: first.json.claimId, seq: 1, quantity: 1, status: 'sold' }, { seq: 2 }])
    t.equal(next, null)
    t.not(items[0].userId, 'ann', 'masked')
    t.match(await sale('shoes', `/claims/${first.json.claimId}`), items[0])
    t.match(await turn('shoes', 'restock', { quantity: 1 }), { status: 200, json: { available: 1, sold: 2 } })
    t.match(await claim('shoes', 'cid'), { status: 201, json: { remaining: 0 } })
    isProblem(t, await release('shoes', first.json.claimId), 404, 'CLAIM_UNKNOWN')
    isProblem(t, await release('shoes', first.json.claimId, 'bob'), 404, 'CLAIM_UNKNOWN')
    t.match(await release('shoes', first.json.claimId, 'ann'), { status: 200, json: { status: 'released', available: 1, sold: 2 } })
    t.match(await claim('shoes', 'dan'), { status: 201 })
    isProblem(t, await reader.get('/v1/sales/none'), 404, 'SALE_UNKNOWN')
    isProblem(t, await claim('none', 'ann'), 404, 'SALE_UNKNOWN')
  })

  await t.test('a hold is confirmed, released, or expires and is sold again', async (t) => {
    await create('holds', { stock: 1, holdMs: 1000 })
    const { json: held } = await claim('holds', 'ann')
    t.match(held, { status: 'held', remaining: 0, holdUntil: Number })
    const refused = await claim('holds', 'bob')
    isProblem(t, refused, 409, 'SALE_ALL_HELD')
    t.equal(refused.json.nextHoldUntil, held.holdUntil)
    t.ok(refused.json.retryAfterMs > 0 && refused.json.retryAfterMs <= 1000)
    t.equal(refused.headers.get('retry-after'), '1')
    await eventually(async () => (await sale('holds')).available === 1)
    isProblem(t, await confirm('holds', held.claimId), 410, 'CLAIM_EXPIRED')
    const { json: second } = await claim('holds', 'bob')
    t.match(await confirm('holds', second.claimId), { status: 200, json: { status: 'sold' } })
    t.match(await confirm('holds', second.claimId), { status: 200, json: { status: 'sold' } }, 'again')
    isProblem(t, await confirm('holds', 'none'), 404, 'CLAIM_UNKNOWN')
    isProblem(t, await confirm('holds', second.claimId, 'ann'), 404, 'CLAIM_UNKNOWN')
    await create('freed', { stock: 1, holdMs: 60_000 })
    const { json: freed } = await claim('freed', 'ann')
    isProblem(t, await release('freed', freed.claimId, 'bob'), 404, 'CLAIM_UNKNOWN')
    for (const time of ['first', 'again']) {
      t.match(await release('freed', freed.claimId), { status: 200, json: { status: 'released', available: 1 } }, time)
    }
    t.match(await sale('holds', `/claims/${held.claimId}`), { status: 'expired' })
    isProblem(t, await order('POST', 'holds/claims', { userId: 'ann', quantity: 1e9 }), 422, 'FIELD_INVALID')
  })

  await t.test('a repeated request has one effect and one reply', async (t) => {
    await create('once', { perUser: 5 })
    const first = await claim('once', 'ann', { key: 'k1' })
    const again = await claim('once', 'ann', { key: 'k1' })
    t.same(again.json, first.json)
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    isProblem(t, await claim('once', 'ann', { key: 'k1', quantity: 2 }), 422, 'IDEMPOTENCY_KEY_REUSED')
    t.match(await sale('once', '/by-request/k1?userId=ann'), { claimId: first.json.claimId, status: 'sold', seq: 1 })
    isProblem(t, await reader.get('/v1/sales/once/by-request/k2?userId=ann'), 404, 'REQUEST_NOT_ACCEPTED')
  })

  await t.test('the queue admits in order, and each learns the outcome', async (t) => {
    await create('queue', { stock: 2, mode: 'queue', admitConcurrency: 1, holdMs: 60_000 })
    isProblem(t, await claim('queue', 'ann'), 401, 'TICKET_MISSING')
    const joined = []
    for (const user of ['ann', 'bob', 'cid', 'dan']) joined.push((await join('queue', user, `j-${user}`)).json)
    t.match(joined, [{ status: 'admitted', ticket: String }, { status: 'waiting', position: 1 }, { position: 2 }, { position: 3 }])
    await eventually(async () => {
      const listed = (await reader.get('/v1/sales')).json.items.find((/** @type {any} */ { id }) => id === 'queue')
      return listed.queued === 4 && listed.waiting === 3
    })
    t.same((await join('queue', 'bob', 'j-bob')).json, joined[1], 'the same key: the same ticket')
    t.match((await join('queue', 'bob')).json, { status: 'waiting', position: 1 })
    t.equal((await join('queue', 'bob')).json.ticket, undefined)
    const tickets = joined.map(({ ticket }) => ticket)
    const place = (/** @type {string} */ user, /** @type {string} */ ticket, rest = '') =>
      reader.get(`/v1/sales/queue/queue/${user}${rest}`, { 'freshet-ticket': ticket })
    isProblem(t, await claim('queue', 'bob', { ticket: tickets[1] }), 403, 'SALE_NOT_ADMITTED')
    isProblem(t, await claim('queue', 'bob', { ticket: tickets[0] }), 401, 'TICKET_INVALID')
    isProblem(t, await place('bob', tickets[0]), 401, 'TICKET_INVALID')
    t.match((await place('cid', tickets[2])).json, { status: 'waiting', position: 2, etaMs: Number })
    const places = [await place('bob', tickets[1]), await place('cid', tickets[2])]
    t.same(places.map(({ headers }) => headers.get('retry-after')), ['20', '30'], 'it grows with the position')
    const waiting = place('bob', tickets[1], '?waitMs=10000')
    t.match(await claim('queue', 'ann', { ticket: tickets[0] }), { status: 201, json: { status: 'sold' } })
    isProblem(t, await claim('queue', 'ann', { ticket: tickets[0] }), 409, 'SALE_ALREADY_CLAIMED')
    t.match((await waiting).json, { status: 'admitted', until: Number })
    t.match(await leave('queue', 'bob', tickets[1]), { status: 200, json: { status: 'left' } })
    await eventually(async () => (await place('cid', tickets[2])).json.status === 'admitted')
    t.match((await place('bob', tickets[1])).json, { status: 'left' })
    t.match(await claim('queue', 'cid', { ticket: tickets[2] }), { status: 201 })
    await eventually(async () => (await place('dan', tickets[3])).json.status === 'sold_out')
    t.match((await place('ann', tickets[0])).json, { status: 'claimed', claimId: String })
    isProblem(t, await join('queue', 'eve'), 409, 'SALE_SOLD_OUT')
    const { generation } = await sale('queue')
    t.match(await turn('queue', 'restock', { quantity: 1 }), { status: 200, json: { held: 1 } })
    await eventually(async () => (await place('dan', tickets[3])).json.status === 'admitted')
    t.not((await sale('queue', '?minSeq=8')).generation, generation, 'sold out is no longer true')
  })

  await t.test('the estimate of the queue includes the time until the sale opens', async (t) => {
    const holdMs = 60_000
    const openAt = Date.now() + 600_000
    const toGo = () => openAt - Date.now() + holdMs
    await create('early', { stock: 2, mode: 'queue', admitConcurrency: 1, holdMs, openAt })
    const beforeMs = toGo()
    const { json: { ticket, etaMs } } = await join('early', 'ann', 'j-ann')
    const { json: again } = await join('early', 'ann')
    const { json: asked } = await reader.get('/v1/sales/early/queue/ann', { 'freshet-ticket': ticket })
    for (const ms of [etaMs, again.etaMs, asked.etaMs]) t.ok(ms <= beforeMs && ms >= toGo(), `${ms} ms is the opening and one turn`)
  })

  await t.test('a token is a hold; it works once', async (t) => {
    await create('tokens', { stock: 1, mode: 'token' })
    const { json } = await token('tokens', 'ann', 't1')
    t.match(json, { token: /^[\w-]+\.[\w-]+\.[\w-]+$/, expiresAt: Number })
    t.same((await token('tokens', 'ann', 't1')).json, json, 'the same key: the same token')
    isProblem(t, await token('tokens', 'ann', 't2'), 409, 'SALE_ALREADY_ISSUED')
    isProblem(t, await token('tokens', 'bob'), 409, 'SALE_ALL_HELD')
    isProblem(t, await claim('tokens', 'bob', { ticket: json.token }), 401, 'TICKET_INVALID')
    await create('others', { mode: 'token' })
    isProblem(t, await claim('others', 'ann', { ticket: json.token }), 401, 'TICKET_INVALID')
    t.match(await claim('tokens', 'ann', { ticket: json.token }), { status: 201, json: { status: 'sold' } })
    isProblem(t, await claim('tokens', 'ann', { ticket: json.token }), 409, 'SALE_ALREADY_CLAIMED')
    isProblem(t, await token('tokens', 'cid'), 409, 'SALE_SOLD_OUT')
    isProblem(t, await claim('tokens', 'cid', { ticket: 'eyJhbGciOiJub25lIn0.eyJqdGkiOiJ4In0.' }), 401, 'TICKET_INVALID')

    await create('brief', { stock: 1, mode: 'token', holdMs: 1500 })
    const { json: brief } = await token('brief', 'ann')
    await eventually(async () => Date.now() > brief.expiresAt && (await sale('brief')).available === 1)
    isProblem(t, await claim('brief', 'ann', { ticket: brief.token }), 410, 'CLAIM_EXPIRED')
    t.match(await token('brief', 'bob'), { status: 200 })
  })

  await t.test('after all requests were forgotten, everything is repeated without effect', async (t) => {
    await create('again', { stock: 5, holdMs: 60_000 })
    const ids = []
    for (const user of ['ann', 'bob', 'cid', 'dan']) ids.push((await claim('again', user, { key: user })).json.claimId)
    await create('line', { stock: 2, mode: 'queue', admitConcurrency: 1 })
    const { ticket } = (await join('line', 'ann', 'j-ann')).json
    const { ticket: other } = (await join('line', 'bob', 'j-bob')).json
    const repeat = async () => [
      await confirm('again', ids[0]),
      await release('again', ids[1], 'bob'),
      await confirm('again', ids[2]),
      await release('again', ids[2], 'cid'),
      await claim('line', 'ann', { key: 'c-ann', ticket }),
      await leave('line', 'bob', other)
    ].map(({ status }) => status)
    t.same(await repeat(), [200, 200, 200, 200, 201, 200])
    const numbers = async () => [await sale('again', '?minSeq=7'), await sale('line', '?minSeq=4')]
      .map(({ available, held, sold, seq }) => ({ available, held, sold, seq }))
    const before = await numbers()
    t.match(before, [{ available: 3, held: 1, sold: 1, seq: 8 }, { available: 1, held: 0, sold: 1 }])
    const connection = await connectFor(t, redisUrl)
    /** @type {string[]} */
    const keys = []
    for (let cursor = /** @type {string | null} */ (null); cursor !== '0';) {
      const [next, some] = await connection.send('SCAN', cursor ?? '0', 'MATCH', `${keyPrefix}*:request:*`, 'COUNT', 10_000)
      keys.push(...some.map(String))
      cursor = String(next)
    }
    t.ok(Number(await connection.send('DEL', ...keys)) > 20)
    isProblem(t, await claim('again', 'ann', { key: 'ann' }), 409, 'SALE_ALREADY_CLAIMED')
    for (const user of ['bob', 'cid']) isProblem(t, await claim('again', user, { key: user }), 410, 'CLAIM_EXPIRED')
    for (const user of ['ann', 'bob']) isProblem(t, await join('line', user, `j-${user}`), 409, 'SALE_ALREADY_CLAIMED')
    t.same(await repeat(), [200, 200, 410, 200, 409, 200])
    t.same(await numbers(), before)
  })

  await t.test('opening, pausing, closing, faults', async (t) => {
    await create('later', { openAt: Date.now() + 3_600_000 })
    isProblem(t, await claim('later', 'ann'), 425, 'SALE_NOT_OPEN')
    t.match(await sale('later'), { status: 'scheduled' })
    await create('paused')
    t.match(await turn('paused', 'pause'), { status: 200 })
    isProblem(t, await claim('paused', 'ann'), 409, 'SALE_PAUSED')
    t.match(await turn('paused', 'resume'), { status: 200 })
    t.match(await claim('paused', 'ann'), { status: 201 })
    t.match(await turn('paused', 'close'), { status: 200 })
    isProblem(t, await claim('paused', 'bob'), 410, 'SALE_CLOSED')
    isProblem(t, await turn('paused', 'close'), 410, 'SALE_CLOSED')
    isProblem(t, await claim('{later}', 'ann'), 400, 'REQUEST_INVALID')
    for (const quantity of [0, -1, 1.5, 1e10, '1']) isProblem(t, await claim('later', 'ann', { quantity }), 422, 'FIELD_INVALID')
    isProblem(t, await claim('once', 'ann', { quantity: 6 }), 422, 'FIELD_INVALID')
    for (const user of ['', '{a}', 'x'.repeat(10_000)]) isProblem(t, await claim('later', user), 422, 'FIELD_INVALID')
    isProblem(t, await order('POST', 'later/claims', {}), 422, 'FIELD_INVALID')
    isProblem(t, await order('PUT', 'bad', { stock: 1, mode: 'queue', holdMs: 0 }), 422, 'FIELD_INVALID')
    isProblem(t, await order('PUT', 'bad', { stock: 1, mode: 'queue', openAt: 5, closeAt: 5 }), 422, 'FIELD_INVALID')
    isProblem(t, await join('later', 'ann'), 409, 'SALE_OTHER_MODE')
  })
})
