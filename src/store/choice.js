/**
 * Which node answers. A replica is left while it is down, syncing, of another primary, or too far behind (shard.js). When the
 * primary is gone, replicas answer with the data they have: those that still hear from it, if there are any.
 *
 * Without a choice of the user (readFrom null), replicas answer, or the primary while it has not had one since this process started:
 * a single server needs no setting. Replicas that are down are a fault. Readers then never move to the primary, which has its own
 * load.
 */
import { FreshetError } from '../errors.js'
import { openConnection } from './connection.js'
import { FOREIGN, NOT_PRIMARY, NOT_REPLICA, refusalOf, shownState } from './node.js'

/** replicas that are hardly further behind than the nearest take turns */
const NEAR_MS = 100
/** a node that refused a connection for a view is avoided for so long */
const AVOID_MS = 10_000

/** @typedef {import('./node.js').Node} Node */
/** @typedef {import('./connection.js').Connection} Connection */

/**
 * @param {{ topology: import('./shard.js').Topology, readFrom: 'replica' | 'primary' | null, log: import('pino').Logger }} parts
 */
export function createChoice ({ topology, readFrom, log }) {
  const { primary } = topology
  let turn = 0
  /** whether the primary has had no replica so far; null = not known yet */
  let isAlone = /** @type {boolean | null} */ (null)

  const isFromPrimary = () => readFrom === 'primary' || (readFrom === null && isAlone === true)

  /** To be called after each round of polling. */
  function settle () {
    if (readFrom !== null || isAlone === false || !topology.isListed) return
    const wasAlone = isAlone
    isAlone = wasAlone ? !topology.replicas().some(isUsable) : topology.replicas().length === 0
    if (isAlone === (wasAlone ?? false)) return
    if (isAlone) log.warn('the primary has no replicas: it is read itself, until one is in sync; --read-from replica forbids that')
    else log.info('the primary has a replica now: replicas are read')
  }

  /** @param {Node} node */
  function isUsable (node) {
    if (!node.link.connection) return false
    if (primary.state === 'up') return node.state === 'connected' && !node.left
    // without a primary the link to it may be in any state but a full sync
    return !['sync', 'down', 'refused', 'untrusted', NOT_REPLICA, FOREIGN].includes(node.state)
  }

  /** @param {Node} node */
  const isSure = (node) => node.isConfirmed && isUsable(node)

  /** @param {Node} node */
  function mayAnswer (node) {
    if (!isFromPrimary()) return node.role === 'replica' && isUsable(node) && (node.isConfirmed || !topology.replicas().some(isSure))
    return node === primary && node.link.connection !== null && node.state !== NOT_PRIMARY
  }

  const unreachable = () =>
    new FreshetError('SERVER_UNREACHABLE',
      `the primary at ${new URL(primary.url).host} is unreachable, or not a primary; npx freshet doctor says which`)

  /** @param {Node[]} nodes */
  const noneOf = (nodes) => `none of ${nodes.length} replicas can answer (${nodes.map(shownState).join(', ')})`

  /** Why no replica can answer. */
  function noReplica () {
    const nodes = topology.replicas()
    const summary = nodes.length
      ? noneOf(nodes)
      : 'the primary has no replicas; use --read-from primary (option readFrom), or add one'
    const refusal = refusalOf(nodes.length ? nodes : [primary])
    if (refusal) return new FreshetError(refusal.code, `${nodes.length ? `${summary}: ` : ''}${refusal.message}`)
    if (nodes.length === 0 && primary.link.connection === null) return unreachable()
    return new FreshetError('REPLICAS_GONE', summary, nodes.length ? {} : { publicWhy: summary })
  }

  /** @param {Node} node */
  const isRefusing = (node) => node.refusal !== null && performance.now() - node.refusedMs < AVOID_MS

  /**
   * @param {{ but?: Connection, prefer?: Connection, isOwn?: boolean }} [among] `but`: the connection that has just failed;
   *   `prefer`: the one of the previous page; `isOwn`: for a connection of the caller's own
   * @returns {Node}
   * @throws {FreshetError} REPLICAS_GONE, SERVER_UNREACHABLE; SERVER_REFUSED, SERVER_UNTRUSTED until someone fixes that
   */
  function choose ({ but, prefer, isOwn = false } = {}) {
    if (isFromPrimary()) {
      if (primary.link.connection !== but) return expectPrimary()
      throw unreachable()
    }
    const able = topology.replicas().filter((node) => mayAnswer(node) && node.link.connection !== but)
    if (able.length === 0) throw noReplica()
    const open = able.filter((node) => !isOwn || !isRefusing(node))
    const among = open.length > 0 ? open : able
    const least = Math.min(...among.map((node) => node.lagMs ?? 0))
    const near = among.filter((node) => (node.lagMs ?? 0) <= least + NEAR_MS)
    return near.find((one) => one.link.connection === prefer) ?? near[turn++ % near.length]
  }

  /** @returns {Node} the primary, if it answers @throws {FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED */
  function expectPrimary () {
    if (primary.link.connection !== null && primary.state !== NOT_PRIMARY) return primary
    throw (!topology.isLooking && refusalOf([primary])) || unreachable()
  }

  /** Why the primary is read although it has replicas: its first ones are not usable. @returns {FreshetError | null} */
  function unusedReplicas () {
    const nodes = topology.replicas()
    if (readFrom !== null || !isAlone || nodes.length === 0 || nodes.some(isUsable)) return null
    return new FreshetError('REPLICAS_GONE', `the primary at ${new URL(primary.url).host} is read itself, because ${noneOf(nodes)}; ` +
      'check the address that they announce (replica-announce-ip, in a cluster cluster-announce-ip)')
  }

  return { mayAnswer, choose, expectPrimary, settle, unusedReplicas }
}

