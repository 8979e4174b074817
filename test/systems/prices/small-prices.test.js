/** A price below a satoshi on its whole way: exchanges, rule, reader, live, history and DynamoDB. */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import t from 'tap'
import { CREDENTIALS, startDynamodb, useCredentials } from '../../dynamodb.js'
import { eventually } from '../../servers.js'
import { startConsumers, startGateway, startReader } from '../../services.js'
import { sharedDeployment } from '../../shared.js'
import { createPriceStore } from '../../../src/systems/prices/store/index.js'

const TABLE = 'small-prices'
const ASSET = 'pepe-btc'
/** by exchange @type {Record<string, { price: string, volume: string }>} */
const TICKERS = {
  alpha: { price: '0.000000019', volume: '1.5e3' },
  beta: { price: '1.9000000000000000001e-8', volume: '500' },
  gamma: { price: '0.0000000190000000000000000007', volume: '0' }
}
/** (1500 x alpha + 500 x beta) / 2000, to as many decimals as that of gamma has */
const MEAN = '0.0000000190000000000000000002'

/** Exchanges that reply with TICKERS. @param {import('tap').Test} t @returns {Promise<string>} setting `exchangeUrls` */
async function startExchanges (t) {
  const urls = await Promise.all(Object.keys(TICKERS).map(async (name) => {
    const server = createServer((_request, response) =>
      response.end(JSON.stringify({ symbol: ASSET, ts: Date.now(), ...TICKERS[name] }))).listen(0, '127.0.0.1')
    t.teardown(() => {
      server.close()
      server.closeAllConnections()
    })
    await once(server, 'listening')
    return `${name}=http://127.0.0.1:${/** @type {any} */ (server.address()).port}`
  }))
  return urls.join()
}

t.test('it has all of its digits everywhere', async (t) => {
  const { url } = await startDynamodb(t)
  useCredentials(t)
  const store = await createPriceStore({ table: TABLE, location: { endpoint: url, region: 'eu-central-1', credentials: CREDENTIALS } })
  t.teardown(() => store.close())
  await store.make()
  const { primary, keyPrefix } = await sharedDeployment(t)
  const place = { redisUrl: primary.url, keyPrefix }
  const history = ['--dynamodb-endpoint', url, '--dynamodb-table', TABLE]
  const [gateway, reader] = await Promise.all([
    startGateway(t, { ...place, flags: ['--tiers', 'hot=0.5/20/40,medium=60/120/240,cold=60/120/240', '--system-partitions', '1'] }),
    startReader(t, { ...place, flags: history }),
    startConsumers(t, {
      ...place,
      flags: ['--systems', 'prices', '--system-partitions', '1', '--exchange-urls', await startExchanges(t), ...history]
    })
  ])
  await gateway.send('PUT', `/v1/assets/${ASSET}`, '{"tier":"hot"}', { 'content-type': 'application/json' })
  const { json } = await eventually(async () => {
    const reply = await reader.get(`/v1/prices/${ASSET}`)
    return reply.status === 200 && reply
  })
  t.match(json, { price: MEAN, sources: [{ ok: true }, { ok: true }, { ok: true }] })

  const viewer = request(`${reader.url}/v1/prices/${ASSET}/live?minChange=1`)
  viewer.end()
  const [stream] = await once(viewer, 'response')
  t.teardown(() => viewer.destroy())
  let text = ''
  stream.setEncoding('utf8').on('data', (/** @type {string} */ chunk) => { text += chunk }).on('error', () => {})
  await eventually(() => text.includes(`"price":"${MEAN}"`))
  for (const ticker of Object.values(TICKERS)) Object.assign(ticker, { price: '2.0e-8' })
  await eventually(() => text.includes('"price":"0.00000002"'))

  const { items } = (await reader.get(`/v1/prices/${ASSET}/history`)).json
  t.equal(items[0].price, MEAN)
  const to = Date.now()
  const candles = (await reader.get(`/v1/prices/${ASSET}/history?from=0&to=${to}&step=${2 ** 40}`)).json.items
  t.match(candles, [{ open: MEAN, low: MEAN, high: '0.00000002', close: '0.00000002' }])
  const rows = await eventually(async () => {
    const found = await store.history(ASSET, 0, to, 10)
    return found.length > 0 && found
  })
  t.equal(rows[0].price, MEAN)
  await eventually(async () => (await store.latest([ASSET])).get(ASSET)?.price === '0.00000002')
})
