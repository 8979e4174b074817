/** What a partition holds on the server. */
import { fieldsOf } from '../../src/admission/index.js'
import { KEYS } from './random-commands.js'

const texts = (/** @type {any} */ reply) => reply.map(String)
const fieldsIn = (/** @type {any} */ reply) => fieldsOf(texts(reply))
const entriesIn = (/** @type {any} */ reply) =>
  reply.map((/** @type {any} */ [id, fields]) => ({ id: String(id), fields: fieldsIn(fields) }))

/** @param {import('../../src/store/index.js').Connection} connection @param {(part: string) => string} key */
export async function contentOf (connection, key) {
  /** @param {string} part @param {(key: string) => [string, ...string[]]} command @param {(reply: any) => any} read @returns {Promise<Record<string, any>>} */
  const ofEach = async (part, command, read) => Object.fromEntries(await Promise.all(KEYS.map(async (name) =>
    [name, read(await connection.send(...command(key(`${part}:${name}`))))])))
  const hash = (/** @type {string} */ name) => /** @type {[string, string]} */ (['HGETALL', name])
  const set = (/** @type {string} */ name) => /** @type {[string, ...string[]]} */ (['ZRANGE', name, '0', '-1', 'WITHSCORES'])
  const stream = (/** @type {string} */ name) => /** @type {[string, ...string[]]} */ (['XRANGE', name, '-', '+'])
  const [states, members, events, holds, waiting, outbox, tasks] = await Promise.all([
    ofEach('state', hash, fieldsIn),
    ofEach('members', hash, fieldsIn),
    ofEach('events', stream, (reply) => entriesIn(reply).map((/** @type {any} */ { fields }) => fields)),
    ofEach('holds', set, fieldsIn),
    ofEach('waiting', set, fieldsIn),
    connection.send(...stream(key('outbox'))),
    connection.send(...set(key('tasks')))
  ])
  const entries = entriesIn(outbox).map((/** @type {any} */ { id, fields }) => ({ atMs: id.split('-')[0], fields }))
  return { states, events, members, holds, outbox: entries, waiting, tasks: fieldsIn(tasks) }
}
