/** The check of what a module of a user has for the processes: routes, consumers with their tables and metrics, and errors of its own. */
import { readdir } from 'node:fs/promises'
import { define, kindOf, SettingsInvalid } from '../errors.js'
import { NAME, NAMED } from './checked-definition.js'

/** @import { System } from './face.js' */

const CODE = /^[A-Z][A-Z0-9_]{2,63}$/
const METHODS = Object.freeze(['POST', 'PUT', 'DELETE'])
const ACCESS = Object.freeze(['write', 'admin', 'public'])
const TYPES = Object.freeze(['string', 'integer', 'boolean'])
const KEYWORDS = Object.freeze(['type', 'description', 'optional', 'enum', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum'])

/** @param {unknown} given */
function shown (given) {
  if (typeof given === 'string') return `'${given}'`
  return Object(given) === given ? `a value of type ${typeof given}` : String(given)
}

/** @param {boolean} isRight @param {string} where @param {unknown} given @param {string} expected */
const unless = (isRight, where, given, expected) => isRight ? [] : [`${where}: ${shown(given)}; expected ${expected}`]

/** @param {object} row @param {string} where @param {string[]} names */
const functionsOf = (row, where, names) => names.flatMap((name) => {
  const part = /** @type {any} */ (row)[name]
  return unless(typeof part === 'function', `${where}.${name}`, part, 'a function')
})

/** @param {unknown} path @param {string} where @param {boolean} [hasKey] */
const faultsOfPath = (path, where, hasKey = false) => [
  ...unless(typeof path === 'string' && path.startsWith('/'), `${where}.path`, path, 'a text that begins with /'),
  ...unless(!hasKey || String(path).split('/:').length === 2, `${where}.path`, path, 'one parameter, such as :id: the key')
]

/** @param {string} name @param {any} field @param {string} where */
function faultsOfField (name, field, where) {
  const unknown = Object.keys(field ?? {}).find((keyword) => !KEYWORDS.includes(keyword))
  return [
    ...unless(TYPES.includes(field?.type), `${where}.body.${name}.type`, field?.type, TYPES.join(' | ')),
    ...unless(unknown === undefined, `${where}.body.${name}`, unknown, KEYWORDS.join(' '))
  ]
}

/** @param {any} row @param {string} where @param {(code: string) => boolean} isKnown */
function faultsOfCommand ({ method = 'POST', path, access = 'write', body = {}, replies, ...row }, where, isKnown) {
  const isReply = (/** @type {any} */ reply) => typeof reply === 'number' ? reply >= 200 && reply < 300 : isKnown(reply)
  return [
    ...faultsOfPath(path, where),
    ...unless(METHODS.includes(method), `${where}.method`, method, METHODS.join(' | ')),
    ...unless(ACCESS.includes(access), `${where}.access`, access, ACCESS.join(' | ')),
    ...functionsOf(row, where, ['command']),
    ...Object.entries(body).flatMap(([name, field]) => faultsOfField(name, field, where)),
    ...unless(Object(replies) === replies, `${where}.replies`, replies, 'an object: by code of the rule a status, or the code of an error'),
    ...Object.entries(Object(replies)).flatMap(([code, reply]) =>
      unless(isReply(reply), `${where}.replies.${code}`, reply, 'a status from 200 to 299, or a code of errors'))
  ]
}

/** @param {unknown} given @param {string} where */
const faultsOfFolder = (given, where) => given === undefined
  ? []
  : unless(given instanceof URL && given.pathname.endsWith('/'), where, given, 'the URL of a folder, which ends with /')

/**
 * Files of other systems have other names, so each is run once in a database that they share.
 * @param {URL} folder @param {string} name of the system
 */
async function faultsOfMigrations (folder, name) {
  const files = await readdir(folder).catch(({ message }) => {
    throw new SettingsInvalid([`system ${name}: migrations: unreadable (${message})`])
  })
  const isRight = (/** @type {string} */ file) => file.startsWith(`${name}-`) && /^\d+-.+\.sql$/.test(file.slice(name.length + 1))
  return [
    // files of another system, or of Freshet itself, would begin with it
    ...unless(!/-\d+(-|$)/.test(name) && name !== 'engine', 'name', name, 'no number after a hyphen, and not engine, with migrations'),
    ...files.filter((file) => !isRight(file)).map((file) => `migrations: '${file}'; expected a name such as ${name}-001-tables.sql`)
  ]
}

/**
 * Defines the errors of a system.
 * @param {System} given
 * @throws {SettingsInvalid} with all faults; no error is defined then
 */
export async function checkRoutes ({
  name, errors = {}, unknown, commands = {}, queries = {}, stream, consumers = {}, migrations, metrics, page
}) {
  // before codes are looked at: modules are loaded side by side
  const misnamed = migrations instanceof URL ? await faultsOfMigrations(migrations, name) : []
  const isKnown = (/** @type {string} */ code) => Object.hasOwn(errors, code) || kindOf(code) !== undefined
  const faults = [
    ...Object.entries(errors).flatMap(([code, { status, meaning } = /** @type {any} */ ({})]) => [
      ...unless(CODE.test(code), 'errors', code, 'A-Z, then A-Z 0-9 _'),
      ...unless(Number.isInteger(status) && status >= 400 && status < 500, `errors.${code}.status`, status, '400 to 499'),
      ...unless(typeof meaning === 'string' && meaning !== '', `errors.${code}.meaning`, meaning, 'a text'),
      ...kindOf(code) === undefined ? [] : [`errors.${code}: this code is ${kindOf(code)?.domain}'s; choose another one`]
    ]),
    ...unknown === undefined ? [] : unless(isKnown(unknown), 'unknown', unknown, 'a code of errors'),
    ...Object.entries(commands).flatMap(([command, row]) => faultsOfCommand(row, `commands.${command}`, isKnown)),
    ...Object.entries(queries).flatMap(([query, row]) =>
      [...faultsOfPath(row.path, `queries.${query}`, true), ...functionsOf(row, `queries.${query}`, ['shown'])]),
    ...stream === undefined ? [] : [...faultsOfPath(stream.path, 'stream', true), ...functionsOf(stream, 'stream', ['snapshot', 'event'])],
    ...Object.keys(consumers).flatMap((consumer) =>
      [...unless(NAME.test(consumer), 'consumers', consumer, NAMED), ...functionsOf(consumers, 'consumers', [consumer])]),
    ...metrics === undefined ? [] : unless(typeof metrics === 'function', 'metrics', metrics, 'a function'),
    ...faultsOfFolder(page, 'page'),
    ...faultsOfFolder(migrations, 'migrations'),
    ...misnamed
  ]
  if (faults.length > 0) throw new SettingsInvalid(faults.map((fault) => `system ${name}: ${fault}`))
  define(name, errors)
}
