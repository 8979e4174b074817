/**
 * What must hold after each command, whatever the rule: of any key, of a stock, of an asset, of an order. Each has a name, so that a fault
 * of a rule is found under it.
 *
 * @typedef {import('../../src/admission/index.js').Command} Command
 * @typedef {import('../../src/admission/index.js').Decision} Decision
 * @typedef {import('./content.js').Content} Content of a partition
 * @typedef {{ before: Content, after: Content, command: Command, decision: Decision, now: number }} Step the one command of a call about
 *   its key
 * @typedef {Record<string, (step: Step) => boolean | null>} Invariants by name; null: says nothing of this step
 */
import { foldLatest, foldStep } from '../../src/admission/rules.js'
import { isReopening, ofStock } from './stock-invariants.js'

const n = Number
const isAccepted = (/** @type {Step} */ { decision: { accepted, isReplay } }) => Boolean(accepted) && !isReplay
/** @param {any} a @param {any} b */
const isEqual = (a, b) => JSON.stringify(a) === JSON.stringify(b)
/**
 * @param {(step: Step & { was: Record<string, string>, is: Record<string, string>, op: string, args: string[] }) => boolean | null} holds
 */
const ofKey = (holds) => (/** @type {Step} */ step) => {
  const { before, after, command: { key, args } } = step
  return holds({ ...step, was: before.states[key], is: after.states[key], op: args[0], args })
}

/** What is stored of a key. @param {Content} content @param {Command} command */
const partOf = ({ states, events, members, holds, waiting, outbox, tasks }, { rule, key }) => [
  states[key], events[key], members[key], holds[key], waiting[key], outbox.filter(({ fields }) => fields.key === key),
  Object.entries(tasks).filter(([name]) => name.startsWith(`${rule} ${key} `))
]

/** @type {Invariants} */
const OF_ALL = {
  'a rejected or replayed command changes nothing': (step) =>
    isAccepted(step) ? null : isEqual(partOf(step.before, step.command), partOf(step.after, step.command)),
  'an accepted command raises the version by one': ofKey((step) =>
    isAccepted(step) ? n(step.is.version) === n(step.was.version ?? 0) + 1 : null),
  'events are numbered without a gap, and the state has the last number': ({ after, command: { key, rule } }) => {
    const numbers = after.events[key].map(({ seq }) => n(seq))
    const isDense = numbers.every((seq, i) => i === 0 || seq === numbers[i - 1] + 1)
    return rule === 'once' || (isDense && (numbers.length === 0 || numbers.at(-1) === n(after.states[key].seq)))
  },
  'the outbox has the events of a key in their order': ({ after, command: { key, rule } }) => rule === 'once' || isEqual(
    after.outbox.filter((entry) => entry.fields.key === key && entry.fields.seq !== '0').map(({ fields }) => fields.seq),
    after.events[key].map(({ seq }) => seq))
}

/** @type {Invariants} */
const OF_ONCE = {
  'what exists is not created again': ofKey(({ was, is, args, decision: { code, isReplay } }) => {
    if (isReplay || code === 'other_body') return null
    return was.status ? code === 'exists' && is.about === was.about : code === 'created' && is.about === args[1]
  })
}

/** Edges of an order: step, and the statuses that it leaves. */
const EDGES = Object.freeze(/** @type {Record<string, [from: string[], to: string]>} */ ({
  held: [['placed'], 'held'],
  capture_requested: [['held'], 'capturing'],
  captured: [['capturing'], 'captured'],
  confirmed: [['captured'], 'confirmed'],
  declined: [['placed', 'held', 'capturing'], 'cancelling'],
  cancel_requested: [['placed', 'held'], 'cancelling'],
  deadline: [['placed', 'held'], 'cancelling'],
  cancelled: [['cancelling'], 'cancelled']
}))
const FINAL = ['confirmed', 'cancelled']
const task = (/** @type {Content} */ { tasks }, /** @type {string} */ name) => tasks[name]
const fold = (/** @type {Content} */ { events }) => {
  const [first, ...rest] = events.order
  const folded = { ...first }
  for (const event of rest) foldStep(folded, event)
  return folded
}

