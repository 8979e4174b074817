/** Streams of tokens that are for some ids only: they carry these, and nothing that tells of others. */
import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { isPositionOf } from '../../src/item/index.js'
import { bearer, folderFor } from '../http/guarded.js'
import { engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { scopedEngines } from '../scope.js'
import { openLive } from './live-client.js'

const DAY_MS = 86_400_000
const ROW = { scopes: ['read'], feeds: ['*'] }
const [ALL, OWN, NAMED, ELSE] = [
  { ...ROW, token: 'all-of-it' }, { ...ROW, token: 'own-only', ids: ['own-*', 'shared'] }, { ...ROW, token: 'named-only', ids: ['own-1'] },
  { ...ROW, token: 'else-only', ids: ['other-*', 'other-1*'] }
]

const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const file = `${await folderFor(t)}/tokens`
  const write = (/** @type {object[]} */ ...rows) => writeFile(file, rows.map((row) => JSON.stringify(row)).join('\n'), { mode: 0o600 })
  await write(ALL, OWN, NAMED, ELSE)
  const start = () => startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--tokens', file] })
  const [reader, another] = await Promise.all([start(), start()])

  /** @param {import('tap').Test} t @param {string} feed @param {string} layout */
  async function open (t, feed, layout) {
    const writer = await openWriterFor(t, { redisUrl: server.url, feed, layout, windowMs: DAY_MS })
    const nowMs = Date.now() - 200_000
    let number = 0
    return {
      async put (/** @type {string[]} */ ...ids) {
        for (const id of ids) {
          if (!writer.pipeline.append(Buffer.from(id), nowMs + ++number, Buffer.from(`${id} ${number}`))) await writer.pipeline.ready()
        }
        await writer.pipeline.flush()
      },
      async remove (/** @type {string} */ id) {
        writer.pipeline.remove(Buffer.from(id), nowMs + ++number)
        await writer.pipeline.flush()
      }
    }
  }

  /**
   * @param {import('tap').Test} t @param {string} feed @param {any} row @param {{ query?: string, from?: string, url?: string }} [options]
   */
  function follow (t, feed, { token }, { query = '', from, url = reader.url } = {}) {
    const headers = { ...bearer(token), ...from !== undefined && { 'last-event-id': from } }
    return openLive(t, url, `/v1/feeds/${feed}/live?encoding=utf8${query}`, { headers })
  }
  const seen = (/** @type {any} */ { items }) => [...items.keys()].sort()
  const positions = (/** @type {any} */ { events }) => events.map((/** @type {any} */ { id }) => id).filter(Boolean)

  for (const layout of ['segments', 'ids']) {
    await t.test(`${layout}: snapshots, changes and deletions are those of the own ids, and positions are sealed`, async (t) => {
      const feed = `own-${layout}`
      const { put, remove } = await open(t, feed, layout)
      await put('own-1', 'own-2', 'shared', 'shared2', ...Array.from({ length: 300 }, (_, i) => `other-${i}`))
      const all = await follow(t, feed, ALL)
      const own = await follow(t, feed, OWN)
      const named = await follow(t, feed, NAMED)
      const two = await follow(t, feed, OWN, { query: '&id=own-2&id=other-2' })
      const none = await follow(t, feed, OWN, { query: '&limit=0' })
      const other = await follow(t, feed, ELSE, { query: '&limit=2' })
      // a snapshot may come in several events
      await eventually(() => [all, none].every(({ events }) => events.length > 0) &&
        own.items.size === 3 && named.items.size > 0 && two.items.size > 0 && other.items.size === 2)
      t.same([own, named, two, none, other].map(seen), [['own-1', 'own-2', 'shared'], ['own-1'], ['own-2'], [], ['other-298', 'other-299']])
      t.equal(own.events[0].event, 'snapshot')

      await put('other-7', 'own-3', 'own-1', 'shared2')
      await remove('other-1')
      await remove('own-2')
      await eventually(() => [own, none].every(({ items }) => items.has('own-3') && items.get('own-2')?.deleted))
      await eventually(() => two.items.get('own-2').deleted && other.items.get('other-1')?.deleted && named.events.length > 1)
      t.same([own, named, two, none, other].map(seen), [
        ['own-1', 'own-2', 'own-3', 'shared'], ['own-1'], ['own-2'], ['own-1', 'own-2', 'own-3'],
        ['other-1', 'other-298', 'other-299', 'other-7']
      ])
      await put('other-8', 'other-9')
      await eventually(() => all.items.has('other-9') && other.items.has('other-9'))
      t.equal(new Set(positions(own)).size, positions(own).length, 'no position comes twice')
      for (const one of [own, named, two, none]) {
        t.ok(positions(one).length > 0)
        for (const id of positions(one)) t.notOk(isPositionOf(feed, id))
        t.notMatch(JSON.stringify(one.events), /other|shared2/)
      }
      t.ok(positions(all).every((/** @type {string} */ id) => isPositionOf(feed, id)))

      const from = positions(own).at(-1)
      await put('own-4', 'other-10', 'shared')
      await eventually(() => own.items.has('own-4'))
      const again = await follow(t, feed, OWN, { from, url: another.url })
      await eventually(() => again.items.size >= 2)
      t.equal(again.events[0].event, 'items', 'on another reader')
      t.same(seen(again), ['own-4', 'shared'])
      for (const [row, position] of [[NAMED, from], [ELSE, from], [OWN, positions(all).at(-1)], [OWN, `${from}A`], [ALL, from]]) {
        const reset = await follow(t, feed, row, { from: position })
        await eventually(() => reset.events.length > 1)
        t.match(reset.events[0], { event: 'reset', data: { reason: 'invalid' } })
      }
    })
  }

  await t.test('a stream that begins at a time, or with so many ids that changed last, has the own ids', async (t) => {
    const { put } = await open(t, 'starts', 'ids')
    const sinceMs = Date.now() - 5000
    await put('own-1', 'other-1', 'own-2')
    await put(...Array.from({ length: 50 }, (_, i) => `other-${i}`))
    const own = await follow(t, 'starts', OWN, { query: `&since=${sinceMs}` })
    await eventually(() => own.items.size === 2)
    t.same(own.events.flatMap(({ data }) => data.items ?? []).map(({ id }) => id).sort(), ['own-1', 'own-2'])
    await put('own-3')
    await put('own-1', 'other-1')
    const tail = await follow(t, 'starts', OWN, { query: '&tail=2' })
    await eventually(() => tail.items.size === 2)
    const idsIn = (/** @type {any} */ { items }) => items.map((/** @type {any} */ { id }) => id)
    t.same(tail.events.flatMap(({ event, data }) => [event, ...idsIn(data)]), ['items', 'own-3', 'own-1'])
    for (const id of positions(tail)) t.notOk(isPositionOf('starts', id))

    const page = await reader.get('/v1/feeds/starts/tail?limit=3', bearer(OWN.token))
    t.same(idsIn(page.json), ['own-2', 'own-3', 'own-1'])
    t.notOk(isPositionOf('starts', page.json.position))
    await put('other-2', 'own-4')
    const after = await follow(t, 'starts', OWN, { from: page.json.position })
    await eventually(() => after.items.size > 0)
    t.same([after.names(), seen(after)], [['items'], ['own-4']], 'a stream resumes behind the page')
  })

  await t.test('a snapshot ends at the bound of a scan, and says so; pages and counts go on there', async (t) => {
    const { put } = await open(t, 'large', 'segments')
    await put('own-1', ...Array.from({ length: 100_500 }, (_, i) => `other-${i}`))
    const get = (/** @type {string} */ path, headers = {}) => reader.get(`/v1/feeds/large/${path}`, { ...bearer(OWN.token), ...headers })
    await eventually(async () => (await get('count')).json.complete === false)
    const own = await follow(t, 'large', OWN)
    await eventually(() => own.events.length > 0)
    t.same(own.events[0].data, { items: [], complete: false })
    await put('own-2')
    await eventually(() => own.items.has('own-2'))

    const { json: page } = await get('items')
    t.same([page.items.length, page.complete], [1, false])
    t.match((await get(`items?after=${page.next}`)).json, { items: [{ id: 'own-1' }], next: null, complete: undefined })
    const { json: counted } = await get('count')
    t.match(counted, { count: 1, exact: false, complete: false })
    t.match((await get(`count?after=${counted.next}`)).json, { count: 1, exact: true })
    const lines = await get('items', { accept: 'application/x-ndjson' })
    t.match(lines.headers.get('freshet-complete'), 'false')
    t.equal((await get(`items?after=${lines.headers.get('freshet-next')}`)).json.items[0].id, 'own-1')
  })

  await t.test('a stream ends when its token gets other ids', async (t) => {
    const { put } = await open(t, 'changing', 'segments')
    await put('own-1', 'other-1')
    const own = await follow(t, 'changing', OWN)
    const named = await follow(t, 'changing', NAMED)
    await eventually(() => own.events.length > 0 && named.events.length > 0)
    await write(ALL, { ...OWN, ids: ['own-*'] }, NAMED, ELSE)
    await eventually(() => own.isEnded)
    t.notOk(named.isEnded)
    const reset = await follow(t, 'changing', OWN, { from: positions(own).at(-1) })
    await eventually(() => reset.events.length > 1)
    t.match(reset.events[0], { event: 'reset', data: { reason: 'invalid' } })
  })
})
