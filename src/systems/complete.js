/**
 * A definition, checked and completed: what it leaves out gets its default, so that every process reads one form. No part gets another name
 * or meaning.
 *
 *     commands   command + replies  ->  also run, schemas and codes
 *     queries    shown              ->  also run, fields and codes
 *     stream     one                ->  a list
 *     consumers  handlers by name   ->  a function that returns them
 *
 * @import { KeyState } from '../admission/index.js'
 * @import { CommandRoute, Findings, OwnCommand, QueryRoute, StreamRoute, System } from './definition.js'
 * @import { Definition } from './parts.js'
 */
import { memoryOf, oursIn } from '../admission/index.js'
import { asError, FreshetError, kindOf, SettingsInvalid } from '../errors.js'
import { optional, plainField } from '../fields/index.js'
import { createServers } from '../store/index.js'
import { checkedDefinition } from './checked-definition.js'
import { checkRoutes } from './checked-routes.js'
import { commandOf, throwIfRefused } from './decisions.js'
import { connect } from './opening.js'
import { loggerOf } from './options.js'
import { sinceFields } from './schemas.js'

const ANY = Object.freeze({ type: 'object', additionalProperties: true })
const NO_KEY = 'KEY_UNKNOWN'
const DEMO = Object.freeze({ about: 'a system of a user', commands: 'send commands here', tasks: 'scheduled tasks run when they are due' })
/** a module may be loaded by several processes in one @type {WeakMap<object, Promise<Definition>>} */
const made = new WeakMap()

/**
 * @param {System} system
 * @returns {Promise<Definition>} @throws {SettingsInvalid} with all faults
 */
export function definitionOf (system) {
  const making = made.get(system) ?? complete(system)
  if (Object(system) === system) made.set(system, making)
  return making
}

/** @param {System} system @returns {Promise<Definition>} */
async function complete (system) {
  const { rules, durability = 'memory' } = await checkedDefinition(system)
  await checkRoutes(system)
  const ours = oursIn(rules)
  const { certain, ...memory } = ours?.memory ?? memoryOf(rules)
  const { name, commands = {}, queries = {}, stream = [], consumers = {}, unknown = NO_KEY, migrations, metrics, page } = system
  return {
    demo: DEMO,
    needsDatabase: migrations !== undefined,
    isUncached: Object.keys(certain).length === 0,
    rows: {},
    gateway: () => ({}),
    reader: () => ({}),
    findings: ours
      ? undefined
      : ({ redisUrl, keyPrefix }, deadlineMs) => findingsOf(name, rules, { redisUrl, keyPrefix, deadlineMs }),
    ...system,
    rules,
    hasLua: ours === null,
    durability,
    unknown,
    commands: Object.fromEntries(Object.entries(commands).map(([command, row]) =>
      [command, commandRow(row, `${name}.commands.${command}`, rules)])),
    queries: Object.fromEntries(Object.entries(queries).map(([query, row]) => [query, row.run ? row : shownRow(row, unknown)])),
    stream: [stream].flat().map((row) => streamRow(row, unknown)),
    consumers: typeof consumers === 'function' ? consumers : () => ({ handlers: consumers }),
    metrics: typeof metrics === 'function' ? { consumers: (registry) => counted(name, () => metrics(registry)) } : metrics,
    page: page && { summary: `The page of ${name}`, ...page instanceof URL ? { isOfCommands: true, folder: page } : page },
    memory: { ...system.memory, rules: { certain, ...memory } }
  }
}

/** @template T @param {string} name @param {() => T} run metrics of the system @returns {T} @throws {SettingsInvalid} */
function counted (name, run) {
  try {
    return run()
  } catch (error) {
    throw new SettingsInvalid([`system ${name}: metrics throws (${asError(error).message}); expected metrics with names of their own`])
  }
}

/** @param {unknown} thrown @returns {never} */
const rethrow = (thrown) => { throw asError(thrown) }

/** @template {unknown[]} A @template R @param {((...args: A) => R) | undefined} run of a user @returns {(...args: A) => R} */
const guarded = (run) => (...args) => {
  try {
    const result = /** @type {(...args: A) => R} */ (run)(...args)
    return result instanceof Promise ? /** @type {any} */ (result.catch(rethrow)) : result
  } catch (thrown) {
    return rethrow(thrown)
  }
}

