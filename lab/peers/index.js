/**
 * Libraries that the lab compares with. They are installed when they are first needed, into the cache folder: they need another ioredis
 * than the product.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { defaultCacheDir, ROOT } from '../../src/embedded/index.js'
import { FreshetError } from '../errors.js'

const HERE = fileURLToPath(new URL('./', import.meta.url))
const FILES = Object.freeze(['package.json', 'package-lock.json'])
const INSTALL_DEADLINE_MS = 180_000
const run = promisify(execFile)

/**
 * @returns {Promise<string>} the folder with their packages
 * @throws {FreshetError} PEER_MISSING
 */
export async function installPeers () {
  const lock = await readFile(join(HERE, 'package-lock.json'))
  const folder = join(defaultCacheDir(ROOT), 'peers', createHash('sha256').update(lock).digest('hex').slice(0, 16))
  const isInstalled = () => access(folder).then(() => true, () => false)
  if (await isInstalled()) return folder
  await mkdir(dirname(folder), { recursive: true })
  const workshop = await mkdtemp(join(dirname(folder), 'installing-'))
  try {
    for (const file of FILES) await copyFile(join(HERE, file), join(workshop, file))
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: workshop, timeout: INSTALL_DEADLINE_MS })
    await rename(workshop, folder)
  } catch (error) {
    if (!await isInstalled()) {
      throw new FreshetError('PEER_MISSING', `the libraries to compare with cannot be installed: ${error.message}`, { cause: error })
    }
  } finally {
    await rm(workshop, { recursive: true, force: true })
  }
  return folder
}

/** @returns {Promise<(name: string) => Promise<any>>} what imports one of them @throws {FreshetError} PEER_MISSING */
export async function loadPeers () {
  const { resolve } = createRequire(join(await installPeers(), 'package.json'))
  return (name) => import(pathToFileURL(resolve(name)).href)
}
