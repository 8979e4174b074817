/** Sentinels: their address leads to the primary, with passwords of both, and what is wrong with an address is said. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { main as deadLetters } from '../../bin/dead-letters.js'
import { main as feedCommand } from '../../bin/feed.js'
import { main as plan } from '../../bin/plan.js'
import { openFeed, openReader } from '../../src/index.js'
import { createRefusals } from '../../src/store/refused-answers.js'
import { primaryOf } from '../../src/store/sentinels.js'
import { endOfMain } from '../bin/in-process.js'
import { createAuthority, tlsEngines } from '../certificates.js'
import { startProxy } from '../proxy.js'
import { scopedEngines } from '../scope.js'
import { startWatched } from '../sentinels.js'
import { connectFor, engineName, eventually, freePort, silentLog, startDeployment, startServer } from '../servers.js'
import { startConsumers } from '../services.js'

/**
 * @param {import('tap').Test} t @param {import('../servers.js').Engine} engine @param {(port: number) => string} [listening] lines of its
 *   configuration
 * @returns {Promise<number>} its port
 */
async function startSentinel (t, engine, listening = (port) => `port ${port}\n`) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-sentinel-'))
  const port = await freePort()
  const file = join(folder, 'sentinel.conf')
  await writeFile(file, `${listening(port)}bind 127.0.0.1\ndir ${folder}\n`)
  const child = spawn(engine.program, [file, '--sentinel'], { stdio: 'ignore' })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
  })
  return port
}

/** @param {string} redisUrl */
const open = (redisUrl) => openFeed('latest', { redisUrl, log: silentLog }).then((feed) => feed.close())

/** each way: an answer takes longer than one that is waited for while there are others */
const FAR = { delayMs: 300 }
const NAMED = 'GET-MASTER-ADDR-BY-NAME'
/** @param {(string | string[])[]} words @returns {string} RESP */
const array = (words) => `*${words.length}\r\n` +
  words.map((word) => typeof word === 'string' ? `$${word.length}\r\n${word}\r\n` : array(word)).join('')

/**
 * Answers as a Sentinel that knows what a test makes it know.
 * @param {import('tap').Test} t @param {() => { primary: { port: number }, replicas?: { port: number, flags: string }[] }} knows
 */
async function pretendSentinel (t, knows) {
  const asked = { port: 0, times: /** @type {number[]} */ ([]) }
  /** @param {string} command */
  function answer (command) {
    const { primary, replicas = [] } = knows()
    if (command.includes(NAMED)) {
      asked.times.push(performance.now())
      return array(['127.0.0.1', String(primary.port)])
    }
    return command.includes('REPLICAS')
      ? array(replicas.map(({ port, flags }) => ['name', `127.0.0.1:${port}`, 'ip', '127.0.0.1', 'port', String(port), 'flags', flags]))
      : '+OK\r\n'
  }
  const server = createServer((socket) => socket.on('error', () => {})
    .on('data', (bytes) => socket.write(String(bytes).split(/(?=\*\d+\r\n)/).map(answer).join(''))))
  asked.port = await listen(t, server)
  return asked
}

/** @param {import('tap').Test} t @param {import('node:net').Server} server @returns {Promise<number>} its port */
async function listen (t, server) {
  const sockets = new Set()
  server.on('connection', (socket) => sockets.add(socket))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}

/** @param {{ port: number }[]} sentinels @returns {string} */
const urlOf = (sentinels) => `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/freshet`

/** @param {import('tap').Test} t @param {string} redisUrl */
async function expectRefusal (t, redisUrl) {
  const code = 'SENTINEL_UNSUPPORTED'
  const argv = ['--redis-url', redisUrl]
  await t.rejects(feedCommand({ argv: ['list', ...argv], env: {} }), { code, exitStatus: 2 })
  await t.rejects(deadLetters({ argv: ['list', ...argv], env: {} }), { code, exitStatus: 2 })
  await t.rejects(plan({ argv, env: {} }), { code, exitStatus: 2 })
  await t.rejects(openReader({ redisUrl }), { code })
  await t.rejects(startConsumers(t, { redisUrl, flags: ['--systems', 'auctions'] }), { code, exitStatus: 2 })
}

/** of the Sentinels; where it needs no encoding, it is not encoded */
const SECRET = 'sentinel+secret/='

/** Servers and Sentinels want passwords from now on. @param {import('tap').Test} t @param {import('../sentinels.js').Watched} watched */
async function setPasswords (t, { primary, replicas, sentinels }) {
  for (const { url } of [primary, ...replicas]) {
    const server = await connectFor(t, url)
    await server.sendAll([['CONFIG', 'SET', 'masterauth', 'server-secret'], ['CONFIG', 'SET', 'requirepass', 'server-secret']])
  }
  for (const { url } of sentinels) {
    const sentinel = await connectFor(t, url)
    await sentinel.send('SENTINEL', 'SET', 'freshet', 'auth-pass', 'server-secret')
    for (const user of ['default', 'bus']) await sentinel.send('ACL', 'SETUSER', user, 'on', `>${SECRET}`, '+@all')
  }
}

