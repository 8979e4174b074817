/**
 * The gateway's own view of the servers, beside the connections of its feeds: whether the primary can be reached, what
 * is stored about feeds, and, from the first scrape on, figures of the nodes.
 *
 * A primary that refuses its user a question is left, and asked that same question before it counts as reached again:
 * one that lets a user in but refuses every command would otherwise seem ready.
 */
import { readDefinition } from '../../src/feeds/definitions.js'
import { namesKey } from '../../src/feeds/keys.js'
import { FreshetError, publicReason } from '../../src/errors.js'
import { expectPrimary } from '../../src/pipeline/feed-writer.js'
import { createLink } from '../../src/store/link.js'
import { watchNodes } from '../../src/store/node-watch.js'
import { expectStillPrimary } from '../../src/store/nodes.js'

/** nobody asks a primary that is silent, or was made a replica, otherwise, so nobody would notice */
const LOOK_MS = 1000

/**
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, readFrom: string, keyPrefix: string, deadlineMs: number,
 *   log: import('pino').Logger }} options
 */
export function watchPrimary ({ primaryUrl, replicaUrls, readFrom, keyPrefix, deadlineMs, log }) {
  const name = `freshet-gateway-${process.pid}`
  /** @type {import('../../src/store/connection.js').Refusal['again']} what it refused last */
  let refusedQuestion = null
  const link = createLink(primaryUrl, {
    name: `${name}:control`,
    deadlineMs,
    async prepare (connection) {
      await expectPrimary(connection)
      await refusedQuestion?.(connection).catch((error) => { if (error.outcome === 'forbidden') throw error })
      refusedQuestion = null
    },
    onForbidden ({ error, connection, again }) {
      refusedQuestion = again
      connection.close(error.message, { refused: true })
    },
    onOpen: () => log.info('the primary can be reached'),
    onClosed: (reason) => log.warn({ reason }, 'the primary cannot be reached'),
    onError: (error) => log.warn({ code: error.code, reason: error.message }, 'the primary cannot be used, trying on')
  })
  async function look () {
    const { connection } = link
    // a reply that says no ends the connection, as silence does
    if (connection) await expectStillPrimary(connection).catch((error) => { if (error.outcome === 'over') connection.close(error.message) })
  }
  const looking = setInterval(look, LOOK_MS).unref()
  /** @type {ReturnType<typeof watchNodes> | null} */
  let nodes = null

  return {
    /** Resolves when the primary answered, or can only be waited for. @throws {FreshetError} SERVER_REFUSED, SERVER_UNTRUSTED: waiting will not help */
    async opened () {
      await link.opened.catch((error) => { if (!error.retryable) throw error })
    },

    /** What is stored about a feed now. @param {string} feed @throws {FreshetError} FEED_UNKNOWN, SERVER_LOST */
    async definition (feed) {
      if (link.connection) return readDefinition(link.connection, keyPrefix, feed)
      throw link.lastError ?? new FreshetError('SERVER_LOST', 'the connection to the primary is being opened again')
    },

    /** How many feeds are stored now. @returns {Promise<number>} @throws {FreshetError} SERVER_LOST */
    async feedCount () {
      if (link.connection) return link.connection.send('SCARD', namesKey(keyPrefix))
      throw link.lastError ?? new FreshetError('SERVER_LOST', 'the connection to the primary is being opened again')
    },

    /** For /readyz, without words of the server: they may name users and files. @returns {string[]} why the primary cannot be used */
    reasons () {
      if (link.connection) return []
      const reason = link.lastError ? publicReason(link.lastError) : 'SERVER_LOST: the connection is being opened again'
      return [`${reason} (the primary, ${new URL(primaryUrl).host})`]
    },

    /** @returns {Promise<import('../../src/store/nodes.js').NodeFigures[]>} of the nodes that answer */
    async figures () {
      nodes ??= watchNodes({ primaryUrl, replicaUrls, withReplicas: readFrom === 'replica', name: `${name}:figures`, deadlineMs })
      try {
        return await (await nodes).figures()
      } catch (error) {
        nodes = null
        throw error
      }
    },

    async close () {
      clearInterval(looking)
      await Promise.all([link.close(), nodes?.then((open) => open.close(), () => {})])
    }
  }
}
