/** The scripts of the lab, also loadable as functions. They are not in lua/, because the product does not use them. */
import { readFileSync, readdirSync } from 'node:fs'
import { readScript } from '../../src/store/index.js'
import { FreshetError } from '../errors.js'

const FOLDER = new URL('./lua/', import.meta.url)
/** by name @type {Readonly<Record<string, string>>} */
export const LAB_SCRIPTS = Object.freeze(Object.fromEntries(readdirSync(FOLDER)
  .map((file) => [file.replace(/\.lua$/, ''), readFileSync(new URL(file, FOLDER), 'utf8')])))

/** @typedef {import('../../src/store/index.js').Connection} Connection */

/**
 * @param {Connection} connection @param {string} name of a file in lua/
 * @returns {Promise<string>} its digest, for EVALSHA
 */
export async function loadScript (connection, name) {
  const { body, sha } = readScript(name, LAB_SCRIPTS)
  await connection.send('SCRIPT', 'LOAD', body)
  return sha
}

/**
 * Loads a script as a function, in a library of its own.
 * @param {Connection} connection @param {string} name of a file in lua/
 * @param {string} library name of the library and of the function; replaced if it exists
 * @throws {FreshetError} SERVER_REFUSED where the server has no functions
 */
export async function loadFunction (connection, name, library) {
  const body =
    `#!lua name=${library}\nredis.register_function('${library}', function (KEYS, ARGV)\n${readScript(name, LAB_SCRIPTS).body}\nend)\n`
  try {
    await connection.send('FUNCTION', 'LOAD', 'REPLACE', body)
  } catch (error) {
    if (!/unknown command/i.test(error.message)) throw error
    throw new FreshetError('SERVER_REFUSED',
      `the server at ${connection.address} has no functions; this load needs Valkey, or Redis 7.0 or later`)
  }
}