const [newest] = await scopedEngines()
t.test(`${engineName(newest)}, an address of Sentinels`, async (t) => {
  const watched = await startWatched(t, { engine: newest, replicas: 1 })
  const [{ port }] = watched.sentinels
  const standalone = await startServer(t, { engine: newest })

  const silent = await listen(t, createServer(() => {}))
  const down = `127.0.0.1:${await freePort()}`
  await t.resolves(open(watched.url.replace('//', `//${down},127.0.0.1:${silent},`)), 'the others answer')
  await t.rejects(open(`redis+sentinel://127.0.0.1:${port}/other`), {
    code: 'SERVER_REFUSED',
    message: `the Sentinel at 127.0.0.1:${port} watches no primary named other; it watches freshet. Put the name ` +
      `behind the hosts: redis+sentinel://127.0.0.1:${port}/freshet`
  })
  await t.rejects(open(`redis+sentinel://127.0.0.1:${standalone.port}/freshet`), {
    code: 'SERVER_REFUSED',
    message: `the server at 127.0.0.1:${standalone.port} is not a Sentinel; for a server itself use ` +
      `redis://127.0.0.1:${standalone.port}`
  })
  await t.rejects(open(`redis+sentinel://${down}/freshet`), {
    code: 'SERVER_UNREACHABLE', message: new RegExp(`no server answers at ${down}`)
  })
  await t.rejects(open('redis+sentinel://127.26.3.79/freshet'), { message: /^no server answers at 127\.26\.3\.79:26379 / })

  await setPasswords(t, watched)
  await t.rejects(open(watched.url), { code: 'SERVER_REFUSED' })
  const redisUrl = `${watched.url.replace('//', '//:server-secret@')}?sentinelPassword=${SECRET}`
  await t.resolves(open(redisUrl.replace('?', '?sentinelUser=bus&')), 'with a user')
  for (const wrong of [redisUrl.replace(SECRET, 'canary-4711'), redisUrl.replace('server-secret', 'canary-4711')]) {
    const { code, message } = await open(wrong).catch((error) => error)
    t.equal(code, 'SERVER_REFUSED')
    t.notMatch(message, /canary/)
  }
  const feed = await openFeed('latest', { redisUrl, log: silentLog })
  feed.append({ id: 'a', value: '1' })
  await feed.flush()
  const reader = await openReader({ redisUrl, log: silentLog })
  t.match(await reader.feed('latest').get('a'), { id: 'a' })
  await Promise.all([feed.close(), reader.close()])
  const argv = ['--redis-url', redisUrl]
  t.equal(await feedCommand({ argv: ['list', ...argv], env: {} }), 0)
  const doctor = await endOfMain(['doctor', ...argv])
  t.equal(doctor.code, 0, doctor.stdout)
  t.notMatch(doctor.stdout + doctor.stderr, /secret/)
})

t.test('Sentinels that are behind: a node is used once it says that it is a primary', async (t) => {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine: newest, replicas: 1 })
  const behind = await pretendSentinel(t, () => ({ primary: replica }))
  const sentinels = [behind, await pretendSentinel(t, () => ({ primary: replica })), await pretendSentinel(t, () => ({ primary }))]
  await t.resolves(open(urlOf(sentinels)), 'one of three knows the primary')
  await t.rejects(open(urlOf([behind])), {
    code: 'SERVER_UNREACHABLE',
    message: `the server at 127.0.0.1:${replica.port}, which the Sentinels name, is a replica; wait until their failover has ended`
  })
})

