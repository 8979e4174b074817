/** A primary that is frozen under a gateway. */
import t from 'tap'
import { engineName, eventually, startServer } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { GENEROUS_MS, itemsOf, timed } from './requests.js'
import { scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()
t.test(`requests do not hang on a silent primary, and repeating them is safe, on ${engineName(engine)}`, async (t) => {
  const primary = await startServer(t, { engine })
  const { post, remove, send } = await startGateway(t,
    { redisUrl: primary.url, flags: ['--ack-within-ms', '400', '--deadline-ms', '3000'] })
  await eventually(async () => (await post('/v1/feeds/one/items', itemsOf('before', 10))).status === 200)

  primary.freeze()
  const during = itemsOf('during', 20).map((item) => ({ ...item, ts: Date.now() }))
  const answers = await Promise.all([0, 1, 2].map(() => timed(() => post('/v1/feeds/one/items', during))))
  for (const { status, json, headers, ms } of answers) {
    t.match(json, { code: 'ACK_UNKNOWN', status: 503, retryable: true })
    t.match(headers.get('retry-after'), /^[123]$/)
    t.ok(status === 503 && ms >= 300 && ms < GENEROUS_MS, `answered after ${ms} ms`)
  }
  const others = await Promise.all([timed(() => post('/v1/feeds/other/items', during)),
    timed(() => remove('/v1/feeds/one/items/before-0'))])
  for (const { json, ms } of others) {
    t.match(json, { status: 503, retryable: true, code: /^SERVER_/ })
    t.ok(ms < GENEROUS_MS, `answered after ${ms} ms`)
  }
  await eventually(async () => (await send('GET', '/readyz')).status === 503)
  const { code, reasons } = (await send('GET', '/readyz')).json
  t.equal(code, 'NOT_READY')
  t.match(reasons.join(), /SERVER_(LOST|UNREACHABLE): /)
  t.equal((await send('GET', '/livez')).status, 200)

  primary.thaw()
  await eventually(async () => (await send('GET', '/readyz')).status === 200)
  t.match(await eventually(async () => {
    const again = await post('/v1/feeds/one/items', during)
    return again.status === 200 && again
  }), { json: { accepted: 20 } })
  await eventually(async () => (await post('/v1/feeds/other/items', during)).status === 200)
  const reader = await startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })
  await eventually(async () => (await reader.ask('/v1/feeds/one/count')).json.count === 30)
  t.equal((await reader.allItems('one')).length, 30)
})
