/** Errors of the database. */
import { define } from '../errors.js'

define('database', {
  DATABASE_DOWN: { retryable: true, meaning: 'the database does not answer, or cannot execute statements now' },
  DATABASE_REFUSED: { meaning: 'the database rejected a statement' },
  DATABASE_TIMEOUT: { retryable: true, meaning: 'a statement took longer than the database may take' },
  MIGRATION_FAILED: { exitStatus: 2, meaning: 'the database rejected a migration, and its tables are as before' },
  DATABASE_DIFFERS: { exitStatus: 2, meaning: 'the tables were made by another version' }
})

export { FreshetError } from '../errors.js'
