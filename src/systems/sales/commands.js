/**
 * Commands of sales, from checked fields to replies.
 *
 * In mode direct a claim is decided at once. In modes queue and token a unit is held first, for an admitted person or a token; the claim
 * then confirms that hold, so a queue, a token and a direct sale share one rule.
 *
 * @typedef {{ status: number, body: Record<string, unknown>, isReplay: boolean }} Reply
 * @typedef {{ stock: number, perUser: number | null, mode: string, openAt: number | null, closeAt: number | null, holdMs: number | null,
 *   admitConcurrency: number | null }} Terms times in ms
 * @typedef {import('../../admission/index.js').Decision & { generation: string }} Answer
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../../errors.js'
import { invalidFields } from '../../http/index.js'
import { claimOf, numbersOf, placeOf, expectAccepted } from './replies.js'
import { claimIdOf, claimOfTicket, ticketOf } from './tickets.js'

const RULE = 'bounded'
const HOLD_MS = 60_000
const SLOTS = 100
const COMPARED_WITHIN_MS = 2000
const LOOK_EVERY_MS = 50
const MAX_TIME = 2 ** 41 - 1

/**
 * @typedef {object} Parts
 * @property {(command: import('../../admission/index.js').Command) => Promise<Answer>} submit
 * @property {() => Promise<{ secret: string }>} agreed
 * @property {import('./tokens.js').Tokens} tokens
 * @property {import('./settlement.js').Settlement | null} settlement null: claims do not wait for the database
 * @property {boolean} isRecorded there is a database, which a new sale is compared with before it sells
 * @typedef {ReturnType<typeof createSales>} Sales
 */

/** @param {Parts} parts */
export function createSales (parts) {
  const { isRecorded, submit } = parts
  const { run, idsOf } = createRunner(parts)

  /** A command whose reply is the numbers of the sale. @param {string} id @param {string} requestId @param {string[]} args */
  async function change (id, requestId, args) {
    const answer = await run(id, '', requestId, args)
    const body = { id, code: answer.code, ...numbersOf(answer) }
    return { status: answer.code === 'created' ? 201 : 200, body, isReplay: answer.isReplay }
  }

  /** Until a new sale was compared with the database and sells, or for so long. @param {string} id */
  async function untilCompared (id) {
    for (let waitedMs = 0; waitedMs < COMPARED_WITHIN_MS; waitedMs += LOOK_EVERY_MS) {
      // the release of no claim changes nothing
      const { code } = await submit({ rule: RULE, key: id, scope: '', requestId: '', args: ['release', '', '-'] })
      if (code !== 'restoring') return
      await sleep(LOOK_EVERY_MS)
    }
  }

  return {
    ...createClaims(parts),

    /** @param {string} id @param {Terms} terms @param {string} requestId @throws {FreshetError} FIELD_INVALID, as expectAccepted */
    async create (id, { stock, perUser, mode, openAt, closeAt, holdMs, admitConcurrency }, requestId) {
      const hold = holdMs ?? (mode === 'direct' ? 0 : HOLD_MS)
      const faults = []
      if (mode !== 'direct' && hold === 0) faults.push({ field: 'holdMs', received: '0', expected: `more than 0 in mode ${mode}` })
      if (closeAt !== null && closeAt <= (openAt ?? 0)) {
        faults.push({ field: 'closeAt', received: String(closeAt), expected: 'a time after openAt' })
      }
      if (faults.length > 0) throw invalidFields(faults)
      const numbers = [stock, perUser ?? 1, openAt ?? 0, closeAt ?? MAX_TIME, hold].map(String)
      const args = ['create', ...numbers, mode, String(admitConcurrency ?? SLOTS), isRecorded ? '1' : '0']
      const reply = await change(id, requestId, args)
      if (isRecorded && reply.status === 201) await untilCompared(id)
      return reply
    },

    /**
     * Joins the waiting room.
     * @param {string} id @param {{ userId: string }} user @param {string} requestId @throws {FreshetError} as expectAccepted
     */
    async join (id, { userId }, requestId) {
      const { claim, secret } = await idsOf(id, userId, requestId)
      const answer = await run(id, userId, requestId, ['join', userId, claim])
      const ticket = answer.code === 'accepted' ? ticketOf(secret, { sale: id, user: userId, claim }) : undefined
      return { ...placeOf(answer, ticket), isReplay: answer.isReplay }
    },

    /**
     * @param {string} id @param {string} userId @param {string | null} ticket @param {string} requestId
     * @throws {FreshetError} TICKET_MISSING, TICKET_INVALID, SALE_ALREADY_CLAIMED, as expectAccepted
     */
    async leave (id, userId, ticket, requestId) {
      const { secret } = await idsOf(id, userId, requestId)
      const claim = claimOfTicket(secret, { sale: id, user: userId, ticket })
      const answer = await run(id, userId, requestId, ['leave', userId, claim])
      if (answer.code === 'already_sold') throw new FreshetError('SALE_ALREADY_CLAIMED', 'this ticket was used', { claimId: claim })
      return { status: 200, body: { status: 'left' }, isReplay: answer.isReplay }
    },

    /** @param {string} id @param {{ quantity: number }} more @param {string} requestId @throws as expectAccepted */
    restock: (id, { quantity }, requestId) => change(id, requestId, ['restock', String(quantity)]),

    /** @param {string} id @param {'pause' | 'resume' | 'close'} op @param {string} requestId @throws as expectAccepted */
    turn: (id, op, requestId) => change(id, requestId, [op])
  }
}

