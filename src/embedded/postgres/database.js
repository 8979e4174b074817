/**
 * The embedded PostgreSQL of one supervisor. Its data is new each time, as that of the servers is.
 *
 * As root it runs as `nobody`, which may not enter the folder of a checkout; programs and data are then in a folder of their own, outside.
 */
import { createHash } from 'node:crypto'
import { cp, lstat, mkdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { FreshetError } from '../../errors.js'
import { createGuard } from '../guard.js'
import { identity, isOpenToOthers, startCluster } from './data-folder.js'
import { pinnedPostgres } from './pinned.js'

const OPEN_TO_OTHERS = 0o711

/**
 * @param {{ folder: string, cacheDir: string, report: (line: string) => void, signal: AbortSignal,
 *   fail: (error: FreshetError) => void }} options `folder`: of its data; `fail` is called when it ends by itself
 */
export function createPostgres ({ folder, cacheDir, report, signal, fail }) {
  const guard = createGuard()
  /** @type {import('./data-folder.js').Cluster | null} */
  let cluster = null
  /** The folder that is removed at the end. @type {string | null} */
  let home = null

  return {
    /**
     * @returns {Promise<{ url: string, folder: string }>} `folder`: of its data, which may be elsewhere
     * @throws {FreshetError} ENGINE_MISSING, SERVERS_FAILED
     */
    async start () {
      const fetched = await pinnedPostgres({ cacheDir, report, signal })
      const isOwn = (await identity()).uid === undefined
      // also where `nobody` may go at the moment: the first command closes the folder of the checkout
      const programs = isOwn ? fetched : join(await outside(fetched, copyPrograms), basename(fetched))
      const isInside = isOwn || await isOpenToOthers(join(folder, '..'))
      home = isInside ? folder : await outside(folder)
      const data = isInside ? folder : join(home, 'database')
      await rm(data, { recursive: true, force: true })
      cluster = await startCluster({ programs, folder: data, signal })
      guard.watch([cluster.pid])
      cluster.exited.then((how) => fail(new FreshetError('SERVERS_FAILED',
        `the embedded PostgreSQL ended (${how}), and its data is lost; run the command again to start with an empty one`)))
      return { url: cluster.url, folder: data }
    },

    /** To be called after `start` has settled. */
    async close () {
      await cluster?.stop()
      guard.release()
      if (home) await rm(home, { recursive: true, force: true })
    }
  }
}

/**
 * A folder that every user may enter, in place of one that only its owner may.
 * @param {string} inside @param {(inside: string, outside: string) => Promise<void>} [fill]
 * @returns {Promise<string>}
 */
async function outside (inside, fill = async () => {}) {
  const folder = join(tmpdir(), `freshet-${createHash('sha256').update(inside).digest('hex').slice(0, 16)}`)
  await mkdir(folder, { mode: OPEN_TO_OTHERS }).catch((error) => { if (error.code !== 'EEXIST') throw error })
  const { uid } = await lstat(folder)
  if (uid !== process.getuid?.()) throw new FreshetError('SERVERS_FAILED', `${folder} belongs to another user; remove it, or set TMPDIR`)
  await fill(inside, folder)
  return folder
}

/** Kept for the next time. @param {string} programs @param {string} folder */
async function copyPrograms (programs, folder) {
  const copy = join(folder, basename(programs))
  if (await lstat(copy).catch(() => null)) return
  const copying = `${copy}-${process.pid}`
  await cp(programs, copying, { recursive: true, verbatimSymlinks: true })
  await rename(copying, copy).catch(() => rm(copying, { recursive: true }))
}
