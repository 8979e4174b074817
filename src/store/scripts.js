/**
 * Lua scripts. Those of lua/ come from a module that is written from that folder, because a bundle has no folder beside it.
 * A script names its parts in a header (KEYS, ARGV, RETURNS, COST, MODE), which a test compares with the body. A line
 * `-- @include NAME` is replaced by lua/includes/NAME.lua, and `rules/NAME` by the chunk of that rule, which may include parts of its own.
 * What comes before a line `-- @call` is made once where the script is a function of a library, and with each call otherwise.
 */
import { createHash } from 'node:crypto'
import { LUA } from './lua.js'

const INCLUDE = /^-- @include ([a-z/-]+)$/gm
/** Folders whose files are parts of scripts. */
const PARTS = /^(includes|rules)\//

const CALL = '-- @call\n'
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

/** @type {Map<string, Script>} of ours, by name */
const cache = new Map()

/** @param {Readonly<Record<string, string>>} [texts] @returns {string[]} names of all scripts; included parts are not scripts */
export const scriptNames = (texts = LUA) => Object.keys(texts).filter((name) => !PARTS.test(name)).sort()

/**
 * @param {string} name of a file in lua/, without its ending, such as `trim-ids`
 * @param {Readonly<Record<string, string>>} [texts] other scripts, by name
 * @returns {Script} `body` with its includes
 * @throws {Error} no such script, or a header without MODE: a mistake in this program
 */
export function readScript (name, texts = LUA) {
  const cached = texts === LUA && cache.get(name)
  if (cached) return cached
  const script = scriptOf(name, withIncludes(textOf(name, texts)))
  if (texts === LUA) cache.set(name, script)
  return script
}

/** @param {string} name @param {Readonly<Record<string, string>>} [texts] @returns {string} */
function textOf (name, texts = LUA) {
  if (!Object.hasOwn(texts, name)) throw new Error(`there is no script ${name}; \`npm run lua\` writes those of lua/ into src/store/lua.js`)
  return texts[name]
}

/** @param {string} name @param {string} body @returns {Script} */
function scriptOf (name, body) {
  const headers = Object.fromEntries([...body.matchAll(/^-- ([A-Z]+) +(.*)$/gm)].map(([, part, text]) => [part, text]))
  if (headers.MODE !== 'read' && headers.MODE !== 'writes') throw new Error(`${name}.lua: header MODE must be read or writes`)
  return { name, body, sha: createHash('sha1').update(body).digest('hex'), mode: headers.MODE, headers }
}

/** What an include stands for. @param {string} name such as `guards` */
export const partOf = (name) => withIncludes(`-- @include ${name}`)

/**
 * A script with a part of it replaced.
 * @param {string} name @param {string} part that it has @param {string} other in its place @returns {Script}
 */
export const scriptWith = (name, part, other) => scriptOf(name, readScript(name).body.replace(part, () => other))

/** @param {Script} script @param {string} call its name in a library @returns {string} */
function functionOf ({ body }, call) {
  const at = body.indexOf(CALL)
  if (at < 0) return `redis.register_function('${call}', function (KEYS, ARGV)\n${body}\nend)\n`
  return `local KEYS, ARGV\n${body.slice(0, at)}redis.register_function('${call}', function (keys, argv)\nKEYS, ARGV = keys, argv\n` +
    `${body.slice(at + CALL.length)}\nend)\n`
}

/**
 * Scripts as functions of one library of the server. A busy server names the function that it runs (FUNCTION STATS), and no script.
 * @param {{ owner: string, head?: string, scripts: Record<string, Script> }} parts `owner`: the name of the library begins with it; `head`:
 *   what the functions share @returns {Record<string, Script>} by the same names
 */
export function libraryOf ({ owner, head = '', scripts }) {
  const text = [head, ...Object.values(scripts).map(({ body }) => body)].join('\n')
  const sha = createHash('sha1').update(text).digest('hex')
  const library = `${owner}_${sha.slice(0, 12)}`
  const body = `#!lua name=${library}\n${head}\n` +
    Object.entries(scripts).map(([name, script]) => functionOf(script, `${library}_${name}`)).join('')
  return Object.fromEntries(Object.entries(scripts).map(([name, script]) =>
    [name, { ...script, body, sha, library, call: `${library}_${name}` }]))
}

/** The text of a rule in lua/rules, with its parts. @param {string} name @returns {string} */
export const ruleText = (name) => withIncludes(textOf(`rules/${name}`).trimEnd())

/** @param {string} text @returns {string} */
const withIncludes = (text) => text.replace(INCLUDE, (_, part) => {
  const body = withIncludes(textOf(PARTS.test(part) ? part : `includes/${part}`).trimEnd())
  const [, rule] = RULE.exec(part) ?? []
  return rule ? `rules.${rule} = ${chunkOf(body)}\nversions.${rule} = '${versionOf(body)}'` : body
})

/** @param {string} text of a rule of ours @returns {string} its version and digest */
const versionOf = (text) => `${/^-- VERSION (\d+)$/m.exec(text)?.[1]} ${createHash('sha1').update(text).digest('hex')}`

/** @returns {Map<string, string>} version and digest of each rule in lua/rules, such as `1 0a4d...` */
export const versionsOfRules = () =>
  new Map([...readScript('admit').body.matchAll(/^versions\.([a-z]+) = '(.+)'$/gm)].map(([, rule, version]) => [rule, version]))
