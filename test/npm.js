/** Packages of npm that only tests run: installed into the cache folder, when they are first needed. */
import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { defaultCacheDir, ROOT } from '../src/embedded/index.js'

const INSTALL_DEADLINE_MS = 180_000
const FLAGS = Object.freeze(['--no-audit', '--no-fund', '--prefer-offline', '--no-save'])
const run = promisify(execFile)

/**
 * @param {string} name of a package @param {string} version
 * @returns {Promise<string>} the folder of the package
 */
export async function installPackage (name, version) {
  const folder = join(defaultCacheDir(ROOT), 'npm', `${name}-${version}`)
  const installed = join(folder, 'node_modules', name)
  const isThere = () => access(installed).then(() => true, () => false)
  if (await isThere()) return installed
  await mkdir(dirname(folder), { recursive: true })
  const workshop = await mkdtemp(join(dirname(folder), 'installing-'))
  const env = Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^npm_/i.test(key)))
  try {
    await run('npm', ['install', ...FLAGS, '--prefix', workshop, `${name}@${version}`], { timeout: INSTALL_DEADLINE_MS, env })
    await rename(workshop, folder)
  } catch (error) {
    // another process may have been first
    if (!await isThere()) throw error
  } finally {
    await rm(workshop, { recursive: true, force: true })
  }
  return installed
}
