/**
 * The waiting room: people join, are admitted in order as slots and units become free, and leave.
 *
 * @typedef {import('../index.js').Fields} Fields
 * @typedef {import('../index.js').Rule} Rule
 * @typedef {import('../index.js').Read} Read
 * @typedef {import('./units.js').Change} Change
 */
import { add, blocked, detailsOf, eventOf, free, isEnded, nothing, parsed } from './units.js'

/** of the mean time that an admitted person takes: the share of a new one */
const TURN_WEIGHT = 8

/**
 * Admits those who wait, as long as a slot and a unit are free.
 * @param {Fields} state @param {number} now @param {Read} read @param {Change} change @param {string} leaving a user, or empty
 */
export function admit (state, now, read, change, leaving) {
  const free = Math.min(Number(state.slots) - Number(state.held), Number(state.available))
  if (state.mode !== 'queue' || free <= 0 || blocked(state, now)) return
  const users = read.waiting(free + 1).filter((user) => user !== leaving).slice(0, free)
  for (const user of users) admitOne(state, now, change, user, parsed(read.member(`wait ${user}`)))
}

/**
 * @param {Fields} state @param {number} now @param {Change} change @param {string} user
 * @param {(string | undefined)[]} wait place and claim
 */
function admitOne (state, now, change, user, [place = '', claim = '']) {
  const until = String(now + Number(state.holdMs))
  add(state, 'available', -1)
  add(state, 'held', 1)
  change.events.push([...eventOf(state, 'held', claim, user, '1'), 'until', until, 'place', place])
  change.members.push([`claim ${claim}`, `held 1 ${user} ${state.seq}`])
  change.units.push([user, 1])
  change.holds.push([claim, until])
  change.waiting.push([user, null])
}

/** The queue does not move before the sale opens. @param {Fields} state @param {number} position from 1 @param {number} now */
const placeOf = ({ slots, turnMs, openAt }, position, now) => ['position', String(position),
  'etaMs', String(Math.max(0, Number(openAt) - now) + Math.ceil(position / Number(slots)) * Number(turnMs))]

/** The time that an admitted person took. @param {Fields} state @param {number} now @param {string | null} until */
export function noteTurn (state, now, until) {
  if (state.mode !== 'queue' || until === null) return
  const tookMs = now - (Number(until) - Number(state.holdMs))
  add(state, 'turnMs', Math.floor((tookMs - Number(state.turnMs)) / TURN_WEIGHT))
}

/** @type {Record<string, Rule>} */
export const QUEUE_OPS = {
  join (state, [, user, claim], now, read) {
    if (state.mode !== 'queue') return { code: 'other_mode', details: ['mode', state.mode] }
    if (isEnded(state, now)) return { code: 'closed', details: detailsOf(state) }
    const [, known = ''] = parsed(read.member(`wait ${user}`))
    const [status] = parsed(read.member(`claim ${known}`))
    if (status === 'held') return { code: 'admitted', details: ['until', read.holdUntil(known) ?? ''] }
    if (status === 'waiting') return { code: 'waiting', details: placeOf(state, read.position(user), now) }
    const isUsed = read.member(`claim ${claim}`) !== null
    if (isUsed || Number(read.member(`user ${user}`) ?? '0') >= Number(state.perUser)) {
      return { code: 'already_claimed', details: [...detailsOf(state), 'status', status ?? ''] }
    }
    if (state.sold === state.stock) return { code: 'sold_out', details: detailsOf(state) }
    const change = nothing()
    const ahead = read.waitingCount()
    add(state, 'queued', 1)
    change.members.push([`wait ${user}`, `${state.queued} ${claim}`])
    const free = Math.min(Number(state.slots) - Number(state.held), Number(state.available))
    if (ahead === 0 && free > 0 && !blocked(state, now)) {
      admitOne(state, now, change, user, [state.queued, claim])
      return { code: 'accepted', details: ['status', 'admitted', 'until', String(now + Number(state.holdMs))], change }
    }
    change.members.push([`claim ${claim}`, `waiting 0 ${user} 0`])
    change.waiting.push([user, state.queued])
    return { code: 'accepted', details: ['status', 'waiting', ...placeOf(state, ahead + 1, now)], change }
  },

  leave (state, [, user, claim], now, read) {
    const [, known] = parsed(read.member(`wait ${user}`))
    const [status, quantity = '', , since = ''] = parsed(read.member(`claim ${claim}`))
    if (known !== claim) return { code: 'unknown_claim', details: [] }
    if (status === 'sold' || status === 'pending') return { code: 'already_sold', details: detailsOf(state) }
    if (status !== 'waiting' && status !== 'held') return { code: 'released', details: detailsOf(state) }
    const change = nothing()
    if (status === 'waiting') {
      change.members.push([`claim ${claim}`, `left 0 ${user} 0`])
      change.waiting.push([user, null])
    } else {
      noteTurn(state, now, read.holdUntil(claim))
      free(state, change, { claim, status, quantity, user, since, type: 'released', now })
    }
    admit(state, now, read, change, user)
    return { code: 'accepted', details: detailsOf(state), change }
  },

  open (state, args, now, read) {
    if (now < Number(state.openAt)) return { code: 'not_due', details: detailsOf(state) }
    const change = nothing()
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change: { ...change, tasks: [['open', null]] } }
  }
}
