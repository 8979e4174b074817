/** PUT /v1/feeds/:feed: a feed before its first item, and another retention. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startGateway } from '../services.js'
import { sharedDeployment } from '../shared.js'

const HOUR_MS = 3_600_000
const NAMES = { admin: 'admin-of-all', writer: 'writer-of-all' }

const { primary, keyPrefix } = await sharedDeployment(t)
const tokens = join(t.testdir(), 'tokens')
await writeFile(tokens, [{ token: NAMES.admin, scopes: ['admin', 'write'] }, { token: NAMES.writer, scopes: ['write'] }]
  .map((one) => JSON.stringify({ ...one, feeds: ['*'] }) + '\n').join(''), { mode: 0o600 })
const { send, post } = await startGateway(t, { redisUrl: primary.url, keyPrefix, flags: ['--tokens', tokens, '--max-feeds', '0'] })
const as = (/** @type {string} */ token) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
const put = (/** @type {string} */ feed, /** @type {object} */ fields, token = NAMES.admin) =>
  send('PUT', `/v1/feeds/${feed}`, JSON.stringify(fields), as(token))
const append = (/** @type {string} */ feed, /** @type {number} */ ts) =>
  post(`/v1/feeds/${feed}/items`, [{ id: 'a', ts, value: 1 }], as(NAMES.writer))

t.test('a feed is created with its layout and retention, also where items create none', async (t) => {
  t.match(await append('rides', Date.now()), { status: 403, json: { code: 'FEEDS_FULL' } })
  t.match(await put('rides', { layout: 'segments', windowMs: 2 * HOUR_MS }),
    { status: 201, json: { feed: 'rides', layout: 'segments', windowMs: 2 * HOUR_MS, maxItems: 1_000_000, partitions: 1 } })
  t.match(await append('rides', Date.now() - HOUR_MS), { status: 200, json: { accepted: 1 } })
  t.match(await put('rides', { layout: 'segments', windowMs: 2 * HOUR_MS }), { status: 200 }, 'again')
  t.match(await put('rides', { layout: 'ids' }),
    { status: 409, json: { code: 'FEED_DEFINITION_DIFFERS', detail: /rides is stored with layout segments, not ids/ } })
  t.match(await put('rides', { windowMs: 0, maxItems: 0 }), { status: 422, json: { code: 'FIELD_INVALID', detail: /keeps every version/ } })
})

t.test('the message about an old item names a request that helps', async (t) => {
  t.match(await put('short', {}), { status: 201, json: { windowMs: 60_000 } })
  const old = Date.now() - HOUR_MS
  t.match(await send('DELETE', `/v1/feeds/short/items/a?ts=${old}`, undefined, { authorization: as(NAMES.writer).authorization }),
    { status: 400, json: { code: 'ITEM_TOO_OLD', detail: /PUT \/v1\/feeds\/short / } })
  const refused = await append('short', old)
  t.match(refused, { status: 400, json: { faults: [{ code: 'ITEM_TOO_OLD' }] } })
  const [, feed, body] = /PUT \/v1\/feeds\/(\w+) (\{.*?\})/.exec(refused.json.detail) ?? []
  t.match(await put(feed, JSON.parse(body.replace('N', String(2 * HOUR_MS)))), { status: 200, json: { windowMs: 2 * HOUR_MS } })
  t.match(await append('short', old), { status: 200, json: { accepted: 1 } })
})

t.test('refused: tokens without admin, and values that no writer could use', async (t) => {
  t.match(await put('other', {}, NAMES.writer), { status: 403, json: { code: 'FORBIDDEN' } })
  t.match(await put('Other', {}), { status: 400, json: { code: 'FEED_NAME_INVALID' } })
  t.match(await put('other', { windowMs: '5', layout: 'heap' }), { status: 422, json: { code: 'FIELD_INVALID', detail: /layout: .*windowMs: / } })
  t.match(await put('other', { window: 5 }), { status: 400, json: { code: 'REQUEST_INVALID' } })
  t.match(await put('other', { layout: 'values', late: 'overwrite' }), { status: 422, json: { detail: /late: overwrite of feed other/ } })
})
