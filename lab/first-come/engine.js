/** Sales on our own engine: a script call per claim, batches, the rejection cache, tokens, the waiting room. */
import { admissionKey, fieldsOf } from '../../src/admission/index.js'
import { openConnection } from '../../src/store/index.js'
import { createSales, createTokens } from '../../src/systems/sales/index.js'
import { createWaitingRoom } from '../../src/waiting-room/index.js'
import { openEngine } from '../contention/engine.js'
import { silent } from '../contention/silent.js'

/** @typedef {{ batches: boolean, hasCache: boolean, mode: 'direct' | 'token' | 'queue', algorithm?: string }} Arm */

export const ENGINE_ARMS = Object.freeze(/** @type {Record<string, Arm>} */ ({
  lua: { batches: false, hasCache: false, mode: 'direct' },
  'lua+cache': { batches: false, hasCache: true, mode: 'direct' },
  'batched+cache': { batches: true, hasCache: true, mode: 'direct' },
  'token-hs256': { batches: true, hasCache: true, mode: 'token', algorithm: 'HS256' },
  'token-ed25519': { batches: true, hasCache: true, mode: 'token', algorithm: 'EdDSA' },
  'queue-flow': { batches: true, hasCache: true, mode: 'queue' }
}))
const SYSTEM = 'sales'
const SECRET = 'lab'
const DEADLINE_MS = 20_000
const SLOTS = 100
const HOLD_MS = 60_000
const PAGE = 10_000

/**
 * @param {string} technique @param {{ redisUrl: string, keyPrefix: string }} place
 * @returns {Promise<import('./techniques.js').Technique>}
 */
export async function openEngineArm (technique, { redisUrl, keyPrefix }) {
  const { batches, hasCache, mode, algorithm = 'HS256' } = ENGINE_ARMS[technique]
  const onEntry = (/** @type {{ key: string }} */ { key: sale }) => room.note(sale)
  const engine = await openEngine({ redisUrl, keyPrefix, batches, hasCache, system: SYSTEM, rule: 'bounded', onEntry })
  const connection = await openConnection(redisUrl, { name: 'lab-places', deadlineMs: DEADLINE_MS })
  const key = admissionKey(keyPrefix, SYSTEM, 0)
  const room = createWaitingRoom({ connectionOf: () => connection, keyOf: () => key, partitionOf: () => 0, log: silent })
  const tokens = createTokens({ connection: () => connection, key: key(`token-key-${algorithm}`), file: null, algorithm })
  const agreed = async () => ({ secret: SECRET })
  const sales = createSales({ submit: engine.submit, agreed, tokens, settlement: null, isRecorded: false })

  /** @param {() => Promise<import('./techniques.js').Reply>} run */
  const told = (run) => run().catch((error) => {
    if (!error.status) throw error
    return { status: error.status, body: { code: error.code } }
  })

  return {
    async create (sale, stock) {
      const holdMs = mode === 'direct' ? 0 : HOLD_MS
      const terms = { stock, perUser: 1, mode, openAt: null, closeAt: null, holdMs, admitConcurrency: SLOTS }
      await sales.create(sale, terms, null)
    },
    claim: (sale, userId, ticket, requestId) => told(() => sales.claim(sale, { userId, quantity: null }, ticket, requestId)),
    issue: (sale, userId, requestId) => told(() => sales.issue(sale, { userId }, requestId)),
    join: (sale, userId, requestId) => told(() => sales.join(sale, { userId }, requestId)),

    async place (sale, user, ticket, waitMs) {
      const [claim] = ticket.split('.')
      const now = await room.placeOf(sale, user, claim)
      if (now.status !== 'waiting') return { status: 200, body: now }
      return new Promise((resolve) => {
        let last = now
        const end = () => {
          clearTimeout(timer)
          unwatch()
          resolve({ status: 200, body: last })
        }
        const timer = setTimeout(end, waitMs)
        const unwatch = room.watch(sale, user, (place) => {
          last = place
          if (place.status !== 'waiting') end()
        })
      })
    },

    async stored (sale) {
      const entries = await connection.send('XRANGE', key(`events:${sale}`), '-', '+', 'COUNT', PAGE)
      const events = entries.map((/** @type {any} */ [, flat]) => fieldsOf(flat.map(String)))
      const rows = events.filter((/** @type {any} */ { type }) => type === 'sold')
        .map((/** @type {any} */ { user, seq }) => ({ user, seq: Number(seq) }))
      return { sold: Number(await connection.send('HGET', key(`state:${sale}`), 'sold')), rows }
    },

    async close () {
      room.close()
      connection.close('')
      await engine.close()
    }
  }
}
