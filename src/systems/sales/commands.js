/**
 * Commands of a sale itself, and what all commands of sales run on.
 *
 * In mode direct a claim is decided at once. In modes queue and token a unit is held first, for an admitted person or a token; the claim
 * then confirms that hold, so a queue, a token and a direct sale share one rule.
 *
 * @typedef {Decision & { generation: string }} Answer
 *
 * @import { Command, Decision, GatewayParts, Given, OwnCommand, System } from 'freshet-feed/systems'
 */
import { decisions, fields, schemas } from 'freshet-feed/systems'
import { expectAccepted } from './replies.js'
import { claimIdOf } from './tokens.js'

const { choice, id: idField, invalid, millis, optional, time, whole } = fields
const { count: COUNT, id: ID, objectOf } = schemas

const RULE = 'bounded'
const DAY_MS = 86_400_000
const HOLD_MS = 60_000
const SLOTS = 100
const MAX_SLOTS = 1000
const MAX_TIME = 2 ** 41 - 1
const COMPARED_WITHIN_MS = 2000
export const MAX_UNITS = 1_000_000_000

const TERMS = {
  stock: whole(1, MAX_UNITS)('units'),
  perUser: optional(whole(1, MAX_UNITS)('units that one user may have; default: 1')),
  mode: choice('direct', 'queue', 'token')('claims are decided at once, people are admitted in order, or a hold is a token'),
  openAt: optional(time('first time of claims, on the clock of the server; without it, now')),
  closeAt: optional(time('end, on the clock of the server; without it, when it is closed')),
  holdMs: optional(millis(DAY_MS)('how long a claim, an admission or a token is held until it is confirmed; default: 0 = sold at ' +
    'once, 60,000 in modes queue and token')),
  admitConcurrency: optional(whole(1, MAX_SLOTS)('people of the queue who are admitted at a time; default: 100'))
}
export const USER = { userId: idField('asserted by the holder of the token') }

export const SEQ = { ...COUNT, description: 'number of the event' }
export const NUMBERS = { seq: SEQ, available: COUNT, held: COUNT, sold: COUNT }
const SALE = objectOf({ id: ID, code: { type: 'string', enum: ['created', 'unchanged', 'accepted'] }, ...NUMBERS })
export const CODES = ['SALE_UNKNOWN', 'SALE_CLOSED', 'SALE_RESTORING']

/** @typedef {ReturnType<typeof createSales>} Sales */

/**
 * What commands run on.
 * @param {object} parts
 * @param {(command: Command & { scope: string, requestId: string }) => Promise<Answer>} parts.submit
 * @param {() => Promise<{ secret: string }>} parts.agreed
 * @param {import('./tokens.js').Tokens} parts.tokens
 * @param {import('./orders.js').Settlement | null} parts.settlement null: claims do not wait for the database
 * @param {ReturnType<GatewayParts['waits']> | null} parts.waits for events of sales, with a database, which a
 *   new sale is compared with before it sells
 */
export const createSales = ({ submit, agreed, tokens, settlement, waits }) => ({
  submit,
  tokens,
  settlement,
  waits,

  /**
   * @param {string} key @param {string} scope the user, or empty @param {string} requestId @param {string[]} args
   * @param {boolean} [startsWork] if the order writer must settle it
   * @returns {Promise<Answer>} @throws {Error} as expectAccepted
   */
  async run (key, scope, requestId, args, startsWork = false) {
    settlement?.expectUp()
    return expectAccepted(await submit({ rule: RULE, key, scope, requestId, args, startsWork: startsWork && settlement !== null }))
  },

  /** @param {string} sale @param {string} user @param {string} requestId */
  async idsOf (sale, user, requestId) {
    const { secret } = await agreed()
    return { secret, claim: claimIdOf(secret, { sale, user, requestId }) }
  }
})

/** A command whose reply is the numbers of the sale. @param {Given} request @param {Sales} sales @param {string[]} args */
async function change ({ params: { id }, requestId }, { run }, ...args) {
  const answer = await run(id, '', requestId, args)
  return { status: answer.code === 'created' ? 201 : 200, body: saleReply(id, answer), isReplay: answer.isReplay }
}

/** @param {string} id @param {Decision} answer */
export const saleReply = (id, answer) => ({ id, code: answer.code, ...decisions.units(answer) })

/** Waits until a new sale was compared with the database and sells, at most 2 s. @param {string} id @param {Sales} sales */
const untilCompared = (id, { submit, waits }) => waits?.until(
  id,
  // the release of no claim changes nothing
  () => submit({ rule: RULE, key: id, scope: '', requestId: '', args: ['release', '', '-'] }),
  ({ code }) => code !== 'restoring',
  COMPARED_WITHIN_MS
)

/** @param {'pause' | 'resume' | 'close'} op @param {string} summary @returns {OwnCommand} */
const setStateCommand = (op, summary) => ({
  path: `/v1/sales/:id/${op}`,
  access: 'admin',
  summary,
  schemas: { 200: SALE },
  codes: CODES,
  run: (request, sales) => change(request, sales, op)
})

/** @type {System['commands']} */
export const SALE_COMMANDS = {
  create: {
    method: 'PUT',
    path: '/v1/sales/:id',
    access: 'admin',
    summary: 'Create a sale, or change one without claims',
    body: TERMS,
    schemas: { 200: SALE, 201: SALE },
    codes: ['SALE_HAS_CLAIMS', 'SALE_RESTORING'],
    async run (request, sales) {
      const { stock, perUser, mode, openAt, closeAt, holdMs, admitConcurrency } = request.body
      const hold = holdMs ?? (mode === 'direct' ? 0 : HOLD_MS)
      const faults = []
      if (mode !== 'direct' && hold === 0) faults.push({ field: 'holdMs', received: '0', expected: `more than 0 in mode ${mode}` })
      if (closeAt !== null && closeAt <= (openAt ?? 0)) {
        faults.push({ field: 'closeAt', received: String(closeAt), expected: 'a time after openAt' })
      }
      if (faults.length > 0) throw invalid(faults)
      const numbers = [stock, perUser ?? 1, openAt ?? 0, closeAt ?? MAX_TIME, hold].map(String)
      const reply = await change(request, sales, 'create', ...numbers, mode, String(admitConcurrency ?? SLOTS), sales.waits ? '1' : '0')
      if (reply.status === 201) await untilCompared(request.params.id, sales)
      return reply
    }
  },
  restock: {
    path: '/v1/sales/:id/restock',
    access: 'admin',
    summary: 'More units',
    body: { quantity: whole(1, MAX_UNITS)('more units') },
    schemas: { 200: SALE },
    codes: CODES,
    run: (request, sales) => change(request, sales, 'restock', String(request.body.quantity))
  },
  pause: setStateCommand('pause', 'Pause: holds can be confirmed, nothing else is sold'),
  resume: setStateCommand('resume', 'Resume'),
  close: setStateCommand('close', 'Close before closeAt')
}
