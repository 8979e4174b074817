/** Sentinels: commands that end, and consumers, say what the address leads to. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { main as deadLetters } from '../../bin/dead-letters.js'
import { main as feed } from '../../bin/feed.js'
import { main as plan } from '../../bin/plan.js'
import { openReader } from '../../src/index.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, freePort } from '../servers.js'
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
  await t.rejects(feed({ argv: ['list', ...argv], env: {} }), { code, exitStatus: 2 })
  await t.rejects(deadLetters({ argv: ['list', ...argv], env: {} }), { code, exitStatus: 2 })
  await t.rejects(plan({ argv, env: {} }), { code, exitStatus: 2 })
  await t.rejects(openReader({ redisUrl }), { code })
  await t.rejects(startConsumers(t, { redisUrl, flags: ['--systems', 'auctions'] }), { code, exitStatus: 2 })
}

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}, a Sentinel`, async (t) => {
    const url = await startSentinel(t, engine)
    await connectFor(t, url, { isChecked: false })
    await expectRefusal(t, url)
  })
}
