/**
 * Claims: held, confirmed, settled by the database, released, expired.
 *
 * @typedef {import('../index.js').Fields} Fields
 * @typedef {import('../index.js').Rule} Rule
 * @typedef {import('../index.js').Read} Read
 * @typedef {import('./units.js').Change} Change
 */
import { admit, noteTurn } from './queue.js'
import { add, blocked, detailsOf, eventOf, free, hasUnits, nothing, parsed, rememberedUntil } from './units.js'

/** holds that one command expires */
const MAX_EXPIRED = 256
/** events of a stock that forgets claims */
const KEEPS = 1000

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
  change.holds.push([claim, final === 'sold' ? rememberedUntil(state, now) : null])
  admit(state, now, read, change, '')
  return { code: 'accepted', details: [...detailsOf(state), 'claim', claim, 'status', final], change: kept(state, change) }
}

/** @param {Fields} state @param {number} now @param {Read} read @param {Change} change @param {string[]} claims */
export function expireAll (state, now, read, change, claims) {
  for (const claim of claims) {
    const [status = '', quantity = '', user = '', since = ''] = parsed(read.member(`claim ${claim}`))
    if (status === 'held') {
      noteTurn(state, now, read.holdUntil(claim))
      free(state, change, { claim, status, quantity, user, since, type: 'expired', now })
    } else {
      change.members.push([`claim ${claim}`, null])
      change.holds.push([claim, null])
      if (status === 'sold') change.units.push([user, -Number(quantity)])
    }
  }
}

/** Of a stock that forgets claims, only the newest events are kept. @param {Fields} state @param {Change} change */
const kept = (state, change) => state.rememberMs === undefined ? change : { ...change, keeps: KEEPS }

/** @type {Record<string, Rule>} */
export const CLAIM_OPS = {
  claim (state, [, user, quantity, claim, final, mode, hold = state.holdMs], now, read) {
    if (state.mode !== mode) return { code: 'other_mode', details: ['mode', state.mode] }
    const why = blocked(state, now)
    if (why) return why
    const [known, units = ''] = parsed(read.member(`claim ${claim}`))
    const owned = Number(read.member(`user ${user}`) ?? '0')
    if (known !== undefined && !hasUnits(known)) return { code: 'released', details: detailsOf(state) }
    if (Number(quantity) > Number(state.perUser)) return { code: 'over_limit', details: ['perUser', state.perUser] }
    if (known !== undefined || owned + Number(quantity) > Number(state.perUser)) {
      return { code: 'already_claimed', details: [...detailsOf(state), 'status', known ?? '', 'quantity', units] }
    }
    if (Number(state.available) < Number(quantity)) return shortage(state, read)
    const status = hold === '0' ? final : 'held'
    const until = hold === '' ? '' : String(now + Number(hold))
    add(state, 'available', -Number(quantity))
    add(state, status === 'sold' ? 'sold' : 'held', Number(quantity))
    const event = eventOf(state, status, claim, user, quantity)
    const ends = status === 'held' && until !== ''
    return {
      code: 'accepted',
      change: {
        events: [ends ? [...event, 'until', until] : event],
        members: [[`claim ${claim}`, `${status} ${quantity} ${user} ${state.seq}`]],
        units: [[user, Number(quantity)]],
        holds: ends ? [[claim, until]] : [],
        ...state.rememberMs === undefined ? {} : { keeps: KEEPS }
      },
      details: [...detailsOf(state), 'claim', claim, 'status', status, ...ends ? ['until', until] : []]
    }
  },

  confirm (state, [, user, claim, final], now, read) {
    const [status, quantity = '', owner = '', since = ''] = parsed(read.member(`claim ${claim}`))
    const isOwner = user === '' || owner === user
    if (status === undefined || !isOwner) return { code: 'unknown_claim', details: detailsOf(state) }
    if (status === 'waiting') return { code: 'not_admitted', details: detailsOf(state) }
    if (status === 'sold' || status === 'pending') return { code: 'already_sold', details: [...detailsOf(state), 'status', status] }
    const until = read.holdUntil(claim)
    if (status !== 'held' || (until !== null && now >= Number(until))) return { code: 'hold_expired', details: detailsOf(state) }
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
    if (only !== undefined && status !== only && (status === '' || hasUnits(status))) {
      return { code: 'unknown_claim', details: detailsOf(state) }
    }
    if (status === '' && user !== '' && state.rememberMs !== undefined) {
      const change = nothing()
      change.members.push([`claim ${claim}`, `released 0 ${user} 0`])
      change.holds.push([claim, rememberedUntil(state, now)])
      return { code: 'accepted', details: detailsOf(state), change }
    }
    const isOwner = user === '' || owner === user
    if (status === '' || status === 'waiting' || !isOwner) return { code: 'unknown_claim', details: detailsOf(state) }
    if (!hasUnits(status)) return { code: 'released', details: detailsOf(state) }
    const change = nothing()
    const reopens = state.sold === state.stock
    noteTurn(state, now, read.holdUntil(claim))
    const type = status === 'sold' ? 'revoked' : 'released'
    free(state, change, { claim, status, quantity, user: owner, since, type, now })
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change: { ...kept(state, change), reopens } }
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
