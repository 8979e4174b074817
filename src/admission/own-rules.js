/**
 * Rules of users: their text becomes a part of lua/admit.lua, in which each is a chunk of its own.
 *
 *     text ──▶ compiled alone ──▶ chunk without redis, KEYS, ... ──▶ its version and digest are stored ──▶ lua/admit.lua
 *
 * The script is a function of a library of the server, whose name says of which system it is (stop-script.js).
 *
 * Nothing of the engine is in the scope of a chunk: chunks come first in the script, and what the server offers is shadowed by locals that
 * are nil. That keeps a rule from reaching other keys by mistake. It is no fence against an attacker: a rule can fill the memory of the
 * server.
 *
 * A process asks for the stored version with each call, so an older process decides nothing once a newer one has stored its rules.
 *
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {Pick<import('../store/index.js').Router, 'runScript'>} Router to the primaries
 * @typedef {import('./rules.js').Fields} Fields
 * @typedef {object} OwnRule
 * @property {string} text Lua @property {number} version @property {number} [keepEvents] newest events of a key that are kept, about
 * @property {readonly string[]} [keeps] of KEPT_PARTS @property {number} [maxArgBytes] of the arguments of a command, all together
 * @property {(state: Fields, args: readonly string[]) => Certain | null | undefined} [certain] a rejection that stays true within a
 *   generation
 * @property {(args: readonly string[]) => string} [claimant] the user of a command; an earlier claim of that user is the answer
 * @property {(state: Fields, event: OwnEvent) => Record<string, string | number | null | undefined>} [fold] the
 *   state after an event
 * @property {readonly string[]} [durations] of a rule of ours: its tasks that are durations
 * @typedef {string | { code: string, details?: Record<string, string | number> }} Certain
 * @typedef {ReturnType<typeof createOwnRules>} OwnRules
 */
import { hash } from 'node:crypto'
import { HIDDEN, libraryOf, partOf, scriptWith } from '../store/index.js'
import { FreshetError } from './errors.js'
import { rulesKey } from './system.js'
import { fieldsOf, generationOf } from './outbox.js'
import { OWN_CHUNK_HEAD, ownChunkOf, reservedIn } from './rule-text.js'

/**
 * What is stored of a key with rules of a user, as callers of the library see it. The engine's own fields begin with an at sign, so that a
 * rule may name its fields as it likes.
 *
 * For the memory of keys, folds and certain rejections see a state without the engine's fields too, and what they throw costs a read of the
 * key, or a call, and nothing else.
 *
 * @typedef {{ seq: number, type: string, ts: number, [field: string]: string | number }} OwnEvent
 *
 * @import { RuleFolds } from './rules.js'
 */

/** The names of the engine's fields in the state. */
export const OWN_NAMES = Object.freeze({ seq: '@seq', version: '@version', exists: '@version' })
/** The type of an entry for readers: the state changed without an event. */
const CHANGED = '@changed'

/** `@done` has requests that an earlier call had stored events of when it failed. @param {Record<string, string>} fields of the hash */
function stateOf ({ '@seq': seq = '0', '@version': version = '0', '@done': _, ...state }) {
  return { state, seq: Number(seq), version: Number(version) }
}

/**
 * A key as callers of the library, queries and streams see it.
 * @param {{ key: string, fields: Fields, generation: string }} keyState @param {RuleFolds['names']} names of the engine's fields
 */
export function storedOf ({ key, fields, generation }, names) {
  if (names === OWN_NAMES) return { key, ...stateOf(fields), generation }
  const { [names.seq]: seq = '0', [names.version]: version = '0', ...state } = fields
  return { key, state, seq: Number(seq), version: Number(version), generation }
}

/**
 * @param {import('../store/index.js').Connection} connection to the primary
 * @param {(part: string) => string} part of the partition @param {string} key
 * @param {RuleFolds['names']} [names] of the engine's fields
 * @returns {Promise<{ key: string, state: Record<string, string>, seq: number, version: number, generation: string } | null>}
 */
export async function readState (connection, part, key, names = OWN_NAMES) {
  const [flat, generation] = await connection.sendAll([['HGETALL', part(`state:${key}`)], ['HMGET', part('generation'), 'lineage', 'n']])
  if (flat.length === 0) return null
  return storedOf({ key, fields: fieldsOf(flat), generation: generationOf(generation) }, names)
}

/** @param {Record<string, string>} fields of an event @returns {OwnEvent} */
export function eventOf ({ seq, ts, request, version, type, ...fields }) {
  return { seq: Number(seq), type, ts: Number(ts), ...fields }
}

/** @param {Record<string, OwnRule>} rules @returns {RuleFolds} */
export const memoryOf = (rules) => ({
  names: OWN_NAMES,
  folds: Object.fromEntries(Object.entries(rules).flatMap(([name, { fold }]) => fold ? [[name, foldWith(fold)]] : [])),
  certain: Object.fromEntries(Object.entries(rules).flatMap(([name, { certain }]) => certain ? [[name, certainWith(certain)]] : [])),
  claimants: Object.fromEntries(Object.entries(rules).flatMap(([name, { claimant }]) => claimant ? [[name, claimant]] : []))
})

