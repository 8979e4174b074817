/** Tokens of clients: added and revoked while streams are open; files that are broken, emptied or gone; what a reader logs of them. */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { endOf, logOf } from '../commands.js'
import { metricsOf, openLive } from '../push/live-client.js'
import { startResuming } from '../push/resuming-client.js'
import { AUDIENCE, createKey, ISSUER, keyFileFor } from '../http/issuer.js'
import { openWritten } from '../push/written.js'
import { eventually, startServer } from '../servers.js'
import { startReader } from '../services.js'
import { scopedEngines } from '../scope.js'

const PATH = '/v1/feeds/guarded/live'
const DEADLINE_MS = 60_000
const [ALPHA, BETA, GAMMA, FOREIGN] = ['alpha', 'beta', 'gamma', 'foreign'].map((name) => `${name}-secret-0123456789`)
const NO_TOKEN = '{"token":"words-secret and more of them","scopes":["read"],"feeds":["*"]}'
/** @param {string} token @param {string[]} [feeds] @param {string[]} [scopes] */
const line = (token, feeds = ['*'], scopes = ['read']) => JSON.stringify({ token, scopes, feeds })

/** @param {import('tap').Test} t */
async function folderFor (t) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** @param {string} token */
const headersOf = (token) => ({ authorization: `Bearer ${token}` })

const [engine] = await scopedEngines()
const server = await startServer(t, { engine })
const written = await openWritten(t, { redisUrl: server.url, feed: 'guarded' })
await written.put(['a', '1'])

t.test('tokens come and go while streams are open', async (t) => {
  const file = join(await folderFor(t), 'tokens')
  await writeFile(file, `# who may\n${line(ALPHA)}\n\n  ${line(BETA)}  \n`)
  const reader = await startReader(t,
    { redisUrl: server.url, flags: ['--read-from', 'primary', '--tokens', file, '--log-level', 'trace'] })
  const follow = (/** @type {string} */ token) => startResuming(t, [reader.url], PATH, { headers: headersOf(token) })
  const statusOf = async (/** @type {Record<string, string>} */ headers) => {
    const client = await openLive(t, reader.url, PATH, { headers })
    client.close()
    return client.status
  }
  const ended = async (/** @type {string} */ reason) =>
    Number((await metricsOf(reader, headersOf(ALPHA))).get(`freshet_streams_ended_total{reason="${reason}"}`))
  const logSays = (/** @type {string} */ words, count = 1) =>
    eventually(() => reader.service.log.split(words).length > count, { deadlineMs: DEADLINE_MS })
  const alpha = follow(ALPHA)
  /** It has what is written now, on its first connection. @param {import('tap').Test} t */
  async function goesOn (t) {
    await written.put(['a', `${Math.random()}`])
    await written.reaches([alpha])
    t.equal(alpha.visits.length, 1, 'the other token goes on')
  }

  await t.test('without one that is known nothing is pushed', async (t) => {
    for (const headers of [{}, headersOf(FOREIGN), headersOf(ALPHA.toUpperCase()), headersOf(`${ALPHA}x`), { authorization: ALPHA },
      { authorization: `Basic ${ALPHA}` }]) {
      const client = await openLive(t, reader.url, PATH, { headers })
      await client.ended
      t.match([client.status, client.headers['www-authenticate'], JSON.parse(client.body).code], [401, 'Bearer', 'UNAUTHORIZED'])
      t.notMatch(client.body, /secret/i)
    }
    await goesOn(t)
  })

  await t.test('one that is revoked ends its streams, and comes for nothing', async (t) => {
    const revoked = [follow(BETA), follow(BETA)]
    await written.reaches(revoked)
    await writeFile(file, `${line(ALPHA)}\n`)
    await eventually(() => revoked.every(({ visit }) => visit.status === 401), { deadlineMs: DEADLINE_MS })
    t.same(revoked.map(({ visits }) => [visits[0].isWhole, visits.length, visits[1].from !== '']), [[true, 2, true], [true, 2, true]])
    t.equal(await ended('revoked'), 2)
    t.equal((await metricsOf(reader, headersOf(ALPHA))).get('freshet_streams'), 1)
    await goesOn(t)
  })

  await t.test('one that loses its feed or its scope ends its streams', async (t) => {
    for (const rest of [line(BETA, ['other']), line(BETA, ['*'], ['write'])]) {
      await writeFile(file, `${line(ALPHA)}\n${line(BETA)}\n`)
      await eventually(async () => await statusOf(headersOf(BETA)) === 200, { deadlineMs: DEADLINE_MS })
      const beta = follow(BETA)
      await written.reaches([beta])
      const before = await ended('revoked')
      await writeFile(file, `${line(ALPHA)}\n${rest}\n`)
      await eventually(() => beta.visit.status === 403, { deadlineMs: DEADLINE_MS })
      t.equal(await ended('revoked'), before + 1)
    }
    await goesOn(t)
  })

  await t.test('one that is added is known without a restart, also in a file that takes its place', async (t) => {
    t.equal(await statusOf(headersOf(GAMMA)), 401)
    await writeFile(`${file}.new`, `${line(ALPHA)}\n${line(GAMMA)}\n`)
    await rename(`${file}.new`, file)
    await eventually(async () => await statusOf(headersOf(GAMMA)) === 200, { deadlineMs: DEADLINE_MS })
    await goesOn(t)
  })

  await t.test('a file that is broken or gone changes nothing, and the log says so', async (t) => {
    const gamma = follow(GAMMA)
    await written.reaches([gamma])
    await writeFile(file, `${line(ALPHA)}\n${NO_TOKEN}\n`)
    await logSays('line 2: token is not')
    await goesOn(t)
    await rm(file)
    await logSays('ENOENT')
    await goesOn(t)
    t.equal(await statusOf(headersOf(GAMMA)), 200)
    t.equal(gamma.visits.length, 1)
    await writeFile(file, `${line(ALPHA)}\n`)
    await eventually(() => gamma.visit.status === 401, { deadlineMs: DEADLINE_MS })
    t.equal(await ended('revoked'), 5)
    await goesOn(t)
  })

  await t.test('a file that stays empty revokes all tokens', async (t) => {
    await writeFile(file, '')
    await eventually(() => alpha.visit.status === 401, { deadlineMs: DEADLINE_MS })
    await writeFile(file, `${line(ALPHA)}\n`)
    await eventually(async () => await statusOf(headersOf(ALPHA)) === 200, { deadlineMs: DEADLINE_MS })
    t.equal(await ended('revoked'), 6)
  })

  await t.test('its log names no token', async (t) => {
    t.equal(await reader.service.stop(), 0)
    const { log } = reader.service
    t.notMatch(log, /secret/i)
    t.equal(logOf(/** @type {any} */ ({ stderr: log }))
      .filter(({ msg }) => msg === 'token file not reloaded; the content read before stays in use').length, 2, 'each fault is said once')
  })
})

