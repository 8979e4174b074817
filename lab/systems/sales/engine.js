/** Sales on our own engine: a script call per claim, batches, the rejection cache, tokens, the waiting room. */
import { randomUUID } from 'node:crypto'
import { admissionKey, createPartitionClock, fieldsOf } from '../../../src/admission/index.js'
import { runTasks, taskCommands } from '../../../src/schedule/index.js'
import { openConnection } from '../../../src/store/index.js'
import { createWaitingRoom } from '../../../src/waiting-room/index.js'
import { openEngine } from '../auctions/engine.js'
import { silent } from '../auctions/silent.js'

/**
 * @typedef {{ batches: boolean, hasCache: boolean, mode: 'direct' | 'token' | 'queue', algorithm?: string, givesToken?: boolean }} Arm
 *   `givesToken`: to those who are admitted
 */

export const ENGINE_ARMS = Object.freeze(/** @type {Record<string, Arm>} */ ({
  lua: { batches: false, hasCache: false, mode: 'direct' },
  'lua+cache': { batches: false, hasCache: true, mode: 'direct' },
  'batched+cache': { batches: true, hasCache: true, mode: 'direct' },
  'token-hs256': { batches: true, hasCache: true, mode: 'token', algorithm: 'HS256' },
  'token-ed25519': { batches: true, hasCache: true, mode: 'token', algorithm: 'EdDSA' },
  'queue-flow': { batches: true, hasCache: true, mode: 'queue' },
  'queue+token': { batches: true, hasCache: true, mode: 'queue', givesToken: true }
}))
const SYSTEM = 'sales'
const SECRET = 'lab'
const DEADLINE_MS = 20_000
const SLOTS = 100
const PAGE = 10_000
/** at holds that expire, as processes of consumers look while there are entries */
const LOOK_EVERY_MS = 250

/** @param {string} technique @param {import('./techniques.js').Place} place @returns {Promise<import('./techniques.js').Technique>} */
export async function openEngineArm (technique, { redisUrl, keyPrefix, holdMs: hold }) {
  // it brings HTTP along, and every experiment imports this file
  const { createSales, createTokens } = await import('../../../src/systems/sales/index.js')
  const [{ commands }] = await (await import('../../../src/systems/list.js')).loadSystems(['sales'])
  const { batches, hasCache, mode, algorithm = 'HS256', givesToken = false } = ENGINE_ARMS[technique]
  const onEntry = (/** @type {{ key: string }} */ { key: sale }) => room.note(sale)
  const engine = await openEngine({ redisUrl, keyPrefix, batches, hasCache, system: SYSTEM, rule: 'bounded', onEntry })
  const connection = await openConnection(redisUrl, { name: 'lab-places', deadlineMs: DEADLINE_MS })
  const key = admissionKey(keyPrefix, SYSTEM, 0)
  const room = createWaitingRoom({ connectionOf: () => connection, keyOf: () => key, partitionOf: () => 0, now: Date.now, log: silent })
  const tokens = createTokens({ router: connection, key: key(`token-key-${algorithm}`), file: null, algorithm })
  const agreed = async () => ({ secret: SECRET })
  const stop = new AbortController()
  // holds expire as they do in the process that owns the partition
  if (mode !== 'direct') {
    const clock = createPartitionClock({ system: SYSTEM, keyOf: () => key, metrics: {}, log: silent })
    const owned = { partition: 0, signal: stop.signal }
    const decide = taskCommands(engine.submit)
    runTasks({ connectionOf: () => connection, keyOf: () => key, clock }, owned, (task) => decide(task), ({ now }) => {
      const timer = setInterval(now, LOOK_EVERY_MS)
      stop.signal.addEventListener('abort', () => clearInterval(timer))
    })
  }
  const sales = createSales({ submit: /** @type {any} */ (engine.submit), agreed, tokens, settlement: null, waits: null })

  /**
   * As a gateway does.
   * @param {string} command @param {string} id @param {object} body @param {string} requestId @param {string | null} [ticket]
   */
  const run = async (command, id, body, requestId, ticket = null) => /** @type {any} */ (commands[command].run(
    { params: { id }, query: {}, body, headers: ticket === null ? {} : { 'freshet-ticket': ticket }, requestId, id: '' }, sales, null))

  /** @param {string} sale @param {string} user @param {import('../../../src/waiting-room/index.js').QueuePosition} place */
  async function shown (sale, user, place) {
    if (place.status !== 'admitted' || !givesToken) return { status: 200, body: place }
    const hold = { sale, user, claim: String(place.claim), untilMs: Number(place.untilMs), lineage: '' }
    return { status: 200, body: { ...place, token: await tokens.issue(hold) } }
  }

  return {
    async create (sale, stock) {
      const holdMs = mode === 'direct' ? 0 : hold
      const terms = { stock, perUser: 1, mode, openAt: null, closeAt: null, holdMs, admitConcurrency: SLOTS }
      await run('create', sale, terms, randomUUID())
    },
    claim: (sale, userId, ticket, requestId) => run('claim', sale, { userId, quantity: null }, requestId, ticket),
    issue: (sale, userId, requestId) => run('issue', sale, { userId }, requestId),
    join: (sale, userId, requestId) => run('join', sale, { userId }, requestId),

    async place (sale, user, ticket, waitMs) {
      const [claim] = ticket.split('.')
      const now = await room.positionOf(sale, user, claim)
      if (now.status !== 'waiting') return shown(sale, user, now)
      return new Promise((resolve) => {
        let last = now
        const end = () => {
          clearTimeout(timer)
          unwatch()
          resolve(shown(sale, user, last))
        }
        const timer = setTimeout(end, waitMs)
        const unwatch = room.watch(sale, user, (place) => {
          last = place
          if (place.status !== 'waiting') end()
        })
      })
    },

    async look (sale) {
      const [stock, available, sold] = await connection.send('HMGET', key(`state:${sale}`), 'stock', 'available', 'sold')
      return { stock: Number(stock), available: Number(available), sold: Number(sold) }
    },

    async stored (sale) {
      const entries = await connection.send('XRANGE', key(`events:${sale}`), '-', '+', 'COUNT', PAGE)
      const events = entries.map((/** @type {any} */ [, flat]) => fieldsOf(flat.map(String)))
      const rows = events.filter((/** @type {any} */ { type }) => type === 'sold')
        .map((/** @type {any} */ { user, seq }) => ({ user, seq: Number(seq) }))
      return { sold: Number(await connection.send('HGET', key(`state:${sale}`), 'sold')), rows }
    },

    async close () {
      stop.abort()
      room.close()
      connection.close('')
      await engine.close()
    }
  }
}
