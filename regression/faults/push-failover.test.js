/** Streams without items in their snapshot (`limit=0`) over a failover: what was appended in the meantime comes, too. */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { startProxy } from '../../test/proxy.js'
import { openLive } from '../../test/push/live-client.js'
import { scopedEngines } from '../../test/scope.js'
import { connectFor, engineName, eventually, inSync, startDeployment } from '../../test/servers.js'
import { startReader } from '../../test/services.js'

const EVERY_MS = 20
const PATIENT = { deadlineMs: 60_000 }

t.setTimeout(300_000)
for (const engine of await scopedEngines()) {
  for (const layout of /** @type {const} */ (['ids', 'values'])) {
    t.test(`${engineName(engine)}, ${layout}: everything that was acknowledged comes`, async (t) => {
      const { primary, replicas: [other, promoted] } = await startDeployment(t, { engine })
      const proxy = await startProxy(t, primary.port)
      const feed = await openFeed('moved', { redisUrl: proxy.url, layout, ack: 'replica', deadlineMs: 10_000 })
      t.teardown(() => feed.close({ drainMs: 0 }))
      feed.append({ id: 'old', value: 'x' })
      await feed.flush(PATIENT)
      // the replica that the reader follows has it before the stream opens
      const before = await connectFor(t, primary.url)
      await before.send('SET', 'after-old', '1')
      await eventually(async () => await before.send('WAIT', 2, 1000) === 2)
      const reader = await startReader(t, { redisUrl: proxy.url })
      const client = await openLive(t, reader.url, '/v1/feeds/moved/live?limit=0&encoding=utf8')
      let next = 0
      const writing = setInterval(() => feed.append({ id: `id-${next}`, value: String(next++) }), EVERY_MS)
      t.teardown(() => clearInterval(writing))
      await eventually(() => client.items.has('id-20'))

      const [control, follower] = [await connectFor(t, promoted.url), await connectFor(t, other.url)]
      await primary.kill()
      await control.send('REPLICAOF', 'NO', 'ONE')
      await follower.send('REPLICAOF', '127.0.0.1', promoted.port)
      await inSync(other)
      proxy.switchTo(promoted.port)
      const more = next + 20
      await eventually(() => next >= more)
      clearInterval(writing)
      await feed.flush(PATIENT)
      const missing = () => Array.from({ length: next }, (_, n) => `id-${n}`).filter((id) => !client.items.has(id))
      await eventually(() => missing().length === 0).catch(() => t.same(missing(), [], `of ${next}`))
      t.notOk(client.items.has('old'))
      t.notOk(client.isEnded)
      const names = client.names().filter((name) => name !== 'items')
      t.comment(client.events.filter(({ event }) => event !== 'items').map(({ event, data }) => `${event} ${data.reason ?? ''}`).join(' '))
      for (const [i, name] of names.entries()) t.equal(name, i % 2 === 0 ? 'snapshot' : 'reset')
      for (const { event, data, id } of client.events) if (event === 'snapshot') t.same([data.items.length, id === ''], [0, false])
    })
  }
}
