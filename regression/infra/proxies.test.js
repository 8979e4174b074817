/**
 * The recipes of infra/proxies: events pass at once, heartbeats keep a stream open, a reader that was restarted is found again. nginx's
 * in `npm run regression`, the others at night.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { startFollowing } from '../../test/client/following.js'
import { sendTo } from '../../test/commands.js'
import { needsProxy, startRecipe } from '../../test/infra/proxies.js'
import { openLive } from '../../test/push/live-client.js'
import { isNight, nightTest, wholeTest } from '../../test/scope.js'
import { eventually, freePort } from '../../test/servers.js'
import { startGateway, startReader } from '../../test/services.js'
import { sharedDeployment } from '../../test/shared.js'

const EVENTS = 20
/** what a proxy may add; HAProxy without http-no-delay adds 200, nginx that buffers never delivers */
const ADDED_MS = 100
const PATH = '/v1/feeds/behind/items'

/** @param {import('tap').Test} t @param {string} name */
async function checkRecipe (t, name) {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const readerPort = await freePort()
  const openReader = () => startReader(t, { ...on, port: readerPort, flags: ['--read-from', 'primary'] })
  const [reader, gateway] = await Promise.all([openReader(), startGateway(t, on)])
  const url = await startRecipe(t, name, { readerPort, gatewayPort: Number(new URL(gateway.url).port) })
  const { post, send } = sendTo(url)
  t.match(await post(PATH, gzipSync('[{"id":"first","value":0}]'), { 'content-encoding': 'gzip' }), { status: 200, json: { accepted: 1 } })
  t.not((await send('GET', '/v1/systems/auctions/dead-letters')).json.code, 'NOT_FOUND', 'this query goes to the gateway')

  const behind = startFollowing(t, url, 'behind')
  const direct = startFollowing(t, reader.url, 'behind')
  await eventually(() => behind.events.length > 0 && direct.events.length > 0)
  for (let n = 0; n < EVENTS; n++) {
    await gateway.post(PATH, [{ id: `n-${n}`, value: n }])
    await pause(20)
  }
  await eventually(() => behind.firstMs.size > EVENTS && direct.firstMs.size > EVENTS)
  const added = Array.from({ length: EVENTS }, (_, n) => Number(behind.firstMs.get(`n-${n}`)) - Number(direct.firstMs.get(`n-${n}`)))
  const median = added.sort((a, b) => a - b)[EVENTS / 2]
  t.ok(median < ADDED_MS, `the median event is ${median.toFixed(1)} ms later than without ${name}`)

  if (isNight) {
    const idle = await openLive(t, url, '/v1/feeds/behind/live')
    await pause(70_000)
    t.equal(idle.isEnded, false, 'heartbeats keep an idle stream open')
  }

  await reader.service.stop()
  await eventually(() => behind.retries.length > 0)
  await gateway.post(PATH, [{ id: 'while-away', value: 1 }])
  await openReader()
  await eventually(() => behind.items.has('while-away'))
  t.notOk(behind.names().includes('reset'))
}

wholeTest('nginx', await needsProxy('nginx'), (t) => checkRecipe(t, 'nginx'))
for (const name of ['haproxy', 'caddy', 'varnishd']) nightTest(name, await needsProxy(name), (t) => checkRecipe(t, name))
