/**
 * Claims: held, confirmed, settled by the database, released, expired.
 *
 * @typedef {import('../index.js').Fields} Fields
 * @typedef {import('../index.js').Rule} Rule
 * @typedef {import('../index.js').Read} Read
 * @typedef {import('./units.js').Change} Change
 */
import { admit, noteTurn } from './queue.js'
import { add, blocked, detailsOf, eventOf, free, hasUnits, nothing, parsed } from './units.js'

/** holds that one command expires */
const MAX_EXPIRED = 64
/** Why too few units are available. @param {Fields} state @param {Read} read @returns {import('../index.js').Outcome} */
function shortage (state, read) {
  if (state.sold === state.stock) return { code: 'sold_out', details: detailsOf(state) }
  if (state.held === '0') return { code: 'insufficient', details: detailsOf(state) }
  return { code: 'all_held', details: [...detailsOf(state), 'nextHoldUntil', read.firstHold() ?? ''] }
}

/**
 * A hold becomes final, or a pending claim sold.
 * @param {Fields} state @param {{ claim: string, quantity: string, owner: string, since: string, final: string }} claimed
 * @param {number} now @param {Read} read @returns {import('../index.js').Outcome}
 */
function finish (state, { claim, quantity, owner, since, final }, now, read) {
  const change = nothing()
  if (final === 'sold') {
    add(state, 'held', -Number(quantity))
    add(state, 'sold', Number(quantity))
  }
  noteTurn(state, now, read.holdUntil(claim))
  change.events.push(eventOf(state, final, claim, owner, quantity))
  change.members.push([`claim ${claim}`, `${final} ${quantity} ${owner} ${since}`])
  change.holds.push([claim, null])
  admit(state, now, read, change, '')
  return { code: 'accepted', details: [...detailsOf(state), 'claim', claim, 'status', final], change }
}

/** @param {Fields} state @param {number} now @param {Read} read @param {Change} change @param {string[]} claims */
export function expireAll (state, now, read, change, claims) {
  for (const claim of claims) {
    const [status = '', quantity = '', user = '', since = ''] = parsed(read.member(`claim ${claim}`))
    noteTurn(state, now, read.holdUntil(claim))
    free(state, change, { claim, status, quantity, user, since, type: 'expired' })
  }
}

/** @type {Record<string, Rule>} */
export const CLAIM_OPS = {
  claim (state, [, user, quantity, claim, final, mode], now, read) {
    if (state.mode !== mode) return { code: 'other_mode', details: ['mode', state.mode] }
    const why = blocked(state, now)
    if (why) return why
    const [known] = parsed(read.member(`claim ${claim}`))
    const owned = Number(read.member(`user ${user}`) ?? '0')
    if (known !== undefined && !hasUnits(known)) return { code: 'released', details: detailsOf(state) }
    if (Number(quantity) > Number(state.perUser)) return { code: 'over_limit', details: ['perUser', state.perUser] }
    if (known !== undefined || owned + Number(quantity) > Number(state.perUser)) {
      return { code: 'already_claimed', details: detailsOf(state) }
    }
    if (Number(state.available) < Number(quantity)) return shortage(state, read)
    const status = state.holdMs === '0' ? final : 'held'
    const until = String(now + Number(state.holdMs))
    add(state, 'available', -Number(quantity))
    add(state, status === 'sold' ? 'sold' : 'held', Number(quantity))
    const event = eventOf(state, status, claim, user, quantity)
    const isHold = status === 'held'
    return {
      code: 'accepted',
      change: {
        events: [isHold ? [...event, 'until', until] : event],
        members: [[`claim ${claim}`, `${status} ${quantity} ${user} ${state.seq}`]],
        units: [[user, Number(quantity)]],
        holds: isHold ? [[claim, until]] : []
      },
      details: [...detailsOf(state), 'claim', claim, 'status', status, ...isHold ? ['until', until] : []]
    }
  },

  confirm (state, [, user, claim, final], now, read) {
    const [status, quantity = '', owner = '', since = ''] = parsed(read.member(`claim ${claim}`))
    const isOwner = user === '' || owner === user
    if (status === undefined || !isOwner) return { code: 'unknown_claim', details: detailsOf(state) }
    if (status === 'waiting') return { code: 'not_admitted', details: detailsOf(state) }
    if (status === 'sold' || status === 'pending') return { code: 'already_sold', details: [...detailsOf(state), 'status', status] }
    if (status !== 'held' || now >= Number(read.holdUntil(claim))) return { code: 'hold_expired', details: detailsOf(state) }
    return finish(state, { claim, quantity, owner, since, final }, now, read)
  },

  settle (state, [, , claim], now, read) {
    const [status, quantity = '', owner = '', since = ''] = parsed(read.member(`claim ${claim}`))
    if (status === 'sold') return { code: 'already_sold', details: detailsOf(state) }
    if (status !== 'pending') return { code: 'unknown_claim', details: detailsOf(state) }
    return finish(state, { claim, quantity, owner, since, final: 'sold' }, now, read)
  },

  release (state, [, user, claim, only], now, read) {
    const [status = '', quantity = '', owner = '', since = ''] = parsed(read.member(`claim ${claim}`))
    if (only !== undefined && status !== only) return { code: 'unknown_claim', details: detailsOf(state) }
    if (status === '' && user !== '') {
      const change = nothing()
      change.members.push([`claim ${claim}`, `released 0 ${user} 0`])
      return { code: 'accepted', details: detailsOf(state), change }
    }
    const isOwner = user === '' || owner === user
    if (status === '' || status === 'waiting' || !isOwner) return { code: 'unknown_claim', details: detailsOf(state) }
    if (!hasUnits(status)) return { code: 'released', details: detailsOf(state) }
    const change = nothing()
    const reopens = state.sold === state.stock
    noteTurn(state, now, read.holdUntil(claim))
    const type = status === 'sold' ? 'revoked' : 'released'
    free(state, change, { claim, status, quantity, user: owner, since, type })
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change: { ...change, reopens } }
  },

  expire (state, args, now, read) {
    const claims = read.holdsDue(now, MAX_EXPIRED)
    if (claims.length === 0) return { code: 'not_due', details: detailsOf(state) }
    const change = nothing()
    expireAll(state, now, read, change, claims)
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change }
  }
}
