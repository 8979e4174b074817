/** One call of the admission script, with its decisions as objects. */
import { admit as admitPrepared, decisionOf, prepare } from '../../src/admission/index.js'
import { agreeOnRules, ourVersions } from '../../src/admission/rules.js'

/**
 * @param {import('../../src/store/index.js').Connection} connection @param {(part: string) => string} key
 * @param {{ replicationId: string, requestMs: number, keepMs: number, log?: any, turnBack?: () => Promise<void> }} options
 * @param {import('../../src/admission/index.js').Command[]} commands
 */
export async function admit (connection, key, options, commands) {
  const agreeIn = (/** @type {any} */ _key, /** @type {string[]} */ rules) =>
    agreeOnRules(/** @type {any} */ (connection), key('generation'), ourVersions(rules), 'auctions')
  const { replies, ...rest } = await admitPrepared(connection, key, { agreeIn, ...options }, commands.map(prepare))
  return { ...rest, decisions: replies.map((reply) => decisionOf(String(reply))) }
}
