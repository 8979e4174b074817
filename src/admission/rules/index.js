/**
 * The rules of admission, as pure functions. Each has a twin in lua/rules, which decides on the server.
 *
 * @typedef {Record<string, string>} Fields of a state; numbers are texts of whole numbers
 * @typedef {object} Change of an accepted command; absent lists are empty, and null removes
 * @property {string[][]} events fields and values in turn, the sequence number first; one with the number 0 goes to the outbox
 *   only
 * @property {[name: string, dueMs: string | null][]} [tasks] scheduled tasks
 * @property {[field: string, value: string | null][]} [members]
 * @property {[user: string, more: number][]} [units] of users
 * @property {[claim: string, untilMs: string | null][]} [holds] the earliest one is a scheduled task `expire`
 * @property {[user: string, place: string | null][]} [waiting] of the waiting room
 * @property {boolean} [ends] the key expires
 * @property {number} [keeps] events of the key, about; without it, all; 0: its events are in the outbox only
 * @property {boolean} [reopens] a rejection that was final is no longer: the generation grows
 * @typedef {object} Read what a rule may read besides the state
 * @property {(field: string) => string | null} member
 * @property {() => string | null} firstHold when the earliest hold ends, ms since 1970
 * @property {(claim: string) => string | null} holdUntil
 * @property {(now: number, most: number) => string[]} holdsDue claims whose holds have ended, the first first
 * @property {(most: number) => string[]} waiting users, the first first
 * @property {() => number} waitingCount
 * @property {(user: string) => number} position from 1
 * @property {() => string} lineage
 * @typedef {{ code: string, details: string[], change?: Change }} Outcome `details`: names and values in turn; without `change` the
 *   command was rejected
 * @typedef {{ folds: Readonly<Record<string, (state: Fields, event: Fields) => boolean>>,
 *   certain: Readonly<Record<string, (state: Fields, args: string[]) => Outcome | null>>,
 *   names: Readonly<{ seq: string, version: string, exists: string }> }} Ruleset
 * @typedef {(state: Fields, args: string[], now: number, read: Read) => Outcome} Rule changes the state if it accepts; `now`: ms since 1970
 */
import { bounded, certainBounded, foldBounded } from './bounded/index.js'
import { foldLatest, latest } from './latest.js'
import { certainMax, foldMax, max } from './max.js'
import { once } from './once.js'
import { foldStep, step } from './step.js'

/** @type {Readonly<Record<string, Rule>>} */
export const RULES = Object.freeze({ bounded, latest, max, once, step })

/**
 * States after events; a rule without one has its states read again.
 * @type {Readonly<Record<string, (state: Fields, event: Fields) => boolean>>}
 */
export const FOLDS = Object.freeze({ bounded: foldBounded, latest: foldLatest, max: foldMax, step: foldStep })

/**
 * Rejections that hold whenever the command is decided, within a generation.
 * @type {Readonly<Record<string, (state: Fields, args: string[]) => Outcome | null>>}
 */
export const CERTAIN = Object.freeze({ bounded: certainBounded, max: certainMax })

/**
 * What a memory of keys needs to know of rules. `names`: of fields of a state; `exists`: one that each state has.
 * @type {Ruleset}
 */
export const OURS = Object.freeze({
  folds: FOLDS, certain: CERTAIN, names: Object.freeze({ seq: 'seq', version: 'version', exists: 'status' })
})
