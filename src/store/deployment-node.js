/**
 * One node of a deployment: the link to it, what it refused, and whether it has the history of the primary. How it is
 * doing is found out by polling (deployment.js).
 *
 * @typedef {{ role: 'primary' | 'replica', url: string, link: import('./link.js').Link, engine: string | null, runId: string | null, state: string,
 *   offset: number, lagMs: number | null, left: boolean, history: import('./history.js').History, isForeign: boolean }} Node
 *   `runId`: of the server that the address led to last; `left`: it is too far behind; `isForeign`: a replica of another primary, as both said last
 */
import { ERRORS, FreshetError } from '../errors.js'
import { createHistory } from './history.js'
import { createLink } from './link.js'
import { nodeFigures } from './nodes.js'

/** how a primary is that was made a replica */
export const NO_PRIMARY = 'not a primary'

/**
 * @param {Node['role']} role @param {string} url
 * @param {{ name: string, deadlineMs: number, log: import('pino').Logger }} options
 * @returns {Node}
 */
export function createNode (role, url, { name, deadlineMs, log }) {
  /** @type {import('./connection.js').Refusal['again']} what it refused last */
  let refusedQuestion = null
  /** @type {Node} */
  const node = {
    role,
    url,
    engine: null,
    runId: null,
    state: 'connecting',
    offset: 0,
    lagMs: null,
    left: false,
    history: createHistory(),
    isForeign: false,
    link: createLink(url, {
      name: `${name}:${role}`,
      deadlineMs,
      async prepare (connection) {
        const { engine, runId, role: itsRole } = await nodeFigures(connection)
        Object.assign(node, { engine, runId })
        await refusedQuestion?.(connection).catch((error) => { if (error.outcome === 'forbidden') throw error })
        refusedQuestion = null
        if (role === 'primary' && itsRole !== 'primary') node.state = NO_PRIMARY
        else if (node.state === NO_PRIMARY) node.state = 'connecting'
      },
      onClosed (reason) {
        // whoever closes one that is no primary has said so
        if (node.state !== NO_PRIMARY) log.warn({ node: new URL(url).host, nodeRole: role, reason }, 'node lost')
        node.state = absence(node)
        node.lagMs = null
      },
      onError (error) {
        log.warn({ node: new URL(url).host, nodeRole: role, code: error.code, reason: error.message }, 'node cannot be used, trying on')
      },
      onForbidden ({ error, connection, again }) {
        refusedQuestion = again
        connection.close(error.message, { refused: true, publicWhy: /** @type {any} */ (error).publicWhy })
      }
    })
  }
  return node
}

/** How a node is that has no connection. @param {Node} node */
export function absence ({ link: { lastError } }) {
  if (lastError?.code === 'SERVER_REFUSED') return 'refused'
  return lastError?.code === 'SERVER_UNTRUSTED' ? 'untrusted' : 'down'
}

/**
 * What one of them refuses, if one does. Whoever asks may read it, so it names no user and no file; the log has those.
 * @param {Node[]} nodes @returns {FreshetError | null}
 */
export function refusalOf (nodes) {
  const refusing = nodes.find((node) => node.link.connection === null && absence(node) !== 'down')
  const cause = /** @type {FreshetError & { publicWhy?: string } | null | undefined} */ (refusing?.link.lastError)
  if (!refusing || !cause) return null
  const { code, publicWhy = ERRORS[code].meaning } = cause
  return new FreshetError(code, `${new URL(refusing.url).host}: ${publicWhy}`, { cause, publicWhy })
}

/**
 * Finds out whether a replica in sync is one of this primary.
 * @param {Node} replica @param {Node} primary
 * @param {{ about: string, log: import('pino').Logger }} options `about`: what the replica says of its primary
 * @throws {FreshetError} SERVER_LOST, SERVER_REFUSED
 */
export async function compareHistory (replica, primary, { about, log }) {
  const [connection, toPrimary] = [replica.link.connection, primary.link.connection]
  if (connection === null || toPrimary === null) return
  const differs = () => ![replica.history.id, primary.history.id].includes(null) && replica.history.id !== primary.history.id
  await replica.history.look(connection, about)
  // one of the two may have got another since it was asked
  if (differs() && !replica.isForeign) await Promise.all([replica.history.ask(connection), primary.history.ask(toPrimary)])
  if (differs() === replica.isForeign) return
  replica.isForeign = differs()
  log.warn({ node: connection.address, primary: toPrimary.address }, replica.isForeign ? 'a replica of another primary, left' : 'it is a replica of the primary now')
}
