/**
 * A command, its decision, and how both cross to the server (lua/admit.lua).
 *
 * @typedef {object} Command
 * @property {string} rule one of rules/
 * @property {string} key of one state, such as an auction
 * @property {string} scope who asks: the user, or empty; the same request id of another user is another request
 * @property {string} requestId
 * @property {string[]} args of the rule; numbers as texts of whole numbers
 *
 * @typedef {object} Decision
 * @property {string} code of the rule; `other_body`: the request id was accepted with other arguments; `failed`: the script could not
 *   decide, and `details.reason` says why
 * @property {number} seq of the last event of the key @property {number} version of its state
 * @property {boolean} isReplay the decision of an earlier call with the same request
 * @property {Record<string, string>} details
 */
import { createHash } from 'node:crypto'

/** in one call */
export const MAX_COMMANDS = 256
const SEPARATOR = '\0'

/** @param {string[]} parts */
const digest = (parts) => createHash('sha256').update(parts.join(SEPARATOR)).digest('base64url')

/** @param {Command} command */
export const requestDigest = ({ rule, key, scope, requestId }) => digest([rule, key, scope, requestId])

/** @param {Command} command */
export const bodyDigest = ({ args }) => digest(args)

/** @param {Command} command @returns {string} */
export const encodeCommand = (command) => JSON.stringify([command.rule, command.key, bodyDigest(command), ...command.args])

/** @param {string[]} reply @returns {Decision} */
export function decisionOf ([code, seq, version, replay, ...flat]) {
  const details = /** @type {Record<string, string>} */ ({})
  for (let i = 0; i < flat.length; i += 2) details[flat[i]] = flat[i + 1]
  return { code, seq: Number(seq), version: Number(version), isReplay: replay === '1', details }
}
