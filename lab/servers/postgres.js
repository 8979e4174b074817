/** A PostgreSQL of one measurement, in a folder of its own. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../../src/sql/index.js'
import { createPostgres, defaultCacheDir, ROOT, startPostgresServer } from '../../src/embedded/index.js'
import { silent } from '../systems/auctions/silent.js'

const DEADLINE_MS = 20_000

export async function startPostgres () {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-lab-'))
  const postgres = createPostgres({
    folder: join(folder, 'database'),
    cacheDir: defaultCacheDir(ROOT),
    report: () => {},
    signal: new AbortController().signal,
    fail: () => {}
  })
  const { url, folder: data } = await postgres.start()
  /** @type {Awaited<ReturnType<typeof crashPostgres>>[]} */
  const restarted = []
  return {
    url,
    /** Ends it with SIGKILL, and starts it again on its data and port. */
    async crash () { restarted.push(await crashPostgres(url, data)) },

    async close () {
      await restarted.at(-1)?.stop()
      await postgres.close()
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/**
 * Ends an embedded PostgreSQL with SIGKILL, and starts it again on its data, port and password.
 * @param {string} url @param {string} folder of its data
 * @returns {ReturnType<typeof startPostgresServer>}
 */
export async function crashPostgres (url, folder) {
  const database = openDatabase({ url, name: 'crash', max: 1, deadlineMs: DEADLINE_MS, log: silent })
  const { rows } = await database.query('SELECT pid FROM pg_stat_activity')
  const data = join(folder, 'data')
  const pidFile = join(data, 'postmaster.pid')
  const all = [parseInt(await readFile(pidFile, 'utf8')), ...rows.map(({ pid }) => pid)]
  const [program] = (await readFile(join(data, 'postmaster.opts'), 'utf8')).split(' ')
  for (const pid of all) signal(pid, 'SIGKILL')
  while (all.some((pid) => signal(pid, 0))) await sleep(10)
  await database.close()
  await rm(pidFile)
  const { port, password } = new URL(url)
  return startPostgresServer({ programs: join(program, '../..'), folder, port: Number(port), password })
}

/** @param {number} pid @param {NodeJS.Signals | 0} name @returns {boolean} whether there is such a process */
function signal (pid, name) {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
