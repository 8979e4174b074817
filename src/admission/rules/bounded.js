/**
 * Rule `bounded`, units of a stock: the same as lua/rules/bounded.lua, as a pure function. One rule is one file, as there, also when it
 * is longer than 250 lines.
 *
 *     create    stock perUser openAt closeAt holdMs mode slots recorded
 *     claim     user quantity claim final mode   a hold, or final at once if holdMs is 0; `final`: sold, or pending
 *     confirm   user claim final       a hold becomes final; an empty user is any user
 *     settle    user claim             a pending claim becomes sold: the database has it
 *     release   user claim             a hold, or a final claim; a claim that is unknown can never be made then
 *     join      user claim             the waiting room; `slots` people at a time are admitted, each with a hold
 *     leave     user claim             the waiting room, or an admission
 *     expire, open, due                scheduled tasks: holds that are due, the time of opening, the time of closing
 *     restock   quantity
 *     pause, resume, close
 *     restore   (claim user quantity status)...   claims that the database has; until `adopt` nothing is sold
 *     adopt                            the state agrees with the database
 *
 * available + held + sold = stock, always; pending claims are held. A claim that was released or has expired keeps its member, so that it
 * is not made twice. Admission from the waiting room is part of the command that frees a slot, so no slot waits for a timer.
 *
 * A recorded sale belongs to a lineage. In another one its state may be an older copy, so it sells again only after `restore` and `adopt`.
 *
 * @typedef {import('./index.js').Fields} Fields
 * @typedef {import('./index.js').Rule} Rule
 * @typedef {import('./index.js').Read} Read
 * @typedef {Required<Pick<import('./index.js').Change, 'events' | 'members' | 'units' | 'holds' | 'waiting'>>} Change
 */

const TERMS = Object.freeze(['stock', 'perUser', 'openAt', 'closeAt', 'holdMs', 'mode', 'slots'])
/** holds that one command expires */
const MAX_EXPIRED = 64
/** of the mean time that an admitted person takes: the share of a new one */
const TURN_WEIGHT = 8

/** @param {Fields} state @param {string} field @param {number} more */
const add = (state, field, more) => { state[field] = String(Number(state[field]) + more) }

/** @param {Fields} state @returns {string[]} */
const detailsOf = ({ available, held, sold, seq }) => ['available', available, 'held', held, 'sold', sold, 'seq', seq]

/** @returns {Change} */
const nothing = () => ({ events: [], members: [], units: [], holds: [], waiting: [] })

/** @param {Fields} state @param {string} type @param {string} claim @param {string} user @param {string} quantity */
function eventOf (state, type, claim, user, quantity) {
  add(state, 'seq', 1)
  return ['seq', state.seq, 'type', type, 'claim', claim, 'user', user, 'quantity', quantity,
    'available', state.available, 'held', state.held, 'sold', state.sold]
}

/** @param {string | null} member @returns {(string | undefined)[]} status, quantity, user */
const parsed = (member) => member?.split(' ') ?? []

/** @param {Fields} state @param {number} now */
const isEnded = ({ status, closeAt }, now) => status === 'closed' || now >= Number(closeAt)

/** @param {Fields} state @param {Read} read */
const isRestoring = ({ lineage }, read) => lineage !== undefined && lineage !== read.lineage()

/** Why nothing can be claimed now. @param {Fields} state @param {number} now @returns {import('./index.js').Outcome | null} */
function blocked (state, now) {
  if (now < Number(state.openAt)) return { code: 'not_open', details: ['openAt', state.openAt] }
  if (isEnded(state, now)) return { code: 'closed', details: detailsOf(state) }
  return state.status === 'paused' ? { code: 'paused', details: detailsOf(state) } : null
}

/**
 * Admits those who wait, as long as a slot and a unit are free.
 * @param {Fields} state @param {number} now @param {Read} read @param {Change} change @param {string} leaving a user, or empty
 */
