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
 * @property {import('./rules.js').Ruleset} memory folds and certain rejections
 * @property {readonly string[]} [names] of the rules of a system; all of ours without it
 * @property {(error: any) => any} meaningOf an error of a call
 * @property {(reply: string) => import('./commands.js').Decision & { accepted?: boolean }} decisionOf a reply
 */
import { libraryOf, readScript, ruleText, versionsOfRules } from '../store/index.js'
import { decisionOf } from './commands.js'
import { FreshetError } from './errors.js'
import { DURATIONS, KEPT, OURS } from './rules.js'

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
 * @param {Router} router @param {string} key where they are stored @param {readonly RuleVersion[]} own @param {string} system
 * @throws {FreshetError} RULE_DIFFERS: one is stored in a higher version, or in the same one with another text; nothing was stored then
 */
export async function agreeOnRules (router, key, own, system) {
  const [name, stored] = (await router.runScript('agree-rules', [key], own.flat())).map(String)
  if (name === undefined) return
  const [, version] = /** @type {RuleVersion} */ (own.find(([one]) => one === name))
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
        const found = certain(state, [...args])
        return found && { code: found.code, details: detailsOf(found.details) }
      }
    },
    ...claimant && { claimant: (args) => claimant([...args]) }
  }
}

/** @param {readonly (string | number)[]} flat names and values in turn */
const detailsOf = (flat) => Object.fromEntries(flat.flatMap((name, i) => i % 2 === 0 ? [[String(name), flat[i + 1]]] : []))
