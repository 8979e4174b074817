/**
 * Allows one run at a time in a checkout, because two would disturb each other. The claim is a listening socket, so a killed
 * run releases it.
 */
import { mkdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { FreshetError } from '../errors.js'
import { acquireLock, ownSocketPath } from '../../src/embedded/index.js'

/**
 * @param {string} folder of the lab in this checkout
 * @returns {Promise<() => Promise<void>>} releases the claim
 * @throws {FreshetError} LAB_BUSY
 */
export async function claimLab (folder) {
  const path = ownSocketPath(folder)
  const server = createServer((socket) => socket.destroy())
  async function release () {
    await new Promise((resolve) => server.close(resolve))
    await rm(path, { force: true })
  }
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await /** @type {Promise<void>} */ (new Promise((resolve, reject) => { server.once('error', reject).listen(path, () => resolve()) }))
    if (await acquireLock(folder, path)) return release
  } catch (error) {
    await release().catch(() => {})
    throw new FreshetError('RESULT_UNWRITABLE',
      `the lab cannot write to ${folder} (${error.code ?? error.message}); free disk space, or install the package in a writable folder`,
      { cause: error })
  }
  await release()
  throw new FreshetError('LAB_BUSY', 'another experiment is running in this checkout; wait for it, or stop it')
}
