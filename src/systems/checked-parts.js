/**
 * The kind of each part of a definition: what of it is a table, a function, a text. A part of another kind, and a name that no part has,
 * are faults; what is right is checked in detail (checked-routes.js).
 *
 * @typedef {(given: any) => boolean} Is
 * @typedef {readonly [is: Is, expected: string]} Kind
 */

/** @type {Is} an object of a module, of any prototype */
export const isTable = (given) => Object(given) === given && !Array.isArray(given) && typeof given !== 'function' && !(given instanceof URL)
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
export function shown (given) {
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
export function checkedParts (given) {
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
