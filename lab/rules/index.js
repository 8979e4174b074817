/**
 * The rules of admission again, as pure functions in JavaScript, for tests, checkers, replays and arms without scripts. Those in lua/rules
 * decide on the server; a property test compares both.
 *
 * @typedef {import('../../src/admission/index.js').Fields} Fields
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
 * @typedef {(state: Fields, args: string[], now: number, read: Read) => Outcome} Rule changes the state if it accepts; `now`: ms since 1970
 */
import { bounded } from './bounded/index.js'
import { latest } from './latest.js'
import { max } from './max.js'
import { once } from './once.js'
import { step } from './step.js'

/** @type {Readonly<Record<string, Rule>>} */
export const RULES = Object.freeze({ bounded, latest, max, once, step })
