/** What a partition holds on the server. */
import { fieldsOf } from '../../src/admission/index.js'
import { KEYS } from './random-commands.js'

/**
 * @typedef {Record<string, string>} Fields
 * @typedef {{ states: Record<string, Fields>, events: Record<string, Fields[]>, members: Record<string, Fields>,
 *   holds: Record<string, Fields>, waiting: Record<string, Fields>, outbox: { id: string, fields: Fields }[], tasks: Fields }} Content
 *   by key, but for outbox and tasks
 */
const ofKeys = (/** @type {any} */ value) => Object.fromEntries(KEYS.map((name) => [name, value]))
/** @type {Content} */
export const EMPTY = Object.freeze({
  states: ofKeys({}), events: ofKeys([]), members: ofKeys({}), holds: ofKeys({}), waiting: ofKeys({}), outbox: [], tasks: {}
})
const fieldsIn = (/** @type {any} */ reply) => fieldsOf(reply.map(String))
const entriesIn = (/** @type {any[]} */ reply) => reply.map(([id, fields]) => ({ id: String(id), fields: fieldsIn(fields) }))

/**
 * @param {import('../../src/store/index.js').Connection} connection @param {(part: string) => string} key
 * @param {string[]} names of keys that may have changed @param {Content} before
 * @returns {Promise<Content>}
 */
export async function contentOf (connection, key, names, before) {
  const last = before.outbox.at(-1)?.id
  /** @param {string} part @param {(key: string) => [string, ...string[]]} command @param {(reply: any) => any} read */
  const ofEach = async (part, command, read) => Object.fromEntries(await Promise.all(names.map(async (name) =>
    [name, read(await connection.send(...command(key(`${part}:${name}`))))])))
  const hash = (/** @type {string} */ name) => /** @type {[string, string]} */ (['HGETALL', name])
  const set = (/** @type {string} */ name) => /** @type {[string, ...string[]]} */ (['ZRANGE', name, '0', '-1', 'WITHSCORES'])
  const [states, members, events, holds, waiting, outbox, tasks] = await Promise.all([
    ofEach('state', hash, fieldsIn),
    ofEach('members', hash, fieldsIn),
    ofEach('events', (name) => ['XRANGE', name, '-', '+'], (reply) => entriesIn(reply).map(({ fields }) => fields)),
    ofEach('holds', set, fieldsIn),
    ofEach('waiting', set, fieldsIn),
    connection.send('XRANGE', key('outbox'), last ? `(${last}` : '-', '+'),
    connection.send(...set(key('tasks')))
  ])
  return {
    states: { ...before.states, ...states },
    events: { ...before.events, ...events },
    members: { ...before.members, ...members },
    holds: { ...before.holds, ...holds },
    waiting: { ...before.waiting, ...waiting },
    outbox: [...before.outbox, ...entriesIn(outbox)],
    tasks: fieldsIn(tasks)
  }
}