/**
 * Of doctor: whether the server takes its rules.
 * @param {string} system @param {Record<string, any>} rules with Lua
 * @param {{ redisUrl: string | null, keyPrefix: string, deadlineMs: number }} options
 * @returns {Promise<Findings>}
 */
async function findingsOf (system, rules, { redisUrl, keyPrefix, deadlineMs }) {
  const versions = Object.entries(rules).map(([rule, { version }]) => `${rule} ${version}`).join(', ')
  if (redisUrl === null) return { rows: [[`system ${system}`, versions]], problems: [] }
  const parts = { name: `freshet-doctor-${process.pid}:${system}`, deadlineMs, log: loggerOf(null) }
  const servers = createServers({ redisUrl, isReading: false, isAsked: false, ...parts })
  const { ruleSet, routes, prepare, close } = connect(rules, { servers, system, keyPrefix, durability: 'memory', ...parts })
  try {
    await prepare()
    const stored = await ruleSet.storedVersions(routes.router)
    return { rows: [[`system ${system}`, versions, stored.length > 0 ? `stored: ${stored.join(', ')}` : 'not stored yet']], problems: [] }
  } catch (error) {
    return { rows: [[`system ${system}`, versions, 'unusable']], problems: [`${error.message}.`] }
  } finally {
    await close()
    await servers.close()
  }
}

/**
 * @param {CommandRoute | OwnCommand} row @param {string} where for messages @param {Record<string, object>} rules
 * @returns {Definition['commands'][string]}
 */
function commandRow (row, where, rules) {
  const { body = {}, command, replies = {} } = row
  const statuses = Object.values(replies).filter((reply) => typeof reply === 'number')
  const codes = [...new Set(Object.values(replies).filter((reply) => typeof reply === 'string'))]
  return {
    schemas: Object.fromEntries(statuses.map((status) => [status, ANY])),
    codes,
    /** @param {any} request @param {any} systemCommands @param {any} parts */
    async run (request, systemCommands, parts) {
      const made = commandOf(await guarded(command)(request, systemCommands, parts), rules)
      const decision = await parts.submit({ ...made, requestId: request.requestId })
      const { code, details, seq, isReplay } = Object.hasOwn(replies, decision.code) ? decision : throwIfRefused(decision, {})
      const reply = Object.hasOwn(replies, code) ? replies[code] : undefined
      if (reply === undefined) throw new FreshetError('RULE_FAILED', `the rule answered ${code}; add it to ${where}.replies`)
      if (typeof reply === 'number') return { status: reply, body: { code, ...details, seq }, isReplay }
      const isBare = Object.keys(details).length === 0
      throw new FreshetError(reply, `${kindOf(reply)?.meaning}${isBare ? '' : `: ${JSON.stringify(details)}`}`, isBare ? {} : { details })
    },
    ...row,
    body: Object.fromEntries(Object.entries(body).map(([name, field]) =>
      [name, /** @type {any} */ (typeof field.read === 'function' ? field : fieldOf(name, field))]))
  }
}

/** A field of a body, from its JSON Schema. @param {string} name @param {any} schema */
function fieldOf (name, { optional: isOptional, description, ...schema }) {
  const field = plainField(schema)(String(description ?? name))
  return isOptional ? optional(field) : field
}

/** @param {QueryRoute} row that shows a key @param {string} unknown @returns {Definition['queries'][string]} */
const shownRow = (row, unknown) => ({
  reply: ANY,
  codes: [unknown],
  ...row,
  fields: sinceFields(),
  async run ({ params, query }, systemQueries, _reply, { reading, view }) {
    const keyState = await reading.since(Object.values(params)[0], query)
    return guarded(row.shown)(view.storedOf(keyState), reading.kept(keyState.key), systemQueries)
  }
})

/** @param {StreamRoute} row @param {string} unknown @returns {Definition['stream'][number]} */
function streamRow (row, unknown) {
  const { snapshot, event, named = ({ type }) => type } = row
  return {
    reply: ANY,
    codes: [unknown],
    ...row,
    snapshot: guarded(snapshot),
    event: guarded(event),
    named: typeof named === 'string' ? () => named : guarded(named)
  }
}
