/**
 * A real PostgreSQL for tests. Files share one if the runner starts it (`shareDatabase`), with a schema of its own for each caller
 * (`sharedDatabase`); a file that runs alone starts its own. Tests that crash it, fill its disk or count its connections always do
 * (`startDatabase`).
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { crashPostgres } from '../lab/servers/postgres.js'
import { createPostgres } from '../src/embedded/postgres/database.js'
import { migrate, openDatabase } from '../src/sql/index.js'
import { loadSystems } from '../src/systems/list.js'
import { CACHE_DIR } from './commands.js'
import { silentLog } from './servers.js'

const SHARED = 'FRESHET_TEST_DATABASE'
const DEADLINE_MS = 20_000

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
  await migrateAt(started.url)
  return started
}

/** @param {string} url */
async function migrateAt (url) {
  const database = openDatabase({ url, name: 'test', max: 1, deadlineMs: DEADLINE_MS, log: silentLog })
  await migrate(database, (await loadSystems()).flatMap(({ migrations }) => migrations ?? []))
  await database.close()
}

/**
 * One PostgreSQL for all files that ask for a shared one, if there are several.
 * @param {import('tap').Test} t it ends with it
 * @param {string[]} files
 * @returns {Promise<Record<string, string>>} environment of these files
 */
export async function shareDatabase (t, files) {
  const wanting = files.filter((file) => /\bsharedDatabase\b/.test(readFileSync(file, 'utf8')))
  return wanting.length > 1 ? { [SHARED]: (await startDatabase(t)).url } : {}
}

/**
 * An empty schema that nothing else uses, of a database that other files use at the same time.
 * @param {import('tap').Test} t @param {{ isMigrated?: boolean }} [options] `isMigrated`: with the tables of systems
 * @returns {Promise<{ url: string, query: (text: string, values?: unknown[]) => Promise<any[]> }>}
 */
export async function sharedDatabase (t, { isMigrated = false } = {}) {
  const server = process.env[SHARED] ?? (await startDatabase(t)).url
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await query(server, `CREATE SCHEMA ${name}`)
  const url = `${server}?options=-csearch_path%3D${name}`
  if (isMigrated) await migrateAt(url)
  // a new connection for each question of a poll would cost more than its answer
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  pool.on('error', () => {})
  t.teardown(() => pool.end())
  return { url, query: async (text, values) => (await pool.query(text, values)).rows }
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
