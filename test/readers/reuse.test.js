/** How soon a reply from a view is built again after a change, depending on its build time. */
import t from 'tap'
import { NOW, WAYS } from './fake-queries.js'
import { createViewReader } from './view-reader.js'

const ITEMS = '/v1/feeds/latest/items'

for (const { way, get } of WAYS) {
  t.test(`${way}: a reply is built at most once per millisecond`, async (t) => {
    const { app, put, view, time } = createViewReader(t)
    for (let n = 0; n < 20; n++) {
      put('item', NOW + n, `value ${n}`)
      await get(app, ITEMS)
      time.elapsed += 0.25
    }
    t.equal(view.visits, 5)
    time.elapsed += 1
    t.equal((await get(app, ITEMS + '?encoding=utf8')).json().items[0].value, 'value 19')
  })

  t.test(`${way}: building takes a tenth of the time at most, up to 50 ms of reuse; a build that took long by chance ` +
    'does not count as dear', async (t) => {
    const { app, put, view, time } = createViewReader(t)
    let costMs = 0.5
    view.beforeVisit = () => { time.elapsed += costMs }
    let n = 0
    const change = () => {
      put('item', NOW + n++, 'value')
      return get(app, ITEMS)
    }
    /** Until it is made again. */
    const pauseMs = async () => {
      const { visits } = view
      const startedMs = time.elapsed
      for (;;) {
        time.elapsed += 0.5
        await change()
        if (view.visits > visits) return time.elapsed - costMs - startedMs
      }
    }
    await change()
    t.equal(await pauseMs(), 4.5, 'ten times 0.5 ms after it was begun')
    costMs = 8
    await pauseMs()
    costMs = 0.5
    t.equal(await pauseMs(), 2, 'as if it had cost 1 ms')
    t.equal(await pauseMs(), 4.5)
    costMs = 30
    for (let makes = 0; makes < 5; makes++) await pauseMs()
    t.equal(await pauseMs(), 20, 'but each 50 ms')
    costMs = 4
    for (let makes = 0; makes < 5; makes++) await pauseMs()
    t.equal(await pauseMs(), 36, 'ten times 4 ms after it was begun')
  })
}