/** @type {Invariants} */
const OF_ORDER = {
  'events make the status of an order': ({ after }) => {
    const { order: state } = after.states
    const folded = state.status ? fold(after) : {}
    return !state.status || ['seq', 'status', 'reason'].every((field) => folded[field] === state[field])
  },
  'an order goes along its edges only, and along each of them': ofKey((step) => {
    const { was, is, op, now, decision: { code } } = step
    if (!EDGES[op] || !was.status || step.decision.isReplay || code === 'other_body') return null
    const [from, to] = EDGES[op]
    if (!from.includes(was.status)) return code === 'illegal'
    if (op === 'deadline' && now < n(was.deadline)) return code === 'not_due'
    if (op === 'capture_requested' && now >= n(was.deadline)) return code === 'late'
    return code === 'accepted' && is.status === to
  }),
  'an order runs until its last step; its deadline is a task until it is captured or cancelled': ofKey((step) => {
    const { is, op, after, decision: { code }, now } = step
    if (!isAccepted(step)) return null
    const [run, deadline] = ['run', 'deadline'].map((name) => task(after, `step order ${name}`))
    if (op === 'place') return code === 'created' && run === String(now) && deadline === is.deadline
    if (!EDGES[op]) return null
    const [isFinal, isEarly] = [FINAL.includes(is.status), ['placed', 'held'].includes(is.status)]
    return (run === undefined) === isFinal && (isFinal || n(run) === now) && (deadline === undefined) !== isEarly
  }),
  'a parked order rests until it is resumed': ofKey((step) => {
    const { was, is, op, after, decision: { code, isReplay } } = step
    if (!was.status || isReplay || code === 'other_body') return null
    const run = task(after, 'step order run')
    if (op === 'park') return FINAL.includes(was.status) ? code === 'illegal' : is.parked === 'why' && run === undefined
    if (op === 'resume') return was.parked === '' ? code === 'illegal' : is.parked === '' && run !== undefined
    if (op === 'check') return was.parked === '' && was.status !== 'cancelled' ? code === 'illegal' : run !== undefined
    return op === 'checked' ? code === (FINAL.includes(was.status) ? 'accepted' : 'illegal') : null
  }),
  'an order that is placed again exists, and another one with its id is refused': ofKey((step) => {
    const { was, op, args, decision: { code, isReplay } } = step
    if (op !== 'place' || !was.status || isReplay) return null
    return code === 'other_body' || (code === 'exists' && isEqual([was.customer, was.total, was.lines, was.address], args.slice(1, 5)))
  }),
  'an order keeps what was placed, and why it was cancelled': ofKey((step) => {
    const { was, is, op, args } = step
    if (!isAccepted(step)) return null
    const placed = [is.customer, is.total, is.lines, is.address]
    if (op === 'place') return isEqual(placed, args.slice(1, 5)) && n(is.deadline) === step.now + n(args[5])
    const isKept = ['customer', 'total', 'lines', 'address', 'deadline'].every((field) => is[field] === was[field])
    return isKept && (is.status !== 'cancelling' || was.status === 'cancelling' || is.reason === (args[1] ?? op))
  })
}

const TIERS = ['hot', 'medium', 'cold']
const msOf = (/** @type {Record<string, string>} */ { tier, tiers }, /** @type {number} */ which) =>
  n(tiers.split(' ')[TIERS.indexOf(tier) * 3 + which])
const isBetween = (/** @type {number} */ value, /** @type {number} */ least, /** @type {number} */ most) =>
  value >= Math.floor(least) && value <= Math.ceil(most)
const FIRST = Object.freeze({
  seq: '0', price: '', ts: '0', sources: '[]', soft: '0', hard: '0', failures: '0', reason: '', retryAt: '0', candidate: ''
})
/** fields that readers serve */
const SERVED = Object.freeze([...Object.keys(FIRST), 'tier'])

