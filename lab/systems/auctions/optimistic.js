/**
 * Techniques without scripts: the state is read, the bid decided in this process (by the same rule), and written only if the state is
 * still the same.
 *
 *     watch         WATCH, GET, then MULTI SET RPUSH SET EXEC; up to 10 retries at once
 *     watch-jitter  the same, with a random wait before each retry
 *     cas           SET ... IFEQ with the value that was read (Valkey 8.1), then RPUSH and SET: three steps that are not one
 *
 * A connection that watches belongs to one bid at a time, because its state is that of the connection. A bid that lost ten times is not
 * decided: `conflict`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fieldsOf, prepare } from '../../../src/admission/index.js'
import { openConnection } from '../../../src/store/index.js'
import { RULES } from '../../rules/index.js'

const POOL = 50
const RETRIES = 10
const JITTER_MS = 5
const EXPIRE_MS = 600_000
const DEADLINE_MS = 20_000
const UNDECIDED = Object.freeze({ code: 'conflict', seq: 0, version: 0, isReplay: false, generation: '', now: 0, details: {} })

/** @typedef {import('../../../src/store/index.js').Connection} Connection */

/**
 * @param {{ redisUrl: string, keyPrefix: string, technique: 'watch' | 'watch-jitter' | 'cas' }} options
 * @returns {Promise<import('./techniques.js').Technique>}
 */
export async function openOptimistic ({ redisUrl, keyPrefix, technique }) {
  const pool = await Promise.all(Array.from({ length: POOL }, (_, i) =>
    openConnection(redisUrl, { name: `lab-${technique}-${i}`, deadlineMs: DEADLINE_MS })))
  const free = [...pool]
  /** @type {((connection: Connection) => void)[]} */
  const waiting = []
  const counts = { calls: 0, attempts: 0 }
  const store = technique === 'cas' ? swap : transact

  /** @template T @param {(connection: Connection) => Promise<T>} work @returns {Promise<T>} */
  async function withConnection (work) {
    const connection = free.pop() ?? await new Promise((/** @type {(one: Connection) => void} */ resolve) => waiting.push(resolve))
    try {
      return await work(connection)
    } finally {
      const next = waiting.shift()
      if (next) next(connection)
      else free.push(connection)
    }
  }

  /** @param {import('../../../src/admission/index.js').Command} command @param {Connection} connection */
  async function decide (command, connection) {
    const { request } = prepare(command)
    const [state, events] = ['state', 'events'].map((part) => `${keyPrefix}${part}:${command.key}`)
    const keys = { state, events, request: `${keyPrefix}request:${request}` }
    for (let attempt = 0; attempt <= RETRIES; attempt++) {
      if (attempt > 0 && technique === 'watch-jitter') await sleep(Math.random() * JITTER_MS * attempt)
      counts.calls += 2
      const [stored, text] = (await connection.sendAll([
        ...(technique === 'cas' ? [] : [['WATCH', keys.state]]), ['GET', keys.request], ['GET', keys.state]
      ])).slice(-2)
      if (stored !== null) {
        if (technique !== 'cas') await connection.send('UNWATCH')
        return { ...JSON.parse(String(stored)), isReplay: true }
      }
      const before = text === null ? '' : String(text)
      const next = before === '' ? {} : JSON.parse(before)
      const { code, details, change } = RULES.max(next, command.args, Date.now())
      const decision = { ...UNDECIDED, code, seq: Number(next.seq ?? 0), details: fieldsOf(details) }
      if (!change) {
        if (technique !== 'cas') await connection.send('UNWATCH')
        return decision
      }
      const texts = change.events.filter(([, seq]) => seq !== '0').map((event) => eventText(event, request))
      if (await store(connection, keys, before, JSON.stringify(next), texts, JSON.stringify(decision))) {
        counts.attempts += attempt + 1
        return decision
      }
    }
    return UNDECIDED
  }

  return {
    counts,
    submit: (command) => withConnection((connection) => decide(command, connection)),
    read: (key) => withConnection(async (connection) =>
      Number(JSON.parse(String(await connection.send('GET', `${keyPrefix}state:${key}`))).price)),
    stored: (key) => withConnection(async (connection) => ({
      events: (await connection.send('LRANGE', `${keyPrefix}events:${key}`, 0, -1))
        .map((/** @type {Buffer} */ text) => JSON.parse(String(text)))
        .sort((/** @type {any} */ a, /** @type {any} */ b) => Number(a.seq) - Number(b.seq)),
      state: JSON.parse(String(await connection.send('GET', `${keyPrefix}state:${key}`)))
    })),
    async close () { for (const connection of pool) connection.close() }
  }
}

/** @param {string[]} flat @param {string} request */
function eventText (flat, request) {
  return JSON.stringify({ ...fieldsOf(flat), ts: String(Date.now()), request })
}

/**
 * @typedef {(connection: Connection, keys: { state: string, events: string, request: string }, before: string, after: string,
 *   events: string[], decision: string) => Promise<boolean>} Store false: the state was changed in between
 */

/** @type {Store} */
async function transact (connection, keys, _before, after, events, decision) {
  const replies = await connection.sendAll([
    ['MULTI'], ['SET', keys.state, after], ...events.map((event) => ['RPUSH', keys.events, event]),
    ['SET', keys.request, decision, 'PX', EXPIRE_MS], ['EXEC']
  ])
  return replies.at(-1) !== null
}

/** @type {Store} */
async function swap (connection, keys, before, after, events, decision) {
  const isSet = await connection.send('SET', keys.state, after, ...(before === '' ? ['NX'] : ['IFEQ', before])) !== null
  if (!isSet) return false
  await connection.sendAll([
    ...events.map((event) => ['RPUSH', keys.events, event]), ['SET', keys.request, decision, 'PX', EXPIRE_MS]
  ])
  return true
}
