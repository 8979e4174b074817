/** Each version comes once over a connection, also where a snapshot or a resumed position meets new changes. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { engineName, eventually, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { scopedEngines } from '../scope.js'
import { openLive } from './live-client.js'
import { openWritten } from './written.js'

const IDS = 1000
const AWAY_MS = 500
const WATCHED_MS = 1500
const SOME = Array.from({ length: 100 }, (_, n) => `id=id-${n * 10}`).join('&')

/** Versions that came more than once. @param {import('./live-client.js').LiveClient} client */
function repeated (client) {
  const seen = new Set()
  return client.events.flatMap(({ event, data }) => (data.items ?? []).flatMap((/** @type {any} */ { id, value }) => {
    const version = `${id} ${value}`
    if (seen.has(version)) return [`${version} in ${event}`]
    seen.add(version)
    return []
  }))
}

const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })
  for (const layout of ['segments', 'ids']) {
    await t.test(layout, async (t) => {
      const feed = `once-${layout}`
      const written = await openWritten(t, { redisUrl: server.url, feed, layout })
      const writing = written.keepWriting({ ids: IDS, perSlice: 10, everyMs: 5 })
      await pause(AWAY_MS)
      const paths = [`/v1/feeds/${feed}/live?limit=10000`, `/v1/feeds/${feed}/live?${SOME}`]
      const first = await Promise.all(paths.map((path) => openLive(t, reader.url, path)))
      await eventually(() => first.every(({ items }) => items.size > 0))
      await pause(WATCHED_MS)
      const positions = first.map(({ position }) => position)
      for (const client of first) client.close()
      await pause(AWAY_MS)
      const resumed = await Promise.all(paths.map((path, i) =>
        openLive(t, reader.url, path, { headers: { 'last-event-id': positions[i] } })))
      await pause(WATCHED_MS)
      await writing.stop()
      // what did not change while it was away does not come again
      const all = { get items () { return new Map([...first[0].items, ...resumed[0].items]) } }
      await written.reaches([all])
      const what = ['snapshot of all', 'snapshot of some', 'resumed, all', 'resumed, some']
      for (const [i, client] of [...first, ...resumed].entries()) {
        t.ok(client.items.size > 0)
        t.same(repeated(client).slice(0, 3), [], `${what[i]}: ${repeated(client).length} versions repeated`)
        t.same(client.wentBack, [])
        t.notOk(i > 1 && client.names().includes('reset'))
      }
    })
  }
})
