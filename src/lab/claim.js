/**
 * One run at a time in a checkout: two would measure each other. Whoever listens holds it, so a run that was killed
 * holds nothing.
 */
import { mkdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { FreshetError } from '../errors.js'
import { becomeTheOne, ownSocketPath } from '../store/embedded/lock.js'

/**
 * @param {string} folder where runs of this checkout keep what they need
 * @returns {Promise<() => Promise<void>>} lets it go
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
    await mkdir(folder, { recursive: true })
    await /** @type {Promise<void>} */ (new Promise((resolve, reject) => { server.once('error', reject).listen(path, () => resolve()) }))
    if (await becomeTheOne(folder, path)) return release
  } catch (error) {
    await release().catch(() => {})
    throw new FreshetError('RESULT_UNWRITABLE', `the lab needs the folder ${folder}, and cannot write there (${error.code ?? error.message}); make room, or install the package where you may write`, { cause: error })
  }
  await release()
  throw new FreshetError('LAB_BUSY', 'another experiment runs in this checkout, and two at once would measure each other; wait for it, or stop it')
}
