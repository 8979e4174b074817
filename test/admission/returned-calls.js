/** Carries out steps of returned-values.js on a server, and compares what is stored with the model after each. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { admissionKey, createOwnRules, fieldsOf, prepare } from '../../src/admission/index.js'
import { admit } from '../../src/admission/admission.js'
import { agreeOnRules } from '../../src/admission/rules.js'
import { createModel, KEEPS, RULE, TEXT } from './returned-values.js'

/** @typedef {import('../../src/store/index.js').Connection} Connection */
/** @typedef {readonly [from: string, to: string]} Change of the text of the script */

const REQUEST_MS = 600_000

/**
 * The rules of a system, on a script whose text is changed.
 * @param {Record<string, import('../../src/admission/index.js').OwnRule>} rules @param {readonly Change[]} [changes]
 */
export function ownRules (rules, changes = []) {
  const own = createOwnRules({ keyPrefix: '', system: 'own', rules })
  const { script } = own
  const changed = changes.reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the script has no ${from}`)
    return text.replace(from, () => to)
  }, script.body)
  if (changes.length === 0) return own
  // a library of its own
  const library = `${script.library}_${createHash('sha1').update(changed).digest('hex').slice(0, 12)}`
  const body = changed.replaceAll(String(script.library), library)
  return { ...own, script: { ...script, body, library, call: String(script.call).replace(String(script.library), library) } }
}

/**
 * Calls of one partition.
 * @param {Connection} connection @param {string} keyPrefix @param {ReturnType<typeof ownRules>} own
 * @param {import('../../src/admission/admission.js').Terms['log']} [log]
 */
export function callsOf (connection, keyPrefix, own, log) {
  const keyOf = admissionKey(keyPrefix, 'own', 0)
  const [rule] = own.versions[0]
  const agreeIn = () => agreeOnRules(/** @type {any} */ (connection), keyOf('generation'), own.versions, 'own')
  const terms = { replicationId: 'id', requestMs: REQUEST_MS, keepMs: REQUEST_MS, ruleSet: own, agreeIn, log }
  const prepared = (/** @type {{ key: string, id?: string, args: string[] }} */ { key, id = '', args }) =>
    prepare({ rule, key, scope: '', requestId: id, args })
  return {
    keyOf,
    requestOf: (/** @type {string} */ key, /** @type {string} */ id) => prepared({ key, id, args: [] }).request,

    /** @param {{ key: string, id?: string, args: string[] }[]} commands @returns {Promise<any[]>} decisions, as the model says them */
    async call (commands) {
      const { replies } = await admit(connection, keyOf, terms, commands.map(prepared))
      return replies.map((reply) => {
        const [status, code, seq, version, details] = String(reply).split('\n')
        if (status === 'failed') return { status, why: code }
        if (status === 'other_body') return { status }
        return { status, code, details: JSON.parse(details), seq: Number(seq), version: Number(version) }
      })
    }
  }
}

/** @param {any} reply names and values, or names and scores */
const tableOf = (reply) => fieldsOf(reply)

/** What a partition holds. @param {Connection} connection @param {(part: string) => string} keyOf @param {string[]} keys */
export async function contentOf (connection, keyOf, keys) {
  /** @param {string} stream @returns {Promise<Record<string, string>[]>} without times */
  const entries = async (stream) => (await connection.send('XRANGE', stream, '-', '+'))
    .map((/** @type {any} */ [, flat]) => fieldsOf(flat)).map((/** @type {any} */ { ts, ...fields }) => fields)
  const scores = async (/** @type {string} */ key) => tableOf(await connection.send('ZRANGE', key, 0, -1, 'WITHSCORES'))
  const found = await Promise.all(keys.map(async (key) => {
    const fields = tableOf(await connection.send('HGETALL', keyOf(`state:${key}`)))
    const { '@seq': seq = '0', '@version': version = '0', '@done': _, ...state } = fields
    const parts = {
      members: tableOf(await connection.send('HGETALL', keyOf(`members:${key}`))),
      holds: await scores(keyOf(`holds:${key}`)),
      waiting: await scores(keyOf(`waiting:${key}`))
    }
    return [key, { state, parts, events: await entries(keyOf(`events:${key}`)), seq: Number(seq), version: Number(version) }]
  }))
  const prefix = keyOf('request:')
  const requests = (await connection.send('KEYS', `${prefix}*`)).map((/** @type {any} */ key) => String(key).slice(prefix.length)).sort()
  return { keys: Object.fromEntries(found), tasks: await scores(keyOf('tasks')), outbox: await entries(keyOf('outbox')), requests }
}

/** Keys of an ended key without an expiry. @param {Connection} connection @param {(part: string) => string} keyOf @param {string} key */
async function lasting (connection, keyOf, key) {
  const names = ['state', 'events', ...KEEPS].map((part) => `${part}:${key}`)
  const left = await Promise.all(names.map(async (name) => Number(await connection.send('PTTL', keyOf(name)))))
  return names.filter((_, i) => left[i] === -1)
}

/**
 * @param {Connection} connection
 * @param {import('./returned-values.js').Call} given
 * @param {{ calls: ReturnType<typeof callsOf>, model: ReturnType<typeof createModel> }} parts
 * @returns {Promise<string | null>} what differs
 */
async function differsInCall (connection, { commands, wrong: wanted }, { calls: { call, keyOf }, model }) {
  const place = wanted && keyOf(`${wanted.part}:${wanted.key}`)
  // a part that is there keeps its type
  const wrong = place && await connection.send('SET', place, 'x', 'NX') ? wanted : null
  const decisions = await call(commands)
  if (place && wrong) {
    if (String(await connection.send('GET', place)) !== 'x') return `${place} was overwritten`
    await connection.send('UNLINK', place)
  }
  for (const [i, command] of commands.entries()) {
    const expected = model.decide(command, wrong)
    const found = Object.fromEntries(Object.keys(expected).map((name) => [name, decisions[i]?.[name]]))
    if (!isDeepStrictEqual(found, expected)) return [decisions[i], command, expected].map((one) => JSON.stringify(one)).join('\n')
    if (expected.status === 'accepted' && model.keys[command.key].isEnded) {
      const names = await lasting(connection, keyOf, command.key)
      if (names.length > 0) return `${names.join(' ')} of an ended key do not expire`
    }
  }
  return null
}

/**
 * @param {Connection} connection to a server of the test, which is flushed
 * @param {(import('./returned-values.js').Call | import('./returned-values.js').Ahead)[]} steps
 * @param {readonly Change[]} [changes] of the script
 * @returns {Promise<string | null>} what differs from the model
 */
export async function differs (connection, steps, changes) {
  await connection.send('FLUSHALL')
  const own = ownRules({ [RULE]: { text: TEXT, version: 1, keeps: KEEPS } }, changes)
  const calls = callsOf(connection, '', own)
  const model = createModel(calls.requestOf)
  for (const step of steps) {
    if ('commands' in step) {
      const wrong = await differsInCall(connection, step, { calls, model })
      if (wrong) return wrong
    } else {
      const { key, isRemoved, id } = step
      const events = calls.keyOf(`events:${key}`)
      const seq = model.goAhead(step)
      await connection.send('XADD', events, `${seq}-0`, 'seq', seq, 'ts', 0, 'type', 'foreign')
      if (isRemoved) await connection.send('XDEL', events, `${seq}-0`)
      else if (id !== '') {
        await connection.send('XADD', calls.keyOf('outbox'), '*', 'rule', RULE, 'key', key, 'ts', 0, 'request', calls.requestOf(key, id),
          'seq', seq, 'version', 0, 'type', 'foreign')
      }
    }
    const [found, expected] = [await contentOf(connection, calls.keyOf, Object.keys(model.keys)), model.content()]
    if (!isDeepStrictEqual(found, expected)) return `stored: ${JSON.stringify(found)}\nexpected: ${JSON.stringify(expected)}`
  }
  return null
}

/** What mends each fault, and the text without it. @type {Readonly<Record<string, Change>>} */
export const MENDS = Object.freeze({
  'names in holds, waiting and tasks are texts': ['    expectName(part, name)\n', ''],
  'names of removed members are texts': ["    expectName('members', name)\n", ''],
  'the type of a part is known before the first write': ['      expectType(name, key)\n', ''],
  'a key goes on behind the last entry of its stream': ['  goBehind(target)\n', ''],
  'a key goes on behind the last id of its stream': ['pcall(addEvent, target, entry)', '(addEvent(target, entry) or true)'],
  'a request whose events are stored is not decided again': ['string.find(target.done, id, 1, true)', 'false'],
  'a part that is written after the end expires': ["redis.call('PTTL', state) > 0", 'false']
})
