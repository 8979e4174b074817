import t from 'tap'
import { createKeeper } from '../../src/embedded/fleet.js'
import { eventually } from '../servers.js'

t.test('a server that cannot be restarted, because its port is taken, is tried again after longer and longer waits', async (t) => {
  const over = new AbortController()
  /** @type {string[]} */
  const messages = []
  const ended = /** @type {any} */ ({
    url: 'redis://127.0.0.1:1', port: 1, exited: Promise.resolve('with status 1'), hasExited: () => true, log: async () => ''
  })
  let started = 0
  const keepUp = createKeeper({
    signal: over.signal, say: (event) => { if ('state' in event) messages.push(event.message) }, add: () => { started++ }
  })
  const kept = keepUp(ended, () => ended)
  await eventually(() => started === 3)
  over.abort()
  await t.rejects(kept, { name: 'AbortError' })
  t.same(messages.map((message) => / in (\d+) s$/.exec(message)?.[1]), [undefined, '1', '1', '4'])
})
