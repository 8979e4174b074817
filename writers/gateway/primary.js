/**
 * The gateway's control connections to the primaries, beside the connections of its feeds: whether the primary is reachable,
 * definitions of feeds, and, from the first scrape on, figures of the nodes.
 *
 * When the primary refuses a command (ACL), the connection is closed, and that command must succeed before the primary
 * counts as reachable again. Otherwise a primary that accepts the login but refuses every command would seem ready.
 */
import { namesKey, putFeed, readDefinition } from '../../src/feeds/index.js'
import { publicReason } from '../../src/errors.js'
import { expectPrimary } from '../../src/pipeline/index.js'
import { createPrimaries, expectReplicas, openPrimaries, watchNodes } from '../../src/store/index.js'

/** @typedef {import('../../src/errors.js').FreshetError} FreshetError */

/** without traffic, only this check notices that the primary is silent or was demoted */
const CHECK_MS = 1000

/**
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, readFrom: string | null, keyPrefix: string, deadlineMs: number,
 *   ack: string, log: import('pino').Logger }} options
 */
export function watchPrimary ({ primaryUrl, replicaUrls, readFrom, keyPrefix, deadlineMs, ack, log }) {
  const name = `freshet-gateway-${process.pid}`
  /** @type {import('../../src/store/index.js').Refusal['again']} sends the command that was refused last */
  let refusedCommand = null
  /** whether the log says that a primary is unusable */
  let isLost = false
  const primaries = createPrimaries(primaryUrl, {
    name: `${name}:control`,
    deadlineMs,
    log,
    async prepare (connection) {
      await expectPrimary(connection)
      await refusedCommand?.(connection).catch((error) => { if (error.outcome === 'forbidden') throw error })
      refusedCommand = null
    },
    onForbidden ({ error, connection, again }) {
      refusedCommand = again
      connection.close(error.message, { refused: true })
    },
    onOpen (connection) {
      log[isLost ? 'warn' : 'info']({ node: connection.address }, 'primary reachable')
      if (!primaries.lost) isLost = false
    },
    onClosed (reason) {
      isLost = true
      log.warn({ reason }, 'primary unreachable')
    },
    onError (error) {
      isLost = true
      log.warn({ code: error.code, reason: error.message }, 'primary unusable, retrying')
    }
  })
  // a demoted primary is left, as a silent one is
  const timer = setInterval(() => primaries.check().catch(() => {}), CHECK_MS).unref()
  /** @type {ReturnType<typeof watchNodes> | null} */
  let nodes = null

  return {
    /**
     * Resolves when the primaries are reachable, or may become so.
     * @throws {FreshetError} SERVER_REFUSED, SERVER_UNTRUSTED, REPLICAS_TOO_FEW
     */
    async opened () {
      await primaries.opened.catch((error) => { if (!error.retryable) throw error })
      await expectReplicas(primaries.connections, ack, 'ack')
    },

    /** The stored definition of a feed. @param {string} feed @throws {FreshetError} FEED_UNKNOWN, SERVER_LOST */
    definition: async (feed) => readDefinition(primaries.router, keyPrefix, feed),

    /**
     * Creates a feed, or changes its retention.
     * @param {Parameters<typeof putFeed>[2]} wanted
     * @throws {FreshetError} FEED_DEFINITION_DIFFERS, SETTINGS_INVALID, SERVER_REFUSED (a permission),
     *   SERVER_LOST
     */
    async putFeed (wanted) {
      // on the control connection, a command that the user may not run would make the primary unusable
      const own = await openPrimaries(primaryUrl, { name: `${name}:put`, deadlineMs })
      try {
        await Promise.all(own.connections.map(expectPrimary))
        return await putFeed(own, keyPrefix, wanted)
      } finally {
        await own.close()
      }
    },

    /** The number of stored feeds. @returns {Promise<number>} @throws {FreshetError} SERVER_LOST */
    feedCount: async () => primaries.router.send('SCARD', namesKey(keyPrefix)),

    /** For /readyz, without messages of the server, which may name users and files. @returns {string[]} why the primary is unusable */
    reasons () {
      const { lost } = primaries
      if (!lost) return []
      const reason = lost.lastError ? publicReason(lost.lastError) : 'SERVER_LOST: the connection is being opened again'
      return [`${reason} (the primary, ${new URL(lost.url).host})`]
    },

    /** @returns {Promise<import('../../src/store/index.js').NodeFigures[]>} of reachable nodes */
    async figures () {
      nodes ??= watchNodes({ primaryUrl, replicaUrls, withReplicas: readFrom !== 'primary', name: `${name}:figures`, deadlineMs })
      try {
        return await (await nodes).figures()
      } catch (error) {
        nodes = null
        throw error
      }
    },

    async close () {
      clearInterval(timer)
      await Promise.all([primaries.close(), nodes?.then((open) => open.close(), () => {})])
    }
  }
}
