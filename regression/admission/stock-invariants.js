/**
 * What must hold of a stock after each command: rule `bounded`.
 *
 * @typedef {import('./invariants.js').Step} Step
 * @typedef {import('./invariants.js').Content} Content
 * @typedef {{ status: string, quantity: number, user: string }} Claim
 */
const n = Number
const HAS_UNITS = ['held', 'pending', 'sold']

/** @param {Content} content @param {string} key @param {string} claim @returns {Claim | null} */
function claimOf ({ members }, key, claim) {
  const [status, quantity, user] = (members[key][`claim ${claim}`] ?? '').split(' ')
  return status ? { status, quantity: n(quantity), user } : null
}

/** @param {Content} content @param {string} key @param {string} user */
const unitsOf = ({ members }, key, user) => n(members[key][`user ${user}`] ?? 0)

/** Why a claim cannot be accepted; null: it can. @param {Step} step */
function reasonOf ({ before, command: { key, args: [, user, quantity, claim,, mode] }, now }) {
  const state = before.states[key]
  const known = claimOf(before, key, claim)
  if (state.mode !== mode) return ['other_mode']
  if (now < n(state.openAt)) return ['not_open']
  if (state.status === 'closed' || now >= n(state.closeAt)) return ['closed']
  if (state.status === 'paused') return ['paused']
  if (known && !HAS_UNITS.includes(known.status)) return ['released']
  if (n(quantity) > n(state.perUser)) return ['over_limit']
  if (known || unitsOf(before, key, user) + n(quantity) > n(state.perUser)) return ['already_claimed']
  if (n(state.available) >= n(quantity)) return null
  return [state.sold === state.stock ? 'sold_out' : state.held === '0' ? 'insufficient' : 'all_held']
}

/** The units of users are those of their claims, and the three numbers those of the stock. @param {Content} content @param {string} key */
function addsUp ({ states, members, holds }, key) {
  const { stock, available, held, sold, lineage, rememberMs } = states[key]
  if (stock === undefined || lineage === '') return true
  const units = /** @type {Record<string, number>} */ ({})
  let isTimed = true
  const sums = { held: 0, sold: 0 }
  for (const [field, value] of Object.entries(members[key])) {
    const [status, quantity, user] = value.split(' ')
    if (field.startsWith('user ')) units[field.slice(5)] = (units[field.slice(5)] ?? 0) - n(value)
    else if (HAS_UNITS.includes(status)) {
      units[user] = (units[user] ?? 0) + n(quantity)
      sums[status === 'sold' ? 'sold' : 'held'] += n(quantity)
    }
    const hasHold = holds[key][field.slice(6)] !== undefined
    if (rememberMs === undefined && field.startsWith('claim ') && (status === 'held') !== hasHold) isTimed = false
  }
  const isWhole = n(available) + n(held) + n(sold) === n(stock) && (lineage !== undefined || n(available) >= 0)
  // a stock that forgets may be closed with holds, and created again
  const areSums = rememberMs !== undefined || (sums.held === n(held) && sums.sold === n(sold))
  return isWhole && isTimed && areSums && Object.values(units).every((left) => left === 0)
}

/**
 * Whether a command makes a final rejection one no more: everything was sold.
 * @param {Step} step that was accepted @returns {boolean | null} null: not known from the state alone
 */
export function isReopening ({ before, command: { key, args: [op, user, claim] } }) {
  if (op === 'adopt' || op === 'restore') return null
  const { sold, stock, status, rememberMs } = before.states[key]
  const isForgotten = op === 'release' && claimOf(before, key, claim) === null && rememberMs !== undefined && user !== ''
  return ['release', 'restock'].includes(op) && status !== undefined && sold === stock && !isForgotten
}

