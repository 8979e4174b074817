/**
 * One node of a deployment: the link to it, what it refused, and whether it has the history of the primary. shard.js keeps
 * its state up to date.
 *
 * When a node refuses a request because of a missing permission, its session ends, and the next one opens only if the node
 * answers the same request. Otherwise the node would seem ready until the next request.
 *
 * @typedef {{ role: 'primary' | 'replica', url: string, link: import('./link.js').Link, engine: string | null, runId: string | null,
 *   state: string, offset: number, lagMs: number | null, left: boolean, history: import('./history.js').History,
 *   isForeign: boolean, isConfirmed: boolean, refusal: Error | null, refusedMs: number }} Node
 *   `runId`: of the server that the address led to last; `left`: it is too far behind; `isForeign`: a replica of another primary;
 *   `isConfirmed`: it hears from its primary, as far as is known (primary-contact.js); `refusal`: of a connection for a view (shard.js),
 *   at `refusedMs`
 */
import { ERRORS, FreshetError } from '../errors.js'
import { createHistory } from './history.js'
import { createLink } from './link.js'
import { expectPrimary, nodeFigures } from './nodes.js'

/** State of a demoted primary. */
export const NOT_PRIMARY = 'not a primary'
/** State of a replica that was promoted. */
export const NOT_REPLICA = 'not a replica'
/** State of a replica that follows another primary. */
export const FOREIGN = 'of another primary'

/**
 * @param {Node['role']} role @param {string} url
 * @param {{ name: string, deadlineMs: number, log: import('pino').Logger, map: import('./slot-map.js').SlotMap, onChange: () => void,
 *   mustBePrimary?: boolean }} options `name` of its connections; `onChange` is called when it is lost and back; without `mustBePrimary` a
 *   demoted primary is connected to
 * @returns {Node}
 */
export function createNode (role, url, { name, deadlineMs, log, map, onChange, mustBePrimary = false }) {
  /** @type {import('./connection.js').Refusal['again']} the request that the node refused last */
  let refusedRequest = null
  /** whether the log says that the node is lost */
  let isLost = false
  const host = () => new URL(link.url).host
  // before a cluster is found, each of the given addresses is tried
  const urlNow = () => !map.isCluster && role === 'primary' ? map.urlOf('') : url
  const link = createLink({ map, url: urlNow, isNode: role === 'replica' }, {
    name,
    deadlineMs,
    async prepare (connection) {
      const { engine, runId, role: itsRole } = await (mustBePrimary ? expectPrimary(connection) : nodeFigures(connection))
      Object.assign(node, { engine, runId })
      await refusedRequest?.(connection).catch((error) => { if (error.outcome === 'forbidden') throw error })
      refusedRequest = null
      if (role === 'primary' && itsRole !== 'primary') node.state = NOT_PRIMARY
      else if (node.state === NOT_PRIMARY) node.state = 'connecting'
    },
    onOpen () {
      // an address of the primary that leads to a replica is in the log, and what it leads to then
      if (isLost && node.state !== NOT_PRIMARY) log.warn({ node: host(), nodeRole: role }, 'node is back')
      isLost = false
      onChange()
    },
    onClosed (reason) {
      if (node.state !== NOT_PRIMARY) {
        log.warn({ node: host(), nodeRole: role, reason }, 'node lost')
        isLost = true
      }
      node.state = absence(node)
      node.lagMs = null
      onChange()
    },
    onError (error) {
      isLost = true
      log.warn({ node: host(), nodeRole: role, code: error.code, reason: error.message }, 'node cannot be used, retrying')
    },
    onForbidden ({ error, connection, again }) {
      refusedRequest = again
      connection.close(error.message, { refused: true, publicWhy: /** @type {any} */ (error).publicWhy })
    }
  })
  /** @type {Node} */
  const node = {
    role,
    get url () { return link.url },
    link,
    engine: null,
    runId: null,
    state: 'connecting',
    offset: 0,
    lagMs: null,
    left: false,
    history: createHistory(),
    isForeign: false,
    isConfirmed: true,
    refusal: null,
    refusedMs: 0
  }
  return node
}

/** As shown: a node that lagged when it was lost does no longer. @param {Node} node @returns {string} */
export const shownState = ({ left, state }) => left && state === 'connected' ? 'lagging' : state

/** State of a node without a connection. @param {Node} node */
export function absence ({ link: { lastError } }) {
  if (lastError?.code === 'SERVER_REFUSED') return 'refused'
  return lastError?.code === 'SERVER_UNTRUSTED' ? 'untrusted' : 'down'
}

/**
 * What the first node that refuses its user refuses. Clients may read the message, so it names no user and no file; the log does.
 * @param {Node[]} nodes @returns {FreshetError | null} null = none refuses
 */
export function refusalOf (nodes) {
  const refusing = nodes.find((node) => node.link.connection === null && absence(node) !== 'down')
  const cause = /** @type {FreshetError & { publicWhy?: string } | null | undefined} */ (refusing?.link.lastError)
  if (!refusing || !cause) return null
  const { code, publicWhy = ERRORS[code].meaning } = cause
  return new FreshetError(code, `${new URL(refusing.url).host}: ${publicWhy}`, { cause, publicWhy })
}

/**
 * Finds out whether a replica in sync belongs to this primary.
 * @param {Node} replica @param {Node} primary
 * @param {{ about: string, log: import('pino').Logger }} options `about`: what the replica says about its primary
 * @throws {FreshetError} SERVER_LOST, SERVER_REFUSED
 */
export async function compareHistory (replica, primary, { about, log }) {
  const [connection, toPrimary] = [replica.link.connection, primary.link.connection]
  if (connection === null || toPrimary === null) return
  const differs = () => ![replica.history.id, primary.history.id].includes(null) && replica.history.id !== primary.history.id
  await replica.history.look(connection, about)
  // one of them may have a new history since it was asked
  if (differs() && !replica.isForeign) await Promise.all([replica.history.ask(connection), primary.history.ask(toPrimary)])
  if (differs() === replica.isForeign) return
  replica.isForeign = differs()
  const addresses = { node: connection.address, primary: toPrimary.address }
  log.warn(addresses, replica.isForeign ? 'replica of another primary, left' : 'replica follows the primary now')
}