function admit (state, now, read, change, leaving) {
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

/** @param {Fields} state @param {number} position from 1 */
const placeOf = ({ slots, turnMs }, position) =>
  ['position', String(position), 'etaMs', String(Math.ceil(position / Number(slots)) * Number(turnMs))]

/** The time that an admitted person took. @param {Fields} state @param {number} now @param {string | null} until */
function noteTurn (state, now, until) {
  if (state.mode !== 'queue' || until === null) return
  const tookMs = now - (Number(until) - Number(state.holdMs))
  add(state, 'turnMs', Math.floor((tookMs - Number(state.turnMs)) / TURN_WEIGHT))
}

/**
 * Returns the units of a claim to the stock.
 * @param {Fields} state @param {Change} change @param {{ claim: string, status: string, quantity: string, user: string, since: string,
 *   type: string }} claimed `since`: the sequence number of its first event
 */
function free (state, change, { claim, status, quantity, user, since, type }) {
  add(state, status === 'sold' ? 'sold' : 'held', -Number(quantity))
  add(state, 'available', Number(quantity))
  change.events.push(eventOf(state, type, claim, user, quantity))
  change.members.push([`claim ${claim}`, `${type} ${quantity} ${user} ${since}`])
  change.units.push([user, -Number(quantity)])
  change.holds.push([claim, null])
}

/** @type {Record<string, Rule>} */
const OPS = {
  create (state, [, ...terms], now) {
    if (state.status !== undefined && TERMS.every((term, i) => state[term] === terms[i])) {
      return { code: 'unchanged', details: detailsOf(state) }
    }
    if (state.status !== undefined && (state.available !== state.stock || state.queued !== '0' || state.status === 'closed')) {
      return { code: 'has_claims', details: detailsOf(state) }
    }
    TERMS.forEach((term, i) => { state[term] = terms[i] })
    if (terms[TERMS.length] === '1') state.lineage = ''
    Object.assign(state,
      { status: 'open', available: state.stock, held: '0', sold: '0', queued: '0', turnMs: state.holdMs, seq: state.seq ?? '0' })
    const opens = state.mode === 'queue' && now < Number(state.openAt)
    return {
      code: 'created',
      details: detailsOf(state),
      change: { events: [['seq', '0', 'type', 'open']], tasks: [['open', opens ? state.openAt : null], ['due', state.closeAt]] }
    }
  },

  claim (state, [, user, quantity, claim, final, mode], now, read) {
    if (state.mode !== mode) return { code: 'other_mode', details: ['mode', state.mode] }
    const why = blocked(state, now)
    if (why) return why
    const [known] = parsed(read.member(`claim ${claim}`))
    const owned = Number(read.member(`user ${user}`) ?? '0')
    if (known === 'released') return { code: 'released', details: detailsOf(state) }
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

  release (state, [, user, claim], now, read) {
    const [status = '', quantity = '', owner = '', since = ''] = parsed(read.member(`claim ${claim}`))
    if (status === '' && user !== '') {
      const change = nothing()
      change.members.push([`claim ${claim}`, `released 0 ${user} 0`])
      return { code: 'accepted', details: detailsOf(state), change }
    }
    const isOwner = user === '' || owner === user
    if (status === '' || status === 'waiting' || !isOwner) return { code: 'unknown_claim', details: detailsOf(state) }
    if (!['held', 'pending', 'sold'].includes(status)) return { code: 'released', details: detailsOf(state) }
    const change = nothing()
    const reopens = state.sold === state.stock
    noteTurn(state, now, read.holdUntil(claim))
    const type = status === 'sold' ? 'revoked' : 'released'
    free(state, change, { claim, status, quantity, user: owner, since, type })
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change: { ...change, reopens } }
  },

  join (state, [, user, claim], now, read) {
    if (state.mode !== 'queue') return { code: 'other_mode', details: ['mode', state.mode] }
    if (isEnded(state, now)) return { code: 'closed', details: detailsOf(state) }
    const [, known = ''] = parsed(read.member(`wait ${user}`))
    const [status] = parsed(read.member(`claim ${known}`))
    if (status === 'held') return { code: 'admitted', details: ['until', read.holdUntil(known) ?? ''] }
    if (status === 'waiting') return { code: 'waiting', details: placeOf(state, read.position(user)) }
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
    return { code: 'accepted', details: ['status', 'waiting', ...placeOf(state, ahead + 1)], change }
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
      free(state, change, { claim, status, quantity, user, since, type: 'released' })
    }
    admit(state, now, read, change, user)
    return { code: 'accepted', details: detailsOf(state), change }
  },

  expire (state, args, now, read) {
    const claims = read.holdsDue(now, MAX_EXPIRED)
    if (claims.length === 0) return { code: 'not_due', details: detailsOf(state) }
    const change = nothing()
    expireAll(state, now, read, change, claims)
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change }
  },

  open (state, args, now, read) {
    if (now < Number(state.openAt)) return { code: 'not_due', details: detailsOf(state) }
    const change = nothing()
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change: { ...change, tasks: [['open', null]] } }
  },

  restock (state, [, quantity], now, read) {
    if (isEnded(state, now)) return { code: 'closed', details: detailsOf(state) }
    const change = nothing()
    const reopens = state.sold === state.stock
    add(state, 'stock', Number(quantity))
    add(state, 'available', Number(quantity))
    change.events.push(eventOf(state, 'restocked', '', '', quantity))
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change: { ...change, reopens } }
  },

  pause (state, args, now, read) { return turnTo(state, now, read, 'paused', 'paused') },

  resume (state, args, now, read) { return turnTo(state, now, read, 'open', 'resumed') },

  close (state) {
    if (state.status === 'closed') return { code: 'closed', details: detailsOf(state) }
    return finishSale(state)
  },

  due (state, args, now) {
    if (state.status === 'closed' || now < Number(state.closeAt)) return { code: 'not_due', details: detailsOf(state) }
    return finishSale(state)
  },

  restore (state, [, ...rows], now, read) {
    if (!isRestoring(state, read)) return { code: 'unchanged', details: detailsOf(state) }
    const change = nothing()
    for (let i = 0; i < rows.length; i += 4) restoreOne(state, change, rows.slice(i, i + 4), read)
    return { code: 'accepted', details: detailsOf(state), change }
  },

  adopt (state, args, now, read) {
    if (state.lineage === read.lineage()) return { code: 'unchanged', details: detailsOf(state) }
    const change = nothing()
    // holds of a history that was lost may keep units that were sold in it
    const short = Math.max(0, -Number(state.available))
    expireAll(state, now, read, change, read.holdsDue(Infinity, short))
    const reopens = (state.lineage ?? '') !== ''
    state.lineage = read.lineage()
    change.events.push(['seq', '0', 'type', 'restored'])
    admit(state, now, read, change, '')
    return { code: 'accepted', details: detailsOf(state), change: { ...change, reopens } }
  }
}
/** what is decided while a sale is restored */
const RESTORING = Object.freeze(['create', 'restore', 'adopt', 'close', 'due', 'pause'])

