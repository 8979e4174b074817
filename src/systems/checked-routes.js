/** The check of what a module of a user has for the processes: routes, consumers with their tables and metrics, and errors of its own. */
import { readdir } from 'node:fs/promises'
import { define, kindOf, SettingsInvalid } from '../errors.js'
import { schemaFault } from '../fields/index.js'
// they define codes that routes may have, and http compiles the schemas of fields
import '../http/index.js'
import '../sql/index.js'
import { faultsOfDriver, NAME, NAMED } from './checked-definition.js'
import { SYSTEM_NAMES } from './names.js'
import { TYPES as SETTING_TYPES } from './settings.js'

/** @import { System } from './definition.js' */

/**
 * The kind of each part of a definition: what of it is a table, a function, a text. A part of another kind, and a name that no part has,
 * are faults; what is right is checked in detail (checkRoutes).
 *
 * @typedef {(given: any) => boolean} Is
 * @typedef {readonly [is: Is, expected: string]} Kind
 */

/** @type {Is} an object of a module, of any prototype */
const isTable = (given) => Object(given) === given && !Array.isArray(given) && typeof given !== 'function' && !(given instanceof URL)
const isText = (/** @type {unknown} */ given) => typeof given === 'string'
const isFunction = (/** @type {unknown} */ given) => typeof given === 'function'
const isWhole = (/** @type {unknown} */ given) => Number.isSafeInteger(given) && Number(given) >= 0
/** @type {(is: Is, other: Is) => Is} */
const either = (is, other) => (given) => is(given) || other(given)

/** @type {Readonly<Record<string, Kind>>} */
const KINDS = Object.freeze({
  table: [isTable, 'an object'],
  text: [isText, 'a text'],
  flag: [(given) => typeof given === 'boolean', 'true or false'],
  function: [isFunction, 'a function'],
  whole: [isWhole, 'an integer of 0 or more'],
  texts: [(given) => Array.isArray(given) && given.every(isText), 'a list of texts'],
  tables: [(given) => [given].flat().every(isTable), 'an object, or a list of them'],
  fields: [(given) => isTable(given) && Object.values(given).every(isTable), 'an object of fields'],
  handlers: [either(isTable, isFunction), 'an object, or a function'],
  named: [either(isText, isFunction), 'a text, or a function'],
  any: [() => true, '']
})

/** @type {(kind: string, names: string) => Record<string, string>} */
const of = (kind, names) => Object.fromEntries(names.split(' ').map((name) => [name, kind]))

/** Parts by name, with their kinds. Those that are checked elsewhere are `any`. */
const SYSTEM = Object.freeze({
  ...of('table', 'errors settings commands queries rows demo memory'),
  ...of('function', 'gateway reader findings isLetterNeeded logged'),
  ...of('flag', 'hasRows isUncached needsDatabase keepsSecret keepsUnread'),
  ...of('text', 'unknown driver'),
  stream: 'tables',
  consumers: 'handlers'
})
const ERROR = Object.freeze({ ...of('any', 'status meaning'), retryable: 'flag', exitStatus: 'whole' })
const COMMAND = Object.freeze({
  ...of('any', 'method path access command replies run codes'), body: 'fields', schemas: 'table', summary: 'text', isRaw: 'flag'
})
const QUERY = Object.freeze({
  ...of('any', 'path access shown run codes'),
  ...of('table', 'reply replies'),
  ...of('text', 'summary type'),
  fields: 'fields',
  isOfDatabase: 'flag',
  none: 'function'
})
const STREAM = Object.freeze({
  ...of('any', 'path snapshot event source codes subject'),
  fields: 'fields',
  reply: 'table',
  summary: 'text',
  named: 'named',
  keyOf: 'function'
})
const DEMO = Object.freeze({ ...of('text', 'about commands tasks beside'), settings: 'texts', crowd: 'function' })
const MEMORY = Object.freeze(of('whole', 'maxKeys tail'))

/**
 * @param {any} given @param {Readonly<Record<string, string>>} parts @param {string} where
 * @param {boolean} [isWhole] whether it has no others
 * @returns {string[]} faults
 */
function faultsOf (given, parts, where, isWhole = true) {
  if (!isTable(given)) return [`${where}: ${shown(given)}; expected an object`]
  return Object.keys(given).flatMap((name) => {
    const part = where === '' ? name : `${where}.${name}`
    if (!Object.hasOwn(parts, name)) return isWhole ? [`${part} is unknown; expected ${Object.keys(parts).join(' ')}`] : []
    const [is, expected] = KINDS[parts[name]]
    return given[name] === undefined || is(given[name]) ? [] : [`${part}: ${shown(given[name])}; expected ${expected}`]
  })
}

