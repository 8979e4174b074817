import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import t from 'tap'
import { chooseEngine, enginesFound, installedEngines, newest, pinnedProgram, readVersion } from '../../src/embedded/engine.js'
import { wholeTest } from '../scope.js'
import { makeCheckout } from './checkout.js'

/** @param {string} file @param {string} script */
async function program (file, script) {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, `#!/bin/sh\n${script}\n`)
  await chmod(file, 0o755)
  return file
}

/** A folder for PATH with sh in it and nothing else. @param {import('tap').Test} t */
async function emptyPath (t) {
  const folder = await makeCheckout(t)
  await symlink(execFileSync('sh', ['-c', 'command -v sh']).toString().trim(), join(folder, 'sh'))
  return folder
}

/** @param {string} line that it prints for --version */
const says = (line) => `echo "${line}"`

t.test('versions are read as the engines print them, with whether they have MSETEX', async (t) => {
  t.same(readVersion('Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0'),
    { name: 'redis', version: '7.0.15', hasMsetex: false })
  t.same(readVersion('Valkey server v=9.1.2 sha=00000000:1 malloc=libc bits=64 build=1536df31c0395150'),
    { name: 'valkey', version: '9.1.2', hasMsetex: true })
  t.match(readVersion('Server v=9.0.10 sha=0'), { name: 'valkey', version: '9.0.10', hasMsetex: false })
  t.match(readVersion('Redis server v=8.4.0 sha=0'), { hasMsetex: true })
  t.match(readVersion('Redis server v=8.10.0 sha=0'), { hasMsetex: true })
  t.equal(readVersion('ls (GNU coreutils) 9.1'), null)
})

t.test('the newest is the greatest version, and of equal versions valkey', async (t) => {
  const engine = (/** @type {'valkey' | 'redis'} */ name, /** @type {string} */ version) =>
    ({ program: name, name, version, hasMsetex: true, origin: /** @type {const} */ ('path') })
  t.match(newest([engine('redis', '8.9.0'), engine('redis', '8.10.0')]), { version: '8.10.0' })
  t.match(newest([engine('redis', '9.1.2'), engine('valkey', '9.1.2')]), { name: 'valkey' })
  t.equal(newest([]), undefined)
})

t.test('a named program is used, by its name on PATH or by its path', async (t) => {
  const PATH = await emptyPath(t)
  const file = await program(join(PATH, 'my-server'), says('Redis server v=7.2.1 sha=0'))
  await program(join(PATH, 'valkey-server'), says('Server v=9.9.9 sha=0'))
  const expected = { program: file, name: 'redis', version: '7.2.1', hasMsetex: false, origin: 'named' }
  t.same(await chooseEngine({ named: 'my-server', env: { PATH }, cacheDir: PATH }), expected)
  t.same(await chooseEngine({ named: file, env: { PATH }, cacheDir: PATH }), expected)
})

t.test('a named program that cannot run is an error, even if PATH has others', async (t) => {
  const PATH = await emptyPath(t)
  await program(join(PATH, 'valkey-server'), says('Server v=9.9.9 sha=0'))
  await program(join(PATH, 'other'), says('other 1.0'))
  const choose = (/** @type {string} */ named) => chooseEngine({ named, env: { PATH }, cacheDir: PATH })
  await t.rejects(choose('absent'), { code: 'ENGINE_MISSING', message: /absent is not on PATH/ })
  await t.rejects(choose('/absent/valkey-server'), { code: 'ENGINE_MISSING', message: /cannot be used \(ENOENT\)/ })
  await t.rejects(choose('other'), { code: 'ENGINE_MISSING', message: /not a Valkey or Redis server: --version prints other 1.0/ })
})