/** @type {Invariants} */
const OF_ASSET = {
  'events make what is served of an asset': ({ after }) => {
    const state = after.states.asset
    const folded = /** @type {Record<string, string>} */ ({ ...FIRST, tier: state.tier })
    for (const event of after.events.asset) foldLatest(folded, event)
    return !state.status || SERVED.every((field) => folded[field] === state[field])
  },
  'a price is stored if its refresh began after that of the stored one, and expires as its tier says': ofKey((step) => {
    const { was, is, op, args, now, decision: { code, isReplay } } = step
    if (op !== 'price' || !was.status || isReplay || code === 'other_body') return null
    const [startedMs, asOf] = [n(args[1]), n(args[4])].map((ms) => Math.min(ms, now))
    if (startedMs <= n(was.ts)) return code === 'stale'
    return code === 'accepted' && is.price === args[2] && n(is.ts) === startedMs && n(is.asOf) === asOf &&
      n(is.soft) === asOf + msOf(is, 1) && n(is.hard) === asOf + msOf(is, 2) && is.failures === '0' && is.wantedUntil === '0'
  }),
  'the next refresh of an asset is due within its interval': ofKey((step) => {
    const { is, op, now } = step
    if (op !== 'price' || !isAccepted(step)) return null
    const [waitMs, refreshMs] = [n(is.due) - now, msOf(is, 0)]
    return isBetween(waitMs, 0.9 * refreshMs, (is.seq === '1' ? 1.8 : 1.1) * refreshMs)
  }),
  'after failures an asset is refreshed later and later': ofKey((step) => {
    const { was, is, op, args, now, decision: { code, isReplay } } = step
    if (op !== 'fail' || !was.status || isReplay || code === 'other_body') return null
    if (Math.min(n(args[1]), now) <= Math.max(n(was.ts), n(was.failedAt))) return code === 'stale'
    const refreshMs = msOf(is, 0)
    const longestMs = Math.max(refreshMs, 5000)
    const meanMs = Math.min(longestMs, Math.min(refreshMs, 1000) * 2 ** Math.min(n(was.failures), 6))
    return isBetween(n(is.due) - now, 0.9 * meanMs, 1.1 * meanMs) && is.retryAt === is.due && n(is.failures) === n(was.failures) + 1
  }),
  'a refresh is wanted once, and only while there is no price': ofKey((step) => {
    const { was, is, op, now, decision: { code, isReplay } } = step
    if (!['want', 'force'].includes(op) || !was.status || isReplay || code === 'other_body') return null
    const isUnderWay = now < n(was.wantedUntil)
    const why = op === 'want'
      ? now < n(was.hard) ? 'known' : now < n(was.retryAt) ? 'failing' : isUnderWay ? 'in_progress' : null
      : isUnderWay ? 'in_progress' : now - Math.max(n(was.ts), n(was.failedAt)) < 1000 ? 'too_soon' : null
    return why ? code === why : code === 'accepted' && n(is.wantedUntil) === now + 1000 && n(is.due) === now
  }),
  'the task of an asset is due when its state says so': ({ after }) =>
    !after.states.asset.status || task(after, 'latest asset refresh') === after.states.asset.due,
  'an asset is in the tier that was set, or in a higher one by demand': ofKey((step) => {
    const { was, is, op, args } = step
    if (!isAccepted(step) || is.seq === undefined) return null
    if (op === 'asked' && n(is.heat) !== n(was.heat) + 1000 * n(args[1]) && is.heatAt === was.heatAt) return false
    if (is.pinned === '1') return is.tier === is.base
    const [best, base] = [is.tier, is.base].map((tier) => TIERS.indexOf(tier))
    const isDue = (/** @type {number} */ i) => n(is.heat) >= [94_000, 9400][i]
    const mayStay = (/** @type {number} */ i) => 2 * n(is.heat) >= [94_000, 9400][i]
    return best <= base && (op === 'set' || op === 'want' || op === 'force' || [0, 1].every((i) => !isDue(i) || best <= i)) &&
      (best === base || best === 2 || mayStay(best))
  })
}

/** by rule @type {Readonly<Record<string, Invariants>>} */
export const INVARIANTS = Object.freeze({
  bounded: { ...OF_ALL, ...ofStock(isAccepted) },
  latest: { ...OF_ALL, ...OF_ASSET },
  step: { ...OF_ALL, ...OF_ORDER },
  once: { ...OF_ALL, ...OF_ONCE },
  max: OF_ALL
})

/**
 * The generation grows with each command that makes a final rejection one no more.
 * @param {Step[]} steps all of a call @param {[string, string]} generations before and after it
 * @returns {string | null}
 */
export function brokenByCall (steps, generations) {
  const ofStocks = steps.filter(({ command }) => command.rule === 'bounded')
  const reopening = ofStocks.filter(isAccepted).map(isReopening)
  // of a second command about a stock the state before is not known
  if (reopening.includes(null) || new Set(ofStocks.map(({ command }) => command.key)).size < ofStocks.length) return null
  const [was, is] = generations.map((generation) => n(generation.split('.').at(-1)))
  const due = was + reopening.filter(Boolean).length
  return is === due ? null : `the generation is ${is}, not ${due}: a final rejection is one no more`
}

/** @param {Step} step @returns {string | null} name of the first that is broken */
export const brokenBy = (step) =>
  Object.entries(INVARIANTS[step.command.rule]).find(([, holds]) => holds(step) === false)?.[0] ?? null
