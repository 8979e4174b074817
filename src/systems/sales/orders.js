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
import { columnsOf, FreshetError } from 'freshet-feed/systems'

/**
 * Sales after the servers were replaced: by an empty one, by an older copy, or by a replica that lagged. A recorded sale then sells nothing
 * until its claims are those of the database (rule `bounded`, `restore` and `adopt`), so no unit is sold twice.
 *
 * @import { Decision } from 'freshet-feed/systems'
 */

/** Most rows in one command. */
const MAX_ROWS = 100

/**
 * @param {{ database: Client, submit: (command: Command) => Promise<Decision>,
 *   log: any }} parts
 */
export function createRestorer ({ database, submit, log }) {
  /** @param {string} sale @param {string[]} args */
  const command = (sale, ...args) => submit({ rule: RULE, key: sale, scope: '', requestId: randomUUID(), args })

  /** @param {string} sale that the server does not have @returns {Promise<boolean>} false: the database has none that is open */
  async function createAgain (sale) {
    const { rows: [row] } = await database.query('SELECT terms, stock, status FROM sales WHERE id = $1', [sale])
    if (row === undefined || row.status === 'closed') return false
    const { perUser, openAt, closeAt, holdMs, mode, slots } = row.terms
    await command(sale, 'create', String(row.stock), perUser, openAt, closeAt, holdMs, mode, slots, '1')
    if (row.status === 'paused') await command(sale, 'pause')
    return true
  }

  /**
   * Compares a sale with the database, if it was not compared in this lineage. @param {string} sale
   */
  async function restore (sale) {
    // also begins the lineage, if this is the first command on a new primary
    const { code } = await command(sale, 'restore')
    if (code === 'unknown' && !await createAgain(sale)) return
    if (code === 'accepted' || code === 'unknown') {
      const { rows } = await database.query('SELECT claim, user_id, quantity, status FROM orders WHERE sale = $1 ORDER BY seq', [sale])
      for (let i = 0; i < rows.length; i += MAX_ROWS) {
        const some = rows.slice(i, i + MAX_ROWS).flatMap((row) => [row.claim, row.user_id, String(row.quantity), row.status])
        await command(sale, 'restore', ...some)
      }
      log.warn({ sale, orders: rows.length }, 'the sale was compared with the database')
    }
    const { details } = await command(sale, 'adopt')
    if (Number(details.available) < 0) log.error({ sale, available: details.available }, 'more units are sold than the sale has')
  }

  return {
    restore,

    /** All that are not closed. @param {(sale: string) => boolean} isMine */
    async restoreAll (isMine) {
      const { rows } = await database.query("SELECT id FROM sales WHERE status <> 'closed'")
      for (const { id } of rows) if (isMine(id)) await restore(id)
    }
  }
}

/**
 * Claims that count only when the database has their order (durability `db`): a gateway waits for the event that says so. The order
 * writer of the partition's owner settles the claim.
 */

const HAS_DECIDED = Object.freeze(['sold', 'released'])

/** @typedef {ReturnType<typeof createSettlement>} Settlement */

/**
 * @param {{ waits: ReturnType<import('freshet-feed/systems').GatewayParts['waits']>, isUp: () => boolean,
 *   statusOf: (sale: string, claim: string) => Promise<string>, deadlineMs: number }} parts `waits`: resolve when an event says what
 *   became of a claim; `isUp`: the database answers; `statusOf` a claim, from the primary
 */
export const createSettlement = ({ waits, isUp, statusOf, deadlineMs }) => ({
  /** @throws {FreshetError} DATABASE_DOWN */
  expectUp () {
    if (isUp()) return
    throw new FreshetError('DATABASE_DOWN', 'the database does not answer, and durability is db; try again later')
  },

  /**
   * Until the order is in the database.
   * @param {string} sale @param {string} claim @param {boolean} isReplay its event may have come before
   * @throws {FreshetError} CLAIM_REJECTED, CLAIM_UNSETTLED
   */
  async settled (sale, claim, isReplay) {
    let status = 'pending'
    await waits.waitFor((done) => {
      const decided = (/** @type {string} */ one) => {
        if (!HAS_DECIDED.includes(one)) return
        status = one
        done()
      }
      if (isReplay) statusOf(sale, claim).then(decided, () => {})
      return waits.watch(`${sale} ${claim}`, decided)
    }, deadlineMs)
    const facts = { claimId: claim }
    if (status === 'released') {
      throw new FreshetError('CLAIM_REJECTED', 'the database rejected the order; the units are free again', facts)
    }
    if (status === 'pending') {
      throw new FreshetError('CLAIM_UNSETTLED', 'the database has not answered yet; by-request returns the outcome later', facts)
    }
  }
})

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
 *   primary; `restore`: of createRestorer
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
