/**
 * What a process knows of the rules of admission without the server. The rules themselves are lua/rules; a rule has functions here if
 * states can be kept up to date by its events, or if rejections are certain.
 *
 * @typedef {Record<string, string>} Fields of a state or an event; numbers are texts of whole numbers
 * @typedef {{ code: string, details: readonly (string | number)[] }} Rejection `details`: names and values in turn
 * @typedef {{ folds: Readonly<Record<string, (state: Fields, event: Fields) => boolean>>,
 *   certain: Readonly<Record<string, (state: Fields, args: string[]) => Rejection | null>>,
 *   claimants?: Readonly<Record<string, (args: string[]) => string>>,
 *   names: Readonly<{ seq: string, version: string, exists: string }> }} RuleFolds
 */
import { libraryOf, readScript, ruleText, versionsOfRules } from '../store/index.js'
import { decisionOf } from './batcher.js'
import { FreshetError } from './errors.js'

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
 * @type {RuleFolds}
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

/**
 * Our rules (lua/rules), in the form of those of users (own-rules.js). One library of the server has them for all of our systems.
 *
 * @typedef {object} Rules of a system: what the other files of this folder know of them
 * @property {import('../store/index.js').Script} script that decides by them
 * @property {(names: readonly string[]) => readonly RuleVersion[]} versionsOf as they are stored
 * @property {boolean} isAgreedEverywhere whether versions are stored in all partitions when the system is opened
 * @property {boolean} isDueOnly whether a scheduled task is decided only while it is due, and removed then
 * @property {readonly string[]} durations of tasks (partition-clock.js)
 * @property {(rule: string) => readonly string[]} partsOf what a rule has of a key besides state and events
 * @property {RuleFolds} memory folds and certain rejections
 * @property {readonly string[]} [names] of the rules of a system; all of ours without it
 * @property {(error: any) => any} meaningOf an error of a call
 * @property {(reply: string) => import('./batcher.js').Decision & { accepted?: boolean }} decisionOf a reply
 */

/**
 * Versions of rules, as they are stored for all processes: with the system, and in each partition, where every call compares them. A
 * process with a lower version, or with another text in the same one, decides nothing.
 *
 * @typedef {import('./own-rules.js').Router} Router to the primaries
 * @typedef {readonly [name: string, version: string, digest: string]} RuleVersion
 */

/** @param {readonly string[]} names of rules @returns {RuleVersion[]} of those in lua/rules */
export function ourVersions (names) {
  const versions = versionsOfRules()
  return names.flatMap((name) => {
    const [version, digest] = versions.get(name)?.split(' ') ?? []
    return version ? [([name, version, digest])] : []
  })
}

/**
 * @param {Router} router @param {string} key where they are stored @param {readonly RuleVersion[]} versions @param {string} system
 * @throws {FreshetError} RULE_DIFFERS: one is stored in a higher version, or in the same one with another text; nothing was stored then
 */
export async function agreeOnRules (router, key, versions, system) {
  const [name, stored] = (await router.runScript('agree-rules', [key], versions.flat())).map(String)
  if (name === undefined) return
  const [, version] = /** @type {RuleVersion} */ (versions.find(([rule]) => rule === name))
  throw new FreshetError('RULE_DIFFERS', stored === version
    ? `rule ${name} of ${system} is stored as version ${stored} with another text; raise its version to replace it`
    : `rule ${name} of ${system} is stored as version ${stored}, and this process has version ${version}; use the newer rule`)
}

const NAMES = Object.freeze(['bounded', 'latest', 'max', 'once', 'step'])

/** Of the arguments of a command, all together, where others have their own bound: such as the lines of an order. */
const MAX_ARG_BYTES = 64 * 1024

/** What a definition has in place of a rule with Lua, by name. @type {Readonly<Record<string, any>>} */
export const NAMED_RULES = Object.freeze(Object.fromEntries(NAMES.map((ours) => [ours, Object.freeze({ ours })])))

/** @type {Rules} */
export const OUR_RULES = Object.freeze({
  script: libraryOf({ owner: 'freshet', scripts: { admit: readScript('admit') } }).admit,
  versionsOf: ourVersions,
  /** They are agreed on in each partition when it is first used. */
  isAgreedEverywhere: false,
  durations: DURATIONS,
  /** A rule looks at its state to see whether a task is due. */
  isDueOnly: false,
  partsOf: (/** @type {string} */ rule) => KEPT[rule] ?? [],
  memory: OURS,
  meaningOf: (/** @type {any} */ error) => error,
  decisionOf
})

/** @template T @param {Readonly<Record<string, T>>} table @param {readonly string[]} names */
const pick = (table, names) => Object.fromEntries(names.flatMap((name) => Object.hasOwn(table, name) ? [[name, table[name]]] : []))

/**
 * The rules of a module may come from another copy of the package.
 * @param {string} name @param {any} rule
 */
const isOurs = (name, rule) => NAMES.includes(name) && rule?.ours === name

/**
 * Those of a system.
 * @param {Record<string, object>} rules of its definition
 * @returns {(Rules & { names: readonly string[] }) | null} null: they are rules of a user
 */
export function oursIn (rules) {
  const names = Object.keys(rules)
  if (!names.every((name) => isOurs(name, rules[name]))) return null
  const { folds, certain, claimants = {}, names: fields } = OURS
  const memory = { folds: pick(folds, names), certain: pick(certain, names), claimants: pick(claimants, names), names: fields }
  return { ...OUR_RULES, names, memory }
}

/**
 * A rule of ours as one with Lua, for a system that has rules of its own beside it. It counts its events in the field `seq` by itself.
 * @param {string} name @returns {import('./own-rules.js').OwnRule}
 */
export function ownFormOf (name) {
  const [[, version]] = ourVersions([name])
  const { [name]: fold } = OURS.folds
  const { [name]: certain } = OURS.certain
  const claimant = OURS.claimants?.[name]
  return {
    text: ruleText(name),
    version: Number(version),
    keeps: KEPT[name] ?? [],
    durations: DURATIONS.filter((task) => task.startsWith(`${name} `)),
    maxArgBytes: MAX_ARG_BYTES,
    ...fold && {
      fold (state, { seq, ...event }) {
        if (!fold(state, /** @type {any} */ ({ ...event, seq: String(seq) }))) throw new Error('the event does not say everything')
        return state
      }
    },
    ...certain && {
      certain (state, args) {
        const rejection = certain(state, [...args])
        return rejection && { code: rejection.code, details: detailsOf(rejection.details) }
      }
    },
    ...claimant && { claimant: (args) => claimant([...args]) }
  }
}

/** @param {readonly (string | number)[]} flat names and values in turn */
const detailsOf = (flat) => Object.fromEntries(flat.flatMap((name, i) => i % 2 === 0 ? [[String(name), flat[i + 1]]] : []))
