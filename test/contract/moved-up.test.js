/** A page that is read in steps while an id that it has not reached gets a newer version: the id is there, once. */
import t from 'tap'
import { engineName, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { item, openPartition, UNLIMITED } from './partition.js'

/** versions of one id, so that the first step finds few ids */
const MANY = 200
const NOW = Date.now()

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    for (const layout of ['values', 'ids']) {
      await t.test(layout, async (t) => {
        const { append, meddling, feed } = await openPartition(t, server, layout)
        await append([item('moved', NOW - 5000, 0, 'old'), item('still', NOW - 6000, 0, 'still')])
        await append(Array.from({ length: MANY }, (_, n) => item('hot', NOW - MANY + n, 0, `hot ${n}`)))
        let reads = 0
        const connection = meddling('*', async () => {
          if (++reads === 2) await append([item('moved', NOW + 1, 0, 'new')])
        })
        const { latest } = await openPartition(t, server, layout, { connection, feed })
        const { items, next } = await latest({ limit: 10, ...UNLIMITED })
        t.ok(reads > 1, 'it took several reads')
        t.same(items.map(({ id, value }) => [String(id), String(value)]),
          [['moved', 'new'], ['hot', `hot ${MANY - 1}`], ['still', 'still']])
        t.equal(next, null)
      })
    }
  })
}
