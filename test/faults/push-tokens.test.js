/** Tokens of clients: added and revoked while streams are open; files that are broken, emptied or gone; what a reader logs of them. */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { endOf, logOf, startReader } from '../commands.js'
import { metricsOf, openLive } from '../push/live-client.js'
import { startResuming } from '../push/resuming-client.js'
import { openWritten } from '../push/written.js'
import { eventually, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const PATH = '/v1/feeds/guarded/live'
const DEADLINE_MS = 60_000
const [ALPHA, BETA, GAMMA, FOREIGN] = ['alpha', 'beta', 'gamma', 'foreign'].map((name) => `${name}-secret-0123456789`)
const NO_TOKEN = 'words-secret and more of them'

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
  await writeFile(file, `# who may\n${ALPHA}\n\n  ${BETA}  \n`)
  const reader = await startReader(t,
    { redisUrl: server.url, flags: ['--read-from', 'primary', '--live-tokens', file, '--log-level', 'trace'] })
  const follow = (/** @type {string} */ token) => startResuming(t, [reader.url], PATH, { headers: headersOf(token) })
  const statusOf = async (/** @type {Record<string, string>} */ headers) => {
    const client = await openLive(t, reader.url, PATH, { headers })
    client.close()
    return client.status
  }
  const ended = async (/** @type {string} */ reason) =>
    Number((await metricsOf(reader)).get(`freshet_streams_ended_total{reason="${reason}"}`))
  const logSays = (/** @type {string} */ words, count = 1) =>
    eventually(() => reader.command.stderr.split(words).length > count, { deadlineMs: DEADLINE_MS })
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
    t.equal((await reader.get('/v1/feeds/guarded/items')).status, 200, 'it is of /live alone')
    await goesOn(t)
  })

  await t.test('one that is revoked ends its streams, and comes for nothing', async (t) => {
    const revoked = [follow(BETA), follow(BETA)]
    await written.reaches(revoked)
    await writeFile(file, `${ALPHA}\n`)
    await eventually(() => revoked.every(({ visit }) => visit.status === 401), { deadlineMs: DEADLINE_MS })
    t.same(revoked.map(({ visits }) => [visits[0].isWhole, visits.length, visits[1].from !== '']), [[true, 2, true], [true, 2, true]])
    t.equal(await ended('revoked'), 2)
    t.equal((await metricsOf(reader)).get('freshet_streams'), 1)
    await goesOn(t)
  })

  await t.test('one that is added is known without a restart, also in a file that takes its place', async (t) => {
    t.equal(await statusOf(headersOf(GAMMA)), 401)
    await writeFile(`${file}.new`, `${ALPHA}\n${GAMMA}\n`)
    await rename(`${file}.new`, file)
    await eventually(async () => await statusOf(headersOf(GAMMA)) === 200, { deadlineMs: DEADLINE_MS })
    await goesOn(t)
  })

  await t.test('a file that is broken or gone changes nothing, and the log says so', async (t) => {
    const gamma = follow(GAMMA)
    await written.reaches([gamma])
    await writeFile(file, `${ALPHA}\n${NO_TOKEN}\n`)
    await logSays('line 2: no token')
    await goesOn(t)
    await rm(file)
    await logSays('ENOENT')
    await goesOn(t)
    t.equal(await statusOf(headersOf(GAMMA)), 200)
    t.equal(gamma.visits.length, 1)
    await writeFile(file, `${ALPHA}\n`)
    await eventually(() => gamma.visit.status === 401, { deadlineMs: DEADLINE_MS })
    t.equal(await ended('revoked'), 3)
    await goesOn(t)
  })

  await t.test('a file that stays empty revokes all tokens', async (t) => {
    await writeFile(file, '')
    await eventually(() => alpha.visit.status === 401, { deadlineMs: DEADLINE_MS })
    t.equal(await ended('revoked'), 4)
    await writeFile(file, `${ALPHA}\n`)
    await eventually(async () => await statusOf(headersOf(ALPHA)) === 200, { deadlineMs: DEADLINE_MS })
  })

  await t.test('its log names no token', async (t) => {
    const end = await reader.command.kill('SIGTERM')
    t.equal(end.code, 0)
    t.notMatch(end.stdout + end.stderr, /secret/i)
    t.equal(logOf(end).filter(({ msg }) => msg === 'token file not reloaded; tokens read before stay valid').length, 2,
      'each fault is said once')
  })
})

t.test('more streams of a token than may be are refused, and counted', async (t) => {
  const file = join(await folderFor(t), 'tokens')
  await writeFile(file, `${ALPHA}\n${BETA}\n`)
  const reader = await startReader(t,
    { redisUrl: server.url, flags: ['--read-from', 'primary', '--live-tokens', file, '--max-streams-per-token', '2'] })
  const come = (/** @type {string} */ token) => openLive(t, reader.url, PATH, { headers: headersOf(token) })
  const clients = [await come(ALPHA), await come(ALPHA)]
  for (let n = 0; n < 3; n++) {
    const refused = await come(ALPHA)
    await refused.ended
    t.match([refused.status, refused.headers['retry-after'], JSON.parse(refused.body).code], [503, '1', 'OVERLOADED'])
    t.notMatch(refused.body, /secret/)
  }
  t.equal((await metricsOf(reader)).get('freshet_streams_refused_total{reason="token"}'), 3)
  t.equal((await metricsOf(reader)).get('freshet_streams_refused_total{reason="process"}'), 0)
  clients.push(await come(BETA))
  await written.put(['a', 'more'])
  await written.reaches(clients)
  clients[0].close()
  await eventually(async () => (await come(ALPHA)).status === 200)
})

t.test('a reader does not start with a file that is missing or broken, or is a folder, and says so in one line', async (t) => {
  const folder = await folderFor(t)
  const broken = join(folder, 'broken')
  await writeFile(broken, `${ALPHA}\n${NO_TOKEN}\nshort\n`)
  for (const [file, words] of /** @type {[string, RegExp][]} */ ([[join(folder, 'none'), /none cannot be read \(ENOENT\); expected/],
    [broken, /broken, line 2, 3: no token; expected/], [folder, /cannot be read \(EISDIR\); expected/]])) {
    const { code, stdout, stderr } = await endOf(t, ['reader', '--redis-url', server.url, '--port', '0', '--live-tokens', file])
    const plain = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))
    t.same([code, plain.length], [2, 1], stderr)
    t.match(plain[0], words)
    t.notMatch(stdout + stderr, /secret/)
  }
})