t.test('a primary that ends: a replica is used as soon as it is promoted, and the Sentinels are asked once a second', async (t) => {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine: newest, replicas: 1 })
  let flags = 'slave'
  // it names the primary before for as long as the test takes
  const sentinel = await pretendSentinel(t, () => ({ primary, replicas: [{ port: replica.port, flags }] }))
  /** @type {any[]} */
  const lines = []
  const log = pino({ level: 'warn' }, { write: (line) => { lines.push(JSON.parse(line)) } })
  const feed = await openFeed('latest', { redisUrl: urlOf([sentinel]), log })
  const reader = await openReader({ redisUrl: urlOf([sentinel]), readFrom: 'primary', log })
  t.teardown(() => Promise.all([feed.close(), reader.close()]))
  await primary.kill()
  const sinceMs = performance.now()
  const asks = () => sentinel.times.filter((ms) => ms > sinceMs).length
  feed.append({ id: 'a', value: '1' })
  await eventually(() => asks() >= 3)
  t.ok(asks() <= 1 + (performance.now() - sinceMs) / 1000, 'writer and reader together')

  const admin = await connectFor(t, replica.url)
  await admin.send('REPLICAOF', 'NO', 'ONE')
  await t.rejects(feed.flush({ deadlineMs: 1500 }), { code: 'DEADLINE_PASSED' }, 'a node that no failover promotes is no primary')
  await admin.send('REPLICAOF', '127.0.0.1', primary.port)
  flags = 'slave,promoted'
  await admin.send('REPLICAOF', 'NO', 'ONE')
  await feed.flush({ deadlineMs: 60_000 })
  t.match(await eventually(async () => await reader.feed('latest').get('a') ?? false), { id: 'a' })
  // at the level of the loss, with the new address
  const node = `127.0.0.1:${replica.port}`
  const pairs = [['connection to the primary lost, reconnecting', 'connected to the primary again'], ['node lost', 'node is back']]
  for (const [lost, back] of pairs) {
    t.match(lines.filter(({ msg }) => [lost, back].includes(msg)), [{ level: 40, msg: lost }, { level: 40, msg: back, node }])
  }
})

t.test('when Sentinels name another primary, the log says so', async (t) => {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine: newest, replicas: 1 })
  let named = primary
  const sentinel = await pretendSentinel(t, () => ({ primary: named }))
  /** @type {Set<string>} */
  const reasons = new Set()
  const log = pino({ level: 'warn' }, { write: (line) => { reasons.add(JSON.parse(line).reason) } })
  const feed = await openFeed('latest', { redisUrl: urlOf([sentinel]), log })
  t.teardown(() => feed.close())
  await (await connectFor(t, replica.url)).send('REPLICAOF', 'NO', 'ONE')
  named = replica
  await eventually(() => reasons.has('the Sentinels name another primary'))
})

t.test('Sentinels and a primary that are far away are found', async (t) => {
  const { port } = await startServer(t, { engine: newest })
  const line = await startProxy(t, port, FAR)
  const sentinel = await pretendSentinel(t, () => ({ primary: line }))
  const far = await startProxy(t, sentinel.port, FAR)
  const where = { name: 'freshet', sentinels: [far.url], like: line.url, known: null, refusals: createRefusals() }
  t.match(await eventually(() => primaryOf(where), { deadlineMs: 10_000 }), { url: line.url })
})

t.test('without a primary that Sentinels know, a replica is connected to again', async (t) => {
  const { primary, replicas: [replica] } = await startDeployment(t, { engine: newest, replicas: 1 })
  const sentinel = await pretendSentinel(t, () => ({ primary, replicas: [{ port: replica.port, flags: 'slave' }] }))
  const feed = await openFeed('latest', { redisUrl: urlOf([sentinel]), ack: 'replica', log: silentLog })
  t.teardown(() => feed.close({ drainMs: 0 }).catch(() => {}))
  const reader = await openReader({ redisUrl: urlOf([sentinel]), log: silentLog })
  t.teardown(reader.close)
  feed.append({ id: 'a', value: '1' })
  await feed.flush()
  const item = () => reader.feed('latest').get('a').catch(() => null)
  t.match(await item(), { id: 'a' })
  await primary.kill()
  await eventually(() => reader.status().nodes.some(({ role, connected }) => role === 'primary' && !connected))
  await (await connectFor(t, replica.url)).send('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  t.match(await eventually(async () => await item() ?? false), { id: 'a' })
})

for (const engine of await tlsEngines()) {
  t.test(`${engineName(engine)}, TLS between all, with a certificate for the host name that is configured`, async (t) => {
    const tls = await (await createAuthority(t)).issue('server', { names: 'DNS:localhost' })
    const { port: primary } = await startServer(t, { engine, tls })
    const port = await startSentinel(t, engine, (port) => `port 0\ntls-port ${port}\ntls-cert-file ${tls.cert}\n` +
      `tls-key-file ${tls.key}\ntls-ca-cert-file ${tls.ca}\ntls-auth-clients no\ntls-replication yes\n` +
      `sentinel monitor freshet 127.0.0.1 ${primary} 1\n`)
    const redisUrl = `rediss+sentinel://localhost:${port}/freshet?ca=${tls.ca}`
    await eventually(() => open(redisUrl))
    await t.rejects(open(redisUrl.replace('localhost', '127.0.0.1')), { code: 'SERVER_UNTRUSTED' })
  })
}

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}, a Sentinel`, async (t) => {
    const url = `redis://127.0.0.1:${await startSentinel(t, engine)}`
    await connectFor(t, url)
    await expectRefusal(t, url)
  })
}
