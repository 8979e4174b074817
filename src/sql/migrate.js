/**
 * Migrations: files of SQL that are run once each, in the order of their names, and never changed. Each system has a folder of them; their
 * names begin with it, as in `orders-001-sagas.sql`.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { FreshetError } from './errors.js'

const FOLDER = new URL('migrations/', import.meta.url)
/** The lock that concurrent processes take: any number. */
const LOCK = 7_319_402

/** @param {string} name @returns {string} the system */
const ownerOf = (name) => name.replace(/-\d+-.*$/, '')

/** @param {URL} folder */
async function filesIn (folder) {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql'))
  return Promise.all(names.map(async (name) => {
    const text = await readFile(new URL(name, folder), 'utf8')
    return { name, text, hash: createHash('sha256').update(text).digest('hex') }
  }))
}

/**
 * @param {import('./database.js').Database} database @param {readonly URL[]} [folders] of systems
 * @returns {Promise<string[]>} names of those that were run: all or none @throws {FreshetError} DATABASE_DIFFERS, MIGRATION_FAILED,
 *   DATABASE_DOWN, DATABASE_TIMEOUT
 */
export async function migrate (database, folders = []) {
  const files = (await Promise.all([FOLDER, ...folders].map(filesIn))).flat().sort((a, b) => a.name < b.name ? -1 : 1)
  return database.transaction(async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    await client.query('CREATE TABLE IF NOT EXISTS freshet_migrations (name text PRIMARY KEY, hash text NOT NULL, ' +
      'applied_at timestamptz NOT NULL DEFAULT now())')
    const { rows } = await client.query('SELECT name, hash FROM freshet_migrations')
    for (const { name, hash } of rows) expectSame(name, hash, files)
    const due = files.filter(({ name }) => !rows.some((row) => row.name === name))
    for (const { name, text, hash } of due) {
      await client.query(text).catch((error) => { throw failureOf(name, error) })
      await client.query('INSERT INTO freshet_migrations (name, hash) VALUES ($1, $2)', [name, hash])
    }
    return due.map(({ name }) => name)
  })
}

/** @param {string} name @param {Error & { retryable?: boolean }} error */
const failureOf = (name, error) => error.retryable
  ? error
  : new FreshetError('MIGRATION_FAILED', `migration ${name}: ${error.message}; no migration was run, mend this one`, { cause: error })

/** @param {string} name @param {string} hash @param {{ name: string, hash: string }[]} files */
function expectSame (name, hash, files) {
  const file = files.find((migration) => migration.name === name)
  // the tables of other systems are none of this process
  if (file ? file.hash === hash : !files.some((migration) => ownerOf(migration.name) === ownerOf(name))) return
  const how = file ? 'has with another text' : 'does not have'
  throw new FreshetError('DATABASE_DIFFERS', `the database has the migration ${name}, which this version ${how}; use the one that made it`)
}
