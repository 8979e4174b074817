/**
 * Rights are revoked and passwords change while a gateway has feeds open. It reports this within two seconds, answers 503
 * with Retry-After, tries each connection once a second at most, recovers by itself, and shows no user, no password and no
 * reply of the server to clients.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { connectFor, engineName, eventually, freePort, startServer } from '../../test/servers.js'
import { scopedEngines } from '../../test/scope.js'
import { startGateway } from '../../test/services.js'

const USER = 'freshet-writer'
const REQUESTS = 40
const PAUSE_MS = 40
const WATCHED_MS = 3000
/** of a feed: items and control; each tries once a second at most */
const CONNECTIONS_PER_FEED = 2

/** The rules of docs/acl, as ACL SETUSER takes them. @param {import('../../test/servers.js').Engine} engine @returns {Promise<string[]>} */
async function rulesOf ({ hasMsetex }) {
  const text = await readFile(new URL(`../../docs/acl/freshet${hasMsetex ? '' : '-without-msetex'}.acl`, import.meta.url), 'utf8')
  const [, line] = /** @type {RegExpExecArray} */ (new RegExp(`^user ${USER} on (.*)$`, 'm').exec(text))
  return line.split(' ')
}

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const admin = await connectFor(t, server.url)
  const rules = await rulesOf(engine)
  const setUser = (/** @type {string[]} */ ...changes) => admin.send('ACL', 'SETUSER', USER, ...changes)
  const endConnections = () => admin.send('CLIENT', 'KILL', 'USER', USER)
  const connections = async () => Number(/total_connections_received:(\d+)/.exec(String(await admin.send('INFO', 'stats')))?.[1])
  await setUser('on', '>canary-1', ...rules)
  const { service, send, post, remove } = await startGateway(t,
    { redisUrl: server.url.replace('//', `//${USER}:canary-1@`), flags: ['--ack-within-ms', '300', '--deadline-ms', '2000'] })
  /** @type {string[]} */
  const bodies = []
  /** a feed that was not opened before */
  let fresh = 0
  const items = (/** @type {string} */ id) => [{ id, value: 1 }]

  const readiness = async () => {
    const answer = await send('GET', '/readyz')
    bodies.push(answer.body)
    return answer
  }
  const becomesReady = () => eventually(async () => (await readiness()).status === 200)
  /** @param {string} why in public */
  const becomesUnready = async (why = 'the server refused access: wrong user or password, or missing permission') => {
    await eventually(async () => (await readiness()).status === 503)
    await eventually(async () => (await readiness()).json.reasons[0] === `SERVER_REFUSED: ${why} (the primary, 127.0.0.1:${server.port})`)
  }
  /** Requests to open feeds and to a new one. @param {import('tap').Test} t */
  async function refuses (t) {
    const path = `/v1/feeds/fresh-${++fresh}/items`
    const [before, since] = [await connections(), performance.now()]
    for (let n = 0; n < REQUESTS || performance.now() - since < WATCHED_MS; n++) {
      const answers = await Promise.all([post(path, items('a')), remove('/v1/feeds/one/items/a')])
      for (const { status, body, json, headers } of answers) {
        bodies.push(body)
        if (!(status === 503 && json.retryable && /^[123]$/.test(headers.get('retry-after') ?? ''))) t.fail(`${status} ${body}`)
      }
      await pause(PAUSE_MS)
    }
    bodies.push((await post('/v1/feeds/one/items', items('a'))).body)
    const seconds = (performance.now() - since) / 1000
    const made = await connections() - before
    const open = CONNECTIONS_PER_FEED * (['one', 'two', 'fresh-0'].length + fresh) + 1
    t.ok(made <= open * (seconds + 1), `${made} connections in ${seconds} s`)
  }
  /** @param {import('tap').Test} t @param {string} id */
  async function comesBack (t, id) {
    await becomesReady()
    for (const feed of ['one', 'two', `fresh-${fresh}`]) {
      await eventually(async () => (await post(`/v1/feeds/${feed}/items`, items(id))).status === 200)
    }
    await becomesReady()
    t.equal((await send('GET', '/livez')).status, 200)
  }

  await comesBack(t, 'begin')

  await t.test('revoked rights', async (t) => {
    await setUser('-@all')
    await becomesUnready('the user may not run info')
    await refuses(t)
    t.equal((await readiness()).status, 503)
    await setUser(...rules)
    await comesBack(t, 'rights')
  })

  await t.test('a single right, to the definitions of feeds', async (t) => {
    await setUser('-get')
    await refuses(t)
    await becomesUnready('the user may not run get')
    t.match((await post('/v1/feeds/another/items', items('a'))).json, { code: 'NOT_READY', detail: /\(the user may not run get\)/ })
    await setUser(...rules)
    await comesBack(t, 'right')
  })

  await t.test('a changed password', async (t) => {
    await setUser('resetpass', '>canary-2')
    await endConnections()
    await becomesUnready()
    await refuses(t)
    await setUser('>canary-1')
    await comesBack(t, 'password')
  })

  await t.test('an address that leads to a replica', async (t) => {
    await admin.send('REPLICAOF', '127.0.0.1', await freePort())
    await becomesUnready('the address leads to a replica, not to a primary')
    await admin.send('REPLICAOF', 'NO', 'ONE')
    await comesBack(t, 'primary')
  })

  await t.test('no reply shows a user or a password', async (t) => {
    t.equal(await service.stop(), 0)
    t.notMatch([...bodies, service.log].join('\n'), /canary/)
    t.notMatch(bodies.join('\n'), new RegExp(`${USER}|NOPERM|WRONGPASS|NOAUTH`))
    t.ok(bodies.length > REQUESTS)
  })
})
