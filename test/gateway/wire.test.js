/** What comes over the wire that no client library sends, and what a gateway answers. */
import t from 'tap'
import { isProblem, startBoth } from './requests.js'
import { eventually, testEngines } from '../servers.js'
import { headOf, openWire } from './wire.js'

const [engine] = await testEngines()
const ITEMS = '/v1/feeds/one/items'

/** @param {import('./wire.js').Answer} answer as `isProblem` takes it */
const asFetched = (answer) => ({ ...answer, headers: new Headers(answer.headers) })

t.test('what is written on the wire', async (t) => {
  const { gateway, reader } = await startBoth(t, { engine })
  const { url } = gateway
  const ask = async (/** @type {string | Buffer} */ text, to = url) => {
    const wire = await openWire(t, to)
    wire.write(text)
    return asFetched(await wire.answer())
  }
  t.match(await gateway.post(ITEMS, [{ id: 'é', value: 1 }, { id: 'Ã©', value: 1 }, { id: 'a', value: 1 }]), { status: 200 })

  await t.test('a path or query with bytes beyond ASCII is refused, and changes no other id', async (t) => {
    for (const [path, to] of [['/items/é', url], ['/items/é', reader.url], ['/items?id=é', reader.url], ['/items/a?ts=é', url], ['/é', url], ['/items/é?encoding=json', reader.url]]) {
      const method = to === url ? 'DELETE' : 'GET'
      const { detail } = isProblem(t, await ask(Buffer.from(headOf(method, `/v1/feeds/one${path}`)), to), 400, 'REQUEST_INVALID')
      t.match(detail, 'percent-encoded, such as %C3%A9')
    }
    await eventually(async () => (await reader.ask('/v1/feeds/one/count')).json.count === 3)
    t.match(await gateway.remove(`${ITEMS}/%C3%A9`), { status: 200 })
    await eventually(async () => (await reader.ask(`${ITEMS}/%C3%A9`)).status === 404)
    t.equal((await reader.ask(`${ITEMS}/%C3%83%C2%A9`)).status, 200)
  })

  await t.test('escapes that are no UTF-8, and ids that are none, are refused', async (t) => {
    for (const id of ['%ZZ', '%', '%FF', '%C3']) isProblem(t, await ask(headOf('DELETE', `${ITEMS}/${id}`)), 400, 'REQUEST_INVALID')
    for (const id of ['%00', '%0A', '%7F']) isProblem(t, await ask(headOf('DELETE', `${ITEMS}/${id}`)), 400, 'ITEM_ID_INVALID')
  })
})
