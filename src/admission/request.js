/** The decision of a command that was accepted, by its request id. */
import { decisionOf, prepare } from './commands.js'
import { FreshetError } from './errors.js'

/**
 * @param {import('../store/index.js').Connection} connection to the primary
 * @param {(part: string) => string} key of the partition @param {Omit<import('./commands.js').Command, 'args'>} command
 * @returns {Promise<import('./commands.js').Decision>}
 * @throws {FreshetError} REQUEST_NOT_ACCEPTED
 */
export async function decisionOfRequest (connection, key, command) {
  const stored = await connection.send('GET', key(`request:${prepare({ ...command, args: [] }).request}`))
  if (stored === null) {
    throw new FreshetError('REQUEST_NOT_ACCEPTED',
      'no request with this key was accepted so far, or it has expired; repeat the command with the same key to settle it')
  }
  const [, ...decision] = String(stored).split('\n')
  return decisionOf(['1', ...decision].join('\n'))
}
