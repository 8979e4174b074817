/**
 * Our rules (lua/rules), in the form of those of users (own-rules.js). One library of the server has them for all of our systems.
 *
 * @typedef {object} Rules of a system: what the other files of this folder know of them
 * @property {import('../store/index.js').Script} script that decides by them
 * @property {(names: readonly string[]) => readonly import('./rule-versions.js').RuleVersion[]} versionsOf as they are stored
 * @property {boolean} isAgreedEverywhere whether versions are stored in all partitions when the system is opened
 * @property {boolean} isDueOnly whether a scheduled task is decided only while it is due, and removed then
 * @property {readonly string[]} durations of tasks (partition-clock.js)
 * @property {(rule: string) => readonly string[]} partsOf what a rule has of a key besides state and events
 * @property {import('./rules/index.js').Ruleset} memory folds and certain rejections
 * @property {(error: any) => any} meaningOf an error of a call
 * @property {(reply: string) => import('./commands.js').Decision & { accepted?: boolean }} decisionOf a reply
 */
import { libraryOf, readScript } from '../store/index.js'
import { decisionOf } from './commands.js'
import { ourVersions } from './rule-versions.js'
import { DURATIONS, KEPT, OURS } from './rules/index.js'

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