/**
 * A hold becomes final, or a pending claim sold.
 * @param {Fields} state @param {{ claim: string, quantity: string, owner: string, since: string, final: string }} claimed
 * @param {number} now @param {Read} read @returns {import('./index.js').Outcome}
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
function expireAll (state, now, read, change, claims) {
  for (const claim of claims) {
    const [status = '', quantity = '', user = '', since = ''] = parsed(read.member(`claim ${claim}`))
    noteTurn(state, now, read.holdUntil(claim))
    free(state, change, { claim, status, quantity, user, since, type: 'expired' })
  }
}

/**
 * @param {Fields} state @param {number} now @param {Read} read @param {string} status @param {string} type of the event
 * @returns {import('./index.js').Outcome}
 */
function turnTo (state, now, read, status, type) {
  if (isEnded(state, now)) return { code: 'closed', details: detailsOf(state) }
  if (state.status === status) return { code: 'unchanged', details: detailsOf(state) }
  state.status = status
  const change = nothing()
  change.events.push(eventOf(state, type, '', '', '0'))
  admit(state, now, read, change, '')
  return { code: 'accepted', details: detailsOf(state), change }
}

/** @param {Fields} state @returns {import('./index.js').Outcome} */
function finishSale (state) {
  state.status = 'closed'
  const events = [eventOf(state, 'closed', '', '', '0')]
  return { code: 'accepted', details: detailsOf(state), change: { events, tasks: [['due', null], ['open', null]], ends: true } }
}

/** A claim as the database has it. @param {Fields} state @param {Change} change @param {string[]} row @param {Read} read */
function restoreOne (state, change, [claim, user, quantity, status], read) {
  const [known = '', ownQuantity = '', owner = '', since = ''] = parsed(read.member(`claim ${claim}`))
  const hasUnits = ['held', 'pending', 'sold'].includes(known)
  if (status !== 'sold') {
    if (hasUnits) free(state, change, { claim, status: known, quantity: ownQuantity, user: owner, since, type: 'revoked' })
    return
  }
  if (known === 'sold') return
  if (known === 'waiting') change.waiting.push([owner, null])
  const units = hasUnits ? ownQuantity : quantity
  add(state, hasUnits ? 'held' : 'available', -Number(units))
  add(state, 'sold', Number(units))
  const buyer = hasUnits ? owner : user
  change.events.push(eventOf(state, 'sold', claim, buyer, units))
  change.members.push([`claim ${claim}`, `sold ${units} ${buyer} ${hasUnits ? since : state.seq}`])
  if (!hasUnits) change.units.push([user, Number(quantity)])
  change.holds.push([claim, null])
}

/** Why too few units are available. @param {Fields} state @param {Read} read @returns {import('./index.js').Outcome} */
function shortage (state, read) {
  if (state.sold === state.stock) return { code: 'sold_out', details: detailsOf(state) }
  if (state.held === '0') return { code: 'insufficient', details: detailsOf(state) }
  return { code: 'all_held', details: [...detailsOf(state), 'nextHoldUntil', read.firstHold() ?? ''] }
}

/** @type {Rule} */
export function bounded (state, args, now, read) {
  if (args[0] !== 'create' && state.status === undefined) return { code: 'unknown', details: [] }
  if (isRestoring(state, read) && !RESTORING.includes(args[0])) return { code: 'restoring', details: detailsOf(state) }
  return OPS[args[0]](state, args, now, read)
}

/**
 * The state after an event, of a state before it.
 * @param {Fields} state is changed; its version is not kept up to date
 * @param {Fields} event
 * @returns {boolean} false: the event does not say everything
 */
export function foldBounded (state, { type, seq, available, held, sold }) {
  if (!UNITS.includes(type)) return false
  Object.assign(state, { seq, available, held, sold })
  return true
}
/** events that change no more than the numbers of units */
const UNITS = Object.freeze(['held', 'pending', 'sold', 'released', 'revoked', 'expired'])

/**
 * Whether a claim will be rejected whenever it is decided: everything is sold.
 * @param {Fields} state @param {string[]} args
 * @returns {import('./index.js').Outcome | null} the rejection
 */
export function certainBounded (state, [op]) {
  const isSoldOut = state.sold === state.stock && state.status === 'open'
  return isSoldOut && (op === 'claim' || op === 'join') ? { code: 'sold_out', details: detailsOf(state) } : null
}
