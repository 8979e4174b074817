/** Which layout a feed has is chosen by the writer's settings; readers follow what is stored. */
import t from 'tap'
import { engineName, testEngines } from '../servers.js'
import { startFlow } from './flow.js'

/** @type {[string, string[], Record<string, string>, string][]} */
const choices = [
  ['by default', [], {}, 'ids'],
  ['by SORTED_SET_CONTAINS_ACTUAL_VALUE=true', [], { SORTED_SET_CONTAINS_ACTUAL_VALUE: 'true' }, 'values'],
  ['by SORTED_SET_CONTAINS_ACTUAL_VALUE=false', [], { SORTED_SET_CONTAINS_ACTUAL_VALUE: 'false' }, 'ids'],
  ['by --layout, over the variable', ['--layout', 'ids'], { SORTED_SET_CONTAINS_ACTUAL_VALUE: 'true' }, 'ids'],
  ['by --layout, acknowledged by a replica', ['--layout', 'values', '--ack', 'replica'], {}, 'values']
]

for (const engine of await testEngines()) {
  t.test(engineName(engine), async (t) => {
    const flow = await startFlow(t, { engine })
    for (const [i, [how, flags, env, layout]] of choices.entries()) {
      await t.test(`${layout} ${how}: what was written is read back`, async (t) => {
        const feed = `chosen-${i}`
        const { code, summary } = await flow.write(t, ['--feed', feed, '--items', '500', '--ids', '50', '--rate', '0', ...flags], { env })
        t.equal(code, 0)
        t.match(summary, { layout, offered: 500, items: 500, refused: 0, dropped: 0, failed: 0 })
        const ask = async (/** @type {string} */ path) => (await fetch(`${flow.reader.url}/v1/feeds/${feed}${path}`)).json()
        t.equal((await ask('')).layout, layout)
        const { items, next } = await ask('/items?limit=1000&encoding=json')
        t.equal(new Set(items.map((/** @type {{ id: string }} */ { id }) => id)).size, 50)
        t.equal(items.length, 50)
        t.equal(next, null)
        t.same(items.map((/** @type {any} */ { value }) => Number(value.n)).sort((/** @type {number} */ a, /** @type {number} */ b) => a - b), Array.from({ length: 50 }, (_, n) => 451 + n), 'the newest version of each')
        const count = await ask('/count')
        t.match(count, layout === 'ids' ? { count: 50, exact: true } : { count: 500, exact: false })
      })
    }
  })
}
