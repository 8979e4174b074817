/** A PostgreSQL of one measurement, in a folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPostgres, defaultCacheDir } from '../../src/store/embedded/index.js'
import { ROOT } from '../../src/store/index.js'

export async function startPostgres () {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-lab-'))
  const postgres = createPostgres({
    folder: join(folder, 'database'),
    cacheDir: defaultCacheDir(ROOT),
    report: () => {},
    signal: new AbortController().signal,
    fail: () => {}
  })
  const { url } = await postgres.start()
  return {
    url,
    async close () {
      await postgres.close()
      await rm(folder, { recursive: true, force: true })
    }
  }
}
