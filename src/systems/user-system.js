/**
 * A system of a user in the processes of Freshet: its definition (face.js) as one of ours (definition.js).
 *
 *     gateway    request -> command(given) -> admission -> replies[code]
 *     reader     request -> key in memory -> shown(stored); stream: snapshot(stored), event(event)
 *     consumers  as the library: its handlers, once its tables are made, and the scheduled tasks
 *
 * @import { KeyState } from '../admission/index.js'
 * @import { Definition } from './checked-definition.js'
 * @import { Findings, System } from './definition.js'
 * @import { Command, CommandRoute, QueryRoute, Stored, StreamRoute, System as UserSystem } from './face.js'
 */
import { eventOf, memoryOf, stateOf } from '../admission/index.js'
import { retry } from '../consumers/index.js'
import { asError, FreshetError, kindOf, SettingsInvalid } from '../errors.js'
import { checkedDefinition } from './checked-definition.js'
import { checkRoutes } from './checked-routes.js'
import { commandOf } from './command-arguments.js'
import { connect } from './connected.js'
import { createConsumers } from './consuming.js'
import { fieldsOf } from './fields.js'
import { loggerOf } from './options.js'
import { keyRow } from './schemas.js'

const ANY = Object.freeze({ type: 'object', additionalProperties: true })
const NO_KEY = 'KEY_UNKNOWN'
/** a module may be loaded by several processes in one @type {WeakMap<object, Promise<System>>} */
const made = new WeakMap()

/**
 * @param {UserSystem} given
 * @returns {Promise<System>} @throws {SettingsInvalid} with all faults
 */
export function systemOf (given) {
  const making = made.get(given) ?? make(given)
  if (Object(given) === given) made.set(given, making)
  return making
}

