/**
 * schemathesis, which compares an HTTP service with its OpenAPI document. Its pinned version and packages are installed into the
 * cache of the checkout by pip, as the pinned Valkey is. Without hashes: five of the packages have other files for each version of
 * Python and each processor.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findPip } from '../../src/embedded/engine.js'
import { CACHE_DIR } from '../../test/commands.js'

const run = promisify(execFile)
const FOLDER = fileURLToPath(new URL('schemathesis/', import.meta.url))
const REQUIREMENTS = join(FOLDER, 'requirements.txt')
const INSTALL_WITHIN_MS = 180_000
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/** @returns {Promise<string>} the folder of its packages @throws {Error} with the reason in one line */
export async function installed () {
  const [, version] = /^schemathesis==(.+)$/m.exec(await readFile(REQUIREMENTS, 'utf8')) ?? []
  const { stdout: python } = await run('python3', ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'])
  const folder = join(CACHE_DIR, 'tools', `schemathesis-${version}-python-${python.trim()}`)
  if (await run('python3', ['-m', 'schemathesis.cli', '--version'], { env: envWith(folder) }).then(() => true, () => false)) return folder
  const pip = await findPip(process.env)
  if (!pip) throw new Error('pip does not run here')
  await mkdir(dirname(folder), { recursive: true })
  // renamed when it is complete, so concurrent installations are safe
  const workshop = await mkdtemp(`${folder}-installing-`)
  const [program, ...words] = pip
  try {
    // Python compiles what runs of it later
    await run(program, [...words, 'install', '--quiet', '--no-input', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:',
      '--no-compile', '--target', workshop, '-r', REQUIREMENTS], { timeout: INSTALL_WITHIN_MS })
    await rename(workshop, folder)
  } catch (error) {
    await rm(workshop, { recursive: true, force: true })
    throw new Error(String(error.stderr || error.message).trim().split('\n').findLast((line) => line.startsWith('ERROR')) ?? error.message)
  }
  return folder
}

/**
 * @param {string} packages their folder
 * @param {{ url: string, examples: number, phases?: string, paths?: string[], env: Record<string, string> }} options `examples`: requests
 *   that are made up for each route; `phases`: those of schemathesis.toml if not given; `paths`: all if not given
 * @returns {Promise<{ status: number, output: string }>} `status` 0: no failures
 */
export function check (packages, { url, examples, phases, paths = [], env }) {
  const words = ['-m', 'schemathesis.cli', '--no-color', '--config-file', join(FOLDER, 'schemathesis.toml'), 'run', `${url}/docs/json`,
    // how fast this machine makes up data says nothing about a service
    '--checks', 'all', '--generation-database', 'none', '--suppress-health-check', 'too_slow',
    '--max-examples', String(examples), ...phases ? ['--phases', phases] : [],
    ...paths.flatMap((path) => ['--include-path', path])]
  return new Promise((resolve) => {
    // it keeps what failed in its folder
    const options = { cwd: packages, env: { ...envWith(packages), ...env }, maxBuffer: MAX_OUTPUT_BYTES }
    execFile('python3', words, options, (error, stdout, stderr) =>
      resolve({ status: error ? Number(error.code ?? 1) : 0, output: cutLines(stdout + stderr) }))
  })
}

/** @param {string} packages */
const envWith = (packages) =>
  ({
    ...process.env,
    PYTHONPATH: packages,
    FRESHET_HOOKS: join(FOLDER, 'hooks.py'),
    // what a start compiles is kept for the next one, beside the packages and not beside hooks.py
    PYTHONDONTWRITEBYTECODE: '',
    PYTHONPYCACHEPREFIX: `${packages}-compiled`
  })

/** @param {string} text @returns {string} with lines that people can read */
const cutLines = (text) => text.split('\n').map((line) => line.slice(0, 500)).join('\n')
