/**
 * A token whose ids are nowhere among very many items: replies come in slices that say they are not complete, other requests are answered
 * in between, and nothing shows how long the ids of others are.
 */
import { writeFile } from 'node:fs/promises'
import t from 'tap'
import { bearer, folderFor } from '../../test/http/guarded.js'
import { openLive } from '../../test/push/live-client.js'
import { nightly, scopedEngines } from '../../test/scope.js'
import { engineName, eventually, openWriterFor, startServer } from '../../test/servers.js'
import { startReader } from '../../test/services.js'

const ITEMS = nightly(1_050_000, 250_000)
/** of items that one reply looks at */
const MAX_SCANNED = 100_000
const DAY_MS = 86_400_000
const SCANNERS = 8
/** @type {{ token: string, scopes: string[], feeds: string[], ids?: string[] }} */
const NONE = { token: 'none-of-them', scopes: ['read'], feeds: ['*'], ids: ['own-*'] }
const ALL = { token: 'all-of-them', scopes: ['read'], feeds: ['*'] }
const PATIENT = { deadlineMs: 300_000 }

t.setTimeout(900_000)
for (const engine of await scopedEngines()) {
  for (const layout of nightly(['ids', 'segments'], ['segments'])) {
    t.test(`${engineName(engine)}, ${layout}: ${ITEMS} items of others`, async (t) => {
      const { url: redisUrl } = await startServer(t, { engine })
      const file = `${await folderFor(t)}/tokens`
      await writeFile(file, [NONE, ALL].map((row) => JSON.stringify(row)).join('\n'), { mode: 0o600 })
      const { pipeline } = await openWriterFor(t, { redisUrl, feed: 'large', layout, windowMs: DAY_MS, maxItems: 0 })
      const nowMs = Date.now()
      for (let n = 0; n < ITEMS; n++) {
        const id = Buffer.from(`other-${n}-${'x'.repeat(n % 100)}`)
        if (!pipeline.append(id, nowMs - ITEMS + n, Buffer.from('v'))) await pipeline.ready()
      }
      await pipeline.flush(PATIENT)
      const reader = await startReader(t, { redisUrl, flags: ['--read-from', 'primary', '--tokens', file, '--max-view-items', '2000000'] })
      const get = (/** @type {string} */ path, { token } = NONE) => reader.get(`/v1/feeds/large/${path}`, bearer(token))
      await eventually(async () => (await get('count', ALL)).json.count === ITEMS, PATIENT)
      await eventually(async () => (await get('count')).json.complete === false, PATIENT)

      let pages = 0
      /** Goes through all of them. @param {string} path */
      async function walk (path) {
        const replies = []
        for (let next = ''; next !== null;) {
          const { status, json } = await get(`${path}${next && `?after=${next}`}`)
          if (status !== 200) throw new Error(`${status}: ${JSON.stringify(json)}`)
          pages++
          replies.push(json)
          next = json.next ?? null
        }
        return replies
      }

      for (const path of ['items', 'count']) {
        const replies = await walk(path)
        t.equal(replies.length, Math.ceil(ITEMS / MAX_SCANNED), `${path}: a reply for each ${MAX_SCANNED} items`)
        t.ok(replies.slice(0, -1).every(({ complete }) => complete === false), 'each but the last is not complete')
        t.equal(replies.at(-1).complete, undefined)
        t.ok(replies.every(({ items = [], count = 0 }) => items.length === 0 && count === 0))
        t.equal(new Set(replies.slice(0, -1).map(({ next }) => next.length)).size, 1, 'no length of an id shows')
      }
      const live = await openLive(t, reader.url, '/v1/feeds/large/live', { headers: bearer(NONE.token) })
      await eventually(() => live.events.length > 0, PATIENT)
      t.same(live.events[0].data, { items: [], complete: false })

      const over = new AbortController()
      const scanning = Promise.all(Array.from({ length: SCANNERS }, () => walk('items'))).finally(() => over.abort())
      /** replies to those who scan, while another request was answered @type {number[]} */
      const between = []
      const from = pages
      while (!over.signal.aborted) {
        const before = pages
        const { status } = await get('items?limit=1', ALL)
        t.equal(status, 200)
        if (!over.signal.aborted) between.push(pages - before)
      }
      await scanning
      t.comment(`${between.length} other requests during ${pages - from} replies of scans, at most ${Math.max(...between)} at once`)
      // slices of all scans take turns, so a request waits for a few of them
      t.ok(between.length > 0 && Math.max(...between) <= 2 * SCANNERS, between.join(' '))
    })
  }
}
