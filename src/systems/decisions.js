/** From a decision of a rule to a reply, or to the error that a client gets. */
import { FreshetError } from '../errors.js'

/** @import { Decision } from '../admission/index.js' */

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