/** @param {unknown} given @returns {string} */
function shown (given) {
  if (typeof given === 'string') return `'${given}'`
  if (Array.isArray(given)) return 'a list'
  return Object(given) === given ? `a value of type ${typeof given}` : String(given)
}

/** What of it is of the right kind. @param {any} given @param {Readonly<Record<string, string>>} parts */
const saneOf = (given, parts) => Object.fromEntries(Object.entries(given).filter(([name, part]) =>
  !Object.hasOwn(parts, name) || part === undefined || KINDS[parts[name]][0](part)))

/**
 * @param {any} rows by name @param {Readonly<Record<string, string>>} parts of each @param {string} where
 * @returns {{ faults: string[], rows: any }}
 */
function checkedRows (rows, parts, where) {
  if (!isTable(rows)) return { faults: [], rows: undefined }
  const all = Object.entries(rows)
  return {
    faults: all.flatMap(([name, row]) => faultsOf(row, parts, `${where}.${name}`)),
    rows: Object.fromEntries(all.flatMap(([name, row]) => isTable(row) ? [[name, saneOf(row, parts)]] : []))
  }
}

/**
 * @param {Record<string, any>} given a definition
 * @returns {{ faults: string[], sane: Record<string, any> }} `sane`: those parts that are of the right kind
 */
function checkedParts (given) {
  const sane = saneOf(given, SYSTEM)
  const { stream, demo = {}, memory = {} } = sane
  const ofRows = { errors: ERROR, commands: COMMAND, queries: QUERY }
  const checked = Object.entries(ofRows).map(([part, parts]) => /** @type {const} */ ([part, checkedRows(sane[part], parts, part)]))
  const streams = stream === undefined ? [] : [stream].flat()
  return {
    faults: [
      ...faultsOf(given, SYSTEM, '', false),
      ...checked.flatMap(([, { faults }]) => faults),
      ...streams.flatMap((row) => faultsOf(row, STREAM, 'stream')),
      ...faultsOf(demo, DEMO, 'demo'),
      ...faultsOf(memory, MEMORY, 'memory')
    ],
    sane: {
      ...sane,
      ...Object.fromEntries(checked.map(([part, { rows }]) => [part, rows])),
      stream: streams.map((row) => saneOf(row, STREAM))
    }
  }
}

const CODE = /^[A-Z][A-Z0-9_]{2,63}$/
const METHODS = Object.freeze(['POST', 'PUT', 'DELETE'])
const ACCESS = Object.freeze(['write', 'admin', 'public'])
const READ_ACCESS = Object.freeze(['read', 'write', 'admin'])
const TYPES = Object.freeze(['string', 'integer', 'boolean'])
const SETTING = /^[a-z][a-zA-Z0-9]{0,63}$/
const PARTS_OF_SETTINGS = Object.freeze([
  'description', 'type', 'default', 'unit', 'minimum', 'maximum', 'enum', 'pattern', 'read', 'expects', 'hint', 'secret', 'uses',
  'otherwise', 'fits'
])
const KEYWORDS = Object.freeze(['type', 'description', 'optional', 'enum', 'pattern', 'minLength', 'maxLength', 'minimum', 'maximum'])

const SUBJECT = /^[a-z][a-zA-Z]{0,31}$/
/** query parameters of /v1/live */
const TAKEN = Object.freeze(['feed', 'limit', 'maxRate', 'id', 'encoding', 'tail', 'since'])

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
  // a function of `fields` has made it
  if (typeof field?.read === 'function') return []
  const unknown = Object.keys(field ?? {}).find((keyword) => !KEYWORDS.includes(keyword))
  return [
    ...unless(TYPES.includes(field?.type), `${where}.body.${name}.type`, field?.type, TYPES.join(' | ')),
    ...unless(unknown === undefined, `${where}.body.${name}`, unknown, KEYWORDS.join(' '))
  ]
}

/**
 * Requests compile schemas; one of a user that cannot be is a fault of the definition.
 * @param {Record<string, any>} sane parts of a definition @returns {string[]}
 */
function faultsOfSchemas ({ commands = {}, queries = {}, stream }) {
  const tables = [
    ...Object.entries(commands).map(([command, { body = {} }]) => ({ where: `commands.${command}.body`, fields: body })),
    ...Object.entries(queries).map(([query, { fields = {} }]) => ({ where: `queries.${query}.fields`, fields })),
    ...stream.map((/** @type {any} */ { fields = {} }) => ({ where: 'stream.fields', fields }))
  ]
  return tables.flatMap(({ where, fields }) => Object.entries(fields).flatMap(([name, { optional: _optional, ...field }]) => {
    const why = schemaFault(Object(field.schema ?? field))
    return why === null ? [] : [`${where}.${name}: the schema cannot be used (${why}); expected JSON Schema`]
  }))
}

