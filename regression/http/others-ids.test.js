/**
 * What a token with ids can learn of other ids by asking for them: whether one exists shows neither in a reply nor in the work that the
 * servers do for it, which is counted, since times vary.
 */
import t from 'tap'
import { bearer, startGuarded, tokenFileFor } from '../../test/http/guarded.js'
import { openFeed } from '../../src/index.js'
import { openLive } from '../../test/push/live-client.js'
import { connectFor, eventually } from '../../test/servers.js'

const ROW = { scopes: ['read', 'write', 'admin'], feeds: ['*'] }
const ALL = { ...ROW, token: 'all-of-it' }
const OWN = { ...ROW, token: 'own-only', ids: ['own-*'] }
const IDS = 100
/** of the same length, also those that do not exist */
const others = Array.from({ length: IDS }, (_, n) => `other-${String(n).padStart(3, '0')}`)
const absent = Array.from({ length: IDS }, (_, n) => `other-${n + 900}`)
/** commands that read items of a feed by id or by order; reading of definitions goes on all the time */
const READS = /^(mget|get|getrange|zscore|zmscore|zrange|zrevrange|zrangebyscore|zrevrangebyscore|zcount|zcard|eval_ro|evalsha_ro)$/

const { file } = await tokenFileFor(t, [ALL, OWN])
const { reader, gateway, redisUrl } = await startGuarded(t, { tokens: file })
const connection = await connectFor(t, redisUrl)
/** @param {string} path @param {{ token: string }} [row] @param {Record<string, string>} [headers] */
const get = (path, { token } = OWN, headers = {}) => reader.ask('GET', path, { headers: { ...bearer(token), ...headers } })

/** Calls of commands that read items, while something is done. @param {() => Promise<unknown>} work */
async function readsOf (work) {
  const calls = async () => {
    const info = String(await connection.send('INFO', 'commandstats'))
    const all = [...info.matchAll(/^cmdstat_(\w+):calls=(\d+)/gm)].filter(([, name]) => READS.test(name))
    return all.reduce((sum, [, , count]) => sum + Number(count), 0)
  }
  const before = await calls()
  const sinceMs = performance.now()
  await work()
  return { reads: await calls() - before, tookMs: performance.now() - sinceMs }
}

/** @param {string} id */
const cursorOf = (id) => Buffer.from(id).toString('base64url')

/** A reply without what names the id or the time. @param {any} reply @param {string} id */
function shownOf ({ status, headers, body }, id) {
  const rest = [...headers].filter(([name]) => !['date', 'age', 'freshet-as-of', 'freshet-lag-ms', 'etag'].includes(name))
  const text = body.replaceAll(id, 'ID').replaceAll(cursorOf(id), 'CURSOR').replace(/"asOf":\d+/, '"asOf":0')
  return JSON.stringify([status, rest, text])
}

