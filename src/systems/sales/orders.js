/**
 * The order writer: a consumer that makes rows of claims.
 *
 *     open, restocked, paused, ...   the row of the sale
 *     sold                           a row in orders
 *     pending                        a row in orders, then the claim is settled: it is sold (durability db)
 *     revoked                        the row says so
 *
 * When the database rejects the row of a sold claim, the unit is not sold again, because the buyer has the reply; the entry becomes a dead
 * letter. A pending claim has no reply yet, and is released instead.
 *
 * Commands are not fenced. What an owner with an older token still sends changes nothing: a claim is settled or released only while it
 * is pending, and the row of a claim that was released before it was settled is revoked.
 *
 * @import { Client, Command, RawEntry, Rows } from 'freshet-feed/systems'
 */
import { randomUUID } from 'node:crypto'
import { columnsOf } from 'freshet-feed/systems'

const RULE = 'bounded'
export const ORDER_WRITER = 'orders'
const TERMS = Object.freeze(['perUser', 'openAt', 'closeAt', 'holdMs', 'mode', 'slots'])
/** The row of the sale is written again after these events. */
const OF_SALE = Object.freeze(['open', 'restocked', 'paused', 'resumed', 'closed'])
const ORDERED = Object.freeze(['sold', 'pending'])

const WRITE_SALES = `INSERT INTO sales (id, terms, stock, status)
  SELECT * FROM unnest($1::text[], $2::jsonb[], $3::bigint[], $4::text[])
  ON CONFLICT (id) DO UPDATE SET terms = excluded.terms, stock = excluded.stock, status = excluded.status, updated_at = now()`
/** Makes the row of an event. What is revoked has its row even if its sale is a dead letter. */
const ORDER = `INSERT INTO orders (sale, user_id, claim, seq, quantity, request_id, status, created_at)
  SELECT sale, user_id, claim, seq, quantity, request_id, status, to_timestamp(ms / 1000.0)
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::float8[])
    AS one (sale, user_id, claim, seq, quantity, request_id, status, ms)
  ON CONFLICT (sale, claim)`
// a claim that was pending has its row
const WRITE_ORDERS = `${ORDER} DO NOTHING`
const REVOKE = `${ORDER} DO UPDATE SET status = 'revoked'`
const REVOKE_RELEASED = "UPDATE orders SET status = 'revoked' WHERE sale = $1 AND claim = $2"

/**
 * @param {{ stateOf: (sale: string) => Promise<Record<string, string>>, restore: (sale: string) => Promise<void>,
 *   database: Client,
 *   submit: (command: Command & { scope: string, requestId: string }) => Promise<{ code: string }> }} parts `stateOf` a sale, from the
 *   primary; `restore`: restore.js
 * @returns {Rows}
 */
export function createOrderWriter ({ stateOf, restore, database, submit }) {
  /**
   * About a pending claim. A sale that is being restored is compared with the database first.
   * @param {string} sale @param {string[]} args @returns {Promise<string>} the code of the decision
   */
  async function decide (sale, ...args) {
    const { code } = await submit({ rule: RULE, key: sale, scope: '', requestId: randomUUID(), args })
    if (code !== 'restoring') return code
    await restore(sale)
    return decide(sale, ...args)
  }

  /** @param {string} sale @param {string} claim whose row is committed */
  async function settle (sale, claim) {
    if (await decide(sale, 'settle', '', claim) === 'unknown_claim') await database.query(REVOKE_RELEASED, [sale, claim])
  }

  return {
    async write (client, entries) {
      const sales = [...new Set(entries.filter(({ fields }) => OF_SALE.includes(fields.type)).map(({ key }) => key))]
      const states = await Promise.all(sales.map(stateOf))
      const found = states.map((state, i) => ({ id: sales[i], state })).filter(({ state }) => state.status !== undefined)
      if (found.length > 0) {
        await client.query(WRITE_SALES, columnsOf(found, ({ id, state }) =>
          [id, JSON.stringify(Object.fromEntries(TERMS.map((term) => [term, state[term]]))), state.stock, state.status]))
      }
      const rows = (/** @type {RawEntry[]} */ some, /** @type {string} */ status) => columnsOf(some, ({ key, seq, fields }) =>
        [key, fields.user, fields.claim, seq, fields.quantity, fields.request, status, fields.ts])
      const orders = entries.filter(({ fields }) => ORDERED.includes(fields.type))
      if (orders.length > 0) await client.query(WRITE_ORDERS, rows(orders, 'sold'))
      const revoked = entries.filter(({ fields }) => fields.type === 'revoked')
      if (revoked.length > 0) await client.query(REVOKE, rows(revoked, 'revoked'))
    },

    async after (entries) {
      await Promise.all(entries.map(({ key, fields: { type, claim } }) => {
        if (type === 'pending') return settle(key, claim)
        return type === 'open' ? restore(key) : null
      }))
    },

    async rejected ({ key, fields: { type, claim } }) {
      if (type !== 'pending') return false
      await decide(key, 'release', '', claim, 'pending')
      // an attempt that did not end may have committed its row
      await settle(key, claim)
      return true
    }
  }
}
