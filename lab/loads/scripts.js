/** The scripts of the lab. They are not in lua/, because the product does not use them. */
import { readFileSync, readdirSync } from 'node:fs'
import { readScript } from '../../src/store/index.js'

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
