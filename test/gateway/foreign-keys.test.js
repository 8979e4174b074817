/** A feed one of whose keys belongs to another program. */
import t from 'tap'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { startGateway } from '../services.js'
import { isProblem, itemsOf } from './requests.js'
import { scopedEngines } from '../scope.js'

const REQUESTS = 60
/** a feed has one for items and one for the rest */
const CONNECTIONS = 2

const [engine] = await scopedEngines()
t.test(`a permanent error is reported as such, and retried once per second, on ${engineName(engine)}`, async (t) => {
  const server = await startServer(t, { engine })
  const connection = await connectFor(t, server.url)
  const { service, post, send } = await startGateway(t, { redisUrl: server.url })
  const put = () => post('/v1/feeds/one/items', itemsOf('a', 3))
  t.equal((await post('/v1/feeds/other/items', itemsOf('a', 1))).status, 200)
  const opened = async () => Number(/total_connections_received:(\d+)/.exec(String(await connection.send('INFO', 'stats')))?.[1])
  await connection.send('SET', 'fr:{one:0}:ids', 'somebody else\'s')

  const [before, sinceMs] = [await opened(), performance.now()]
  for (let n = 0; n < REQUESTS; n++) {
    const problem = isProblem(t, await put(), 500, 'KEY_HOLDS_OTHER')
    t.notMatch(problem.detail, /WRONGTYPE|127\.0\.0\.1/, 'the log has the words of the server')
  }
  const tries = 2 + (performance.now() - sinceMs) / 1000
  const connections = await opened() - before
  t.ok(connections <= CONNECTIONS * tries, `${connections} connections for ${REQUESTS} requests`)
  t.match(service.log, /WRONGTYPE/)
  t.equal((await send('GET', '/readyz')).status, 200)

  await connection.send('DEL', 'fr:{one:0}:ids')
  await eventually(async () => (await put()).status === 200)
  t.equal(await connection.send('ZCARD', 'fr:{one:0}:ids'), 3)
})
