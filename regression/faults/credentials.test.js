/**
 * Rights are revoked and passwords change while a writer and a reader run. Both report it, try seldom, lose nothing,
 * recover by themselves, and never show a password.
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { permissions } from '../../src/store/commands.js'
import { askAt } from '../../test/commands.js'
import { startWriter } from '../../test/flow/writer.js'
import { connectFor, engineName, eventually, startDeployment } from '../../test/servers.js'
import { scopedEngines } from '../../test/scope.js'
import { startReader } from '../../test/services.js'

const WATCHED_MS = 3000
const POLL_MS = 50
/** a connection that is refused waits for 1.25 s at most */
const BACK_MS = 20_000
/** to the primary: the writer's items, control, figures and metrics, and the reader's; each tries once a second at most */
const CONNECTIONS = 5

/** @typedef {'writer' | 'reader'} Role */
/** @type {Role[]} */
const ROLES = ['writer', 'reader']

t.jobs = 2
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine, replicas: 1 })
  const nodes = await Promise.all([primary, replica].map(({ url }) => connectFor(t, url)))

  /** @param {(role: Role) => string[]} rules */
  const setUsers = (rules) =>
    Promise.all(nodes.flatMap((node) => ROLES.map((role) => node.send('ACL', 'SETUSER', `a-${role}`, ...rules(role)))))
  const endConnections = () => Promise.all(nodes.flatMap((node) => ROLES.map((role) => node.send('CLIENT', 'KILL', 'USER', `a-${role}`))))
  const allowed = (/** @type {Role} */ role) => permissions(role, { keyPrefix: 'fr:', msetex: engine.hasMsetex }).split(' ')
  const urlOf = (/** @type {Role} */ role) => primary.url.replace('//', `//a-${role}:canary-${role}-1@`)
  await setUsers((role) => ['on', `>canary-${role}-1`, ...allowed(role)])

  const writing = startWriter(t, ['--rate', '500', '--metrics-port', '0', '--late', 'newest', '--deadline-ms', '2000'],
    { redisUrl: urlOf('writer') })
  const [, metricsUrl] = await writing.until(/"url":"(http:[^"]+)\/metrics"/)
  const reading = await startReader(t, { redisUrl: urlOf('reader'), flags: ['--deadline-ms', '2000'] })
  const writer = askAt(metricsUrl)
  /** @type {string[]} */
  const said = []

  /** @param {{ get: (path: string) => Promise<{ status: number, headers: Headers, body: string }> }} asked @param {string} path */
  async function get (asked, path) {
    const answer = await asked.get(path)
    said.push(answer.body)
    return answer
  }
  const bothAre = (/** @type {number} */ status, pattern = /./) => eventually(async () => {
    // a missing right to keys shows only when a key is read
    await get(reading, '/v1/feeds/latest/items')
    for (const one of [writer, reading]) {
      const answer = await get(one, '/readyz')
      if (answer.status !== status || !pattern.test(answer.body)) throw new Error(`${answer.status} ${answer.body}`)
    }
  }, { deadlineMs: BACK_MS })
  const written = async () => Number(/^freshet_items_total\{[^}]*\} (\d+)/m.exec((await get(writer, '/metrics')).body)?.[1])
  const attempts = async () => Number(/cmdstat_auth:calls=(\d+)/.exec(String(await nodes[0].send('INFO', 'commandstats')))?.[1] ?? 0)

  /** @param {import('tap').Test} t @param {RegExp} reason */
  async function stayOut (t, reason) {
    await bothAre(503, reason)
    const [before, since] = [await attempts(), performance.now()]
    while (performance.now() - since < WATCHED_MS) {
      const { status, body } = await get(reading, '/readyz')
      if (status !== 503) t.fail(`ready in between: ${status} ${body}`)
      await pause(POLL_MS)
    }
    const made = await attempts() - before
    const seconds = (performance.now() - since) / 1000
    t.ok(made > 0, 'they try again')
    t.ok(made <= CONNECTIONS * (seconds + 1), `${made} attempts in ${seconds} s`)
    for (const path of ['/readyz', '/metrics', '/livez', '/v1/feeds', '/v1/feeds/latest/items', '/v1/feeds/latest/count']) {
      const answer = await get(reading, path)
      if (path.startsWith('/v1')) {
        t.ok(answer.status >= 500 || /stale/.test(JSON.stringify([...answer.headers])), `${path}: ${answer.status}`)
      }
      await get(writer, path)
    }
    t.match((await get(reading, '/readyz')).body, /"state":"refused"/)
    await bothAre(503, reason)
  }

  /** @param {import('tap').Test} t */
  async function comeBack (t) {
    await bothAre(200)
    const before = await written()
    await eventually(async () => await written() > before)
    // for a second it may be known that there was no feed yet
    t.equal(await eventually(async () => {
      const { status } = await reading.ask('/v1/feeds/latest/items')
      return status !== 404 && status
    }), 200)
  }

  await t.test('both start', async (t) => {
    await comeBack(t)
    // the bound on attempts is as good as this number
    t.equal(String(await nodes[0].send('CLIENT', 'LIST')).match(/ user=a-/g)?.length, CONNECTIONS)
  })

  await t.test('revoked rights', async (t) => {
    await setUsers(() => ['-@all'])
    await stayOut(t, /SERVER_REFUSED/)
    await setUsers(allowed)
    await comeBack(t)
  })

  await t.test('revoked access to keys', async (t) => {
    await setUsers(() => ['resetkeys'])
    await stayOut(t, /SERVER_REFUSED/)
    await setUsers(allowed)
    await comeBack(t)
  })

  await t.test('a changed password', async (t) => {
    await setUsers((role) => ['resetpass', `>canary-${role}-2`])
    await endConnections()
    await stayOut(t, /SERVER_REFUSED/)
    await setUsers((role) => [`>canary-${role}-1`])
    await comeBack(t)
  })

  await t.test('nothing is lost, and no password or user is shown', async (t) => {
    const wrote = await writing.stop()
    const { offered, items, refused, dropped, failed } = wrote.summary
    t.equal(wrote.code, 0, wrote.stderr.slice(-2000))
    t.ok(items > 0)
    t.same([items + refused + dropped + failed, failed], [offered, 0])
    t.equal(await reading.service.stop(), 0)
    t.notMatch(said.join('\n'), /a-(writer|reader)/, 'answers name no user')
    const logged = [wrote.stderr, reading.service.log].join('\n')
    t.match(logged, /NOPERM/, 'the log has the reply of the server')
    said.push(wrote.stdout, wrote.stderr, reading.service.log)
    t.notMatch(said.join('\n'), /canary/)
    t.ok(said.join('').length > 10_000)
  })
})