/** @param {unknown} replies @param {string} where @param {(code: string) => boolean} isKnown */
function faultsOfReplies (replies, where, isKnown) {
  const isReply = (/** @type {any} */ reply) => typeof reply === 'number' ? reply >= 200 && reply < 300 : isKnown(reply)
  return [
    ...unless(isTable(replies), `${where}.replies`, replies, 'an object: by code of the rule a status, or the code of an error'),
    ...Object.entries(Object(replies)).flatMap(([code, reply]) =>
      unless(isReply(reply), `${where}.replies.${code}`, reply, 'a status from 200 to 299, or a code of errors'))
  ]
}

/** @param {any} row @param {string} where @param {(code: string) => boolean} isKnown */
function faultsOfCommand ({ method = 'POST', path, access = 'write', body = {}, ...row }, where, isKnown) {
  const { run, schemas, codes, replies } = row
  return [
    ...faultsOfPath(path, where),
    ...unless(METHODS.includes(method), `${where}.method`, method, METHODS.join(' | ')),
    ...unless(ACCESS.includes(access), `${where}.access`, access, ACCESS.join(' | ')),
    ...functionsOf(row, where, [run === undefined ? 'command' : 'run']),
    ...Object.entries(body).flatMap(([name, field]) => faultsOfField(name, field, where)),
    ...run === undefined
      ? faultsOfReplies(replies, where, isKnown)
      : unless(Object(schemas) === schemas, `${where}.schemas`, schemas, 'JSON Schema by status'),
    ...faultsOfCodes(codes, where, isKnown)
  ]
}

/** @param {unknown} codes @param {string} where @param {(code: string) => boolean} isKnown */
const faultsOfCodes = (codes, where, isKnown) => Array.isArray(codes)
  ? codes.flatMap((code) => unless(isKnown(code), `${where}.codes`, code, 'a code of errors'))
  : unless(codes === undefined, `${where}.codes`, codes, 'a list of codes of errors')

/** @param {any} row @param {string} where @param {(code: string) => boolean} isKnown */
const faultsOfQuery = (row, where, isKnown) => [
  ...faultsOfPath(row.path, where, row.run === undefined),
  ...unless(row.access === undefined || READ_ACCESS.includes(row.access), `${where}.access`, row.access, READ_ACCESS.join(' | ')),
  ...functionsOf(row, where, [row.run === undefined ? 'shown' : 'run']),
  ...faultsOfCodes(row.codes, where, isKnown)
]

/** @param {any} row @param {string} where @param {(code: string) => boolean} isKnown */
const faultsOfStream = (row, where, isKnown) => [
  ...faultsOfPath(row.path, where, row.source === undefined),
  ...functionsOf(row, where, row.source === undefined ? ['snapshot', 'event'] : ['source']),
  ...unless(row.subject === undefined || (SUBJECT.test(row.subject) && !TAKEN.includes(row.subject)), `${where}.subject`, row.subject,
    `a word, such as auction, other than ${TAKEN.join(' ')}`),
  ...faultsOfCodes(row.codes, where, isKnown)
]

/** @param {any} rows @param {string} where */
const faultsOfRows = (rows, where) => Object.entries(Object(rows)).flatMap(([writer, given]) => [
  ...unless(NAME.test(writer), where, writer, NAMED),
  ...typeof given === 'function' ? [] : functionsOf(Object(given), `${where}.${writer}`, ['write'])
])

/** Without a status clients get none. @param {any} status @param {unknown} retryable */
const isStatus = (status, retryable) => status === undefined || (Number.isInteger(status) && status >= 400 && status < 500) ||
  ([502, 503, 504].includes(status) && retryable === true)

