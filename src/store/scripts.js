/**
 * Lua scripts, read from disk once. A script names its parts in a header (KEYS, ARGV, RETURNS, COST, MODE), which a test
 * compares with the body. A line `-- @include NAME` is replaced by lua/includes/NAME.lua, and `rules/NAME` by the chunk of that rule, which
 * may include parts of its own.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'

/** Scripts of Freshet itself. */
const FOLDER = new URL('../../lua/', import.meta.url)
const INCLUDE = /^-- @include ([a-z/-]+)$/gm
/** Folders whose files are parts of scripts. */
const PARTS = /^(includes|rules)\//

const RULE = /^rules\/([a-z]+)$/
/** What the chunk of a rule cannot use: the server, other keys, other code. */
export const HIDDEN = Object.freeze(['redis', 'server', 'KEYS', 'ARGV', '_G', 'getfenv', 'setfenv', 'load', 'loadstring', 'loadfile',
  'dofile', 'require', 'module', 'package', 'debug', 'os', 'io', 'cjson', 'cmsgpack', 'struct', 'coroutine', 'collectgarbage', 'gcinfo',
  'newproxy', 'print', 'xpcall', '__redis__err__handler', '__server__err__handler'])
/** The line before the text of a rule: names are nil in it, and its lines keep their distance. */
export const CHUNK_HEAD = `function () local ${HIDDEN.join(', ')}\n`

/** The chunk of a rule: a function that returns the rule. @param {string} text */
export const chunkOf = (text) => `${CHUNK_HEAD}${text}\nend`

/**
 * @typedef {{ name: string, body: string, sha: string, mode: 'read' | 'writes', headers: Record<string, string>, library?: string,
 *   call?: string }} Script `call`: the function of a library that runs it; the body is then that of the library
 */

/** @type {Map<string, Script>} by file */
const cache = new Map()

/**
 * @param {URL} [folder] with a slash at its end
 * @returns {string[]} names of all scripts in it and below; included parts are not scripts
 */
export const scriptNames = (folder = FOLDER) => readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.lua') && !PARTS.test(file)).map((file) => file.slice(0, -'.lua'.length)).sort()

/**
 * @param {string} name of a file in the folder, without its ending, such as `trim-ids`
 * @param {URL} [folder] with a slash at its end
 * @returns {Script} `body` with its includes
 * @throws {Error} no such file, or a header without MODE: a mistake in this program
 */
export function readScript (name, folder = FOLDER) {
  const file = new URL(`${name}.lua`, folder)
  const known = cache.get(file.href)
  if (known) return known
  const script = scriptOf(name, withIncludes(readFileSync(file, 'utf8')), file.pathname)
  cache.set(file.href, script)
  return script
}

/** @param {string} name @param {string} body @param {string} origin for messages @returns {Script} */
function scriptOf (name, body, origin) {
  const headers = Object.fromEntries([...body.matchAll(/^-- ([A-Z]+) +(.*)$/gm)].map(([, part, text]) => [part, text]))
  if (headers.MODE !== 'read' && headers.MODE !== 'writes') throw new Error(`${origin}: header MODE must be read or writes`)
  return { name, body, sha: createHash('sha1').update(body).digest('hex'), mode: headers.MODE, headers }
}

/**
 * A script with a part of it replaced.
 * @param {string} name @param {string} part that it has @param {string} other in its place @returns {Script}
 */
export const scriptWith = (name, part, other) => scriptOf(name, readScript(name).body.replace(part, () => other), name)

/**
 * Scripts as functions of one library of the server. A busy server names the function that it runs (FUNCTION STATS), and no script.
 * @param {{ owner: string, head: string, scripts: Record<string, Script> }} parts `owner`: the name of the library begins with it; `head`:
 *   what the functions share @returns {Record<string, Script>} by the same names
 */
export function libraryOf ({ owner, head, scripts }) {
  const text = [head, ...Object.values(scripts).map(({ body }) => body)].join('\n')
  const sha = createHash('sha1').update(text).digest('hex')
  const library = `${owner}_${sha.slice(0, 12)}`
  const body = `#!lua name=${library}\n${head}\n` + Object.entries(scripts).map(([name, script]) =>
    `redis.register_function('${library}_${name}', function (KEYS, ARGV)\n${script.body}\nend)\n`).join('')
  return Object.fromEntries(Object.entries(scripts).map(([name, script]) =>
    [name, { ...script, body, sha, library, call: `${library}_${name}` }]))
}

/** @param {string} text @returns {string} */
const withIncludes = (text) => text.replace(INCLUDE, (_, part) => {
  const body = withIncludes(readFileSync(new URL(`${PARTS.test(part) ? part : `includes/${part}`}.lua`, FOLDER), 'utf8').trimEnd())
  const [, rule] = RULE.exec(part) ?? []
  return rule ? `rules.${rule} = ${chunkOf(body)}\nversions.${rule} = '${versionOf(body)}'` : body
})

/** @param {string} text of a rule of ours @returns {string} its version and digest */
const versionOf = (text) => `${/^-- VERSION (\d+)$/m.exec(text)?.[1]} ${createHash('sha1').update(text).digest('hex')}`

/** @returns {Map<string, string>} version and digest of each rule in lua/rules, such as `1 0a4d...` */
export const versionsOfRules = () =>
  new Map([...readScript('admit').body.matchAll(/^versions\.([a-z]+) = '(.+)'$/gm)].map(([, rule, version]) => [rule, version]))
