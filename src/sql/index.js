/**
 * The database of the systems: PostgreSQL.
 *
 * @typedef {import('./database.js').Client} Client
 * @typedef {import('./database.js').Database} Database
 */
import './errors.js'

export { addressOf, openDatabase } from './database.js'
export { keepSecret, migrate } from './migrate.js'
