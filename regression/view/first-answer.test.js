/** How soon a reader that starts answers with the newest of a million items: its view has the newest piece before the others. Printed. */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { nightEngines, nightly } from '../../test/scope.js'
import { engineName, startServer } from '../../test/servers.js'
import { startReader } from '../../test/services.js'

const ITEMS = nightly(1_000_000, 20_000)
const LIMIT = 100
const PATIENT = { deadlineMs: 120_000 }

t.setTimeout(600_000)
for (const engine of await nightEngines()) {
  for (const layout of layoutNames()) {
    t.test(`${engineName(engine)}, ${layout}: the newest of ${ITEMS} items`, async (t) => {
      const server = await startServer(t, { engine })
      const feed = await openFeed('many', { redisUrl: server.url, layout, windowMs: 3_600_000, maxItems: ITEMS, ...PATIENT })
      t.teardown(() => feed.close({ drainMs: 0 }))
      for (let n = 0; n < ITEMS; n++) if (!feed.append({ id: `id-${n}`, value: `value ${n}` })) await feed.ready(PATIENT)
      await feed.flush(PATIENT)
      const begunMs = performance.now()
      const reader = await startReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary', '--max-view-items', '2000000'] })
      const upMs = performance.now()
      let status = 0
      /** @type {any} */
      let json
      while (status !== 200) ({ status, json } = await reader.get(`/v1/feeds/many/items?limit=${LIMIT}&encoding=utf8`))
      t.comment(`${layout}: up after ${Math.round(upMs - begunMs)} ms, its first answer ${Math.round(performance.now() - upMs)} ms later`)
      t.same(json.items.map((/** @type {any} */ { id }) => id), Array.from({ length: LIMIT }, (_, n) => `id-${ITEMS - 1 - n}`))
    })
  }
}
