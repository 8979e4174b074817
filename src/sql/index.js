/**
 * The database of the systems: PostgreSQL.
 *
 * @typedef {import('./database.js').Client} Client
 * @typedef {import('./database.js').Database} Database
 */
import './errors.js'

export { addressOf, openDatabase } from './database.js'
export { migrate } from './migrate.js'
export { keepSecret } from './secrets.js'
