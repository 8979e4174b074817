/** Memory of all views of a process is bounded: those that nothing reads are closed, and no further ones are opened. */
import t from 'tap'
import { scopedEngines } from '../scope.js'
import { engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { openViews } from './viewing.js'

const MIB = 1024 * 1024
const bytes = (/** @type {string} */ text) => Buffer.from(text)

const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const primary = await startServer(t, { engine })

  /** @param {string} feed @param {number} items of a KiB */
  async function write (feed, items) {
    const writer = await openWriterFor(t, { redisUrl: primary.url, feed, layout: 'segments', windowMs: 3_600_000 })
    const value = Buffer.alloc(1024, 'x')
    for (let n = 0; n < items; n++) writer.pipeline.append(bytes(`${n}`), Date.now(), value)
    await writer.pipeline.flush()
  }
  await write('large', 2000)
  await write('second', 10)

  await t.test('a view that nothing reads is closed, and comes again when it is asked for and there is room', async (t) => {
    const { views, figuresOf, isComplete } = await openViews(t, { primary, boundOfAll: { maxBytes: MIB, unreadMs: 1000 } })
    await isComplete('large')
    await eventually(() => figuresOf('large') === undefined)
    t.ok(views.figures().bound.closed >= 1)
    await isComplete('second')
    t.equal((await views.latest('large', { limit: 10 })).items.length, 10, 'a node answers')
    // what is asked for is not closed again
    await eventually(async () => (await views.count('large').catch(() => null))?.exact === true)
    t.match(await views.count('large'), { count: 2000, exact: true })
  })

  await t.test('without room, there is no further view: a clear refusal, for streams too, and pages of a node', async (t) => {
    const { views, figuresOf, isComplete } = await openViews(t, { primary, boundOfAll: { maxBytes: MIB, unreadMs: 3_600_000 } })
    await isComplete('large')
    await eventually(() => (figuresOf('large')?.bytes ?? 0) > MIB)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    await write('third', 10)
    await eventually(() => views.figures().bound.refused === 1)
    t.equal(figuresOf('third'), undefined)
    // without a size, which others could learn from
    const message = /^feed third has no view: those of this process hold more than half of its memory;[^\d]*$/
    await t.rejects(views.watch('third'), { code: 'VIEW_OVER_BOUND', message })
    t.equal((await views.latest('third', { limit: 5 })).items.length, 5)
    t.match(await views.count('large'), { count: 2000 }, 'views that there are go on')
  })
})
