/** Migrations: files of SQL that are run once each, in the order of their names, and never changed. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { FreshetError } from './errors.js'

const FOLDER = new URL('migrations/', import.meta.url)
/** of the lock that concurrent processes take, any number */
const LOCK = 7_319_402

/**
 * @param {import('./database.js').Database} database @param {URL} [folder] of the files
 * @returns {Promise<string[]>} names of those that were run @throws {FreshetError} DATABASE_DIFFERS, DATABASE_DOWN
 */
export async function migrate (database, folder = FOLDER) {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort()
  const files = await Promise.all(names.map(async (name) => {
    const text = await readFile(new URL(name, folder), 'utf8')
    return { name, text, hash: createHash('sha256').update(text).digest('hex') }
  }))
  return database.transaction(async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    await client.query('CREATE TABLE IF NOT EXISTS freshet_migrations (name text PRIMARY KEY, hash text NOT NULL, ' +
      'applied_at timestamptz NOT NULL DEFAULT now())')
    const { rows } = await client.query('SELECT name, hash FROM freshet_migrations')
    for (const { name, hash } of rows) expectSame(name, hash, files)
    const due = files.filter(({ name }) => !rows.some((row) => row.name === name))
    for (const { name, text, hash } of due) {
      await client.query(text)
      await client.query('INSERT INTO freshet_migrations (name, hash) VALUES ($1, $2)', [name, hash])
    }
    return due.map(({ name }) => name)
  })
}

/** @param {string} name @param {string} hash @param {{ name: string, hash: string }[]} files */
function expectSame (name, hash, files) {
  const file = files.find((one) => one.name === name)
  if (file?.hash === hash) return
  const how = file ? 'has with another text' : 'does not have'
  throw new FreshetError('DATABASE_DIFFERS', `the database has the migration ${name}, which this version ${how}; use the one that made it`)
}
