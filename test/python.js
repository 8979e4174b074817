/** Python packages that tests run: installed by pip, into the cache folder, when they are first needed. */
import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { defaultCacheDir, ROOT } from '../src/embedded/index.js'
import { findPip } from '../src/embedded/engine.js'

const INSTALL_DEADLINE_MS = 180_000
const QUIET = Object.freeze(['--quiet', '--no-input', '--disable-pip-version-check'])
const run = promisify(execFile)

/**
 * @param {string} name of the folder, with the version
 * @param {readonly string[]} packages
 * @returns {Promise<string>} the folder, for PYTHONPATH
 */
export async function installPython (name, packages) {
  const folder = join(defaultCacheDir(ROOT), 'python', name)
  const isThere = () => access(folder).then(() => true, () => false)
  if (await isThere()) return folder
  const pip = await findPip(process.env)
  if (!pip) throw new Error(`${name} needs pip`)
  await mkdir(dirname(folder), { recursive: true })
  const workshop = await mkdtemp(join(dirname(folder), 'installing-'))
  try {
    await run(pip[0], [...pip.slice(1), 'install', ...QUIET, '--target', workshop, ...packages],
      { timeout: INSTALL_DEADLINE_MS, env: { ...process.env, PIP_REQUIRE_VIRTUALENV: '0' } })
    await rename(workshop, folder)
  } catch (error) {
    if (!await isThere()) throw error
  } finally {
    await rm(workshop, { recursive: true, force: true })
  }
  return folder
}