/** @param {NonNullable<OwnRule['fold']>} fold */
const foldWith = (fold) => (/** @type {Fields} */ fields, /** @type {Fields} */ event) => {
  if (event.type === CHANGED) return false
  try {
    const next = fold(stateOf(fields).state, eventOf(event))
    for (const name of Object.keys(fields)) delete fields[name]
    for (const [name, value] of Object.entries(next)) if (value !== undefined && value !== null) fields[name] = String(value)
    Object.assign(fields, { [OWN_NAMES.seq]: event.seq, [OWN_NAMES.version]: event.version })
    return true
  } catch {
    return false
  }
}

/** @param {NonNullable<OwnRule['certain']>} certain */
const certainWith = (certain) => (/** @type {Fields} */ fields, /** @type {string[]} */ args) => {
  try {
    const rejection = certain(stateOf(fields).state, args)
    if (!rejection) return null
    const { code, details = {} } = typeof rejection === 'string' ? { code: rejection } : rejection
    return { code, details: Object.entries(details).flat() }
  } catch {
    return null
  }
}

/** The fields of a state that the engine writes: number of the last event, and version. Rules do not see them. */
const SHOWN = `local shown = { '${OWN_NAMES.seq}', '${OWN_NAMES.version}' }`
/** What the chunk of a rule gets, made once; again at times, because it remembers patterns. */
const GUARDS = `local argumentsOf, calls = {}, 0
local function guardsOf ()
${partOf('guards')}
return { guards() }
end
local function guards (rule)
  calls = calls + 1
  if calls % 1000 == 0 then argumentsOf = {} end
  argumentsOf[rule] = argumentsOf[rule] or guardsOf()
  return unpack(argumentsOf[rule], 1, 7)
end`
/** The chunks come before the scripts, instead of this line of compile-rule. */
const CHUNKS = 'local rules = {}'
/** Servers name the text of a script so in errors. */
const LINE = /@?user_(?:script|function):(\d+)/g
const KILLED = /Script killed by user/
/** Advice that errors of Lua do not give. */
const HINTS = /** @type {[RegExp, string][]} */ ([
  [/modify a readonly table|create global variable/, 'declare variables of a rule with local'],
  [/compare (string with number|number with string)/, 'values of the state and arguments are texts: compare tonumber(...)'],
  [/'read' \(a nil value\)|index field '(members|holds|waiting)' \(a nil value\)/, 'a rule reads what it keeps: name the part in keeps'],
  [new RegExp(`'(${HIDDEN.join('|')})' \\(a nil value\\)`), 'a rule cannot use it']
])

const linesIn = (/** @type {string} */ text) => text.split('\n').length

/** What the names of the libraries of a system begin with. @param {string} keyPrefix @param {string} system */
export const ownerOf = (keyPrefix, system) =>
  `freshet_${system.replaceAll('-', '_')}_${hash('sha1', `${keyPrefix}\0${system}`).slice(0, 12)}`

/** @param {Connection} connection @param {string} owner @param {string} [kept] the name of one that stays */
export async function deleteLibraries (connection, owner, kept) {
  const libraries = /** @type {unknown[][]} */ (await connection.sendDispensable('FUNCTION', 'LIST', 'LIBRARYNAME', `${owner}_*`))
  const others = libraries.map(([, name]) => String(name)).filter((name) => name !== kept)
  await Promise.all(others.map((name) => connection.sendDispensable('FUNCTION', 'DELETE', name)))
}

