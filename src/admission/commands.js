/**
 * A command, its decision, and how both cross to the server (lua/admit.lua).
 *
 * @typedef {object} Command
 * @property {string} rule one of rules/
 * @property {string} key of one state, such as an auction
 * @property {string} scope the user who asks, or empty; the same request id of another user is another request
 * @property {string} requestId empty: the decision is not stored, because the command is harmless when it is sent again
 * @property {string[]} args of the rule; numbers as texts of whole numbers
 * @property {boolean} [isTask] a scheduled task; one of a rule of a user is decided only while it is due
 * @property {boolean} [startsWork] of the consumer that drives the system: refused while older work of the partition waits too long
 *
 * @typedef {{ rule: string, key: string, args: string[], request: string, encoded: string, isTask?: boolean, startsWork?: boolean,
 *   confirm?: import('./durability.js').Confirm }} Prepared `request`: digest of what makes a request the same, or empty; `encoded`: its
 *   arguments, as a JSON array; `confirm`: what makes its decision durable
 *
 * @typedef {object} Decision
 * @property {string} code of the rule; `other_body`: the request id was accepted with other arguments; `failed`: the script could not
 *   decide, and `details.reason` says why
 * @property {number} seq of the last event of the key @property {number} version of its state
 * @property {boolean} [accepted] false or absent: it was rejected, and nothing is stored
 * @property {boolean} isReplay the decision of an earlier call with the same request
 * @property {Record<string, string>} details
 */
import { hash } from 'node:crypto'
import { FreshetError } from './errors.js'

/** Most commands in one call. */
export const MAX_COMMANDS = 256
const SEPARATOR = '\0'
const LINE = '\n'

/** @param {Command} command @returns {Prepared} */
export const prepare = ({ rule, key, scope, requestId, args, isTask, startsWork }) => ({
  rule,
  key,
  args,
  isTask,
  startsWork,
  request: requestId && hash('sha256', rule + SEPARATOR + key + SEPARATOR + scope + SEPARATOR + requestId, 'base64url'),
  encoded: JSON.stringify(args)
})

/** @param {string} reply lines @returns {Decision} */
export function decisionOf (reply) {
  const [status, code, seq, version, details] = reply.split(LINE)
  if (status === 'failed') return { code: 'failed', seq: 0, version: 0, isReplay: false, details: { reason: code } }
  if (status === 'other_body') return { code: 'other_body', seq: 0, version: 0, isReplay: false, details: {} }
  const isReplay = status === 'replay'
  const accepted = isReplay || status === 'accepted'
  return { code, accepted, seq: Number(seq), version: Number(version), isReplay, details: details ? JSON.parse(details) : {} }
}

/**
 * The decision of a command that was accepted, by its request id.
 * @param {import('../store/index.js').Connection} connection to the primary
 * @param {(part: string) => string} key of the partition @param {Omit<Command, 'args'>} command
 * @returns {Promise<Decision>} @throws {FreshetError} REQUEST_NOT_ACCEPTED
 */
export async function decisionOfRequest (connection, key, command) {
  const stored = await connection.send('GET', key(`request:${prepare({ ...command, args: [] }).request}`))
  if (stored === null) {
    throw new FreshetError('REQUEST_NOT_ACCEPTED',
      `no request ${command.requestId} was accepted so far, or it has expired; repeat the command with the same key to settle it`)
  }
  return { ...decisionOf(String(stored)), isReplay: true }
}
