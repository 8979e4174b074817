/**
 * One node of a deployment: the link to it, what it refused, and whether it has the history of the primary. shard.js keeps
 * its state up to date.
 *
 * When a node refuses a request because of a missing permission, its session ends, and the next one opens only if the node
 * answers the same request. Otherwise the node would seem ready until the next request.
 *
 * @typedef {{ role: 'primary' | 'replica', url: string, link: import('./link.js').Link, engine: string | null, runId: string | null,
 *   state: string, offset: number, lagMs: number | null, left: boolean, history: import('./nodes.js').History,
 *   isForeign: boolean, isConfirmed: boolean, refusal: Error | null, refusedMs: number }} Node
 *   `runId`: of the server that the address led to last; `left`: it is too far behind; `isForeign`: a replica of another primary;
 *   `isConfirmed`: it hears from its primary, as far as is known; `refusal`: of a connection for a view (shard.js),
 *   at `refusedMs`
 */
import { ERRORS, FreshetError } from '../errors.js'
import { createLink } from './link.js'
import { createHistory, expectPrimary, nodeFigures, readInfo } from './nodes.js'

/**
 * Whether what the replicas have is still what the primary has. A replica that is cut off from the primary together with its reader
 * answers as ever. So the primary is confirmed: by our own link to it, or by a replica that hears from it. After a second without
 * either, answers are as old as the last contact.
 */

const CONFIRMED_FOR_MS = 1000
/** an idle primary sends something to its replicas every 10 s */
const MAX_SILENCE_S = 12

/** @typedef {ReturnType<typeof createPrimaryContact>} PrimaryContact */

/** @param {Pick<import('pino').Logger, 'warn'>} log */
export function createPrimaryContact (log) {
  let ownMs = -Infinity
  /** when the rule above was last met; at the start it has not been broken yet */
  let confirmedMs = performance.now()
  /** the newest time at which a node had what the primary had; null = not known */
  let contactMs = /** @type {number | null} */ (null)
  let isConfirmed = true
  const startedMs = performance.now()

  return {
    /** Our own link works, so that replicas need not be asked. */
    get isDirect () { return performance.now() - ownMs < CONFIRMED_FOR_MS / 2 },
    /** How long ago the last contact was, ms; 0 = the primary is confirmed. */
    get unconfirmedMs () { return isConfirmed ? 0 : performance.now() - (contactMs ?? startedMs) },

    /** The primary answered. @param {number} askedMs */
    answered (askedMs) { ownMs = confirmedMs = contactMs = askedMs },

    /**
     * Asks a replica when it last heard from its primary.
     * @param {import('./connection.js').Connection} connection
     * @returns {Promise<boolean>} whether that confirms the primary
     */
    async ask (connection) {
      const askedMs = performance.now()
      const info = readInfo(await connection.send('INFO', 'replication'), connection.address)
      const isUp = info.master_link_status === 'up'
      const silentS = Number(isUp ? info.master_last_io_seconds_ago : info.master_link_down_since_seconds)
      if (!(silentS >= 0)) return false
      contactMs = Math.max(contactMs ?? -Infinity, askedMs - 1000 * silentS)
      if (!isUp || silentS > MAX_SILENCE_S) return false
      confirmedMs = Math.max(confirmedMs, askedMs)
      return true
    },

    /** To be called after each round of questions: a busy process reads the replies first. */
    judge () {
      const wasConfirmed = isConfirmed
      isConfirmed = performance.now() - confirmedMs <= CONFIRMED_FOR_MS
      if (wasConfirmed && !isConfirmed) log.warn('the primary cannot be confirmed: answers are as old as the last contact with it')
      if (!wasConfirmed && isConfirmed) log.warn('the primary is confirmed again')
    }
  }
}

/**
 * Replication lag as a time: now minus the newest time at which the primary's offset was not above the replica's. It needs
 * no writes.
 */

const SAMPLES = 600
/** without a sample for so long the lag is not known */
const MAX_AGE_MS = 1000

export function createLagClock () {
  /** @type {{ atMs: number, offset: number }[]} */
  const samples = []
  return {
    /** @param {number} atMs when the reply came, performance.now() @param {number} offset of the primary */
    add (atMs, offset) {
      samples.push({ atMs, offset })
      if (samples.length > SAMPLES) samples.shift()
    },

    /**
     * @param {number} offset of a replica
     * @param {number} askedMs when the replica was asked, so that reading its reply late does not count as lag
     * @returns {number | null} null = not known
     */
    lagMs (offset, askedMs) {
      const last = samples.at(-1)
      // -1 without a link to a primary, NaN of a node that is a primary itself
      if (!(offset >= 0)) return null
      if (!last || askedMs - last.atMs > MAX_AGE_MS) return null
      const reached = samples.findLast((sample) => sample.offset <= offset) ?? samples[0]
      // the primary's reply may have come after the replica was asked
      return Math.max(0, Math.round(askedMs - reached.atMs))
    }
  }
}

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