t.test('the newest with MSETEX on PATH or pinned is used, without a download', async (t) => {
  const PATH = await emptyPath(t)
  const cacheDir = await makeCheckout(t)
  await program(join(PATH, 'redis-server'), says('Redis server v=8.0.0 sha=0'))
  await program(pinnedProgram(cacheDir), says('Server v=9.1.2 sha=0'))
  t.match(await chooseEngine({ env: { PATH }, cacheDir }), { version: '9.1.2', origin: 'pinned' })
  await program(join(PATH, 'valkey-server'), says('Server v=9.2.0 sha=0'))
  t.match(await chooseEngine({ env: { PATH }, cacheDir }), { version: '9.2.0', origin: 'path' })
  t.same((await enginesFound({ env: { PATH }, cacheDir })).map(({ name, version }) => `${name} ${version}`),
    ['valkey 9.2.0', 'redis 8.0.0', 'valkey 9.1.2'])
})

t.test('a program on PATH that does not run is ignored and reported', async (t) => {
  const PATH = await emptyPath(t)
  await program(join(PATH, 'valkey-server'), 'echo libssl is missing >&2; exit 127')
  /** @type {string[]} */
  const lines = []
  t.same(await installedEngines({ env: { PATH }, cacheDir: PATH, report: (line) => lines.push(line) }), [])
  t.match(lines, [/valkey-server is ignored: libssl is missing/])
})

t.test('after a failed download the older program on PATH is used with a message, and no file is left', async (t) => {
  const PATH = await emptyPath(t)
  const cacheDir = await makeCheckout(t)
  await program(join(PATH, 'redis-server'), says('Redis server v=7.0.15 sha=0'))
  await program(join(PATH, 'pip3'), '[ "$1" = --version ] || { echo "ERROR: no network" >&2; exit 1; }')
  /** @type {string[]} */
  const lines = []
  t.match(await chooseEngine({ env: { PATH }, cacheDir, report: (line) => lines.push(line) }), { version: '7.0.15', origin: 'path' })
  t.same(lines, [
    'downloading valkey 9.1.2 ...',
    'using redis 7.0.15 on PATH, which has no MSETEX: valkey 9.1.2 could not be downloaded (no network)'
  ])
  t.same(await readdir(join(cacheDir, 'engines')), [])
})

t.test('without any program the error names the programs and how to install one', async (t) => {
  const PATH = await emptyPath(t)
  const cacheDir = await makeCheckout(t)
  await t.rejects(chooseEngine({ env: { PATH }, cacheDir }), {
    code: 'ENGINE_MISSING',
    message: /neither valkey-server nor redis-server is on PATH.*neither python3 -m pip nor pip3 nor pip runs here.* [Ii]nstall /
  })
})

wholeTest('two concurrent downloads both get a working program, or both report the reason', async (t) => {
  const { PATH } = process.env
  const cacheDir = await makeCheckout(t)
  const nothing = await emptyPath(t)
  // pip without the engines that PATH has
  for (const name of ['python3', 'pip3', 'pip']) await program(join(nothing, name), `PATH='${PATH}' exec ${name} "$@"`)
  const env = { ...process.env, PATH: nothing }
  const outcomes = await Promise.allSettled([1, 2].map(() => chooseEngine({ env, cacheDir })))
  const failures = outcomes.flatMap((one) => one.status === 'rejected' ? [one.reason] : [])
  // where the engines are required, a failed download is a failure
  if (process.env.FRESHET_TEST_ENGINES) t.same(failures, [])
  for (const failure of failures) {
    t.match(failure, { code: 'ENGINE_MISSING', message: /valkey 9\.1\.2 could not be downloaded \(.+\)\. .*[Ii]nstall /s })
  }
  const expected = { program: pinnedProgram(cacheDir), name: 'valkey', version: '9.1.2', hasMsetex: true, origin: 'pinned' }
  for (const one of outcomes) if (one.status === 'fulfilled') t.same(one.value, expected)
  t.same(await readdir(join(cacheDir, 'engines')), failures.length < 2 ? ['valkey-9.1.2'] : [])
})