t.test('the streams of a JSON Web Token end when it expires', async (t) => {
  const key = await createKey('one')
  const { file } = await keyFileFor(t, [key.jwk])
  const reader = await startReader(t, {
    redisUrl: server.url,
    flags: ['--read-from', 'primary', '--jwt-keys', file, '--jwt-issuer', ISSUER, '--jwt-audience', AUDIENCE]
  })
  const claims = { scope: 'read', feeds: ['guarded'] }
  const [short, long] = await Promise.all(['4s', '10m'].map(async (expires) =>
    openLive(t, reader.url, PATH, { headers: headersOf(await key.sign(claims, { expires })) })))
  t.same([short.status, long.status], [200, 200])
  await short.ended
  t.ok(short.events.length > 0, 'it had its snapshot')
  await written.put(['a', 'later'])
  await written.reaches([long])
  t.equal(long.isEnded, false)
})

t.test('more streams of a token than may be are refused, and counted', async (t) => {
  const file = join(await folderFor(t), 'tokens')
  await writeFile(file, `${line(ALPHA)}\n${line(BETA)}\n`)
  const reader = await startReader(t,
    { redisUrl: server.url, flags: ['--read-from', 'primary', '--tokens', file, '--max-streams-per-token', '2'] })
  const come = (/** @type {string} */ token) => openLive(t, reader.url, PATH, { headers: headersOf(token) })
  const clients = [await come(ALPHA), await come(ALPHA)]
  for (let n = 0; n < 3; n++) {
    const refused = await come(ALPHA)
    await refused.ended
    t.match([refused.status, refused.headers['retry-after'], JSON.parse(refused.body).code], [503, /^[123]$/, 'OVERLOADED'])
    t.notMatch(refused.body, /secret/)
  }
  t.equal((await metricsOf(reader, headersOf(BETA))).get('freshet_streams_refused_total{reason="token"}'), 3)
  t.equal((await metricsOf(reader, headersOf(BETA))).get('freshet_streams_refused_total{reason="process"}'), 0)
  clients.push(await come(BETA))
  await written.put(['a', 'more'])
  await written.reaches(clients)
  clients[0].close()
  await eventually(async () => (await come(ALPHA)).status === 200)
})

t.test('a reader does not start with a file that is missing or broken, or is a folder, and says so in one line', async (t) => {
  const folder = await folderFor(t)
  const broken = join(folder, 'broken')
  await writeFile(broken, `${line(ALPHA)}\n${NO_TOKEN}\nshort-secret\n`)
  const words = /broken, line 2: token is not .*; line 3: not JSON; expected/
  for (const [file, said] of /** @type {[string, RegExp][]} */ ([[join(folder, 'none'), /none cannot be read \(ENOENT\); expected/],
    [broken, words], [folder, /cannot be read \(EISDIR\); expected/]])) {
    const error = await startReader(t, { redisUrl: server.url, flags: ['--tokens', file] }).then(() => null, (caught) => caught)
    t.match(error, { exitStatus: 2, message: said })
    t.notMatch(error.message, /secret|\n/)
  }
  const { code, stdout, stderr } = await endOf(t, ['reader', '--redis-url', server.url, '--port', '0', '--tokens', broken])
  const plain = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
  t.same([code, plain.length], [2, 1], stderr)
  t.match(plain[0], words)
  t.notMatch(stdout + stderr, /secret/)
})