/** @param {UserSystem} given @returns {Promise<System>} */
async function make (given) {
  const definition = await checkedDefinition(given)
  await checkRoutes(given)
  const { name, commands = {}, queries = {}, stream, consumers = {}, unknown = NO_KEY, migrations, metrics: count, page } = given
  return {
    name,
    rules: [],
    own: definition.rules,
    unknown,
    durability: definition.durability ?? 'memory',
    isUncached: !Object.values(definition.rules).some(({ certain }) => certain),
    needsDatabase: migrations !== undefined,
    migrations,
    metrics: count && { consumers: (registry) => counted(name, () => count(registry)) },
    page: page && { summary: `The page of ${name}`, isOfCommands: true, folder: page },
    demo: { about: 'a system of a user', commands: 'send commands here', tasks: 'scheduled tasks run when they are due' },
    commands: Object.fromEntries(Object.entries(commands).map(([command, row]) =>
      [command, commandRow(row, `${name}.commands.${command}`)])),
    queries: Object.fromEntries(Object.entries(queries).map(([query, row]) => [query, queryRow(row, unknown)])),
    streams: stream === undefined ? [] : [streamRow(stream, unknown)],
    memory: { rules: memoryOf(definition.rules) },

    gateway: ({ admission }) => ({
      commands: { submit: (/** @type {Command} */ given) => admission.submit(commandOf(given, definition.rules)) }
    }),

    reader: ({ reading, view }) => ({
      queries: { reading },
      // its streams number events by the field of our own rules
      current: async (id) => {
        const one = await reading.current(id)
        return { ...one, fields: { ...one.fields, seq: String(view.seqOf(one)) } }
      }
    }),

    findings: ({ redisUrl, keyPrefix }, deadlineMs) => findingsOf(definition, { redisUrl, keyPrefix, deadlineMs }),

    async consumers ({ id, admission: { target, submit }, counters, log, database, migrated, metrics, signal, fail }) {
      const opened = createConsumers(target, { id, metrics: counters, rules: definition.rules, submit })
      const more = { metrics, ...database && { database: { query: database.query, transaction: database.transaction } } }
      const join = () => Promise.all(Object.entries(consumers).map(([consumer, handler]) =>
        retry(() => opened.consume(consumer, (entries, owned) => handler(entries, { ...owned, ...more })), {
          signal,
          isLast: ({ retryable }) => !retryable,
          onFailure: ({ message }) => log.warn({ system: name, consumer, reason: message }, 'a consumer cannot join')
        })))
      try {
        await opened.runTasks()
        if (!migrations) await join()
      } catch (error) {
        await opened.close()
        throw error
      }
      if (migrations) migrated.then(join).catch(fail)
      return { effects: Object.keys(consumers), close: opened.close }
    }
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

/** @template {unknown[]} A @template R @param {(...args: A) => R} run of a user @returns {(...args: A) => R} throws errors only */
const guarded = (run) => (...args) => {
  try {
    const result = run(...args)
    return result instanceof Promise ? /** @type {any} */ (result.catch(rethrow)) : result
  } catch (thrown) {
    return rethrow(thrown)
  }
}

/**
 * Of doctor: whether the server takes its rules.
 * @param {Definition} definition
 * @param {{ redisUrl: string | null, keyPrefix: string, deadlineMs: number }} options
 * @returns {Promise<Findings>}
 */
async function findingsOf ({ name: system, rules }, { redisUrl, keyPrefix, deadlineMs }) {
  const own = Object.entries(rules).map(([rule, { version }]) => `${rule} ${version}`).join(', ')
  if (redisUrl === null) return { rows: [[`system ${system}`, own]], problems: [] }
  const parts = { name: `freshet-doctor-${process.pid}:${system}`, durability: 'memory', log: loggerOf(null) }
  const { own: checked, routes, prepare, close } = connect(rules, { system, keyPrefix, primaryUrl: redisUrl, deadlineMs, ...parts })
  try {
    await prepare()
    const stored = await checked.storedVersions(routes.router)
    return { rows: [[`system ${system}`, own, stored.length > 0 ? `stored: ${stored.join(', ')}` : 'not stored yet']], problems: [] }
  } catch (error) {
    return { rows: [[`system ${system}`, own, 'unusable']], problems: [`${error.message}.`] }
  } finally {
    await close()
  }
}

/**
 * @param {CommandRoute} row @param {string} where for messages @returns {System['commands'][string]}
 */
function commandRow ({ method, path, access, summary, body = {}, command, replies }, where) {
  const statuses = Object.values(replies).filter((reply) => typeof reply === 'number')
  const codes = [...new Set(Object.values(replies).filter((reply) => typeof reply === 'string'))]
  return {
    method,
    path,
    access,
    summary,
    body: fieldsOf(body),
    replies: Object.fromEntries(statuses.map((status) => [status, ANY])),
    codes,
    async run (given, { submit }) {
      const { code, details, seq, isReplay } = await submit({ ...await guarded(command)(given), requestId: given.requestId })
      const reply = Object.hasOwn(replies, code) ? replies[code] : undefined
      if (reply === undefined) throw new FreshetError('RULE_FAILED', `the rule answered ${code}, which ${where}.replies does not have`)
      if (typeof reply === 'number') return { status: reply, body: { code, ...details, seq }, isReplay }
      const isBare = Object.keys(details).length === 0
      throw new FreshetError(reply, `${kindOf(reply)?.meaning}${isBare ? '' : `: ${JSON.stringify(details)}`}`, isBare ? {} : { details })
    }
  }
}

/** @param {KeyState} current @returns {Stored} */
const storedOf = ({ key, fields: { seq: _, ...fields }, generation }) => ({ key, ...stateOf(fields), generation })

/** @param {QueryRoute} row @param {string} unknown @returns {System['queries'][string]} */
const queryRow = ({ path, summary, reply = ANY, shown }, unknown) => keyRow({
  path,
  summary,
  reply,
  codes: [unknown],
  shown: (current, { reading }) => guarded(shown)(storedOf(current), reading.kept(current.key))
})

/** @param {StreamRoute} row @param {string} unknown @returns {System['streams'][number]} */
const streamRow = ({ path, summary, snapshot, event }, unknown) => ({
  path,
  summary,
  reply: ANY,
  codes: [unknown],
  snapshot: (current) => guarded(snapshot)(storedOf(current)),
  event: (fields) => ({ name: fields.type, data: guarded(event)(eventOf(fields)) })
})
