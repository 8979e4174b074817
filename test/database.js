/** A real PostgreSQL for tests: one per test file, with a database of its own for each caller. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { crashPostgres } from '../lab/servers/postgres.js'
import { createPostgres } from '../src/store/embedded/postgres/database.js'
import { migrate, openDatabase } from '../src/sql/index.js'
import { CACHE_DIR } from './commands.js'
import { silentLog } from './servers.js'

/**
 * @param {import('tap').Test} t @param {{ folder?: string }} [options] `folder` for its data, which every system user may enter
 * @returns {Promise<{ url: string, folder: string, query: (text: string, values?: unknown[]) => Promise<any[]>,
 *   crash: () => Promise<void> }>} `folder` of its data; `crash`: ends it with SIGKILL, and starts it again on its data and port
 */
export async function startDatabase (t, { folder: wanted } = {}) {
  const folder = wanted ?? await mkdtemp(join(tmpdir(), 'freshet-postgres-test-'))
  const ending = new AbortController()
  const postgres = createPostgres({
    folder: join(folder, 'database'), cacheDir: CACHE_DIR, report: () => {}, signal: ending.signal, fail: () => {}
  })
  t.teardown(async () => {
    await postgres.close()
    if (!wanted) await rm(folder, { recursive: true, force: true })
  })
  const { url, folder: data } = await postgres.start()
  const crash = async () => t.teardown((await crashPostgres(url, data)).stop)
  return { url, folder: data, query: (text, values) => query(url, text, values), crash }
}

/** With the tables of systems. @param {import('tap').Test} t @param {{ folder?: string }} [options] */
export async function startMigratedDatabase (t, options) {
  const started = await startDatabase(t, options)
  const database = openDatabase({ url: started.url, name: 'test', max: 1, deadlineMs: 5000, log: silentLog })
  await migrate(database)
  await database.close()
  return started
}

/** On a connection of its own. @param {string} url @param {string} text @param {unknown[]} [values] @returns {Promise<any[]>} */
export async function query (url, text, values) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}
