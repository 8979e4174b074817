/**
 * The scripts of the lab, and the same bodies as functions. They are no part of what a writer may use, so they stand here
 * and not in lua/; their headers have the same parts.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { FreshetError } from '../../errors.js'

const FOLDER = new URL('./lua/', import.meta.url)

/** @typedef {import('../../store/connection.js').Connection} Connection */

/** @param {string} name @returns {string} */
const bodyOf = (name) => readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8')

/**
 * @param {Connection} connection @param {string} name of a file in lua/
 * @returns {Promise<string>} its digest, for EVALSHA
 */
export async function loadScript (connection, name) {
  const body = bodyOf(name)
  await connection.send('SCRIPT', 'LOAD', body)
  return createHash('sha1').update(body).digest('hex')
}

/**
 * Makes a function of a script, in a library of its own.
 * @param {Connection} connection @param {string} name of a file in lua/
 * @param {string} library its name and that of the function; what stands under it is replaced
 * @throws {FreshetError} SERVER_REFUSED where the server has no functions
 */
export async function loadFunction (connection, name, library) {
  const body = `#!lua name=${library}\nredis.register_function('${library}', function (KEYS, ARGV)\n${bodyOf(name)}\nend)\n`
  try {
    await connection.send('FUNCTION', 'LOAD', 'REPLACE', body)
  } catch (error) {
    if (!/unknown command/i.test(error.message)) throw error
    throw new FreshetError('SERVER_REFUSED', `the server at ${connection.address} has no functions; this load needs Valkey, or Redis from 7.0 on`)
  }
}
