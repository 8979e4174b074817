/** Auctions as bidders and sellers see them, over HTTP, on real servers. */
import t from 'tap'
import { isProblem } from '../../gateway/requests.js'
import { bearer, tokenFileFor } from '../../http/guarded.js'
import { eventually } from '../../servers.js'
import { startReader } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { startAuctions, termsOf } from './auctioning.js'

t.test('auctions', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const { gateway, reader, auction } = await startAuctions(t, { primary, keyPrefix })
  const { create, bid, buy, close, order } = gateway

  await t.test('an auction is created, bid on, read and closed', async (t) => {
    t.match(await create('lamp'), { status: 201, json: { code: 'created', currentBid: null, minNext: '10.00', seq: 0 } })
    t.match(await bid('lamp', 'ann', '9.99'),
      { status: 200, json: { code: 'too_low', currentBid: null, minNext: '10.00', decidedAtSeq: 0 } })
    const first = await bid('lamp', 'ann', 10)
    t.match(first, { status: 201, json: { code: 'accepted', leading: true, currentBid: '10.00', minNext: '11.00', seq: 1 } })
    t.match(await bid('lamp', 'bob', '10.99'), { status: 200, json: { code: 'too_low', minNext: '11.00', decidedAtSeq: 1 } })
    t.match(await bid('lamp', 'ann', '12'), { status: 200, json: { code: 'self_outbid', currentBid: '10.00' } })
    t.match(await bid('lamp', 'bob', '11.5'), { status: 201, json: { leading: true, currentBid: '11.50', seq: 2 } })
    t.match(await auction('lamp', '?minSeq=2'),
      { id: 'lamp', currentBid: '11.50', status: 'open', minNext: '12.50', bids: 2, seq: 2, reserveMet: null, buyNow: null })
    t.match(await close('lamp'), { status: 200, json: { code: 'closed', seq: 3 } })
    isProblem(t, await bid('lamp', 'cid', '20'), 410, 'AUCTION_CLOSED')
    isProblem(t, await close('lamp'), 410, 'AUCTION_CLOSED')
    t.match(await auction('lamp', '?minSeq=3'), { status: 'closed', seq: 3 })
    const { winner, ...result } = await auction('lamp', '/result')
    t.match(result, { sold: true, price: '11.50', bids: 2, seq: 3, closedAt: Number })
    t.not(winner, 'bob', 'masked')
    t.not(winner, first.json.bidder)
    t.equal(result.winnerId, undefined)
  })

  await t.test('the user id of the winner is for tokens with the scope admin, and for the bidder itself', async (t) => {
    const winnerAt = async (/** @type {any} */ { get }, query = '', token = '') => {
      const { status, json } = await get(`/v1/auctions/lamp/result${query}`, bearer(token || undefined))
      return status === 200 ? json.winnerId : json.code
    }
    t.same([await winnerAt(reader, '?userId=ann'), await winnerAt(reader, '?userId=bob')], [undefined, 'bob'])
    const { file } = await tokenFileFor(t, ['read', 'write', 'admin'].map((scope) =>
      ({ token: `token-${scope}`, scopes: ['read', scope], feeds: ['@auctions'] })))
    const guarded = await startReader(t, { redisUrl: primary.url, keyPrefix, flags: ['--tokens', file] })
    t.same(await Promise.all([
      winnerAt(guarded, '', 'token-read'), winnerAt(guarded, '?userId=bob', 'token-read'), winnerAt(guarded, '', 'token-write'),
      winnerAt(guarded, '?userId=bob', 'token-write'), winnerAt(guarded, '?userId=ann', 'token-write'), winnerAt(guarded, '', 'token-admin')
    ]), [undefined, 'FORBIDDEN', undefined, 'bob', undefined, 'bob'])
  })

  await t.test('history has every event, the newest first, in pages', async (t) => {
    await create('history')
    for (let n = 0; n < 70; n++) await bid('history', `u${n}`, 10 + n)
    await auction('history', '?minSeq=70')
    const pages = []
    for (let next = ''; next !== null;) {
      const page = await auction('history', `/bids?limit=30${next && `&after=${next}`}`)
      pages.push(page.items)
      next = page.next
    }
    t.same(pages.map(({ length }) => length), [30, 30, 10])
    t.same(pages.flat().map(({ seq, amount, by }) => [seq, amount, by]),
      Array.from({ length: 70 }, (_, i) => [70 - i, `${79 - i}.00`, 'bid']))
    t.match(pages[0][0], { userId: /^[\w-]{10}$/, previous: '78.00', ts: Number })
    isProblem(t, await reader.get('/v1/auctions/history/bids?limit=1001'), 400, 'REQUEST_INVALID')
  })

  await t.test('a proxy bid answers for the leader up to the maximum, which nobody sees', async (t) => {
    await create('proxy')
    await bid('proxy', 'ann', 10, { max: '20' })
    t.match(await bid('proxy', 'bob', 15), { status: 201, json: { leading: false, currentBid: '16.00', seq: 3 } })
    t.match(await bid('proxy', 'bob', '20'), { json: { leading: false, currentBid: '20.00', seq: 5 } }, 'the earlier of equal maxima')
    t.match(await bid('proxy', 'ann', 20, { max: 30 }), { status: 200, json: { code: 'max_raised', leading: true, seq: 5 } })
    t.match(await bid('proxy', 'bob', 30.01), { json: { leading: true, currentBid: '30.01', seq: 6 } })
    await auction('proxy', '?minSeq=6')
    const { body } = await reader.get('/v1/auctions/proxy/bids')
    t.same(JSON.parse(body).items.map(({ by }) => by), ['bid', 'proxy', 'bid', 'proxy', 'bid', 'bid'])
    t.notMatch(body, /max|30\.00/)
    isProblem(t, await bid('proxy', 'cid', 40, { max: 39 }), 422, 'FIELD_INVALID')
  })

  await t.test('a late bid moves the end, within its bound; the end comes by itself', async (t) => {
    const closeAt = Date.now() + 1200
    await create('soft', { closeAt, softCloseMs: 1000, softCloseMaxMs: 1500 })
    await eventually(async () => Date.now() > closeAt - 900)
    const { json } = await bid('soft', 'ann', 10)
    t.ok(json.closeAt > closeAt && json.closeAt <= closeAt + 1000, `${json.closeAt - closeAt} ms later`)
    const again = await bid('soft', 'bob', 11)
    t.ok(again.json.closeAt <= closeAt + 1500)
    await eventually(async () => (await auction('soft')).status === 'closed')
    const { items: [last] } = await auction('soft', '/bids?limit=1')
    t.equal(last.by, 'close')
    t.ok(last.ts >= again.json.closeAt && last.ts < again.json.closeAt + 5000, `closed ${last.ts - again.json.closeAt} ms after the end`)
  })

  await t.test('reserve, buy now, opening, other terms', async (t) => {
    await create('reserved', { reserve: 50, buyNow: '100.00' })
    await bid('reserved', 'ann', 20)
    t.match(await auction('reserved', '?minSeq=1'), { reserveMet: false, buyNow: '100.00' })
    t.match(await buy('reserved', 'bob'), { status: 200, json: { code: 'bought', currentBid: '100.00' } })
    await auction('reserved', '?minSeq=2')
    t.match(await auction('reserved', '/result'), { sold: true, price: '100.00', reserveMet: true })
    await create('unsold', { reserve: 50 })
    await bid('unsold', 'ann', 20)
    isProblem(t, await buy('unsold', 'bob'), 409, 'AUCTION_NO_BUY_NOW')
    isProblem(t, await reader.get('/v1/auctions/unsold/result'), 409, 'AUCTION_OPEN')
    await close('unsold')
    await auction('unsold', '?minSeq=2')
    t.match(await auction('unsold', '/result'), { sold: false, winner: null, price: null, highestBid: '20.00', reserveMet: false })
    await create('later', { openAt: Date.now() + 60_000 })
    t.match(await bid('later', 'ann', 20), { status: 425, json: { code: 'AUCTION_NOT_OPEN', retryable: true, openAt: Number } })
    t.match(await auction('later'), { status: 'scheduled' })
    const terms = termsOf()
    t.equal((await create('terms', terms)).status, 201)
    t.match(await create('terms', terms), { status: 200, json: { code: 'unchanged' } })
    t.equal((await create('terms', { ...terms, startPrice: '12' })).status, 201)
    await bid('terms', 'ann', 12)
    isProblem(t, await create('terms', { ...terms, startPrice: '13' }), 409, 'AUCTION_HAS_BIDS')
    isProblem(t, await create('past', { closeAt: Date.now() - 1 }), 422, 'FIELD_INVALID')
  })

  await t.test('a request with the same key has one effect; by-request tells its reply', async (t) => {
    await create('once')
    const first = await bid('once', 'ann', 10, { key: 'k1' })
    t.equal(first.headers.get('idempotent-replayed'), null)
    await bid('once', 'bob', 15, { key: 'k1' })
    const again = await bid('once', 'ann', 10, { key: 'k1' })
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    t.match(again, { status: 201, json: first.json }, 'who won then hears so, although the price moved on')
    isProblem(t, await bid('once', 'ann', 11, { key: 'k1' }), 422, 'IDEMPOTENCY_KEY_REUSED')
    const both = await Promise.all([1, 2].map(() => bid('once', 'cid', 20, { key: 'k2' })))
    t.same(both.map(({ status, json }) => [status, json.seq]), [[201, 3], [201, 3]])
    t.match((await reader.get('/v1/auctions/once/by-request/k1?userId=ann')), { status: 201, json: first.json })
    isProblem(t, await reader.get('/v1/auctions/once/by-request/k9?userId=ann'), 404, 'REQUEST_NOT_ACCEPTED')
    t.match(await bid('once', 'dan', 20, { key: 'k3' }), { json: { code: 'too_low' } })
    isProblem(t, await reader.get('/v1/auctions/once/by-request/k3?userId=dan'), 404, 'REQUEST_NOT_ACCEPTED')
    t.match(await bid('once', 'dan', 21, { key: 'k3' }), { status: 201 }, 'a rejected one is decided again')
  })

  await t.test('bad input is refused with a code, and changes nothing', async (t) => {
    await create('bad')
    const amounts = ['NaN', NaN, '1e309', -1, 10.001, '10,00', '9007199254740993', 0, '', null, [], {}, true, '1e3', ' 10']
    for (const amount of amounts) isProblem(t, await bid('bad', 'ann', amount), 422, 'FIELD_INVALID')
    isProblem(t, await order('POST', 'bad/bids', '{"userId":"ann","amount":1e309}'), 422, 'FIELD_INVALID')
    isProblem(t, await order('POST', 'bad/bids', '{"userId":"ann","amount":NaN}'), 400, 'REQUEST_INVALID')
    isProblem(t, await order('POST', 'bad/bids', { amount: 10 }), 422, 'FIELD_INVALID')
    isProblem(t, await order('POST', 'bad/bids', '{"userId":"ann","amount":10,"__proto__":{"max":1}}'), 400, 'REQUEST_INVALID')
    isProblem(t, await order('POST', 'bad/bids', { userId: 'ann', amount: 10, price: 3 }), 400, 'REQUEST_INVALID')
    isProblem(t, await order('POST', 'bad/bids', '[]'), 400, 'REQUEST_INVALID')
    isProblem(t, await bid('bad', 'a{n}n', 10), 422, 'FIELD_INVALID')
    isProblem(t, await bid('{bad}', 'ann', 10), 400, 'REQUEST_INVALID')
    isProblem(t, await bid('bad', 'ann', 10, { key: 'a b' }), 400, 'REQUEST_INVALID')
    isProblem(t, await bid('unknown', 'ann', 10), 404, 'AUCTION_UNKNOWN')
    isProblem(t, await order('POST', 'bad/bids', 'x'.repeat(1024 * 1024)), 413, 'PAYLOAD_TOO_LARGE')
    const typed = await gateway.send('POST', '/v1/auctions/bad/bids', '{}', { 'content-type': 'text/plain' })
    isProblem(t, typed, 415, 'MEDIA_TYPE_UNSUPPORTED')
    isProblem(t, await create('bad2', { currency: 'euro' }), 422, 'FIELD_INVALID')
    isProblem(t, await create('bad2', { closeAt: '2030-01-01' }), 422, 'FIELD_INVALID')
    for (const field of ['openAt', 'closeAt']) {
      t.match(isProblem(t, await create('bad2', { [field]: 2_000_000_000 }), 422, 'FIELD_INVALID').detail,
        `${field}: 2000000000; expected milliseconds since 1970, an integer; this looks like seconds: multiply by 1000`)
    }
    for (const path of ['unknown', 'unknown/bids', 'unknown/result', 'unknown/live']) {
      isProblem(t, await reader.get(`/v1/auctions/${path}`), 404, 'AUCTION_UNKNOWN')
    }
    t.match(await auction('bad'), { bids: 0, seq: 0, currentBid: null })
  })
})
