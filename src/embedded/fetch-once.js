/**
 * Programs that are fetched when they are first needed: into a temporary folder, which is then renamed, so concurrent downloads are safe.
 */
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { FreshetError } from '../errors.js'

/**
 * @param {object} what
 * @param {string} what.folder where it will be
 * @param {() => Promise<boolean>} what.isThere
 * @param {string} what.name with its version
 * @param {number} what.megabytes of the download
 * @param {string} what.instead advice for a machine that cannot fetch it
 * @param {(workshop: string) => Promise<string>} what.fetch gets an empty folder; resolves with the folder in it that becomes `folder`
 * @param {(line: string) => void} what.report
 * @param {AbortSignal} [what.signal]
 * @returns {Promise<string>} the folder
 * @throws {FreshetError} ENGINE_MISSING
 */
export async function fetchOnce ({ folder, isThere, name, megabytes, instead, fetch, report, signal }) {
  if (await isThere()) return folder
  report(`fetching ${name} (${megabytes} MB), once`)
  await mkdir(dirname(folder), { recursive: true })
  const workshop = await mkdtemp(`${dirname(folder)}/fetching-`)
  try {
    await rename(await fetch(workshop), folder)
    return folder
  } catch (error) {
    if (await isThere()) return folder
    signal?.throwIfAborted()
    const reason = String(error.stderr || error.message).trim().split('\n')[0]
    throw new FreshetError('ENGINE_MISSING', `${name} could not be fetched (${reason}); ${instead}`, { cause: error })
  } finally {
    await rm(workshop, { recursive: true, force: true })
  }
}
