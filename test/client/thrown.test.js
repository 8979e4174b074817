/** A fetch that a page or a test has replaced may reject with anything. */
import t from 'tap'
import { eventually } from '../servers.js'
import { eventText, startFollowing, startScript, streaming } from './following.js'

t.test('a fetch that rejects with null or undefined is a lost connection, and the client goes on', async (t) => {
  const { url } = await startScript(t, streaming(eventText('snapshot', { a: '1' }, 'p1')))
  const { fetch } = globalThis
  t.teardown(() => { globalThis.fetch = fetch })
  const thrown = [null, undefined, 'a text']
  globalThis.fetch = (...args) => thrown.length > 0 ? Promise.reject(thrown.shift()) : fetch(...args)
  const { events, retries } = startFollowing(t, url, 'latest')
  await eventually(() => events.length === 1)
  t.same(retries.map(({ error }) => error.message), ['null', 'undefined', 'a text'].map((text) => `${url}: ${text} was thrown`))
})
