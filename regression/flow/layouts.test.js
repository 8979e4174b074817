/** Which layout a feed has is chosen by the writer's settings (test/settings/resolve.test.js); readers follow what is stored. */
import t from 'tap'
import { engineName, eventually } from '../../test/servers.js'
import { startFlow } from '../../test/flow/flow.js'
import { scopedEngines } from '../../test/scope.js'
import { sharedDeployment } from '../../test/shared.js'

/** @type {[string, string[]][]} */
const CHOICES = [
  ['ids', []],
  ['segments', ['--layout', 'segments', '--ack', 'replica', '--compress', 'brotli', '--batch-items', '10000', '--partitions', '3']]
]

const engines = await scopedEngines()
for (const engine of engines) {
  t.test(engineName(engine), async (t) => {
    const flow = await startFlow(t, await sharedDeployment(t, { engine }))
    for (const [layout, flags] of CHOICES) {
      await t.test(`${['writer', ...flags].join(' ')}: what was written is read back`, async (t) => {
        const feed = `chosen-${layout}`
        const { code, summary } = await flow.write(t, ['--feed', feed, '--items', '500', '--ids', '50', '--rate', '0', ...flags])
        t.equal(code, 0)
        t.match(summary, { layout, offered: 500, items: 500, refused: 0, dropped: 0, failed: 0 })
        /** @type {(path: string) => Promise<any>} */
        const ask = async (path) => (await flow.reader.ask(`/v1/feeds/${feed}${path}`)).json
        t.equal((await ask('')).layout, layout)
        const { items, next } = await ask('/items?limit=1000&encoding=json')
        t.equal(new Set(items.map((/** @type {{ id: string }} */ { id }) => id)).size, 50)
        t.equal(items.length, 50)
        t.equal(next, null)
        t.same(items.map((/** @type {any} */ { value }) => Number(value.n)).sort((/** @type {number} */ a, /** @type {number} */ b) =>
          a - b), Array.from({ length: 50 }, (_, n) => 451 + n), 'the newest version of each')
        // where the layout itself can only say about how many, a view counts as soon as it has everything
        const count = await eventually(async () => {
          const answer = await ask('/count')
          return answer.exact && answer
        })
        t.match(count, { count: 50, exact: true })
      })
    }

    if (engine !== engines[0]) return
    await t.test('a feed of another layout is refused, and both are named', async (t) => {
      for (const [stored, wanted] of [['ids', 'segments'], ['segments', 'stream']]) {
        await flow.write(t, ['--feed', `of-${stored}`, '--items', '1', '--layout', stored])
        const { code, stderr } = await flow.write(t, ['--feed', `of-${stored}`, '--items', '1', '--layout', wanted])
        t.equal(code, 2)
        t.match(stderr,
          new RegExp(`feed of-${stored} is stored with layout ${stored}, not ${wanted}; write with layout ${stored},`))
      }
    })
  })
}
