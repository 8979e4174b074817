import t from 'tap'
import { createServerClock } from '../../src/pipeline/stripes.js'

t.test('it is never ahead of the server, and as near as the quickest answer', async (t) => {
  let elapsedMs = 100
  let serverMs = 1_750_000_000_000
  const clock = createServerClock(() => elapsedMs)
  /** An answer that comes so late. @param {number} takesMs @param {{ isAnother?: boolean, isStill?: () => boolean }} [server] */
  const look = (takesMs, server) => {
    const said = [Math.floor(serverMs / 1000), serverMs % 1000 * 1000].map((number) => Buffer.from(String(number)))
    pass(takesMs)
    return clock.sync(/** @type {any} */ ({ send: async () => said }), server)
  }
  const pass = (/** @type {number} */ ms) => {
    elapsedMs += ms
    serverMs += ms
  }
  t.equal(clock.now(), -Infinity, 'none was asked')
  await look(30)
  t.equal(clock.now(), serverMs - 30)
  pass(1000)
  t.equal(clock.now(), serverMs - 30)
  await look(2)
  t.equal(clock.now(), serverMs - 2)
  await look(500)
  t.equal(clock.now(), serverMs - 3, 'a slow answer says nothing new; the clocks may have drifted apart')
  serverMs -= 5000
  await look(4)
  t.equal(clock.now(), serverMs - 4, 'its clock was set back')
  serverMs += 60_000
  await look(4)
  t.equal(clock.now(), serverMs - 4, 'and on')
  serverMs -= 500
  const asking = look(0, { isAnother: true })
  t.ok(clock.now() > serverMs, 'until it has answered the one before holds')
  await asking
  t.equal(clock.now(), serverMs, 'another server has another clock')
  serverMs += 60_000
  await look(0, { isStill: () => false })
  serverMs -= 60_000
  t.equal(clock.now(), serverMs, 'what a server that was left answers late does not count')
})
