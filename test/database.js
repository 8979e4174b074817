/** A real PostgreSQL for tests: one per test file, with a database of its own for each caller. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createPostgres } from '../src/store/embedded/postgres/database.js'
import { migrate, openDatabase } from '../src/sql/index.js'
import { CACHE_DIR } from './commands.js'
import { silentLog } from './servers.js'

/** @param {import('tap').Test} t @returns {Promise<{ url: string, query: (text: string, values?: unknown[]) => Promise<any[]> }>} */
export async function startDatabase (t) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-postgres-test-'))
  const ending = new AbortController()
  const postgres = createPostgres({
    folder: join(folder, 'database'), cacheDir: CACHE_DIR, report: () => {}, signal: ending.signal, fail: () => {}
  })
  t.teardown(async () => {
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  })
  const { url } = await postgres.start()
  return { url, query: (text, values) => query(url, text, values) }
}

/** With the tables of systems. @param {import('tap').Test} t */
export async function startMigratedDatabase (t) {
  const started = await startDatabase(t)
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
