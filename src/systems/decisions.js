/** From a decision of a rule to a reply, or to the error that a client gets. */
import { FreshetError } from '../errors.js'

/** @import { Command, Decision, OwnRule } from '../admission/index.js' */

/** Checks of what callers of a system pass: they may have no types. */

const KEY = /^[A-Za-z0-9_.:-]{1,64}$/
/** Of the arguments of a command, all together, unless the rule declares more: a pattern may cost more than the square of a length. */
const MAX_ARG_BYTES = 4096
const MAX_ID_CHARS = 256

/** @param {string} message */
export const invalid = (message) => new FreshetError('ARGUMENT_INVALID', message)

/** @param {unknown} key @param {string} [what] it is */
export function expectKey (key, what = 'key') {
  if (typeof key !== 'string' || !KEY.test(key)) throw invalid(`${what} ${shown(key)}; expected 1-64 of A-Z a-z 0-9 _ . : -`)
}

/** @param {unknown} value */
const shown = (value) => typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : `of type ${typeof value}`

/** @param {any} command @param {Record<string, Pick<OwnRule, 'maxArgBytes'>>} rules @returns {Command} */
export function commandOf (command, rules) {
  const { rule, key, args, scope = '', requestId = '', startsWork } = command ?? {}
  if (typeof rule !== 'string' || !Object.hasOwn(rules, rule)) {
    throw invalid(`rule ${shown(rule)}; expected ${Object.keys(rules).join(' | ')}`)
  }
  expectKey(key)
  if (!Array.isArray(args)) throw invalid(`args ${shown(args)}; expected an array of texts`)
  const wrong = args.findIndex((arg) => typeof arg !== 'string' || !arg.isWellFormed())
  if (wrong >= 0) throw invalid(`args[${wrong}] ${shown(args[wrong])}; expected a text; write numbers as String(number)`)
  const { maxArgBytes = MAX_ARG_BYTES } = rules[rule]
  const bytes = args.reduce((sum, arg) => sum + Buffer.byteLength(arg), 0)
  if (bytes > maxArgBytes) {
    throw invalid(`args: ${bytes} bytes in all; expected at most ${maxArgBytes}; the rule ${rule} can declare more with maxArgBytes`)
  }
  if (typeof requestId !== 'string' || requestId.length > MAX_ID_CHARS) {
    throw invalid(`requestId ${shown(requestId)}; expected up to ${MAX_ID_CHARS} characters`)
  }
  if (typeof scope !== 'string' || scope.length > MAX_ID_CHARS) {
    throw invalid(`scope ${shown(scope)}; expected up to ${MAX_ID_CHARS} characters`)
  }
  return { rule, key, scope, requestId, args, ...startsWork && { startsWork: true } }
}

/**
 * @typedef {string | readonly [code: string, message: string | ((details: Record<string, string>) => string)]} Refusal a code alone: its
 *   meaning is the message
 * @typedef {Readonly<Record<string, Refusal>>} Refusals by code of the rule: rejections that are errors
 */

/**
 * @template {{ code: string, details: Record<string, any> }} D @param {D} decision @param {Refusals} refusals
 * @param {(decision: D) => Record<string, unknown>} [factsOf] members of the problem
 * @returns {D} one that is no error @throws {FreshetError} of `refusals`, IDEMPOTENCY_KEY_REUSED, INTERNAL
 */
export function throwIfRefused (decision, refusals, factsOf = () => ({})) {
  const { code, details } = decision
  if (code === 'failed') throw new FreshetError('INTERNAL', `the command could not be decided: ${details.reason}`)
  if (code === 'other_body') throw otherBody('Idempotency-Key')
  const refusal = refusals[code]
  if (!refusal) return decision
  const [error, message] = typeof refusal === 'string' ? [refusal] : refusal
  throw new FreshetError(error, typeof message === 'function' ? message(details) : message, factsOf(decision))
}

/** @param {string} what */
export const otherBody = (what) =>
  new FreshetError('IDEMPOTENCY_KEY_REUSED', `this ${what} was accepted with another body; use another one for another command`)

/**
 * Numbers of a decision as JSON; those that it does not have are left out.
 * @param {Record<string, any>} details @param {Record<string, string>} names in the reply, by name in the details
 */
export const numbersIn = (details, names) => Object.fromEntries(Object.entries(names)
  .flatMap(([name, shown]) => details[name] === undefined ? [] : [[shown, Number(details[name])]]))

/** The units of a stock after a command of rule `bounded`. @param {Pick<Decision, 'seq' | 'details'>} decision */
export const unitsOf = ({ seq, details: { available, held, sold } }) =>
  ({ seq, available: Number(available), held: Number(held), sold: Number(sold) })
