/** Sentinels: their address leads to the primary, with passwords of both, and what is wrong with an address is said. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { main as deadLetters } from '../../bin/dead-letters.js'
import { main as feedCommand } from '../../bin/feed.js'
import { main as plan } from '../../bin/plan.js'
import { openFeed, openReader } from '../../src/index.js'
import { scopedEngines } from '../scope.js'
import { startWatched } from '../sentinels.js'
import { connectFor, engineName, freePort, silentLog, startServer } from '../servers.js'
import { startConsumers } from '../services.js'

/** @param {import('tap').Test} t @param {import('../servers.js').Engine} engine @returns {Promise<string>} its URL */
async function startSentinel (t, engine) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-sentinel-'))
  const port = await freePort()
  const file = join(folder, 'sentinel.conf')
  await writeFile(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\n`)
  const child = spawn(engine.program, [file, '--sentinel'], { stdio: 'ignore' })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
  })
  return `redis://127.0.0.1:${port}`
}

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

/** Servers and Sentinels want passwords from now on. @param {import('tap').Test} t @param {import('../sentinels.js').Watched} watched */
async function setPasswords (t, { primary, replicas, sentinels }) {
  for (const { url } of [primary, ...replicas]) {
    const server = await connectFor(t, url)
    await server.sendAll([['CONFIG', 'SET', 'masterauth', 'server-secret'], ['CONFIG', 'SET', 'requirepass', 'server-secret']])
  }
  for (const { url } of sentinels) {
    const sentinel = await connectFor(t, url, { isChecked: false })
    await sentinel.send('SENTINEL', 'SET', 'freshet', 'auth-pass', 'server-secret')
    await sentinel.send('ACL', 'SETUSER', 'default', '>sentinel-secret')
  }
}

const [newest] = await scopedEngines()
t.test(`${engineName(newest)}, an address of Sentinels`, async (t) => {
  const watched = await startWatched(t, { engine: newest, replicas: 1 })
  const [{ port }] = watched.sentinels
  const standalone = await startServer(t, { engine: newest })
  const open = (/** @type {string} */ redisUrl) => openFeed('latest', { redisUrl, log: silentLog }).then((feed) => feed.close())

  const down = `127.0.0.1:${await freePort()}`
  await t.resolves(open(watched.url.replace('//', `//${down},`)), 'the others answer')
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

  await setPasswords(t, watched)
  await t.rejects(open(watched.url), { code: 'SERVER_REFUSED' })
  const redisUrl = `${watched.url.replace('//', '//:server-secret@')}?sentinelPassword=sentinel-secret`
  const feed = await openFeed('latest', { redisUrl, log: silentLog })
  feed.append({ id: 'a', value: '1' })
  await feed.flush()
  const reader = await openReader({ redisUrl, log: silentLog })
  t.match(await reader.feed('latest').get('a'), { id: 'a' })
  await Promise.all([feed.close(), reader.close()])
  const argv = ['--redis-url', redisUrl]
  t.equal(await feedCommand({ argv: ['list', ...argv], env: {} }), 0)
})

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}, a Sentinel`, async (t) => {
    const url = await startSentinel(t, engine)
    await connectFor(t, url, { isChecked: false })
    await expectRefusal(t, url)
  })
}
