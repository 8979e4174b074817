/**
 * One call of lua/admit.lua: up to 256 commands of a partition, one decision each.
 *
 * @typedef {import('../store/index.js').Connection} Connection
 * @typedef {import('./commands.js').Command} Command
 * @typedef {import('./commands.js').Decision} Decision
 * @typedef {{ generation: string, now: number, decisions: Decision[] }} Admitted `generation`: `<lineage>.<n>`; `now`: ms since 1970
 */
import { randomBytes } from 'node:crypto'
import { FreshetError } from './errors.js'
import { decisionOf, encodeCommand, MAX_COMMANDS, requestDigest } from './commands.js'

const LINEAGE_BYTES = 6

/**
 * @param {Connection} connection to the primary of the partition
 * @param {(part: string) => string} key of the partition
 * @param {{ replicationId: string, requestMs: number }} options `replicationId` of that primary; `requestMs`: how long a request is known
 * @param {Command[]} commands at most 256
 * @returns {Promise<Admitted>}
 * @throws {FreshetError} LINEAGE_DIFFERS, and as Connection.send
 */
export async function admit (connection, key, options, commands) {
  const { replicationId, requestMs } = options
  if (commands.length > MAX_COMMANDS) throw new RangeError(`${commands.length} commands; expected at most ${MAX_COMMANDS}`)
  const keys = [key('outbox'), key('tasks'), key('generation'), ...commands.flatMap((command) => [
    ...['state', 'events', 'members', 'holds'].map((part) => key(`${part}:${command.key}`)), key(`request:${requestDigest(command)}`)
  ])]
  const args = [replicationId, requestMs, ...commands.map(encodeCommand)]
  let [generation, now, ...replies] = await connection.runScript('admit', keys, args)
  if (now === undefined) {
    // the first call on this primary
    await beginLineage(connection, key, { replicationId, before: String(generation) })
    ;[generation, now, ...replies] = await connection.runScript('admit', keys, args)
    if (now === undefined) throw new FreshetError('LINEAGE_DIFFERS', 'other processes see another primary of this partition; try again')
  }
  return {
    generation: String(generation),
    now: Number(now),
    decisions: replies.map((/** @type {Buffer[]} */ reply) => decisionOf(reply.map(String)))
  }
}

/**
 * A new lineage, unless another process wrote one since: facts that were known before do not hold.
 * @param {Connection} connection @param {(part: string) => string} key
 * @param {{ replicationId: string, before: string }} options `before`: the generation that was found
 */
async function beginLineage (connection, key, { replicationId, before }) {
  await connection.runScript('begin-lineage', [key('generation')], [replicationId, before, randomBytes(LINEAGE_BYTES).toString('hex')])
}