for (const [feed, options] of Object.entries(/** @type {const} */ ({ listed: { layout: 'ids' }, viewed: { layout: 'segments' } }))) {
  t.test(`${options.layout}: by id, in pages, with conditions, and when written or deleted`, async (t) => {
    const written = await openFeed(feed, { redisUrl, ...options })
    t.teardown(() => written.close())
    for (const id of ['own-1', ...others]) written.append({ id, value: id })
    await written.flush()
    await eventually(async () => (await get(`/v1/feeds/${feed}/count`, ALL)).json.count === IDS + 1)
    const path = `/v1/feeds/${feed}/items`
    const send = (/** @type {string} */ method, /** @type {string} */ to, /** @type {string} */ body = '') => gateway.ask(method, to, {
      headers: { ...bearer(OWN.token), ...body !== '' && { 'content-type': 'application/json' } }, ...body !== '' && { body }
    })
    /** @type {Record<string, (id: string) => Promise<any>>} */
    const attempts = {
      'by id': (id) => get(`${path}/${id}`),
      'by id, if it has any tag': (id) => get(`${path}/${id}`, OWN, { 'if-none-match': '*' }),
      'a page of it': (id) => get(`${path}?id=${id}&encoding=utf8`),
      'a page of it and an own one': (id) => get(`${path}?id=own-1&id=${id}`),
      'lines of it': (id) => get(`${path}?id=${id}`, OWN, { accept: 'application/x-ndjson' }),
      'a position as a cursor': (id) => get(`${path}?after=${cursorOf(id)}`),
      POST: (id) => send('POST', path, JSON.stringify([{ id, value: 1 }])),
      DELETE: (id) => send('DELETE', `${path}/${id}`)
    }
    for (const [what, ask] of Object.entries(attempts)) {
      /** @param {string[]} ids */
      const repliesTo = async (ids) => {
        const shown = []
        for (const id of ids) shown.push(shownOf(await ask(id), id))
        return shown
      }
      /** @type {Record<string, { shown: string[], reads: number, tookMs: number }>} */
      const seen = {}
      for (const [kind, ids] of Object.entries({ others, absent })) {
        /** @type {string[]} */
        let shown = []
        const counted = await readsOf(async () => { shown = await repliesTo(ids) })
        seen[kind] = { shown: [...new Set(shown)], ...counted }
      }
      t.equal(seen.others.shown.length, 1, `${what}: one reply for all`)
      t.same(seen.others.shown, seen.absent.shown, `${what}: the same as for ids that do not exist`)
      const idle = await readsOf(() => new Promise((resolve) => setTimeout(resolve, seen.others.tookMs)))
      const perRequest = (/** @type {{ reads: number }} */ { reads }) => Math.round((reads - idle.reads) / IDS)
      t.equal(perRequest(seen.others), perRequest(seen.absent), `${what}: the same reads at the servers`)
    }
    const asked = await readsOf(async () => { for (const id of absent) await get(`/v1/feeds/listed/items/${id}`, ALL) })
    t.ok(asked.reads >= IDS, 'whoever may see all ids causes reads, which are counted')
  })
}

t.test('counts, tags, pages and positions stay the same, whatever others write', async (t) => {
  const written = await openFeed('quiet', { redisUrl })
  t.teardown(() => written.close())
  for (const id of ['own-1', 'own-2', 'own-3']) written.append({ id, value: id })
  await written.flush()
  const paths = ['count', 'items?limit=2&encoding=utf8', 'items', 'items/own-1', 'tail?limit=2', 'figures']
    .map((path) => `/v1/feeds/quiet/${path}`)
  const look = () => Promise.all(paths.map(async (path) => {
    const { status, headers, body, json } = await get(path)
    return {
      path,
      status,
      tag: headers.get('etag'),
      // sealed, so that it is another one each time
      lengths: [json?.next?.length, json?.position?.length],
      body: body.replace(/"(asOf|next|position)":("[^"]*"|\d+)/g, '')
    }
  }))
  await eventually(async () => (await get(paths[0])).json.count === 3)
  const before = await look()
  for (let round = 0; round < 5; round++) {
    // ids of any length
    for (let n = 1; n <= 122; n++) written.append({ id: `other-${'x'.repeat(n)}`.slice(0, 128), value: 'v'.repeat(n * round) })
    await written.flush()
    await eventually(async () => (await get('/v1/feeds/quiet/count', ALL)).json.count === 125)
    t.same(await look(), before)
  }
})

t.test('heartbeats of a stream of several feeds are as long, whatever others write', async (t) => {
  const feeds = ['beat-a', 'beat-b']
  const written = await Promise.all(feeds.map((feed) => openFeed(feed, { redisUrl, partitions: 3 })))
  for (const feed of written) {
    t.teardown(() => feed.close())
    feed.append({ id: 'own-1', value: '1' })
    await feed.flush()
  }
  let text = ''
  await openLive(t, reader.url, `/v1/live?${feeds.map((feed) => `feed=${feed}`).join('&')}`, {
    headers: bearer(OWN.token), onBytes: (bytes) => { text += bytes }
  })
  const beats = () => text.match(/(?<=^: .*\nid: ).*/gm) ?? []
  await eventually(() => beats().length === 2)
  const over = new AbortController()
  const writing = (async () => {
    for (let n = 0; !over.signal.aborted; n++) {
      for (const feed of written) {
        feed.append({ id: `other-${n}`, value: 'x'.repeat(n % 1000) })
        await feed.flush()
      }
    }
  })()
  await eventually(() => beats().length === 4)
  over.abort()
  await writing
  t.equal(new Set(beats().map(({ length }) => length)).size, 1, `${beats().map(({ length }) => length)}`)
})