/** @param {(step: Step) => boolean} isAccepted @returns {import('./invariants.js').Invariants} */
export const ofStock = (isAccepted) => ({
  'units of a stock add up: available, held, sold, of each user, and in holds': ({ after, command: { key } }) => addsUp(after, key),

  'no user has more units than allowed': ({ after, command: { key } }) => {
    const { perUser, lineage } = after.states[key]
    if (perUser === undefined || lineage !== undefined) return null
    return Object.entries(after.members[key]).every(([field, value]) => !field.startsWith('user ') || n(value) <= n(perUser))
  },

  'a claim is accepted if nothing is in its way, and else rejected for that reason': (step) => {
    const { before, after, command: { key, args }, decision: { code, isReplay }, now } = step
    const state = before.states[key]
    if (args[0] !== 'claim' || !state.status || isReplay || ['other_body', 'restoring'].includes(code)) return null
    const reason = reasonOf(step)
    if (reason) return reason.includes(code)
    const hold = args[6] ?? state.holdMs
    const { status } = claimOf(after, key, args[3]) ?? {}
    if (code !== 'accepted' || status !== (hold === '0' ? args[4] : 'held')) return false
    return status !== 'held' || hold === '' || n(after.holds[key][args[3]]) === now + n(hold)
  },

  'a hold becomes final until it has ended, by its user': (step) => {
    const { before, after, command: { key, args: [op, user, claim, final] }, decision: { code, isReplay }, now } = step
    if (op !== 'confirm' || !before.states[key].status || isReplay || ['other_body', 'restoring'].includes(code)) return null
    const was = claimOf(before, key, claim)
    if (!was || (user !== '' && was.user !== user)) return code === 'unknown_claim'
    const until = before.holds[key][claim]
    if (was.status === 'waiting') return code === 'not_admitted'
    if (['sold', 'pending'].includes(was.status)) return code === 'already_sold'
    if (was.status !== 'held' || (until !== undefined && now >= n(until))) return code === 'hold_expired'
    return code === 'accepted' && claimOf(after, key, claim)?.status === final
  },

  'released units are available again, and the claim is not made twice': (step) => {
    const { before, after, command: { key, args: [op, user, claim, status] }, decision: { code, isReplay } } = step
    if (op !== 'release' || !before.states[key].status || isReplay || ['other_body', 'restoring'].includes(code)) return null
    const was = claimOf(before, key, claim)
    const isOf = was && was.status !== 'waiting' && (user === '' || was.user === user)
    if (was && HAS_UNITS.includes(was.status) && isOf && (status === undefined || status === was.status)) {
      return code === 'accepted' && claimOf(after, key, claim)?.status === (was.status === 'sold' ? 'revoked' : 'released')
    }
    return code !== 'accepted' || (was === null && before.states[key].rememberMs !== undefined)
  },

  'what is due expires, and nothing else': (step) => {
    const { before, after, command: { key, args: [op] }, decision: { code, isReplay }, now } = step
    if (op !== 'expire' || !before.states[key].status || isReplay || ['other_body', 'restoring'].includes(code)) return null
    const due = Object.entries(before.holds[key]).filter(([, until]) => n(until) <= now)
    const isGone = (/** @type {[string, string]} */ [claim]) => !(n(after.holds[key][claim]) <= now)
    return code === (due.length > 0 ? 'accepted' : 'not_due') && due.every(isGone)
  },

  'the first hold is a task': ({ after, command: { key } }) => {
    const first = Math.min(...Object.values(after.holds[key]).map(n))
    return after.tasks[`bounded ${key} expire`] === (first === Infinity ? undefined : String(first))
  },

  'people are admitted in the order in which they joined, and no slot stays free while somebody waits': (step) => {
    const { before, after, command: { key, args: [op] }, now } = step
    const state = after.states[key]
    if (state.mode !== 'queue' || !isAccepted(step) || ['create', 'restore'].includes(op)) return null
    const waiting = Object.entries(after.waiting[key]).map(([user, place]) => ({ user, place: n(place) }))
    const admitted = after.events[key].slice(before.events[key].length).filter(({ type, place }) => type === 'held' && place)
    const first = Math.min(...waiting.filter(({ user }) => user !== step.command.args[1]).map(({ place }) => place))
    const isOpen = state.status === 'open' && now >= n(state.openAt) && now < n(state.closeAt)
    const slots = Math.min(n(state.slots) - n(state.held), n(state.available))
    const isFree = isOpen && slots > 0 && waiting.length > 0 && !['claim', 'join', 'close', 'due'].includes(op)
    return admitted.every(({ place }) => n(place) < first) && !isFree && (admitted.length === 0 || isOpen)
  },

  'a sale ends once: paused, closed and restocked as its commands say': (step) => {
    const { before, after, command: { key, args: [op, more] }, decision: { code, isReplay }, now } = step
    const [was, is] = [before.states[key], after.states[key]]
    if (!was.status || isReplay || ['other_body', 'restoring'].includes(code)) return null
    const isEnded = was.status === 'closed' || now >= n(was.closeAt)
    if (op === 'restock') return isEnded ? code === 'closed' : n(is.stock) === n(was.stock) + n(more)
    if (op === 'pause' || op === 'resume') {
      const to = op === 'pause' ? 'paused' : 'open'
      return isEnded ? code === 'closed' : was.status === to ? code === 'unchanged' : is.status === to
    }
    const isOver = is.status === 'closed' && after.tasks[`bounded ${key} due`] === undefined
    if (op === 'close') return was.status === 'closed' ? code === 'closed' : isOver
    if (op === 'remove') return was.status === 'closed' ? code === 'closed' : code === (was.held === '0' ? 'accepted' : 'has_holds')
    return op === 'due' ? code === (was.status === 'closed' || now < n(was.closeAt) ? 'not_due' : 'accepted') : null
  }
})
