/** History in DynamoDB, written by consumers and read by readers; live prices as server-sent events. */
import { once } from 'node:events'
import { request } from 'node:http'
import t from 'tap'
import { CREDENTIALS, startDynamodb, useCredentials } from '../../dynamodb.js'
import { isProblem } from '../../gateway/requests.js'
import { connectFor, eventually, startDeployment, testEngines } from '../../servers.js'
import { startConsumers } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { eventsOf } from '../../../src/admission/outbox.js'
import { newest } from '../../../src/embedded/engine.js'
import { createPriceStore } from '../../../src/systems/prices/store/index.js'
import { startPrices } from './pricing.js'

const TABLE = 'history-test'
const { url } = await startDynamodb(t)
useCredentials(t)
const store = await createPriceStore({ table: TABLE, location: { endpoint: url, region: 'eu-central-1', credentials: CREDENTIALS } })
t.teardown(() => store.close())
const flags = ['--dynamodb-endpoint', url, '--dynamodb-table', TABLE]

t.test('a table that is missing: a plain error with the command that creates it', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const starting = startConsumers(t, { redisUrl: primary.url, keyPrefix, flags: ['--systems', 'prices', ...flags] })
  await t.rejects(starting, { code: 'DYNAMODB_TABLE_UNUSABLE', exitStatus: 2, message: /aws dynamodb create-table/ })
})

t.test('history and what the servers have lost come from the table', async (t) => {
  await store.make()
  // it is restarted
  const engine = /** @type {import('../../servers.js').Engine} */ (newest(await testEngines()))
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const { gateway, reader } = await startPrices(t, { primary, readerFlags: flags, consumerFlags: flags })
  await gateway.asset('lost', { tier: 'cold' })
  await gateway.asset('stored', { tier: 'hot' })
  await eventually(async () => (await reader.price('stored')).json?.seq >= 3)
  const rows = await eventually(async () => {
    const found = await store.history('stored', 0, Date.now(), 100)
    return found.length >= 3 && found
  })
  t.match(rows[0], { at: Number, price: String, seq: Number })
  // on a busy machine a refresh may find no price, which has a number, too
  const connection = await connectFor(t, primary.url)
  const [events] = await connection.send('KEYS', '*:events:stored')
  const priced = eventsOf(await connection.send('XRANGE', events, '-', '+')).flatMap(({ type, seq }) => type === 'price' ? Number(seq) : [])
  t.same(rows.map(({ seq }) => seq), priced.slice(0, rows.length), 'each version once')
  const { items } = (await reader.history('stored', '?from=0')).json
  t.same(items.slice(0, 3), rows.slice(0, 3), 'from before the first event: the table is asked')

  await eventually(async () => (await store.latest(['lost'])).size === 1)
  await primary.restart()
  const lost = await eventually(async () => {
    const answer = await reader.price('lost')
    return answer.headers.get('freshet-cache') === 'store' && answer
  })
  t.match(lost, { status: 200, json: { asset: 'lost', price: String, sources: [{ ok: true }, { ok: true }, { ok: true }] } })
  isProblem(t, await reader.price('never'), 404, 'ASSET_UNKNOWN')
})

t.test('a viewer gets the price, and again when it moves or its status changes', async (t) => {
  const { gateway, reader, exchanges } = await startPrices(t, await sharedDeployment(t))
  await gateway.asset('watched', { tier: 'hot' })
  await eventually(async () => (await reader.price('watched')).status === 200)
  const response = request(`${reader.url}/v1/prices/watched/live?minChange=50`)
  response.end()
  const [stream] = await once(response, 'response')
  t.teardown(() => response.destroy())
  let text = ''
  stream.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => { text += chunk }).on('error', () => {})
  const events = () => [...text.matchAll(/^data: (\{"asset".*\})$/gm)].map(([, json]) => JSON.parse(json))
  // a busy machine may send the first one when it is stale again
  await eventually(() => events().some(({ status }) => status === 'fresh'))
  t.match(events()[0], { asset: 'watched', price: String, status: /^(fresh|stale)$/, seq: Number })
  await exchanges.faults(['alpha', 'beta', 'gamma'], { errorRate: 1 })
  await eventually(() => events().some(({ status }) => status === 'degraded'))
  await eventually(() => events().some(({ status, price }) => status === 'expired' && price === null))
  await exchanges.faults(['alpha', 'beta', 'gamma'], null)
  await eventually(() => events().at(-1).status === 'fresh')
  t.ok(new Set(events().filter(({ status }) => status === 'fresh').map(({ price }) => price)).size <= 3, 'small moves are not sent')
  isProblem(t, await reader.get('/v1/prices/missing/live'), 404, 'ASSET_UNKNOWN')
  isProblem(t, await reader.get('/v1/prices/watched/live?minChange=-1'), 400, 'REQUEST_INVALID')
})
