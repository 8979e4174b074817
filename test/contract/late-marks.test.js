/** The marks of late batches, as views read them. What a batch sends: bytes.test.js. */
import t from 'tap'
import { marksAfter, newestMark } from '../../src/layouts/index.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { gone, item, openPartition } from './partition.js'

/** marks kept */
const MOST = 1000

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const connection = await connectFor(t, server.url)

    for (const [layout, late] of /** @type {const} */ ([['values', 'newest'], ['ids', 'newest'], ['ids', 'overwrite']])) {
      await t.test(`${layout}, late ${late}: marks are read once, in order, behind the last one`, async (t) => {
        const { key, append } = await openPartition(t, server, layout, { late })
        const nowMs = Date.now()
        const first = await newestMark(connection, key)
        t.same(await marksAfter(connection, key, first), { marks: [], last: first, isGap: false })
        await append([item('new', nowMs, 0, 'v')])
        t.equal(await newestMark(connection, key), first, 'nothing was late')
        await append([item('a', nowMs - 1000, 0, 'v'), item('b', nowMs - 5000, 0, 'v')])
        await append([gone('a', nowMs)])
        const { marks, last, isGap } = await marksAfter(connection, key, first)
        t.notOk(isGap)
        t.equal(last, await newestMark(connection, key))
        const deletion = layout === 'ids' ? [{ from: nowMs, to: nowMs, ids: [Buffer.from('a')] }] : []
        t.same(marks, [{ from: nowMs - 5000, to: nowMs - 1000, ids: [] }, ...deletion])
        t.same(await marksAfter(connection, key, last), { marks: [], last, isGap: false })
        await append([item('c', 7, 0, 'v')])
        t.match(await marksAfter(connection, key, last), { marks: [{ from: 7, to: 7, ids: { length: 0 } }], isGap: false })
      })
    }

    await t.test('marks that were trimmed are a gap; what a node does not have yet is none', async (t) => {
      const { key, append } = await openPartition(t, server, 'values')
      await append([item('a', 7, 0, 'v')])
      const first = await newestMark(connection, key)
      for (let n = 1; n < MOST; n++) await append([item('a', 7, n, 'v')])
      t.match(await marksAfter(connection, key, first), { isGap: false })
      t.match(await marksAfter(connection, key, '0-0'), { isGap: true }, 'there may have been more')
      await append([item('a', 8, 0, 'v')])
      const { marks, last, isGap } = await marksAfter(connection, key, first)
      t.same([marks.length, isGap], [MOST, true])
      const [ms] = last.split('-')
      t.same(await marksAfter(connection, key, `${Number(ms) + 1000}-0`), { marks: [], last: `${Number(ms) + 1000}-0`, isGap: false })
    })
  })
}