/** @param {Parts} parts */
function createRunner ({ submit, agreed, settlement }) {
  return {
    /**
     * @param {string} key @param {string} scope the user, or empty @param {string} requestId @param {string[]} args
     * @returns {Promise<Answer>} @throws {FreshetError} as expectAccepted
     */
    async run (key, scope, requestId, args) {
      settlement?.expectUp()
      return expectAccepted(await submit({ rule: RULE, key, scope, requestId, args }))
    },

    /** @param {string} sale @param {string} user @param {string} requestId */
    async idsOf (sale, user, requestId) {
      const { secret } = await agreed()
      return { secret, claim: claimIdOf(secret, { sale, user, requestId }) }
    }
  }
}

/** Claims and tokens. @param {Parts} parts */
function createClaims (parts) {
  const { tokens, settlement } = parts
  const { run, idsOf } = createRunner(parts)
  const final = settlement ? 'pending' : 'sold'

  /** @param {string} id @param {Answer} answer @param {string} claim @returns {Promise<Reply>} */
  async function settled (id, answer, claim) {
    const { status, body } = claimOf(answer, claim)
    if (body.status !== 'pending' || !settlement) return { status, body, isReplay: answer.isReplay }
    await settlement.settled(id, claim, answer.isReplay)
    return { status, body: { ...body, status: 'sold' }, isReplay: answer.isReplay }
  }

  /** Of a hold. @param {string} id @param {string} user @param {string} claim @param {string} requestId */
  function confirm (id, user, claim, requestId) {
    return run(id, user, requestId, ['confirm', user, claim, final])
  }

  /** @param {string} id @param {string} user @param {string} requestId @param {string[]} rest of the arguments */
  async function make (id, user, requestId, ...rest) {
    const answer = await run(id, user, requestId, ['claim', user, ...rest])
    if (answer.code === 'released') throw new FreshetError('CLAIM_EXPIRED', 'the claim of this request has expired, or was released')
    return answer
  }

  return {
    /**
     * @param {string} id @param {{ userId: string, quantity: number | null }} claim @param {string | null} ticket a ticket or a token
     * @param {string} requestId
     * @throws {FreshetError} TICKET_MISSING, TICKET_INVALID, CLAIM_UNSETTLED, CLAIM_REJECTED, as expectAccepted
     */
    async claim (id, { userId, quantity }, ticket, requestId) {
      const ids = await idsOf(id, userId, requestId)
      if (ticket === null) {
        const made = make(id, userId, requestId, String(quantity ?? 1), ids.claim, final, 'direct')
        return settled(id, await made.catch(needsTicket), ids.claim)
      }
      if (quantity !== null && quantity !== 1) {
        throw invalidFields([{ field: 'quantity', received: String(quantity), expected: '1 with a ticket or token' }])
      }
      const isToken = ticket.split('.').length === 3
      const claim = isToken
        ? await tokens.claimOf({ sale: id, user: userId, token: ticket })
        : claimOfTicket(ids.secret, { sale: id, user: userId, ticket })
      const answer = await confirm(id, userId, claim, requestId)
      if (answer.code === 'already_sold') {
        throw new FreshetError('SALE_ALREADY_CLAIMED', 'this ticket or token was used', { claimId: claim })
      }
      return settled(id, answer, claim)
    },

    /**
     * @param {string} id @param {string} claim @param {{ userId: string | null }} user if given, the claim must be of this user
     * @param {string} requestId
     * @throws {FreshetError} as expectAccepted
     */
    async confirm (id, claim, { userId }, requestId) {
      const answer = await confirm(id, userId ?? '', claim, requestId)
      const { body, isReplay } = await settled(id, answer, claim)
      return { status: 200, body, isReplay }
    },

    /**
     * Releases a hold. The ids of sold claims are listed, so only a command that names the user revokes one.
     * @type {(id: string, claim: string, user: { userId: string | null }, requestId: string) => Promise<Reply>} as confirm
     */
    async release (id, claim, { userId }, requestId) {
      const user = userId ?? ''
      const answer = await run(id, user, requestId, ['release', user, claim, ...(userId === null ? ['held'] : [])])
      return { status: 200, body: { claimId: claim, status: 'released', ...numbersOf(answer) }, isReplay: answer.isReplay }
    },

    /**
     * Holds a unit as a token.
     * @param {string} id @param {{ userId: string }} user @param {string} requestId
     * @throws {FreshetError} SALE_ALREADY_ISSUED, as expectAccepted
     */
    async issue (id, { userId }, requestId) {
      const { claim } = await idsOf(id, userId, requestId)
      const answer = await make(id, userId, requestId, '1', claim, final, 'token').catch(issuedBefore)
      const untilMs = Number(answer.details.until)
      const token = await tokens.issue({ sale: id, user: userId, claim, untilMs, lineage: answer.generation.split('.')[0] })
      return { status: 200, body: { token, expiresAt: untilMs }, isReplay: answer.isReplay }
    }
  }
}

/** @param {Error & { code?: string, mode?: string }} error @returns {never} */
function needsTicket (error) {
  if (error.code !== 'SALE_OTHER_MODE') throw error
  const what = error.mode === 'queue' ? 'ticket' : 'token'
  throw new FreshetError('TICKET_MISSING', `the sale has mode ${error.mode}; send a ${what} in the header Freshet-Ticket`)
}

/** @param {Error & { code?: string }} error @returns {never} */
function issuedBefore (error) {
  if (error.code !== 'SALE_ALREADY_CLAIMED') throw error
  throw new FreshetError('SALE_ALREADY_ISSUED', 'this user has a token; repeat with the same Idempotency-Key to get it again')
}
