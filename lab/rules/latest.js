/**
 * Rule `latest`: the same as lua/rules/latest.lua.
 *
 * @typedef {import('./index.js').Fields} Fields
 * @typedef {import('./index.js').Rule} Rule
 */

const NAMES = Object.freeze(['hot', 'medium', 'cold'])
const STEP_MS = 15_000
const MAX_STEPS = 60
const WANT_MS = 1000
const SOON_MS = 1000
const LONGEST_MS = 5000
/** requests in thousandths, which a rate of 1 a second, and of 6 a minute, reaches; half of it is left to stay */
const HEATS = Object.freeze([94_000, 9400])
/** events of an asset */
const KEEPS = 1000

/** @param {Fields} state @param {0 | 1 | 2} which refresh, soft, hard @returns {number} ms */
const msOf = ({ tier, tiers }, which) => Number(tiers.split(' ')[NAMES.indexOf(tier) * 3 + which])

/**
 * 0.9 to 1.1 of the interval; after the first price 0.9 to 1.8, so that assets created together are not refreshed together.
 * @param {Fields} state @returns {number} ms
 */
function intervalOf (state) {
  const refreshMs = msOf(state, 0)
  if (state.seq === '1') return Math.floor(refreshMs * (9000 + 9 * Number(state.phase)) / 10_000)
  return jittered(state, refreshMs)
}

/** 0.9 to 1.1 of an interval. @param {Fields} state @param {number} ms */
const jittered = ({ phase, seq }, ms) => Math.floor(ms * (900 + (Number(phase) * 7 + Number(seq) * 61) % 201) / 1000)

/** @param {Fields} state @param {number} dueMs @returns {[string, string][]} tasks */
function plan (state, dueMs) {
  state.due = dueMs.toFixed(0)
  return [['refresh', state.due]]
}

/** @param {Fields} state @param {string[]} fields @returns {string[]} an event */
function numbered (state, ...fields) {
  state.seq = String(Number(state.seq) + 1)
  return ['seq', state.seq, ...fields]
}

/** @param {Fields} state @param {number} now */
function cool (state, now) {
  const steps = Math.floor((now - Number(state.heatAt)) / STEP_MS)
  let heat = steps >= MAX_STEPS ? 0 : Number(state.heat)
  for (let i = 0; i < Math.min(steps, MAX_STEPS); i++) heat = Math.floor(heat * 841 / 1000)
  Object.assign(state, { heat: String(heat), heatAt: String(Number(state.heatAt) + steps * STEP_MS) })
}

/** The tier as set, or a higher one by demand. @param {Fields} state @returns {boolean} whether it changed */
function place (state) {
  const before = NAMES.indexOf(state.tier)
  let best = NAMES.indexOf(state.base)
  if (state.pinned === '0') {
    for (const i of [1, 0]) if (Number(state.heat) >= (before <= i ? HEATS[i] / 2 : HEATS[i])) best = Math.min(best, i)
  }
  state.tier = NAMES[best]
  return best !== before
}

/** After a change of tier: an earlier refresh, if the tier is a higher one. @param {Fields} state @param {number} now */
function moved (state, now) {
  const events = [numbered(state, 'type', 'tier', 'tier', state.tier, 'pinned', state.pinned)]
  return { events, tasks: plan(state, Math.min(Number(state.due), now + intervalOf(state))), keeps: KEEPS }
}

/** @param {Fields} state @param {number} now @returns {import('./index.js').Outcome} */
function wanted (state, now) {
  state.wantedUntil = String(now + WANT_MS)
  const change = { events: [['seq', '0', 'type', 'wanted']], tasks: plan(state, now) }
  return { code: 'accepted', details: ['seq', state.seq], change }
}

/** @param {Fields} state @returns {string[]} */
const placeOf = ({ tier, pinned }) => ['tier', tier, 'pinned', pinned]

