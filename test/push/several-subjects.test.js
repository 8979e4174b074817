/** Streams of several subjects: what tokens permit, and keys of systems beside feeds. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { dropFeed } from '../../src/feeds/definitions.js'
import { openFeed } from '../../src/index.js'
import { scopedEngines } from '../scope.js'
import { connectFor, eventually, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { startAuctions } from '../systems/auctions/auctioning.js'
import { openLive } from './live-client.js'

const TOKEN = 'several-secret-0123456789'
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` }
const [engine] = await scopedEngines()

t.test('tokens: a feed that is not permitted is named, and a token that loses one ends its streams', async (t) => {
  const server = await startServer(t, { engine })
  const folder = await mkdtemp(join(tmpdir(), 'freshet-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'tokens')
  const permit = (/** @type {string[]} */ ...feeds) => writeFile(file, JSON.stringify({ token: TOKEN, scopes: ['read'], feeds }) + '\n')
  await permit('a*', 'b')
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--tokens', file] })
  const ask = (/** @type {string} */ query) => openLive(t, reader.url, `/v1/live?${query}`, { headers: AUTHORIZED })
  const hundred = Array.from({ length: 97 }, (_, n) => `feed=a${n}`).join('&')
  const refused = await ask(`${hundred}&feed=nothing&feed=b`)
  await refused.ended
  t.match([refused.status, JSON.parse(refused.body)], [403, { code: 'FORBIDDEN', detail: /not for the feed nothing/ }])
  const keys = await ask('feed=b&auction=lamp')
  await keys.ended
  t.match([keys.status, JSON.parse(keys.body)], [403, { detail: /@auctions/ }])
  const feed = await openFeed('b', { redisUrl: server.url, deadlineMs: 20_000 })
  t.teardown(() => feed.close())
  feed.append({ id: 'x', value: '1' })
  await feed.flush()
  const client = await ask(`${hundred}&feed=b`)
  await eventually(() => client.events.length === 1)
  await permit('a*')
  await client.ended
  const again = await ask(`${hundred}&feed=b`)
  await again.ended
  t.match([again.status, JSON.parse(again.body)], [403, { detail: /not for the feed b/ }])
})