/** @param {{ keyPrefix: string, system: string, rules: Record<string, OwnRule> }} options */
export function createOwnRules ({ keyPrefix, system, rules }) {
  const names = Object.keys(rules)
  const digestOf = (/** @type {OwnRule} */ { text, keeps = [] }) => hash('sha1', [text, ...keeps].join('\0'))
  const stored = names.map((name) => /** @type {const} */ ([name, String(rules[name].version), digestOf(rules[name])]))
  const table = (/** @type {string[]} */ rows) => `{\n${rows.join(',\n')}\n}`
  const owner = ownerOf(keyPrefix, system)
  const { admit, compile } = libraryOf({
    owner,
    head: `local rules = ${table(names.map((name) => `['${name}'] = ${ownChunkOf(rules[name].text)}`))}`,
    scripts: {
      admit: scriptWith('admit', partOf('rules'), 'local versions, keptEvents, parts = ' + [
        table(stored.map(([name, version, digest]) => `['${name}'] = '${version} ${digest}'`)),
        table(names.flatMap((name) => rules[name].keepEvents === undefined ? [] : `['${name}'] = ${rules[name].keepEvents}`)),
        table(names.flatMap((name) => rules[name].keeps ? [`['${name}'] = {${rules[name].keeps.map((part) => `'${part}'`).join()}}`] : []))
      ].join(', ') + `\n${SHOWN}\n${GUARDS}`),
      compile: scriptWith('compile-rule', CHUNKS, '')
    }
  })
  const explain = explainer(admit.body, names.map((name) => [name, rules[name].text]))

  /** @param {string} message @param {Record<string, unknown>} [facts] */
  function failed (message, facts) {
    const { text, ...where } = explain(message)
    return new FreshetError('RULE_FAILED', `a rule of ${system} failed: ${text}`, { ...where, ...facts })
  }

  const unusable = (/** @type {string} */ rule, /** @type {string} */ why) =>
    new FreshetError('RULE_FAILED', `rule ${rule} of ${system} cannot be used: ${why}`, { rule })

  /** @param {any} error of a call @returns {any} what it means */
  function meaningOf (error) {
    if (!KILLED.test(error.message)) return error
    return failed('it ran longer than the server allows (busy-reply-threshold) and was stopped; nothing of its call was stored',
      { isStopped: true })
  }

  return {
    script: admit,
    names,
    owner,
    versions: stored,
    versionsOf: () => stored,
    isAgreedEverywhere: true,
    /** Its tasks that are durations (partition-clock.js). */
    durations: names.flatMap((name) => rules[name].durations ?? (rules[name].keeps?.includes('holds') ? [`${name} expire`] : [])),
    /** A scheduled task is decided only while it is due, and removed then. */
    isDueOnly: true,
    /** What it has of a key besides state and events. @param {string} rule */
    partsOf: (rule) => rules[rule].keeps ?? [],
    /** Folds and certain rejections, for a memory of keys such as the rejection cache. */
    memory: memoryOf(rules),
    meaningOf,

    /** Compiles each rule alone. @param {Connection} connection @throws {FreshetError} RULE_FAILED */
    async check (connection) {
      for (const [name, { text }] of Object.entries(rules)) {
        const reserved = reservedIn(text)
        if (reserved) throw unusable(name, `${reserved} is a name of the engine; use another one`)
        const why = String(await connection.runScript('compile-rule', [], [text, ''])).replace(LINE, 'line $1') ||
          explain(String(await connection.runScript(compile, [], ['', name]).catch((error) => { throw meaningOf(error) }))).text
        if (why) throw unusable(name, why)
      }
    },

    /** Deletes libraries of other versions of the rules; processes that still use one load it again. @param {Connection} connection */
    tidy: (connection) => deleteLibraries(connection, owner, admit.library),

    /**
     * Versions as they are stored, without storing any.
     * @param {Pick<import('../store/index.js').Router, 'send'>} router @returns {Promise<string[]>} such as `hall 2`
     */
    async storedVersions (router) {
      const stored = await router.send('HMGET', rulesKey(keyPrefix, system), ...names.map((name) => `rule:${name}`))
      return names.flatMap((name, i) => stored[i] === null ? [] : [`${name} ${String(stored[i]).split(' ')[0]}`])
    },

    /**
     * @param {string} reply lines @returns {import('./batcher.js').Decision & { accepted: boolean }}
     * @throws {FreshetError} RULE_FAILED, REQUEST_DIFFERS
     */
    decisionOf (reply) {
      const [status, code, seq, version, details] = reply.split('\n')
      if (status === 'failed') throw failed(code)
      if (status === 'other_body') {
        throw new FreshetError('REQUEST_DIFFERS', `a request with this id was accepted with other arguments by ${system}; use another id`)
      }
      const isReplay = status === 'replay'
      const accepted = isReplay || status === 'accepted'
      return { code, accepted, seq: Number(seq), version: Number(version), isReplay, details: JSON.parse(details) }
    }
  }
}

/**
 * Errors of a script name its lines; of those that are from a rule, this says which line of the rule.
 * @param {string} body @param {[name: string, text: string][]} rules that are in it, in this order
 * @returns {(message: string) => { text: string, rule?: string, line?: number }}
 */
function explainer (body, rules) {
  let at = 0
  const ranges = rules.map(([name, text]) => {
    at = body.indexOf(OWN_CHUNK_HEAD, at) + OWN_CHUNK_HEAD.length
    const first = linesIn(body.slice(0, at))
    return { name, first, last: first + linesIn(text) - 1 }
  })
  return (message) => {
    /** @type {{ rule?: string, line?: number }} */
    let location = {}
    const text = message.replace(LINE, (whole, number) => {
      const range = ranges.find(({ first, last }) => first <= Number(number) && Number(number) <= last)
      if (range === undefined) return whole
      location = { rule: range.name, line: Number(number) - range.first + 1 }
      return `${location.rule}, line ${location.line}`
    })
    const hint = HINTS.find(([pattern]) => pattern.test(text))?.[1]
    return { text: hint ? `${text}; ${hint}` : text, ...location }
  }
}
