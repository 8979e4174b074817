/**
 * What a process knows of the rules of admission without the server. The rules themselves are lua/rules; a rule has functions here if
 * states can be kept up to date by its events, or if rejections are certain.
 *
 * @typedef {Record<string, string>} Fields of a state or an event; numbers are texts of whole numbers
 * @typedef {{ code: string, details: readonly (string | number)[] }} Rejection `details`: names and values in turn
 * @typedef {{ folds: Readonly<Record<string, (state: Fields, event: Fields) => boolean>>,
 *   certain: Readonly<Record<string, (state: Fields, args: string[]) => Rejection | null>>,
 *   claimants?: Readonly<Record<string, (args: string[]) => string>>,
 *   names: Readonly<{ seq: string, version: string, exists: string }> }} Ruleset
 */

/** What a rule may keep of a key besides its state and events: keys that are passed only to rules that declare them. */
export const KEPT_PARTS = Object.freeze(['members', 'holds', 'waiting'])

/** Which of them our rules declare. @type {Readonly<Record<string, readonly string[]>>} */
export const KEPT = Object.freeze({ bounded: KEPT_PARTS })

/**
 * Tasks of ours, rule and name, that are to run some time after they are set. The others run at a time that somebody gave, such as closeAt.
 */
export const DURATIONS = Object.freeze(['bounded expire', 'latest refresh', 'step deadline', 'step run'])

/**
 * What a memory of keys knows of our rules. `folds`: states after events; a rule without one has its states read again. `certain`:
 * rejections that hold whenever the command is decided, within a generation. `claimants`: the user of a command; an earlier
 * claim of that user is the answer. `names`: of fields of a state; `exists`: one that each has.
 * @type {Ruleset}
 */
export const OURS = Object.freeze({
  folds: Object.freeze({ bounded: foldBounded, latest: foldLatest, max: foldMax, step: foldStep }),
  certain: Object.freeze({ bounded: certainBounded, max: certainMax }),
  claimants: Object.freeze({ bounded: claimantBounded }),
  names: Object.freeze({ seq: 'seq', version: 'version', exists: 'status' })
})

// Rule `bounded`, units of a stock: lua/rules/bounded.lua.

/** These events change no more than the numbers of units. */
const UNITS = Object.freeze(['held', 'pending', 'sold', 'released', 'revoked', 'expired'])

/**
 * The state after an event, of a state before it.
 * @param {Fields} state is changed; its version is not kept up to date
 * @param {Fields} event
 * @returns {boolean} false: the event does not say everything
 */
function foldBounded (state, { type, seq, available, held, sold }) {
  if (!UNITS.includes(type)) return false
  Object.assign(state, { seq, available, held, sold })
  return true
}

/** The user of a claim. If that user has one already, it is the answer. @param {string[]} args */
function claimantBounded ([, user]) { return user }

/**
 * Whether a claim will be rejected whenever it is decided: everything is sold.
 * @param {Fields} state @param {string[]} args
 * @returns {Rejection | null}
 */
function certainBounded ({ status, stock, available, held, sold, seq }, [op]) {
  if (sold !== stock || status !== 'open' || (op !== 'claim' && op !== 'join')) return null
  return { code: 'sold_out', details: ['available', available, 'held', held, 'sold', sold, 'seq', seq] }
}

// Rule `latest`, the newest price of an asset: lua/rules/latest.lua.

/**
 * The state after an event, of a state before it.
 * @param {Fields} state is changed; version, demand and what was wanted are not kept up to date
 * @param {Fields} event
 * @returns {boolean} always true: an event says everything that readers serve
 */
export function foldLatest (state, { type, seq, at, asOf = at, price, sources, soft, hard, tier, pinned, reason, retryAt, candidate }) {
  if (type === 'price') {
    const ok = { failures: '0', reason: '', candidate: '', retryAt: '0' }
    Object.assign(state, { seq, price, ts: at, asOf, sources, soft, hard, tier }, ok)
  } else if (type === 'failed') {
    const failures = String(Number(state.failures) + 1)
    Object.assign(state, { seq, failedAt: at, failures, reason, retryAt, candidate, failedSources: sources, tier })
  } else if (type === 'tier') Object.assign(state, { seq, tier, pinned })
  return true
}

// Rule `max`, an auction: lua/rules/max.lua.

/**
 * The state after an event, of a state before it.
 * @param {Fields} state is changed; its version and the maximum of its leader are not kept up to date
 * @param {Fields} event
 * @returns {boolean} false: the event does not say everything
 */
function foldMax (state, { type, seq, user, amount, closeAt }) {
  if (type === 'open') return false
  Object.assign(state, { seq, price: amount }, user === '' ? {} : { leader: user }, closeAt === undefined ? {} : { closeAt })
  if (type === 'bid' || type === 'buy') state.bids = String(Number(state.bids) + 1)
  if (type === 'buy' || type === 'close') state.status = 'closed'
  return true
}

/**
 * Whether a bid will be rejected whenever it is decided, because prices only rise: not a bid with a maximum, which the leader may raise.
 * @param {Fields} state @param {string[]} args
 * @returns {Rejection | null}
 */
function certainMax ({ status, leader, start, price, increment, seq, closeAt }, [op, user, amount, limit]) {
  if (op !== 'bid' || limit !== '' || user === leader) return null
  const next = leader === '' ? Number(start) : Number(price) + Number(increment)
  if (status === 'open' && Number(amount) >= next) return null
  const details = ['currentBid', price, 'minNext', String(next), 'seq', seq, 'closeAt', closeAt]
  return { code: status === 'open' ? 'too_low' : 'closed', details }
}

// Rule `step`, an order: lua/rules/step.lua.

/**
 * The state after an event, of a state before it.
 * @param {Fields} state is changed @param {Fields} event
 * @returns {boolean} false: the event does not say everything
 */
export function foldStep (state, { type, seq, status, reason, parked }) {
  if (type === 'placed') return false
  if (type === 'wanted' || type === 'resume') return true
  Object.assign(state, { seq, status, reason, parked: parked ?? '' })
  return true
}
