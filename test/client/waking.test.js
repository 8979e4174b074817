/** What `follow` does when a page is shown again or is online again; the page is an EventTarget. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../servers.js'
import { ending, eventText, refusing, startFollowing, startScript, streaming } from './following.js'

t.test('a page that wakes up tries again at once, but not before Retry-After, and leaves a connection that is silent', async (t) => {
  const page = new EventTarget()
  const global = /** @type {any} */ (globalThis)
  global.addEventListener = page.addEventListener.bind(page)
  t.teardown(() => { delete global.addEventListener })
  const wake = (/** @type {string} */ name) => page.dispatchEvent(new Event(name))

  const far = 'retry: 3600000\n\n'
  const { url, requests } = await startScript(t, ending(far), streaming(far + eventText('snapshot', { a: '1' }, 'p1')))
  const { events, retries } = startFollowing(t, url, 'latest')
  await eventually(() => retries.length === 1)
  t.ok(retries[0].waitMs >= 3_600_000)
  await eventually(() => wake('online') && events.length === 1)
  t.equal(requests.length, 2)

  wake('pageshow')
  await pause(20)
  t.equal(requests[1].socket.destroyed, false, 'a connection that was just read stays')
  const { now } = Date
  t.teardown(() => { Date.now = now })
  Date.now = () => now() + 16_000
  wake('visibilitychange')
  await eventually(() => retries.length === 2)
  t.match(retries[1].error.message, /no data for 16/)

  const busy = await startScript(t, refusing(503, 'OVERLOADED', { 'retry-after': '3600' }))
  const refused = startFollowing(t, busy.url, 'latest')
  await eventually(() => refused.retries.length === 1)
  wake('online')
  await pause(20)
  t.equal(busy.requests.length, 1)
})
