/**
 * Technique `watch`, without scripts: the state is read, the bid decided in this process (by the same rule), and written only if the state
 * is still the same.
 *
 *     WATCH, GET, then MULTI SET RPUSH SET EXEC; up to 10 retries at once
 *
 * A connection that watches belongs to one bid at a time, because its state is that of the connection. A bid that lost ten times is not
 * decided: `conflict`.
 */
import { fieldsOf, prepare } from '../../../src/admission/index.js'
import { openConnection } from '../../../src/store/index.js'
import { RULES } from '../../rules/index.js'

const POOL = 50
const RETRIES = 10
const EXPIRE_MS = 600_000
const DEADLINE_MS = 20_000
const UNDECIDED = Object.freeze({ code: 'conflict', seq: 0, version: 0, isReplay: false, generation: '', now: 0, details: {} })

/** @typedef {import('../../../src/store/index.js').Connection} Connection */

/**
 * @param {{ redisUrl: string, keyPrefix: string }} options
 * @returns {Promise<import('./techniques.js').Technique>}
 */
export async function openOptimistic ({ redisUrl, keyPrefix }) {
  const pool = await Promise.all(Array.from({ length: POOL }, (_, i) =>
    openConnection(redisUrl, { name: `lab-watch-${i}`, deadlineMs: DEADLINE_MS })))
  const free = [...pool]
  /** @type {((connection: Connection) => void)[]} */
  const waiting = []
  const counts = { calls: 0, attempts: 0 }

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
      counts.calls += 2
      const [, stored, text] = await connection.sendAll([['WATCH', keys.state], ['GET', keys.request], ['GET', keys.state]])
      if (stored !== null) {
        await connection.send('UNWATCH')
        return { ...JSON.parse(String(stored)), isReplay: true }
      }
      const next = text === null ? {} : JSON.parse(String(text))
      const { code, details, change } = RULES.max(next, command.args, Date.now())
      const decision = { ...UNDECIDED, code, seq: Number(next.seq ?? 0), details: fieldsOf(details) }
      if (!change) {
        await connection.send('UNWATCH')
        return decision
      }
      const texts = change.events.filter(([, seq]) => seq !== '0').map((event) => eventText(event, request))
      if (await transact(connection, keys, JSON.stringify(next), texts, JSON.stringify(decision))) {
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
 * @param {Connection} connection @param {{ state: string, events: string, request: string }} keys
 * @param {string} after @param {string[]} events @param {string} decision
 * @returns {Promise<boolean>} false: the state was changed in between
 */
async function transact (connection, keys, after, events, decision) {
  const replies = await connection.sendAll([
    ['MULTI'], ['SET', keys.state, after], ...events.map((event) => ['RPUSH', keys.events, event]),
    ['SET', keys.request, decision, 'PX', EXPIRE_MS], ['EXEC']
  ])
  return replies.at(-1) !== null
}
