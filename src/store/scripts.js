/**
 * The scripts of lua/, read once. Key count and mode come from the header of the file; a test holds header and body
 * together.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'

const FOLDER = new URL('../../lua/', import.meta.url)

/** @typedef {{ name: string, body: string, sha: string, mode: 'read' | 'writes', headers: Record<string, string> }} Script */

/** @type {Map<string, Script>} */
const cache = new Map()

/** @returns {string[]} names of all scripts */
export const scriptNames = () => readdirSync(FOLDER).filter((file) => file.endsWith('.lua')).map((file) => file.slice(0, -4))

/**
 * @param {string} name file name in lua/ without its ending
 * @returns {Script}
 */
export function readScript (name) {
  const known = cache.get(name)
  if (known) return known
  const body = readFileSync(new URL(`${name}.lua`, FOLDER), 'utf8')
  const headers = Object.fromEntries([...body.matchAll(/^-- ([A-Z]+) +(.*)$/gm)].map(([, part, text]) => [part, text]))
  if (headers.MODE !== 'read' && headers.MODE !== 'writes') throw new Error(`lua/${name}.lua: header MODE must be read or writes`)
  /** @type {Script} */
  const script = { name, body, sha: createHash('sha1').update(body).digest('hex'), mode: headers.MODE, headers }
  cache.set(name, script)
  return script
}
