/**
 * Rule `max` again, as a pure function in JavaScript, for checkers, replays and arms without scripts. lua/rules decides on the server; a
 * property test compares both. The other rules have no twin: named invariants hold them (regression/admission/invariants.js).
 *
 * @typedef {import('../../src/admission/index.js').Fields} Fields
 * @typedef {object} Change of an accepted command; null removes
 * @property {string[][]} events fields and values in turn, the sequence number first; one with the number 0 goes to the outbox
 *   only
 * @property {[name: string, dueMs: string | null][]} [tasks] scheduled tasks
 * @property {boolean} [ends] the key expires
 * @typedef {{ code: string, details: string[], change?: Change }} Outcome `details`: names and values in turn; without `change` the
 *   command was rejected
 * @typedef {(state: Fields, args: string[], now: number) => Outcome} Rule changes the state if it accepts; `now`: ms since 1970
 */
import { max } from './max.js'

/** @type {Readonly<Record<string, Rule>>} */
export const RULES = Object.freeze({ max })
