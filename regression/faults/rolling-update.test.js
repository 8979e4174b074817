/** An update as Kubernetes and ECS do it: a new process is ready, requests no longer reach the old one, then it is told to stop. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startOpened } from '../../lab/systems/process.js'
import { sendTo, runGateway } from '../../test/commands.js'
import { caughtUp, startFlow } from '../../test/flow/flow.js'
import { nightly, scopedEngines } from '../../test/scope.js'
import { sharedDeployment } from '../../test/shared.js'

const UPDATES = nightly(5, 2)
const CLIENTS = nightly(8, 4)
/** of each client, so that requests are on their way all the time */
const EVERY_MS = nightly(10, 30)
/** preStop of infra/kubernetes is longer, as endpoints there are told late */
const FORGOTTEN_MS = 100
const [engine] = await scopedEngines()

t.test('no request fails while gateways are replaced, and what was acknowledged is there', async (t) => {
  const { primary, replicas, reader, keyPrefix } = await startFlow(t, await sharedDeployment(t, { engine }))
  const start = () => runGateway(t, { redisUrl: primary.url, flags: ['--key-prefix', keyPrefix] })
  const gateways = await Promise.all(Array.from({ length: nightly(2, 1) }, start))
  const service = await startOpened('a proxy', new URL('../../lab/systems/orders/proxy-process.js', import.meta.url), {})
  t.teardown(service.stop)
  const serve = () => service.send({ event: 'replicas', urls: gateways.map(({ url }) => url) })
  serve()
  const { post } = sendTo(service.url)
  t.equal((await post('/v1/feeds/latest/items', [{ id: 'first', value: '0' }])).status, 200)

  /** @type {string[]} */
  const acknowledged = []
  /** @type {Map<number, number>} by status */
  const answers = new Map()
  const over = new AbortController()
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let n = 0; !over.signal.aborted; n++) {
      const id = `c${client}-${n}`
      const { status } = await post('/v1/feeds/latest/items', [{ id, value: id }])
      answers.set(status, (answers.get(status) ?? 0) + 1)
      if (status === 200) acknowledged.push(id)
      await pause(EVERY_MS)
    }
  })
  for (let i = 0; i < UPDATES; i++) {
    gateways.push(await start())
    const [old] = gateways.splice(0, 1)
    serve()
    await pause(FORGOTTEN_MS)
    const { code } = await old.command.stop()
    t.equal(code, 0)
  }
  over.abort()
  await Promise.all(clients)
  t.comment(`${acknowledged.length} items during ${UPDATES} updates`)
  t.same([...answers.keys()], [200])

  await caughtUp({ primary, replicas })
  const there = new Set((await reader.allItems('latest', 'limit=10000&encoding=json')).map((/** @type {any} */ { id }) => id))
  t.same(acknowledged.filter((id) => !there.has(id)), [])
})
