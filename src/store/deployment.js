/**
 * A deployment as a reader sees it: the primary, its replicas (topology.js), and which of them may answer (node-choice.js).
 */
import { openConnection } from './connection.js'
import { NOT_PRIMARY, shownState } from './deployment-node.js'
import { createLookupCounts, createLookups } from './lookups.js'
import { createChoice } from './node-choice.js'
import { nodeFigures } from './nodes.js'
import { createTopology } from './topology.js'

/** a node that refused a connection for a view is not asked again for so long */
const REFUSED_MS = 1000

/** @typedef {ReturnType<typeof createDeployment>} Deployment */
/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./deployment-node.js').Node} Node */

/**
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, readFrom: 'replica' | 'primary' | null, name: string,
 *   deadlineMs: number, log: import('pino').Logger, map?: import('./slot-map.js').SlotMap,
 *   lookups?: import('./lookups.js').LookupCounts }} options `replicaUrls` null = those that the primary names; `readFrom` null = see
 *   node-choice.js
 */
export function createDeployment ({ readFrom, lookups = createLookupCounts(), ...options }) {
  const { name, deadlineMs, log, map } = options
  const topology = createTopology({ ...options, onPolled: () => settle() })
  const { choose, expectPrimary, mayAnswer, settle, unusedReplicas } = createChoice({ topology, readFrom, log })
  const { lookUp } = createLookups(() => /** @type {Connection} */ (expectPrimary().link.connection), lookups)
  const ready = topology.start({ awaitsReplicas: readFrom !== 'primary' })
  ready.catch(() => {})

  /** @param {Node} node */
  function lagNow (node) {
    if (node.role === 'replica') return node.lagMs
    return node.link.connection !== null && node.state !== NOT_PRIMARY ? 0 : null
  }

  function chooseOwn () {
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
          /** Whether it has everything that the primary had at a time. @param {number} atMs performance.now() */
          hasReached: (/** @type {number} */ atMs) => node.role === 'primary' || node.reachedMs >= atMs,
          /** Closes the connection. @param {Error | null} refusal if the user may not do what the connection is for */
          end (/** @type {Error | null} */ refusal) {
            if (refusal) refuse(refusal)
            connection.close()
          }
        }
      }
    }
  }

  return {
    /** Resolves when every node was polled once. Rejects with what the first connection to the primary met. */
    ready,
    /** Reply timeout; the connection is then closed. */
    deadlineMs,

    /**
     * A node that may answer now.
     * @param {{ but?: Connection, prefer?: Connection }} [among] `but`: one that has just failed; `prefer`: the one that
     *   answered the previous page
     * @returns {{ connection: Connection, lagMs: number | null }}
     * @throws {import('../errors.js').FreshetError} REPLICAS_GONE, SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
     */
    pick (among) {
      const node = choose(among)
      return { connection: /** @type {Connection} */ (node.link.connection), lagMs: lagNow(node) }
    },

    /** What the primary has of a key that a replica does not have (lookups.js). */
    lookUp,
    lookups,

    /**
     * Opens a connection of the caller's own to a node that may answer now, for reads that block. A node that refused such a
     * connection is avoided while there is another one, and asked at most once a second. The caller ends it.
     * @param {string} purpose shown by CLIENT LIST behind the name
     * @param {{ isForLog: boolean, isHeld?: () => boolean, signal: AbortSignal }} options as openConnection
     * @returns {ReturnType<ReturnType<typeof chooseOwn>['open']>}
     * @throws {import('../errors.js').FreshetError} as `pick`; SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
     */
    openOwn: async (purpose, options) => chooseOwn().open(purpose, options),
    /** As openOwn, in two steps, so that several can share a connection to the node. */
    chooseOwn,

    /** @returns {{ role: string, address: string, connected: boolean, engine: string | null, state: string, lagMs: number | null }[]} */
    nodes: () => topology.nodes().map((node) => ({
      role: node.role,
      address: new URL(node.url).host,
      connected: node.link.connection !== null,
      engine: node.engine,
      state: shownState(node),
      lagMs: lagNow(node)
    })),

    /** Why the primary is read although it has replicas. @returns {import('../errors.js').FreshetError[]} */
    unused: () => [unusedReplicas()].filter((error) => error !== null),

    /** How long ago the last contact with the primary was, ms; 0 = it is confirmed (primary-contact.js). */
    get unconfirmedMs () { return topology.unconfirmedMs },
    /** Until when answers of now are known to be complete. @param {number} nowMs by the caller's clock */
    confirmedAt (nowMs) {
      const { unconfirmedMs } = topology
      return unconfirmedMs === 0 ? nowMs : Math.floor(nowMs - unconfirmedMs)
    },

    /** Figures of every node that answers. */
    figures: async () => (await Promise.all(topology.nodes().map((node) =>
      node.link.connection ? nodeFigures(node.link.connection).catch(() => null) : null))).filter((figures) => figures !== null),

    close: () => topology.close()
  }
}