/** @param {string} name @param {any} setting */
function faultsOfSetting (name, setting) {
  const where = `settings.${name}`
  if (Object(setting) !== setting) return unless(false, where, setting, 'an object with a description')
  const { description, type = 'string', uses = [], read, expects, enum: words, ...rest } = setting
  const unknown = Object.keys(setting).find((part) => !PARTS_OF_SETTINGS.includes(part))
  return [
    ...unless(SETTING.test(name), 'settings', name, 'a-z first, then a-z A-Z 0-9'),
    ...unless(unknown === undefined, where, unknown, PARTS_OF_SETTINGS.join(' ')),
    ...unless(typeof description === 'string' && description !== '', `${where}.description`, description, 'a text'),
    ...unless(SETTING_TYPES.includes(type), `${where}.type`, type, SETTING_TYPES.join(' | ')),
    ...unless(Array.isArray(uses), `${where}.uses`, uses, 'a list of commands'),
    ...unless(words === undefined || (Array.isArray(words) && words.length > 0), `${where}.enum`, words, 'a list of texts'),
    ...unless(read === undefined || typeof expects === 'string', `${where}.expects`, expects, 'a text about what read takes'),
    ...functionsOf(setting, where, ['read', 'otherwise', 'fits'].filter((part) => setting[part] !== undefined)),
    ...['minimum', 'maximum'].flatMap((part) =>
      unless(rest[part] === undefined || Number.isFinite(rest[part]), `${where}.${part}`, rest[part], 'a number'))
  ]
}

/** @param {any} metrics */
const faultsOfMetrics = (metrics) => typeof metrics === 'object' && typeof (metrics?.reader ?? metrics?.consumers) === 'function'
  ? Object.keys(metrics).flatMap((part) => unless(['reader', 'consumers'].includes(part), 'metrics', part, 'reader and consumers'))
  : unless(metrics === undefined || typeof metrics === 'function', 'metrics', metrics, 'a function')

/** @param {any} page */
function faultsOfPage (page) {
  if (page === undefined || page instanceof URL || Object(page) !== page) return faultsOfFolder(page, 'page')
  const { folder, file, summary = '' } = page
  return [
    ...folder === undefined
      ? unless(typeof file === 'string' && file.endsWith('.html'), 'page.file', file, 'a page of Freshet such as auctions.html')
      : faultsOfFolder(folder, 'page.folder'),
    ...unless(typeof summary === 'string', 'page.summary', summary, 'a text')
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
export async function checkRoutes (given) {
  const { faults: misshaped, sane } = checkedParts(given)
  const { name, errors = {}, unknown, settings = {}, commands = {}, queries = {}, stream, consumers = {}, rows = {}, driver } = sane
  const { migrations, metrics, page } = given
  // before codes are looked at: modules are loaded side by side
  const misnamed = migrations instanceof URL ? await faultsOfMigrations(migrations, name) : []
  const isKnown = (/** @type {string} */ code) => Object.hasOwn(errors, code) || kindOf(code) !== undefined
  const faults = [
    ...misshaped,
    ...Object.entries(errors).flatMap(([code, { status, meaning, retryable }]) => [
      ...unless(CODE.test(code), 'errors', code, 'A-Z, then A-Z 0-9 _'),
      ...unless(isStatus(status, retryable), `errors.${code}.status`, status, '400 to 499, or 502 to 504 with retryable'),
      ...unless(typeof meaning === 'string' && meaning !== '', `errors.${code}.meaning`, meaning, 'a text'),
      ...[undefined, name].includes(kindOf(code)?.domain)
        ? []
        : [`errors.${code}: this code is ${kindOf(code)?.domain}'s; choose another one`]
    ]),
    ...Object.entries(settings).flatMap(([setting, row]) => faultsOfSetting(setting, row)),
    ...unknown === undefined ? [] : unless(isKnown(unknown), 'unknown', unknown, 'a code of errors'),
    ...Object.entries(commands).flatMap(([command, row]) => faultsOfCommand(row, `commands.${command}`, isKnown)),
    ...Object.entries(queries).flatMap(([query, row]) => faultsOfQuery(row, `queries.${query}`, isKnown)),
    ...stream.flatMap((/** @type {any} */ row) => faultsOfStream(row, 'stream', isKnown)),
    ...typeof consumers === 'function'
      ? []
      : Object.keys(consumers).flatMap((consumer) =>
        [...unless(NAME.test(consumer), 'consumers', consumer, NAMED), ...functionsOf(consumers, 'consumers', [consumer])]),
    ...SYSTEM_NAMES.includes(name) ? [] : faultsOfSchemas(sane),
    ...faultsOfRows(rows, 'rows'),
    ...faultsOfDriver({ driver, rows, consumers }),
    ...faultsOfMetrics(metrics),
    ...faultsOfPage(page),
    ...faultsOfFolder(migrations, 'migrations'),
    ...misnamed
  ]
  if (faults.length > 0) throw new SettingsInvalid(faults.map((fault) => `system ${name}: ${fault}`))
  define(name, Object.fromEntries(Object.entries(errors).filter(([code]) => kindOf(code) === undefined)))
}