/** @type {Record<string, Rule>} */
const OPS = {
  set (state, [, base, pinned, tiers, phase], now) {
    if (state.status !== undefined) {
      const given = { base: base || state.base, pinned: pinned || state.pinned, tiers }
      if (state.base === given.base && state.pinned === given.pinned && state.tiers === tiers) {
        return { code: 'unchanged', details: placeOf(state) }
      }
      Object.assign(state, given)
      place(state)
      return { code: 'accepted', details: placeOf(state), change: moved(state, now) }
    }
    const tier = base || 'cold'
    Object.assign(state, { status: 'open', base: tier, tier, pinned: pinned || '0', tiers, phase })
    Object.assign(state, { price: '', ts: '0', asOf: '0', sources: '[]', soft: '0', hard: '0' })
    Object.assign(state, { failedAt: '0', retryAt: '0', failures: '0', reason: '', candidate: '' })
    Object.assign(state, { heat: '0', heatAt: String(now), wantedUntil: '0', seq: '0' })
    const change = { events: [['seq', '0', 'type', 'wanted']], tasks: plan(state, now) }
    return { code: 'created', details: placeOf(state), change }
  },

  tier (state, [, base, pinned], now, read) {
    return OPS.set(state, ['set', base, pinned, state.tiers, state.phase], now, read)
  },

  price (state, [, startedAt, price, sources, asOf], now) {
    if (Number(startedAt) <= Number(state.ts)) return { code: 'stale', details: ['ts', state.ts] }
    cool(state, now)
    place(state)
    Object.assign(state, { price, ts: startedAt, asOf, sources })
    Object.assign(state, { soft: String(Number(asOf) + msOf(state, 1)), hard: String(Number(asOf) + msOf(state, 2)) })
    Object.assign(state, { failures: '0', reason: '', candidate: '', retryAt: '0', wantedUntil: '0' })
    const { soft, hard, tier } = state
    const event = numbered(state, 'type', 'price', 'price', price, 'at', startedAt, 'asOf', asOf, 'sources', sources, 'soft', soft,
      'hard', hard, 'tier', tier)
    const change = { events: [event], tasks: plan(state, now + intervalOf(state)), keeps: KEEPS }
    return { code: 'accepted', details: [], change }
  },

  fail (state, [, startedAt, reason, candidate, sources], now) {
    if (Number(startedAt) <= Math.max(Number(state.ts), Number(state.failedAt))) return { code: 'stale', details: ['ts', state.ts] }
    cool(state, now)
    place(state)
    const [refreshMs, failures] = [msOf(state, 0), Number(state.failures)]
    const waitMs = Math.min(Math.max(refreshMs, LONGEST_MS), Math.min(refreshMs, SOON_MS) * 2 ** Math.min(failures, 6))
    Object.assign(state, { failedAt: startedAt, failures: String(failures + 1), reason, candidate })
    Object.assign(state, { failedSources: sources, wantedUntil: '0' })
    const tasks = plan(state, now + jittered(state, waitMs))
    state.retryAt = state.due
    const event = numbered(state, 'type', 'failed', 'at', startedAt, 'reason', reason, 'candidate', candidate, 'sources', sources,
      'retryAt', state.retryAt, 'tier', state.tier)
    return { code: 'accepted', details: [], change: { events: [event], tasks, keeps: KEEPS } }
  },

  want (state, args, now) {
    if (now < Number(state.hard)) return { code: 'known', details: ['seq', state.seq] }
    if (now < Number(state.retryAt)) return { code: 'failing', details: ['reason', state.reason, 'retryAt', state.retryAt] }
    if (now < Number(state.wantedUntil)) return { code: 'in_progress', details: ['seq', state.seq] }
    return wanted(state, now)
  },

  force (state, args, now) {
    if (now < Number(state.wantedUntil)) return { code: 'in_progress', details: ['seq', state.seq] }
    if (now - Math.max(Number(state.ts), Number(state.failedAt)) < SOON_MS) return { code: 'too_soon', details: ['seq', state.seq] }
    return wanted(state, now)
  },

  asked (state, [, requests], now) {
    cool(state, now)
    state.heat = String(Number(state.heat) + Number(requests) * 1000)
    return { code: 'accepted', details: [], change: place(state) ? moved(state, now) : { events: [] } }
  }
}

/** @type {Rule} */
export const latest = (state, args, now, read) =>
  args[0] !== 'set' && state.status === undefined ? { code: 'unknown', details: [] } : OPS[args[0]](state, args, now, read)
