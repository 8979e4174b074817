/** TLS with real servers: a trusted server works from end to end; an untrusted one is an error, never a fallback to plain TCP. */
import { copyFile, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { openConnection } from '../../src/store/connection.js'
import { createServers } from '../../src/store/servers.js'
import { createLink } from '../../src/store/link.js'
import { replicaUrls } from '../../src/store/nodes.js'
import { urlAt } from '../../src/store/tls.js'
import { createQueries } from '../../src/view/queries.js'
import { createAuthority, tlsEngines } from '../certificates.js'
import { endOfMain } from '../bin/in-process.js'
import { connectFor, engineName, eventually, openWriterFor, silentLog, startDeployment, startServer } from '../servers.js'

const options = { name: 'test', deadlineMs: 2000 }
const UNTRUSTED = { code: 'SERVER_UNTRUSTED', retryable: false, exitStatus: 1 }

/** @param {string} url @returns {Promise<any>} the error of opening */
const failureOf = (url) => openConnection(url, options).then((connection) => {
  connection.close()
  return new Error('it could be opened')
}, (error) => error)

const at = (/** @type {{ port: number }} */ { port }, /** @type {Record<string, string>} */ files = {}) =>
  `rediss://127.0.0.1:${port}?${new URLSearchParams(files)}`

for (const engine of await tlsEngines()) {
  t.test(engineName(engine), async (t) => {
    const authority = await createAuthority(t)
    const files = await authority.issue('server')
    const { ca } = files

    await t.test('from end to end: the writer writes, replicas are found and answer, the doctor describes them', async (t) => {
      const { primary, replicas } = await startDeployment(t,
        { engine, tls: files, args: ['--requirepass', 'canary-4711', '--masterauth', 'canary-4711'], password: 'canary-4711' })
      const redisUrl = primary.url.replace('//', '//:canary-4711@')
      const writer = await openWriterFor(t, { redisUrl, ack: 'replica' })
      writer.pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v'))
      await writer.pipeline.flush()
      t.equal(writer.pipeline.account.items, 1)

      t.same((await replicaUrls(await connectFor(t, redisUrl))).sort(),
        replicas.map(({ url }) => url.replace('//', '//:canary-4711@')).sort(), 'with scheme, password and files of the primary')
      const deployment = createServers({ redisUrl, replicaUrls: null, readFrom: 'replica', ...options, log: silentLog })
      t.teardown(() => deployment.close())
      await deployment.ready
      const { connection } = await eventually(() => deployment.pick())
      t.ok(replicas.some(({ port }) => connection.address === `127.0.0.1:${port}`))
      // the other replica may have acknowledged
      const record = await eventually(() => connection.send('GET', 'fr:{latest:0}:item:a'))
      t.equal(String(record.subarray(8)), 'v')

      const doctor = await endOfMain(['doctor', '--redis-url', redisUrl])
      t.equal(doctor.code, 0, doctor.stdout)
      t.equal(doctor.stdout.match(/, replica$/gm)?.length, 2)
      t.notMatch(doctor.stdout + doctor.stderr, /canary/)
    })

    const server = await startServer(t, { engine, tls: files })

    await t.test('a process that is busy past the deadline in each turn opens a connection', async (t) => {
      const over = new AbortController()
      const opening = openConnection(at(server, { ca }), { name: 'test', deadlineMs: 100 }).finally(() => over.abort())
      for (; !over.signal.aborted; await turn()) for (const until = Date.now() + 250; Date.now() < until;);
      const connection = await opening
      connection.close()
    })

    await t.test('the error for an untrusted server says how to fix it', async (t) => {
      t.match(await failureOf(at(server)), {
        ...UNTRUSTED,
        message: new RegExp(`^no TLS with the server at 127.0.0.1:${server.port}: its certificate is signed by an unknown authority: ` +
          'give the certificate of the authority with \\?ca=FILE')
      })
      const other = await createAuthority(t)
      t.match(await failureOf(at(server, { ca: other.ca })), { ...UNTRUSTED, message: /unknown authority/ })
      const named = await startServer(t, { engine, tls: await authority.issue('named', { names: 'DNS:localhost' }) })
      t.equal(String(await (await connectFor(t, at(named, { ca }).replace('127.0.0.1', 'localhost'))).send('PING')), 'PONG',
        'by the name that it has')
      t.match(await failureOf(at(named, { ca })), { ...UNTRUSTED, message: /its certificate is for another name: .*127\.0\.0\.1/ })
      const old = await startServer(t, { engine, tls: await authority.issue('old', { days: -1 }) })
      t.match(await failureOf(at(old, { ca })), { ...UNTRUSTED, message: /its certificate has expired: renew it on the server/ })
    })

    await t.test('nodes that servers name by IP address may have a certificate for the configured name', async (t) => {
      const tls = await authority.issue('configured', { names: 'DNS:localhost' })
      const ofCluster = ['--cluster-enabled', 'yes', '--tls-cluster', 'yes', '--cluster-announce-ip', '127.0.0.1']
      const node = await startServer(t, { engine, tls, args: ofCluster })
      const byName = at(node, { ca }).replace('127.0.0.1', 'localhost')
      const admin = await connectFor(t, byName)
      await admin.send('CLUSTER', 'ADDSLOTSRANGE', 0, 16383)
      await eventually(async () => String(await admin.send('CLUSTER', 'INFO')).includes('cluster_state:ok'))
      const feed = await openFeed('latest', { redisUrl: byName, log: silentLog })
      feed.append({ id: 'a', value: '1' })
      await feed.flush()
      t.equal(String((await feed.get('a'))?.value), '1')
      await feed.close()
      t.match(urlAt(byName, '127.0.0.1', '1'), /^rediss:\/\/127.0.0.1:1\?.*&servername=localhost$/)
      t.match(await failureOf(urlAt(byName.replace('localhost', 'example.org'), '127.0.0.1', String(node.port))),
        { ...UNTRUSTED, message: /its certificate is for another name: .*example\.org/ })
      await (await connectFor(t, urlAt(byName, '127.0.0.1', String(server.port)))).send('PING')
    })

    await t.test('without the client certificate that a server requires, the error advises one', async (t) => {
      const asking = await startServer(t, { engine, tls: { ...files, asks: true } })
      const strange = await (await createAuthority(t)).issue('client')
      // with TLS 1.3 the reset of the connection may overtake the alert of the server
      for (const given of /** @type {Record<string, string>[]} */ ([{ ca }, { ca, cert: strange.cert, key: strange.key }])) {
        const error = await failureOf(at(asking, given))
        t.match(error.code, /^SERVER_(UNTRUSTED|UNREACHABLE)$/)
        t.match(error.message, /certificate.*&cert=FILE&key=FILE/s)
      }
      const { cert, key } = await authority.issue('client', { names: 'DNS:client.example' })
      const connection = await connectFor(t, at(asking, { ca, cert, key }))
      t.equal(String(await connection.send('PING')), 'PONG')
      const older = await startServer(t, { engine, tls: { ...files, asks: true }, args: ['--tls-protocols', 'TLSv1.2'] })
      t.match(await failureOf(at(older, { ca })),
        { ...UNTRUSTED, message: /as servers do that require a client certificate: add &cert=FILE&key=FILE/ })
    })

    await t.test('the error names unusable files', async (t) => {
      const { cert, key } = files
      t.match(await failureOf(at(server, { ca: '/nowhere/ca.pem' })),
        { ...UNTRUSTED, message: /^the file \/nowhere\/ca\.pem, given as ca, cannot be used \(ENOENT\)/ })
      t.match(await failureOf(at(server, { ca: key })), { ...UNTRUSTED, message: /given as ca, cannot be used .*; expected a PEM file/ })
      const text = join(authority.folder, 'text')
      await writeFile(text, 'not a certificate')
      t.match(await failureOf(at(server, { ca: text })), { ...UNTRUSTED, message: /given as ca/ })
      t.match(await failureOf(at(server, { ca, cert, key: text })), { ...UNTRUSTED, message: /cert and key .* cannot be used together/ })
      t.match(await failureOf(at(server, { ca, cert, key: (await authority.issue('another')).key })),
        { ...UNTRUSTED, message: /cert and key .* cannot be used together/ })
      t.match(await failureOf(at(server, { ca, cert })), { ...UNTRUSTED, message: /names cert and no key/ })
      t.match(await failureOf(at(server, { ca, key })), { ...UNTRUSTED, message: /names key and no cert/ })
      const connection = await connectFor(t,
        `rediss://127.0.0.1:${server.port}?ca=${encodeURIComponent(await copyTo(ca, join(authority.folder, 'with space + plus &.pem')))}`)
      t.equal(String(await connection.send('PING')), 'PONG')
    })

    await t.test('TLS on a plain port, and the reverse, is an error with advice', async (t) => {
      t.match(await failureOf(`redis://127.0.0.1:${server.port}`),
        { code: 'SERVER_UNREACHABLE', message: /A port that expects TLS ends connections like that; its address is rediss:/ })
      const plain = await startServer(t, { engine })
      t.match(await failureOf(at(plain, { ca })),
        { code: 'SERVER_UNREACHABLE', message: /Does that port speak TLS\? Without, its address is redis:/ })
    })

    await t.test('a server that speaks TLS and never answers gets no advice about TLS', async (t) => {
      const own = { cert: await readFile(files.cert), key: await readFile(files.key) }
      const silent = createTlsServer(own, (socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
      await once(silent, 'listening')
      t.teardown(() => silent.close())
      const { port } = /** @type {import('node:net').AddressInfo} */ (silent.address())
      t.match(await failureOf(at({ port }, { ca })),
        { code: 'SERVER_UNREACHABLE', message: /\(silent for \d+ ms\)\. Is it running, and is the address right\?$/ })
    })

    await t.test('nothing is sent to an untrusted server', async (t) => {
      /** @type {Buffer[]} */
      const received = []
      const listener = createServer((socket) => socket.on('error', () => {}).on('data', (bytes) => {
        received.push(bytes)
        socket.end('-ERR speak plainly\r\n')
      })).listen(0, '127.0.0.1')
      await once(listener, 'listening')
      t.teardown(() => listener.close())
      const { port } = /** @type {import('node:net').AddressInfo} */ (listener.address())
      t.match(await failureOf(`rediss://user:canary-4711@127.0.0.1:${port}`),
        { code: 'SERVER_UNREACHABLE', message: /Does that port speak TLS/ })
      t.notMatch(Buffer.concat(received).toString('latin1'), /canary|AUTH|user/)
    })

    await t.test('a renewed certificate is used without a restart', async (t) => {
      const moved = join(authority.folder, 'moved.pem')
      const link = createLink(at(server, { ca: moved }), options)
      t.teardown(() => link.close())
      await t.rejects(link.opened, UNTRUSTED)
      await copyTo(ca, moved)
      await eventually(() => link.connection)
      t.equal(link.lastError, null)
    })

    await t.test('a replica with an untrusted certificate is left, and reported', async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 0, tls: files })
      const wrong = await authority.issue('wrong', { names: 'DNS:elsewhere.example' })
      await startServer(t, { engine, replicaOf: primary, tls: wrong })
      const deployment = createServers({ redisUrl: primary.url, replicaUrls: null, readFrom: 'replica', ...options, log: silentLog })
      t.teardown(() => deployment.close())
      await deployment.ready
      await eventually(() => deployment.nodes()[1]?.state === 'untrusted')
      t.throws(() => deployment.pick(), {
        code: 'SERVER_UNTRUSTED', message: /none of 1 replicas can answer \(untrusted\): 127\.0\.0\.1:\d+: the certificate of the server/
      })
    })

    await t.test('the reason why no node can answer names no file and no user', async (t) => {
      const { primary } = await startDeployment(t, { engine, replicas: 0, tls: files })
      const canary = `rediss://canary-user:canary-word@127.0.0.1:${primary.port}?ca=${join(authority.folder, 'canary-file.pem')}`
      const deployment =
        createServers({ redisUrl: primary.url, replicaUrls: [canary], readFrom: 'replica', ...options, log: silentLog })
      t.teardown(() => deployment.close())
      await deployment.ready
      const { ready, reasons, nodes } = createQueries({ deployment, keyPrefix: 'fr:', now: Date.now }).status()
      t.equal(ready, false)
      t.match(reasons, [/^SERVER_UNTRUSTED: .*127\.0\.0\.1:\d+/])
      t.notMatch(JSON.stringify({ reasons, nodes }), /canary|\.pem|freshet-tls/)
    })

    await t.test('a command ends with one error message and exit status 1', async (t) => {
      const ended = await endOfMain(['feed', 'list', '--redis-url', `rediss://:canary-4711@127.0.0.1:${server.port}`])
      t.equal(ended.code, 1)
      t.match(ended.stderr, /freshet feed: no TLS with the server at 127\.0\.0\.1:\d+: its certificate is signed by an unknown authority/)
      t.notMatch(ended.stderr + ended.stdout, /canary/)
    })
  })
}

/** @param {string} from @param {string} to @returns {Promise<string>} the same */
async function copyTo (from, to) {
  await copyFile(from, to + '.new')
  await rename(to + '.new', to)
  return to
}