/** a node that refused such a connection is not asked again for so long */
const REFUSED_MS = 1000

/**
 * Connections of the caller's own to a node that may answer, for reads that block.
 * @param {{ topology: import('./shard.js').Topology, name: string, deadlineMs: number, map: import('./slot-map.js').SlotMap,
 *   lagNow: (node: Node) => number | null } & Pick<ReturnType<typeof createChoice>, 'choose' | 'mayAnswer'>} parts
 */
export function createOwnChoice ({ topology, choose, mayAnswer, lagNow, name, deadlineMs, map }) {
  /** @throws {import('../errors.js').FreshetError} as Shard.pick; what the node refused within the last second */
  return () => {
    const node = choose({ isOwn: true })
    if (node.refusal && performance.now() - node.refusedMs < REFUSED_MS) throw node.refusal
    const { runId } = node
    const refuse = (/** @type {Error} */ refusal) => { Object.assign(node, { refusal, refusedMs: performance.now() }) }
    return {
      /** of the server that the node leads to */
      id: `${node.url} ${runId}`,
      /** The user may not do there what a connection is for. */
      refuse,
      /** @param {string} purpose @param {{ isForLog: boolean, isHeld?: () => boolean, signal: AbortSignal }} options */
      async open (purpose, options) {
        const own = { name: `${name}:${purpose}`, deadlineMs, map, ...options }
        const connection = await openConnection(node.link.url, own).catch((error) => {
          if (!error.retryable) refuse(error)
          throw error
        })
        return {
          connection,
          /** Whether another node should be used: this one may not answer, or its address leads to another server. */
          isLeft: () => !(mayAnswer(node) && node.runId === runId) && topology.nodes().some(mayAnswer),
          /** of the node, null = not known */
          lagMs: () => lagNow(node),
          /** Closes the connection. @param {Error | null} refusal if the user may not do what the connection is for */
          end (/** @type {Error | null} */ refusal) {
            if (refusal) refuse(refusal)
            connection.close()
          }
        }
      }
    }
  }
}