t.test('a token with ids gets these of each feed, and a position that is sealed as a whole', async (t) => {
  const server = await startServer(t, { engine })
  const folder = await mkdtemp(join(tmpdir(), 'freshet-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'tokens')
  await writeFile(file, JSON.stringify({ token: TOKEN, scopes: ['read'], feeds: ['*'], ids: ['mine-*', 'ours'] }) + '\n')
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--tokens', file] })
  const feeds = await Promise.all(['one', 'two'].map((feed) => openFeed(feed, { redisUrl: server.url, deadlineMs: 20_000 })))
  for (const feed of feeds) t.teardown(() => feed.close())
  const put = async (/** @type {string} */ value) => {
    for (const feed of feeds) {
      for (const id of ['mine-1', 'ours', 'theirs']) feed.append({ id, value })
      await feed.flush()
    }
  }
  const ask = (/** @type {string} */ query, from = '') => openLive(t, reader.url, `/v1/live?encoding=utf8&${query}`,
    { headers: { ...AUTHORIZED, ...(from === '' ? {} : { 'last-event-id': from }) } })
  const has = (/** @type {{ items: Map<string, any> }} */ { items }, /** @type {string} */ value) => items.get('ours')?.value === value
  await put('1')
  const client = await ask('feed=one&feed=two')
  await eventually(() => client.events.length >= 2 && has(client, '1'))
  await pause(1100)
  await put('2')
  await eventually(() => has(client, '2') && client.events.filter(({ event }) => event === 'items').length >= 2)
  t.same([...client.items.keys()].sort(), ['mine-1', 'ours'])
  const { position } = client
  client.close()
  await put('3')
  const again = await ask('feed=one&feed=two', position)
  await eventually(() => has(again, '3'))
  t.notOk(again.events.some(({ event }) => event !== 'items'), 'it resumes')
  const plain = await ask('feed=one&feed=two', position.slice(11))
  await plain.until('reset', 2)
  const keys = await ask('feed=one&auction=lamp')
  await keys.ended
  t.match([keys.status, JSON.parse(keys.body)], [403, { detail: /some ids only/ }])
})

t.test('a position of a token with ids resumes at every reader, also if a feed begins, or is dropped and created again', async (t) => {
  const server = await startServer(t, { engine })
  const folder = await mkdtemp(join(tmpdir(), 'freshet-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'tokens')
  await writeFile(file, JSON.stringify({ token: TOKEN, scopes: ['read'], feeds: ['*'], ids: ['mine-*'] }) + '\n')
  const flags = ['--read-from', 'primary', '--tokens', file]
  const readers = [await startReader(t, { redisUrl: server.url, flags }), await startReader(t, { redisUrl: server.url, flags })]
  const ask = (/** @type {number} */ n, /** @type {string} */ path, /** @type {string} */ from = '') =>
    openLive(t, readers[n].url, path, { headers: { ...AUTHORIZED, ...(from === '' ? {} : { 'last-event-id': from }) } })
  const ofFeed = (/** @type {{ events: any[] }} */ { events }, /** @type {string} */ feed) =>
    events.filter(({ data }) => data.feed === feed).map(({ event, data }) => [event, data.items?.map((/** @type {any} */ { id }) => id)])
  async function put (/** @type {string} */ feed, /** @type {string[]} */ ...ids) {
    const one = await openFeed(feed, { redisUrl: server.url, deadlineMs: 20_000 })
    for (const id of [...ids, 'theirs']) one.append({ id, value: '1' })
    await one.close()
  }
  const path = '/v1/live?feed=a&feed=b&feed=c&limit=1'
  const early = await ask(0, path)
  await eventually(() => early.position !== '')
  const none = early.position
  const single = await ask(0, '/v1/feeds/c/live?wait=yes')
  await put('c', 'mine-1', 'mine-2')
  await eventually(() => early.events.length === 1 && single.position !== '')
  const waited = single.position
  const first = await ask(1, path, none)
  await eventually(() => first.events.length === 1)
  t.same(ofFeed(first, 'c'), [['snapshot', ['mine-1', 'mine-2']]], 'whole: another reader knows that there was none')
  await put('b', 'mine-1')
  await eventually(() => ofFeed(first, 'b').length === 1)
  await pause(1100)
  await put('c', 'mine-3')
  await eventually(() => ofFeed(first, 'c').length === 2)
  const { position } = first
  first.close()
  await put('a', 'mine-1', 'mine-2')
  const second = await ask(0, path, position)
  await eventually(() => ofFeed(second, 'a').length === 1)
  t.same(ofFeed(second, 'a'), [['snapshot', ['mine-1', 'mine-2']]], 'whole, whatever the limit')
  await dropFeed(await connectFor(t, server.url), 'fr:', 'b')
  await put('b', 'mine-9')
  await put('c', 'mine-4')
  for (const n of [0, 1]) {
    const again = await ask(n, path, position)
    await eventually(() => ofFeed(again, 'b').length === 2 && ofFeed(again, 'c').length === 1)
    t.same(ofFeed(again, 'b'), [['reset', undefined], ['snapshot', ['mine-9']]], `reader ${n}`)
    t.same(ofFeed(again, 'c'), [['items', ['mine-4']]], 'no other is reset')
  }
  const resumed = await ask(1, '/v1/feeds/c/live', waited)
  await eventually(() => resumed.events.length > 0)
  t.same(resumed.names().filter((name) => name !== 'items'), [], 'one that waited, too')
})

t.test('keys of systems, with a feed, in one stream', async (t) => {
  const server = await startServer(t, { engine })
  const { gateway, reader } = await startAuctions(t, { primary: server, readerFlags: ['--read-from', 'primary'] })
  for (const id of ['lamp', 'vase']) t.equal((await gateway.create(id)).status, 201)
  const feed = await openFeed('ticks', { redisUrl: server.url, deadlineMs: 20_000 })
  t.teardown(() => feed.close())
  feed.append({ id: 'x', value: '1' })
  await feed.flush()
  await eventually(async () => (await reader.get('/v1/auctions/lamp')).status === 200)
  const path = '/v1/live?auction=lamp&auction=vase&feed=ticks'
  const client = await openLive(t, reader.url, path)
  const subjects = () => [...new Set(client.events.map(({ data }) => data.feed ?? data.subject.auction))].sort()
  await eventually(() => subjects().length >= 3)
  t.same(subjects(), ['lamp', 'ticks', 'vase'])
  await gateway.bid('lamp', 'ann', '10.00')
  const bids = ({ events } = client) =>
    events.filter(({ event }) => event === 'bid').map(({ data }) => `${data.subject.auction} ${data.amount}`)
  await eventually(() => bids().length === 1)
  await pause(1100)
  await gateway.bid('vase', 'ann', '20.00')
  await eventually(() => bids().length === 2)
  t.same(bids(), ['lamp 10.00', 'vase 20.00'])
  const { position } = client
  client.close()
  await gateway.bid('lamp', 'bob', '11.00')
  const again = await openLive(t, reader.url, path, { headers: { 'last-event-id': position } })
  await eventually(() => again.events.length > 0)
  t.same([again.names(), bids(again)], [['bid'], ['lamp 11.00']], 'only what came since')
  const unknown = await openLive(t, reader.url, '/v1/live?auction=lamp&auction=none')
  await unknown.ended
  t.match([unknown.status, JSON.parse(unknown.body).code], [404, 'AUCTION_UNKNOWN'])
})
